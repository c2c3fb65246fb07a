import { fault } from './codec/codec-path.ts'
import type { Address, Hash, Hex } from './codec/hex.ts'
import { arrayOf, asSent, type Decode, decoded, type Infer, list, mapOf, nullable, number, object, optional, quantity } from './codec/schema.ts'
import { hex as decodeHex } from './method.ts'
import { type Block, decodeHash, decodeLog, decodeTransaction, headerFields, type Log, type Transaction, transactionFields } from './objects.ts'

/*
 * The objects of the methods of node-methods.ts, except for traces:
 * https://github.com/ethereum/execution-apis, src/schemas, and what geth adds to them.
 */

const hex = asSent<Hex>()
const hash = asSent<Hash>()
const address = asSent<Address>()
const text = asSent<string>()

const headFields = { number: quantity, hash }
const deleteStrategyFields = {
  /** `none` keeps all; `window` keeps the last `retentionBlocks`. */
  type: text,
  retentionBlocks: optional(quantity),
}
const resourceFields = {
  /** True where the node has none of it. */
  disabled: optional(asSent<boolean>()),
  /** Number of the oldest block of which the node has it. */
  oldestBlock: optional(nullable(quantity)),
  deleteStrategy: optional(nullable(decoded(object('delete strategy', [], deleteStrategyFields)))),
}

/** What a node keeps of one kind of data. */
export interface NodeResource extends Infer<typeof resourceFields> {}

const resource = optional(decoded<NodeResource>(object('resource of a node', [], resourceFields)))
const capabilitiesFields = {
  head: optional(decoded(object('head', ['number'], headFields))),
  /** Balances, code and storage. */
  state: resource,
  /** Transactions by hash. */
  tx: resource,
  logs: resource,
  receipts: resource,
  blocks: resource,
  /** For `eth_getProof`. */
  stateproofs: resource,
}

/** Which history a node has. */
export interface Capabilities extends Infer<typeof capabilitiesFields> {}

export const decodeCapabilities: Decode<Capabilities> = object('capabilities', [], capabilitiesFields)

const blobScheduleFields = {
  baseFeeUpdateFraction: number,
  /** Most blobs in a block. */
  max: number,
  target: number,
}
const forkConfigFields = {
  /** In seconds. */
  activationTime: quantity,
  blobSchedule: nullable(decoded(object('blob schedule', [], blobScheduleFields))),
  chainId: number,
  /** EIP-6122. */
  forkId: hex,
  /** By name. */
  precompiles: asSent<Record<string, Address>>(),
  /** By name. */
  systemContracts: asSent<Record<string, Address>>(),
}

/** How a node is configured for one fork. */
export interface ForkConfig extends Infer<typeof forkConfigFields> {}

const fork = decoded<ForkConfig>(object('fork configuration', ['activationTime'], forkConfigFields))
const configFields = {
  current: fork,
  /** Null or absent where no fork is scheduled, as is `last`. */
  next: optional(nullable(fork)),
  last: optional(nullable(fork)),
}

/** The forks that a node knows (EIP-7910). */
export interface NodeConfig extends Infer<typeof configFields> {}

export const decodeConfig: Decode<NodeConfig> = object('configuration', ['current'], configFields)

const simulatedCallFields = {
  returnData: hex,
  logs: list<Log>(decodeLog),
  /** In gas. */
  gasUsed: quantity,
  /** In gas, before refunds. */
  maxUsedGas: optional(quantity),
  /** 1 success, 0 failure. */
  status: number,
  /** Why it failed. */
  error: optional(asSent<{ code: number; message: string; data?: Hex }>()),
}

/** What one call of a simulation did. */
export interface SimulatedCall extends Infer<typeof simulatedCallFields> {}

/** A block that was simulated, with what its calls did. */
export interface SimulatedBlock extends Block {
  calls: SimulatedCall[]
}

const decodeEitherTransaction = (value: unknown) => (typeof value === 'string' ? decodeHash(value) : decodeTransaction(value))

export const decodeSimulation = arrayOf(
  object('simulated block', ['number', 'calls'], {
    ...headerFields,
    transactions: optional(list<Hash | Transaction>(decodeEitherTransaction)),
    calls: list<SimulatedCall>(object('simulated call', ['status', 'returnData'], simulatedCallFields)),
  }),
) as Decode<unknown> as Decode<SimulatedBlock[]>

const filledFields = {
  /** What `eth_sendRawTransaction` takes, but without a signature. */
  raw: hex,
  tx: decoded(object('transaction', [], transactionFields) as Decode<unknown> as Decode<Partial<Transaction>>),
}

/** A transaction with its missing fields filled in. It is not signed. */
export interface FilledTransaction extends Infer<typeof filledFields> {}

export const decodeFilled: Decode<FilledTransaction> = object('filled transaction', ['raw', 'tx'], filledFields)

const storageChangeFields = {
  /** 0 before the transactions, n for transaction n - 1, and one more after them. */
  index: number,
  value: hex,
}
const slotChangesFields = { key: hex, changes: list(object('storage change', ['index'], storageChangeFields)) }
const balanceChangeFields = {
  index: number,
  /** In wei. */
  value: quantity,
}
const nonceChangeFields = { index: number, value: number }
const codeChangeFields = { index: number, code: hex }
const accountAccessFields = {
  address,
  storageChanges: optional(list(object('slot changes', ['key'], slotChangesFields))),
  storageReads: optional(asSent<Hash[]>()),
  balanceChanges: optional(list(object('balance change', ['index'], balanceChangeFields))),
  nonceChanges: optional(list(object('nonce change', ['index'], nonceChangeFields))),
  codeChanges: optional(list(object('code change', ['index'], codeChangeFields))),
}

/** What a block read and changed in an account (EIP-7928). */
export interface AccountAccess extends Infer<typeof accountAccessFields> {}

export const decodeBlockAccessList: Decode<AccountAccess[]> = arrayOf(object('account of a block access list', ['address'], accountAccessFields))

const syncStatusFields = {
  startingBlock: optional(quantity),
  currentBlock: optional(quantity),
  highestBlock: optional(quantity),
}

/** How far a node is that has not caught up with its chain. */
export interface SyncStatus extends Infer<typeof syncStatusFields> {}

const decodeSyncStatus = object('sync status, or false', [], syncStatusFields)

/** False for a node that is not syncing. */
export const decodeSyncing = (value: unknown): SyncStatus | false => (value === false ? false : decodeSyncStatus(value))

const syncNoticeFields = {
  /** Absent at nodes that say so by `true` and `false` alone. */
  syncing: optional(asSent<boolean>()),
  /** How far geth is; other nodes have these fields beside `syncing`. */
  status: optional(nullable(decoded<SyncStatus>(decodeSyncStatus))),
  ...syncStatusFields,
}

/** How far a node is, as it notifies a subscription to `syncing`. */
export interface SyncNotice extends Infer<typeof syncNoticeFields> {}

const decodeSyncObject = object('sync status, true or false', [], syncNoticeFields)

/** False once a node has caught up with its chain. */
export const decodeSyncNotice = (value: unknown): SyncNotice | boolean => (typeof value === 'boolean' ? value : decodeSyncObject(value))

const poolStatusFields = {
  /** Number of transactions that the next blocks may have. */
  pending: number,
  /** Number of those that wait for one before them. */
  queued: number,
}

/** Size of a node's pool. */
export interface PoolStatus extends Infer<typeof poolStatusFields> {}

export const decodePoolStatus: Decode<PoolStatus> = object('pool status', ['pending', 'queued'], poolStatusFields)

/** Transactions of an account by their nonces, in decimal. */
export type TransactionsByNonce = Record<string, Transaction>

const decodeByNonce = mapOf<string, Transaction>('transactions by nonce', decodeTransaction)
const decodeByAddress = mapOf<Address, TransactionsByNonce>('transactions by address', decodeByNonce)
const poolContentFields = { pending: decoded(decodeByAddress), queued: decoded(decodeByAddress) }
const poolContentFromFields = { pending: decoded(decodeByNonce), queued: decoded(decodeByNonce) }
const inspected = decoded(
  mapOf<Address, Record<string, string>>(
    'texts by address',
    mapOf<string, string>('texts by nonce', (value) => textOf(value)),
  ),
)
const poolInspectionFields = { pending: inspected, queued: inspected }

/** The transactions of a node's pool, by their senders. */
export interface PoolContent extends Infer<typeof poolContentFields> {}

/** The transactions of one sender in a node's pool. */
export interface PoolContentFrom extends Infer<typeof poolContentFromFields> {}

/** The transactions of a node's pool, each as a line of text. */
export interface PoolInspection extends Infer<typeof poolInspectionFields> {}

export const decodePoolContent: Decode<PoolContent> = object('pool content', ['pending', 'queued'], poolContentFields)
export const decodePoolContentFrom: Decode<PoolContentFrom> = object('pool content', ['pending', 'queued'], poolContentFromFields)
export const decodePoolInspection: Decode<PoolInspection> = object('pool content as text', ['pending', 'queued'], poolInspectionFields)

/** Logs, or hashes of blocks or transactions: whatever the filter is for. */
export const decodeFilterChanges = arrayOf<Log | Hash>((value) => (typeof value === 'string' ? (value as Hash) : decodeLog(value)))

/** Values of the requested slots, by address, in the order of the request. */
export const decodeStorageValues = mapOf<Address, Hex[]>('slots by address', arrayOf<Hex>(decodeHex))

export const decodeBytesList: Decode<Hex[]> = arrayOf<Hex>(decodeHex)
export const decodeTextMap = mapOf<string, string>('texts by name', textOf)

/** Takes any string. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  throw fault('a string', value)
}

/** Takes true or false. */
export function booleanOf(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw fault('true or false', value)
}
