import { RpcError } from '../errors.ts'
import { methods, type ServiceMethodName } from '../eth/methods.ts'
import { type Asker, type Heard, isRefusal } from './asker.ts'

/** Whether the endpoint supports a method or tag; null when that could not be found. */
export interface Support {
  readonly supported: boolean | null
  /** The endpoint's answer, where it was not a result. */
  readonly how: string
}

/** Facts about the chain, for parameters that make sense. */
export interface Facts {
  /**
   * Number and hash of the latest block, and the hash of a transaction of it; made up where the
   * block has no transaction.
   */
  readonly head: number
  readonly blockHash: string
  readonly transactionHash: string
}

/** A block tag that a probe tries. */
export type Tag = 'latest' | 'safe' | 'finalized' | 'pending' | 'earliest'

export const METHODS = Object.keys(methods) as ServiceMethodName[]
export const TAGS: readonly Tag[] = ['latest', 'safe', 'finalized', 'pending', 'earliest']

const ZERO_ADDRESS = `0x${'00'.repeat(20)}`
/** Not a transaction: every node that has the method refuses it. */
const NO_TRANSACTION = '0x'

/** Parameters with which each method of the service is cheap, and writes nothing. */
const params: Readonly<Record<ServiceMethodName, (facts: Facts) => readonly unknown[]>> = {
  eth_blockNumber: () => [],
  eth_call: () => [{ to: ZERO_ADDRESS, data: '0x' }, 'latest'],
  eth_chainId: () => [],
  eth_createAccessList: () => [{ from: ZERO_ADDRESS, to: ZERO_ADDRESS }, 'latest'],
  eth_estimateGas: () => [{ from: ZERO_ADDRESS, to: ZERO_ADDRESS }],
  eth_feeHistory: () => ['0x1', 'latest', []],
  eth_gasPrice: () => [],
  eth_getBalance: () => [ZERO_ADDRESS, 'latest'],
  eth_getBlockByHash: ({ blockHash }) => [blockHash, false],
  eth_getBlockByNumber: () => ['latest', false],
  eth_getBlockTransactionCountByHash: ({ blockHash }) => [blockHash],
  eth_getBlockTransactionCountByNumber: () => ['latest'],
  eth_getBlockReceipts: ({ head }) => [quantity(head)],
  eth_getCode: () => [ZERO_ADDRESS, 'latest'],
  eth_getLogs: ({ head }) => [{ fromBlock: quantity(head), toBlock: quantity(head), address: ZERO_ADDRESS }],
  eth_getProof: () => [ZERO_ADDRESS, [], 'latest'],
  eth_getStorageAt: () => [ZERO_ADDRESS, '0x0', 'latest'],
  eth_getTransactionByHash: ({ transactionHash }) => [transactionHash],
  eth_getTransactionByBlockHashAndIndex: ({ blockHash }) => [blockHash, '0x0'],
  eth_getTransactionByBlockNumberAndIndex: () => ['latest', '0x0'],
  eth_getTransactionCount: () => [ZERO_ADDRESS, 'latest'],
  eth_getTransactionReceipt: ({ transactionHash }) => [transactionHash],
  eth_getUncleByBlockHashAndIndex: ({ blockHash }) => [blockHash, '0x0'],
  eth_getUncleByBlockNumberAndIndex: () => ['latest', '0x0'],
  eth_getUncleCountByBlockHash: ({ blockHash }) => [blockHash],
  eth_getUncleCountByBlockNumber: () => ['latest'],
  eth_maxPriorityFeePerGas: () => [],
  eth_sendRawTransaction: () => [NO_TRANSACTION],
}

/** Methods whose result is null for what the node does not have. */
const MAY_BE_NULL = /^eth_get(?:Block|TransactionBy|TransactionReceipt|Uncle)/

/** Calls each of the 28 methods once. */
export async function methodsOf(asker: Asker, facts: Facts): Promise<Record<ServiceMethodName, Support>> {
  const found: Partial<Record<ServiceMethodName, Support>> = {}
  for (const method of METHODS) found[method] = methodSupport(method, await asker.one(method, params[method](facts)))
  return found as Record<ServiceMethodName, Support>
}

/** An error about the call itself proves that the method exists, just as a result does. */
function methodSupport(method: string, heard: Heard): Support {
  if (!isRefusal(heard)) return heard.value === null && !MAY_BE_NULL.test(method) ? { supported: null, how: 'it answers null' } : { supported: true, how: '' }
  const { kind, why, error } = heard
  if (kind === 'unsupported') return { supported: false, how: why }
  const isAnswer = error instanceof RpcError && ['execution', 'invalid', 'lagging', 'pruned', 'not-found', 'range-too-large'].includes(kind)
  return { supported: isAnswer ? true : null, how: why }
}

/** Asks for the block of each tag. Also returns the latest block as it was sent. */
export async function tagsOf(asker: Asker): Promise<{ readonly tags: Record<Tag, Support>; readonly latest: unknown }> {
  const found: Partial<Record<Tag, Support>> = {}
  let latest: unknown
  for (const tag of TAGS) {
    const heard = await asker.one('eth_getBlockByNumber', [tag, false])
    if (tag === 'latest' && !isRefusal(heard)) latest = heard.value
    found[tag] = tagSupport(heard)
  }
  return { tags: found as Record<Tag, Support>, latest }
}

function tagSupport(heard: Heard): Support {
  if (!isRefusal(heard)) return heard.value === null ? { supported: false, how: 'it answers null' } : { supported: true, how: '' }
  const isAnswer = heard.error instanceof RpcError && ['invalid', 'lagging', 'pruned', 'not-found', 'unsupported', 'execution'].includes(heard.kind)
  return { supported: isAnswer ? false : null, how: heard.why }
}

/** For an endpoint that does not answer. */
export function nothingOf<Name extends string>(names: readonly Name[]): Record<Name, Support> {
  return Object.fromEntries(names.map((name) => [name, { supported: null, how: 'the endpoint does not answer' }])) as Record<Name, Support>
}

export function quantity(number: number): string {
  return `0x${number.toString(16)}`
}
