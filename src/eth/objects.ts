import type { Address, Hash, Hex } from './codec/hex.ts'
import { decodeQuantity } from './codec/quantity.ts'
import { arrayOf, asSent, type Decode, type Infer, list, nullable, number, numberOrBig, object, optional, quantity, stringOf } from './codec/schema.ts'

/*
 * The objects of the execution API (https://github.com/ethereum/execution-apis, src/schemas), and
 * what L2s add. A field is stated once, here: its type is derived from how it is decoded.
 */

const hex = asSent<Hex>()
const hash = asSent<Hash>()
const address = asSent<Address>()

/** An account and the storage slots that a transaction announces (EIP-2930). */
export interface AccessListItem {
  address: Address
  storageKeys: Hash[]
}

const authorizationFields = {
  /**
   * Of up to 256 bits: an authorization that holds on no chain does not make its transaction
   * invalid.
   */
  chainId: numberOrBig,
  address,
  /** The account's nonce; of up to 64 bits, for the same reason. */
  nonce: numberOrBig,
  yParity: number,
  r: hex,
  s: hex,
}

/** Permission of an account to run a contract's code as its own (EIP-7702). */
export interface Authorization extends Infer<typeof authorizationFields> {}

export const transactionFields = {
  hash,
  /** Null while the transaction is pending, as are the next two. */
  blockHash: nullable(hash),
  blockNumber: nullable(quantity),
  transactionIndex: nullable(number),
  /** In seconds. */
  blockTimestamp: optional(quantity),
  from: address,
  /** Null when the transaction makes a contract. */
  to: optional(nullable(address)),
  /** 0 legacy, 1 access list, 2 fee market, 3 blobs, 4 set code; chains have their own. */
  type: number,
  /** The account's nonce. */
  nonce: number,
  /** In gas. */
  gas: quantity,
  /** In wei. */
  value: quantity,
  input: hex,
  chainId: optional(number),
  /** In wei; what is paid, for types 2 to 4. */
  gasPrice: optional(quantity),
  /** In wei. */
  maxFeePerGas: optional(quantity),
  /** In wei. */
  maxPriorityFeePerGas: optional(quantity),
  /** In wei. */
  maxFeePerBlobGas: optional(quantity),
  accessList: optional(asSent<AccessListItem[]>()),
  blobVersionedHashes: optional(asSent<Hash[]>()),
  authorizationList: optional(list<Authorization>(object('authorization', ['address'], authorizationFields))),
  v: optional(quantity),
  /** Often absent on types 1 and 2, where `v` says the same. */
  yParity: optional(number),
  r: hex,
  s: hex,
}

/** A transaction as a node gives it, which may be pending. */
export interface Transaction extends Infer<typeof transactionFields> {}

/** A transaction of a mined block. */
export interface MinedTransaction extends Transaction {
  blockHash: Hash
  blockNumber: bigint
  transactionIndex: number
}

export const decodeTransaction: Decode<Transaction> = object('transaction', ['hash'], transactionFields)

const logFields = {
  address,
  topics: asSent<[] | [Hash, ...Hash[]]>(),
  data: hex,
  /** Null while the log is pending, as are the next four. */
  blockHash: nullable(hash),
  blockNumber: nullable(quantity),
  transactionHash: nullable(hash),
  transactionIndex: nullable(number),
  logIndex: nullable(number),
  /** In seconds. */
  blockTimestamp: optional(quantity),
  /** True when its block is no longer part of the chain. */
  removed: asSent<boolean>(),
}

/** An event of a contract, whose transaction may be pending. */
export interface Log extends Infer<typeof logFields> {}

/** A log of a mined block. */
export interface MinedLog extends Log {
  blockHash: Hash
  blockNumber: bigint
  transactionHash: Hash
  transactionIndex: number
  logIndex: number
}

export const decodeLog: Decode<Log> = object('log', ['address', 'topics'], logFields)
export const decodeMinedLog = decodeLog as Decode<MinedLog>

const receiptFields = {
  transactionHash: hash,
  transactionIndex: number,
  blockHash: hash,
  blockNumber: quantity,
  from: address,
  to: optional(nullable(address)),
  /** Of the contract that the transaction made. */
  contractAddress: optional(nullable(address)),
  /** In gas: of the block's transactions up to this one. */
  cumulativeGasUsed: quantity,
  /** In gas. */
  gasUsed: quantity,
  /** In wei. */
  effectiveGasPrice: optional(quantity),
  logs: list(decodeMinedLog),
  logsBloom: hex,
  type: optional(number),
  /** 1 success, 0 failure; before Byzantium `root` stands instead. */
  status: optional(number),
  root: optional(hash),
  /** In blob gas. */
  blobGasUsed: optional(quantity),
  /** In wei. */
  blobGasPrice: optional(quantity),
  /** L2s: in wei. */
  l1Fee: optional(quantity),
  /** L2s: in wei. */
  l1GasPrice: optional(quantity),
  /** L2s: in gas. */
  l1GasUsed: optional(quantity),
  /** L2s: a decimal string. */
  l1FeeScalar: optional(asSent<string>()),
  /** Arbitrum. */
  l1BlockNumber: optional(quantity),
  /** Arbitrum: in gas. */
  gasUsedForL1: optional(quantity),
  /** OP Stack. */
  depositNonce: optional(number),
  /** OP Stack. */
  depositReceiptVersion: optional(number),
}

/** What a mined transaction did. */
export interface Receipt extends Infer<typeof receiptFields> {}

const withdrawalFields = {
  index: number,
  validatorIndex: number,
  address,
  /** In gwei. */
  amount: quantity,
}

/** A payment from the beacon chain (EIP-4895). */
export interface Withdrawal extends Infer<typeof withdrawalFields> {}

export const decodeWithdrawal: Decode<Withdrawal> = object('withdrawal', ['index'], withdrawalFields)

export const headerFields = {
  hash,
  parentHash: hash,
  sha3Uncles: hash,
  miner: address,
  stateRoot: hash,
  transactionsRoot: hash,
  receiptsRoot: hash,
  logsBloom: hex,
  number: quantity,
  /** In gas. */
  gasLimit: quantity,
  /** In gas. */
  gasUsed: quantity,
  /** In seconds. */
  timestamp: quantity,
  extraData: hex,
  mixHash: hash,
  /** 8 bytes. */
  nonce: hex,
  /** In bytes. */
  size: quantity,
  uncles: asSent<Hash[]>(),
  difficulty: optional(quantity),
  totalDifficulty: optional(quantity),
  /** In wei. */
  baseFeePerGas: optional(quantity),
  withdrawalsRoot: optional(hash),
  withdrawals: optional(list(decodeWithdrawal)),
  /** In blob gas. */
  blobGasUsed: optional(quantity),
  /** In blob gas. */
  excessBlobGas: optional(quantity),
  parentBeaconBlockRoot: optional(hash),
  requestsHash: optional(hash),
  blockAccessListHash: optional(hash),
  slotNumber: optional(quantity),
}

const newHeadFields = { ...headerFields, size: optional(quantity), uncles: optional(asSent<Hash[]>()) }

/** The header of a new block, as a subscription sends it; nodes leave out its size and uncles. */
export interface Header extends Infer<typeof newHeadFields> {}

/** An uncle: a block without its transactions. */
export interface Uncle extends Infer<typeof headerFields> {}

/** A mined block with whole transactions (`Full` is true) or with their hashes (false). */
export interface Block<Full extends boolean = boolean> extends Uncle {
  transactions: Full extends true ? MinedTransaction[] : Hash[]
}

/** The block of the tag `pending`, which is not mined yet. */
export interface PendingBlock<Full extends boolean = boolean> extends Omit<Uncle, 'hash' | 'miner' | 'nonce'> {
  hash: Hash | null
  miner: Address | null
  nonce: Hex | null
  transactions: Full extends true ? Transaction[] : Hash[]
}

/** The type of the block at a number or tag: only the one at `pending` may be pending. */
export type BlockAt<At, Full extends boolean> = 'pending' extends At ? PendingBlock<Full> : Block<Full>

/** Any string: hashes stay as sent. What matters is that it is not a transaction. */
export const decodeHash: Decode<Hash> = stringOf('a transaction hash') as Decode<Hash>

const decodeFullBlock = object('block', ['hash', 'number', 'transactions'], { ...headerFields, transactions: list(decodeTransaction) })
const decodeHashBlock = object('block', ['hash', 'number', 'transactions'], { ...headerFields, transactions: list(decodeHash) })

export const decodeReceipt: Decode<Receipt> = object('receipt', ['transactionHash'], receiptFields)
export const decodeReceipts: Decode<Receipt[]> = arrayOf(decodeReceipt)
export const decodeLogs: Decode<Log[]> = arrayOf(decodeLog)
export const decodeHeader: Decode<Header> = object('header', ['hash', 'number'], newHeadFields)
export const decodeUncle: Decode<Uncle> = object('uncle', ['hash', 'number'], headerFields)

/**
 * Decodes a block that was asked for with `full`; one with the other kind of transactions is
 * refused.
 */
export function blockDecoder<Full extends boolean>(full: Full): Decode<Block<Full>> {
  return (full ? decodeFullBlock : decodeHashBlock) as Decode<unknown> as Decode<Block<Full>>
}

const storageProofFields = {
  /** In the node's spelling: 32 bytes, or without leading zeros. */
  key: hex,
  value: quantity,
  proof: asSent<Hex[]>(),
}

/** A storage slot and its Merkle proof. */
export interface StorageProof extends Infer<typeof storageProofFields> {}

const proofFields = {
  address,
  accountProof: asSent<Hex[]>(),
  /** In wei. */
  balance: quantity,
  codeHash: hash,
  /** The account's nonce. */
  nonce: number,
  storageHash: hash,
  storageProof: list<StorageProof>(object('storage proof', ['key'], storageProofFields)),
}

/** An account and its Merkle proof (EIP-1186). */
export interface Proof extends Infer<typeof proofFields> {}

export const decodeProof: Decode<Proof> = object('proof', ['address'], proofFields)

const feeHistoryFields = {
  oldestBlock: quantity,
  /** In wei; one more than there are blocks: the last one is the next block's. */
  baseFeePerGas: list(decodeQuantity),
  /** From 0 to 1. */
  gasUsedRatio: asSent<number[]>(),
  /** In wei: for each block, the priority fees at the requested percentiles. */
  reward: optional(list(arrayOf(decodeQuantity))),
  /** In wei. */
  baseFeePerBlobGas: optional(list(decodeQuantity)),
  /** From 0 to 1. */
  blobGasUsedRatio: optional(asSent<number[]>()),
}

/** Fees of a range of blocks. */
export interface FeeHistory extends Infer<typeof feeHistoryFields> {}

export const decodeFeeHistory: Decode<FeeHistory> = object('fee history', ['oldestBlock'], feeHistoryFields)

const accessListResultFields = {
  accessList: asSent<AccessListItem[]>(),
  /** In gas. */
  gasUsed: quantity,
  /** Why the call would fail, if it would. */
  error: optional(asSent<string>()),
}

/** What a call would touch. */
export interface AccessListResult extends Infer<typeof accessListResultFields> {}

export const decodeAccessListResult: Decode<AccessListResult> = object('access list result', ['accessList'], accessListResultFields)
