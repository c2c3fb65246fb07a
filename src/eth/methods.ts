import { CodecError } from '../errors.ts'
import { nearestName } from '../nearest-name.ts'
import { show } from '../text.ts'
import { moved } from './codec/codec-path.ts'
import type { Address, Hash, Hex } from './codec/hex.ts'
import { decodeNumber, decodeQuantity, type Quantity } from './codec/quantity.ts'
import { type Decode, orNull } from './codec/schema.ts'
import { hex, latest, type Method, params, read, write } from './method.ts'
import { nodeMethods } from './node-methods.ts'
import {
  type Block,
  blockDecoder,
  decodeAccessListResult,
  decodeFeeHistory,
  decodeLogs,
  decodeProof,
  decodeReceipt,
  decodeReceipts,
  decodeTransaction,
  decodeUncle,
  type MinedTransaction,
  type PendingBlock,
} from './objects.ts'
import { isOtherRead } from './other-reads.ts'
import {
  address,
  type BlockId,
  type BlockNumber,
  block,
  blockNumber,
  blockOverrides,
  bytes,
  type CallObject,
  call,
  encodeParams,
  filter,
  flag,
  hash,
  type Json,
  type LogFilter,
  percentiles,
  quantity,
  stateOverrides,
  storageKey,
  storageKeys,
  withDefault,
  withoutDefault,
} from './params.ts'

const count = orNull(decodeNumber)
const transaction = orNull(decodeTransaction)
const uncle = orNull(decodeUncle)
const minedTransaction = orNull(decodeTransaction as Decode<MinedTransaction>)
const blockOrNull = (value: unknown, [, full]: readonly unknown[]): Block | null => (value === null ? null : blockDecoder(full === true)(value))
const blockAtOrNull: (value: unknown, params: readonly unknown[]) => Block | PendingBlock | null = blockOrNull

/**
 * The 28 methods of the service, in the order of its specification (section 8), one row each.
 * docs/methods.md is made from it.
 */
export const methods = {
  /** Number of the newest block that the node has. */
  eth_blockNumber: read(params<[]>(), decodeQuantity),
  /**
   * Runs a call on the state of a block without making a transaction, and gives the bytes that it
   * returns. A revert is an `RpcError` of the kind `execution`, with its bytes in `data`.
   */
  eth_call: read(
    params<[call: CallObject, block?: BlockId | null, stateOverrides?: Json, blockOverrides?: Json]>(
      call,
      latest,
      withoutDefault(stateOverrides, {}),
      withoutDefault(blockOverrides, {}),
    ),
    hex,
  ),
  /** Id of the chain (EIP-155). */
  eth_chainId: read(params<[]>(), decodeNumber),
  /**
   * The accounts and storage slots that a call touches, and the gas that it uses when it
   * announces them (EIP-2930).
   */
  eth_createAccessList: read(
    params<[call: CallObject, block?: BlockId | null, stateOverrides?: Json]>(call, latest, withoutDefault(stateOverrides, {})),
    decodeAccessListResult,
  ),
  /** Gas that a transaction would need. */
  eth_estimateGas: read(
    params<[call: CallObject, block?: BlockId | null, stateOverrides?: Json, blockOverrides?: Json]>(
      call,
      withoutDefault(block, 'latest'),
      withoutDefault(stateOverrides, {}),
      withoutDefault(blockOverrides, {}),
    ),
    decodeQuantity,
  ),
  /**
   * Of the last `blockCount` blocks up to `newestBlock`: base fees, shares of gas used and, at
   * the given percentiles, priority fees; fees in wei.
   */
  eth_feeHistory: read(
    params<[blockCount: Quantity, newestBlock: BlockNumber, rewardPercentiles?: readonly number[] | null]>(quantity, blockNumber, withDefault(percentiles, [])),
    decodeFeeHistory,
  ),
  /** A gas price that is enough at the moment, in wei. */
  eth_gasPrice: read(params<[]>(), decodeQuantity),
  /** Balance of an account, in wei. */
  eth_getBalance: read(params<[address: Address, block?: BlockId | null]>(address, latest), decodeQuantity),
  /**
   * A block by its hash, with its transactions if `full` is true, else with their hashes. Null if
   * the node does not have it.
   */
  eth_getBlockByHash: read(params<[blockHash: Hash, full: boolean]>(hash, flag), blockOrNull),
  /**
   * A block by its number or tag, with its transactions if `full` is true, else with their
   * hashes. Null if the node does not have it.
   */
  eth_getBlockByNumber: read(params<[block: BlockNumber, full: boolean]>(blockNumber, flag), blockAtOrNull),
  /** Number of transactions in a block, by its hash. Null if the node does not have the block. */
  eth_getBlockTransactionCountByHash: read(params<[blockHash: Hash]>(hash), count),
  /**
   * Number of transactions in a block, by its number or tag. Null if the node does not have the
   * block.
   */
  eth_getBlockTransactionCountByNumber: read(params<[block: BlockNumber]>(blockNumber), count),
  /**
   * Receipts of all transactions of a block, in their order. Null if the node does not have the
   * block. Some nodes lack this method.
   */
  eth_getBlockReceipts: read(params<[block: BlockId]>(block), orNull(decodeReceipts)),
  /** Code of an account; `0x` if it has none. */
  eth_getCode: read(params<[address: Address, block?: BlockId | null]>(address, latest), hex),
  /**
   * The logs that match a filter, in one call: nodes refuse ranges that are too long for them.
   * `getLogs` of `hexline/bulk` takes ranges of any length.
   */
  eth_getLogs: read(params<[filter: LogFilter]>(filter), decodeLogs),
  /** Merkle proof of an account and of some of its storage slots (EIP-1186). */
  eth_getProof: read(params<[address: Address, storageKeys: readonly Quantity[], block?: BlockId | null]>(address, storageKeys, latest), decodeProof),
  /** Value of a storage slot of an account. */
  eth_getStorageAt: read(params<[address: Address, slot: Quantity, block?: BlockId | null]>(address, storageKey, latest), hex),
  /** A transaction by its hash, also a pending one. Null if the node does not know it. */
  eth_getTransactionByHash: read(params<[transactionHash: Hash]>(hash), transaction),
  /** A transaction by the hash of its block and its index there. Null if there is none. */
  eth_getTransactionByBlockHashAndIndex: read(params<[blockHash: Hash, index: Quantity]>(hash, quantity), minedTransaction),
  /** A transaction by the number or tag of its block and its index there. Null if there is none. */
  eth_getTransactionByBlockNumberAndIndex: read(params<[block: BlockNumber, index: Quantity]>(blockNumber, quantity), transaction),
  /**
   * Number of transactions that an account has sent, which is the nonce of its next one. With
   * `pending`, those that wait in the node's pool count as well.
   */
  eth_getTransactionCount: read(params<[address: Address, block?: BlockId | null]>(address, latest), decodeNumber),
  /** Receipt of a transaction. Null until it is in a block. */
  eth_getTransactionReceipt: read(params<[transactionHash: Hash]>(hash), orNull(decodeReceipt)),
  /**
   * An uncle by the hash of the block that includes it and its index there. Null if there is
   * none.
   */
  eth_getUncleByBlockHashAndIndex: read(params<[blockHash: Hash, index: Quantity]>(hash, quantity), uncle),
  /**
   * An uncle by the number or tag of the block that includes it and its index there. Null if
   * there is none.
   */
  eth_getUncleByBlockNumberAndIndex: read(params<[block: BlockNumber, index: Quantity]>(blockNumber, quantity), uncle),
  /** Number of uncles of a block, by its hash. Null if the node does not have the block. */
  eth_getUncleCountByBlockHash: read(params<[blockHash: Hash]>(hash), count),
  /**
   * Number of uncles of a block, by its number or tag. Null if the node does not have the block.
   */
  eth_getUncleCountByBlockNumber: read(params<[block: BlockNumber]>(blockNumber), count),
  /** A priority fee per gas that is enough at the moment, in wei. */
  eth_maxPriorityFeePerGas: read(params<[]>(), decodeQuantity),
  /**
   * Sends a signed transaction, and gives its hash. After a failure that leaves open whether a
   * node has it, the transaction is looked up by its hash and sent again: it runs at most once.
   */
  eth_sendRawTransaction: write(params<[transaction: Hex]>(bytes), hex),
}

type Rows = typeof methods & typeof nodeMethods

/** Name of one of the 28 methods of the service. */
export type ServiceMethodName = keyof typeof methods

/** Name of a method that `call` encodes and decodes. */
export type MethodName = keyof Rows

/** Arguments of a method, by name. Null omits an optional one. */
export type MethodParams<M extends MethodName> = Rows[M] extends Method<infer P, unknown> ? P : never

/**
 * Decoded result of a method. That of a `debug_trace` method depends on its tracer: see `TraceOf`.
 */
export type MethodResult<M extends MethodName> = ReturnType<Rows[M]['result']>

/** The names of all methods that `call` encodes and decodes. */
export const methodNames = [...Object.keys(methods), ...Object.keys(nodeMethods)] as readonly MethodName[]

type AnyMethod = Method<readonly never[], unknown>

/**
 * The row of a method; undefined for a method that is in neither table. An array of one name would
 * find the row of that name.
 */
function methodOf(name: string): AnyMethod | undefined {
  if (typeof name !== 'string') return undefined
  if (Object.hasOwn(methods, name)) return methods[name as ServiceMethodName] as unknown as AnyMethod
  return Object.hasOwn(nodeMethods, name) ? (nodeMethods[name as keyof typeof nodeMethods] as unknown as AnyMethod) : undefined
}

function rowOf(name: string): AnyMethod {
  const row = methodOf(name)
  if (row !== undefined) return row
  const near = typeof name === 'string' ? methodMeant(name) : undefined
  const hint = near === undefined ? '' : ` (did you mean \`${near}\`?)`
  throw new CodecError('method', `one of the ${methodNames.length} methods that hexline decodes; request() sends any other`, show(name) + hint)
}

/**
 * The method that a misspelt name most likely means; undefined for a name of the table, and for one
 * that is near none.
 */
export function methodMeant(name: string): string | undefined {
  if (isKnown(name)) return undefined
  return nearestName(name, methodNames) ?? nearestName(`eth_${name}`, methodNames)
}

/** True for the methods of both tables. */
export function isKnown(name: string): boolean {
  return methodOf(name) !== undefined
}

/**
 * True when a call of this method may run twice: as the table says, or because it is known to read
 * only.
 */
export function isSafe(name: string): boolean {
  return methodOf(name)?.safe ?? isOtherRead(name)
}

/**
 * True for methods that take long at most nodes: log queries search a range of blocks, traces and
 * simulations run transactions, a pool has tens of thousands of them, and
 * `eth_sendRawTransactionSync` waits for a block. All of them commonly take seconds, and would
 * delay every call in the same POST.
 */
export function isHeavy(name: string): boolean {
  return HEAVY.test(name)
}

const HEAVY = /^(?:eth_getLogs|eth_getFilterLogs|eth_simulateV1|eth_sendRawTransactionSync|txpool_(?:content|inspect)|debug_trace\w+|(?:arb)?trace_\w+)$/

/** The arguments of a call as they are sent. Throws `CodecError`. */
export function encodeArguments(name: string, args: readonly unknown[]): unknown[] {
  return encodeParams(name, rowOf(name).params.codecs, args)
}

/**
 * Adds what `encodeArguments` sends for params that are omitted. Nothing is checked, and what is
 * there stays. True if anything was omitted.
 */
export function fillOmitted(name: string, params: unknown[]): boolean {
  let isFilled = false
  for (const [i, { omitted }] of (methodOf(name)?.params.codecs ?? []).entries()) {
    if (params[i] !== undefined && params[i] !== null) continue
    if (omitted?.send !== 'always') break
    params[i] = omitted.wire
    isFilled = true
  }
  return isFilled
}

/**
 * Loaded by the first call of a method with large results: others need not wait for it when they
 * are imported.
 */
let large: typeof import('./large-results.ts') | undefined

/**
 * Decodes a result of `name` from its bytes, at less than the cost of `JSON.parse`. Undefined for a
 * method without large results. It gives what `decodeResult` makes of the parsed bytes, or nothing,
 * or throws: then the bytes are parsed, and `decodeResult` tells what is wrong with them.
 */
export function byteDecoder(name: string, params: readonly unknown[]): ((json: Buffer) => object | undefined) | undefined {
  if (!HAS_LARGE_RESULTS.test(name)) return undefined
  if (large === undefined) void loadLarge()
  return (json) => large?.readLarge(name, params, json)
}

const HAS_LARGE_RESULTS = /^eth_(?:getLogs|getBlockReceipts|getBlockByNumber|getBlockByHash)$/

async function loadLarge(): Promise<void> {
  large = await import('./large-results.ts')
}

/**
 * Decodes a parsed result of `name` in place. Throws `CodecError`, whose path starts inside the
 * result, and is `result` where the result itself is wrong.
 */
export function decodeResult(name: string, value: unknown, params: readonly unknown[]): unknown {
  try {
    return rowOf(name).result(value, params)
  } catch (caught) {
    if (!(caught instanceof CodecError)) throw caught
    throw moved(caught, caught.path === '' ? 'result' : caught.path, { method: name, kind: 'malformed' })
  }
}
