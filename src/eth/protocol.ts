import { type HexlineError, RpcError } from '../errors.ts'
import { HEAD, type Protocol, type Trait } from '../rpc/route/protocol.ts'

/**
 * Where a block stands in the params: at an index. Left out, it is the newest one, as
 * `withDefault(block, 'latest')` has it.
 */
const at =
  (index: number): Required<Trait>['needs'] =>
  (params) =>
    blockOf(params[index])

/** Params may be an object, with names instead of positions; it has no first param then. */
const ofFilter: Required<Trait>['needs'] = (params) => {
  const { toBlock, blockHash } = (params[0] ?? {}) as { toBlock?: unknown; blockHash?: unknown }
  return blockHash === undefined ? blockOf(toBlock) : undefined
}

/** A range needs its first block, too. */
const startOfFilter: Required<Trait>['oldest'] = (params) => {
  const { fromBlock, blockHash } = (params[0] ?? {}) as { fromBlock?: unknown; blockHash?: unknown }
  if (blockHash !== undefined) return undefined
  return fromBlock === 'earliest' ? 0 : blockOf(fromBlock)
}

/** The last block of a range; of one up to the head, the first block. */
const newestOfFilter: Required<Trait>['endsAtHead'] = (params) => {
  const last = ofFilter(params)
  const newest = last === HEAD ? startOfFilter(params) : last
  return newest === HEAD ? undefined : newest
}

const head = () => HEAD

/** The number in a field of the result, or of its last item where it is an array. */
const field =
  (name: string): Required<Trait>['tells'] =>
  (result) => {
    const one = Array.isArray(result) ? result.at(-1) : result
    return one === null || typeof one !== 'object' ? undefined : quantityOf((one as Record<string, unknown>)[name])
  }

const numberOfBlock = field('number')
const blockNumber = field('blockNumber')

/**
 * One row a method: the block that it needs, the newest block that its result proves, its role for
 * filters, and whether it may run twice.
 */
const traits: Readonly<Record<string, Trait>> = {
  eth_blockNumber: { needs: head, tells: quantityOf },
  eth_call: { needs: at(1), reads: 'state' },
  eth_createAccessList: { needs: at(1), reads: 'state' },
  eth_estimateGas: { needs: at(1), reads: 'state' },
  eth_feeHistory: { needs: at(1) },
  eth_gasPrice: { needs: head },
  eth_getBalance: { needs: at(1), reads: 'state' },
  eth_getBlockByHash: { mayBeNew: true, tells: numberOfBlock },
  // The pending block has the number that the next one will have.
  eth_getBlockByNumber: { needs: at(0), reads: 'blocks', tells: (result, params) => (params[0] === 'pending' ? undefined : numberOfBlock(result, [])) },
  eth_getBlockReceipts: { needs: at(0), reads: 'receipts', tells: blockNumber },
  eth_getBlockTransactionCountByNumber: { needs: at(0), reads: 'blocks' },
  eth_getCode: { needs: at(1), reads: 'state' },
  eth_getFilterChanges: { filter: 'takes', tells: blockNumber },
  eth_getFilterLogs: { filter: 'takes', tells: blockNumber },
  eth_getLogs: { needs: ofFilter, oldest: startOfFilter, endsAtHead: newestOfFilter, reads: 'logs', tells: blockNumber },
  eth_getProof: { needs: at(2), reads: 'stateproofs' },
  eth_getStorageAt: { needs: at(2), reads: 'state' },
  eth_getTransactionByBlockNumberAndIndex: { needs: at(0), reads: 'blocks', tells: blockNumber },
  eth_getTransactionByHash: { mayBeNew: true, tells: blockNumber },
  eth_getTransactionCount: { needs: at(1), reads: 'state' },
  eth_getTransactionReceipt: { mayBeNew: true, tells: blockNumber },
  eth_getUncleByBlockNumberAndIndex: { needs: at(0), reads: 'blocks' },
  eth_getUncleCountByBlockNumber: { needs: at(0), reads: 'blocks' },
  eth_maxPriorityFeePerGas: { needs: head },
  eth_newBlockFilter: { filter: 'makes', mayRunTwice: true },
  eth_newFilter: { filter: 'makes', mayRunTwice: true },
  eth_newPendingTransactionFilter: { filter: 'makes', mayRunTwice: true },
  // A signed transaction runs at most once, wherever it is sent.
  eth_sendRawTransaction: { mayRunTwice: true },
  eth_uninstallFilter: { filter: 'ends' },
  // As eth_sendRawTransaction. A receipt has the number of its block.
  eth_sendRawTransactionSync: { mayRunTwice: true, tells: blockNumber },
  eth_baseFee: { needs: head },
  eth_blobBaseFee: { needs: head },
  eth_fillTransaction: { needs: head },
  eth_getBlockAccessList: { needs: at(0), reads: 'blocks' },
  eth_getStorageValues: { needs: at(1), reads: 'state' },
  eth_simulateV1: { needs: at(1), reads: 'state' },
  debug_getRawBlock: { needs: at(0), reads: 'blocks' },
  debug_getRawHeader: { needs: at(0), reads: 'blocks' },
  debug_getRawReceipts: { needs: at(0), reads: 'receipts' },
  debug_traceBlockByNumber: { needs: at(0), reads: 'state' },
  debug_traceCall: { needs: at(1), reads: 'state' },
  trace_block: { needs: at(0), reads: 'state', tells: blockNumber },
  trace_call: { needs: at(2), reads: 'state' },
  trace_callMany: { needs: at(1), reads: 'state' },
  trace_filter: { needs: ofFilter, oldest: startOfFilter, endsAtHead: newestOfFilter, reads: 'state', tells: blockNumber },
  trace_replayBlockTransactions: { needs: at(0), reads: 'state' },
  trace_transaction: { tells: blockNumber },
}

/** What routing needs to know about Ethereum. */
export const ethereum: Protocol = {
  traitOf: (method) => (Object.hasOwn(traits, method) ? traits[method] : undefined),
  askHead: { method: 'eth_blockNumber', params: [] },
  askBlock: (number) => ({ method: 'eth_getBlockByNumber', params: [`0x${number.toString(16)}`, false] }),
  askChain: { method: 'eth_chainId', params: [] },
  chainOf: quantityOf,
  // Bodies and receipts are dropped together (EIP-4444), and logs are read from receipts.
  partOf: { receipts: 'blocks', logs: 'blocks' },
  askHistory: { method: 'eth_capabilities', params: [] },
  historyOf,
  oldestIn,
}

/**
 * The resources of `eth_capabilities` (https://github.com/ethereum/execution-apis/pull/755). A
 * resource without an oldest block says nothing.
 */
function historyOf(result: unknown): ReadonlyMap<string, number> {
  const floors = new Map<string, number>()
  if (typeof result !== 'object' || result === null) return floors
  for (const [resource, told] of Object.entries(result)) {
    if (resource === 'head' || typeof told !== 'object' || told === null) continue
    const { disabled, oldestBlock } = told as { disabled?: unknown; oldestBlock?: unknown }
    const oldest = disabled === true ? Number.POSITIVE_INFINITY : quantityOf(oldestBlock)
    if (oldest !== undefined) floors.set(resource, oldest)
  }
  return floors
}

/**
 * reth names it in the message of its error 4444 (https://github.com/paradigmxyz/reth/pull/26550),
 * as do Sei, Erigon, zkSync and CometBFT in their words; others may name it in its data.
 */
function oldestIn(error: HexlineError): number | undefined {
  if (!(error instanceof RpcError)) return undefined
  const [, digits] = /(?:earliest[ _]available(?: is)?|available from block|first retained block is|lowest height is):? (\d{1,15})\b/i.exec(error.said) ?? []
  if (digits !== undefined) return Number(digits)
  const { data } = error
  if (typeof data !== 'object' || data === null) return undefined
  for (const name of NAMES_OF_OLDEST) {
    const oldest = quantityOf((data as Record<string, unknown>)[name])
    if (oldest !== undefined) return oldest
  }
  return undefined
}

const NAMES_OF_OLDEST = ['earliestAvailable', 'earliest_available', 'oldestBlock', 'earliestBlock']

/**
 * `HEAD` for what moves with every block; undefined for a block that every endpoint has, or that is
 * named by its hash.
 */
function blockOf(block: unknown): number | undefined {
  if (block === undefined || block === null || block === 'latest' || block === 'pending') return HEAD
  return quantityOf(typeof block === 'object' ? (block as { blockNumber?: unknown }).blockNumber : block)
}

function quantityOf(value: unknown): number | undefined {
  const isNumber = typeof value === 'bigint' || (typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value))
  const number = isNumber ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined
}
