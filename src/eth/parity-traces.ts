import type { Address, Hash, Hex } from './codec/hex.ts'
import { arrayOf, asSent, type Decode, decoded, type Field, type Infer, list, mapOf, nullable, number, object, optional, quantity } from './codec/schema.ts'

/*
 * What nodes answer to `trace_…`: Parity's traces
 * (https://openethereum.github.io/JSONRPC-trace-module), as Erigon (https://docs.erigon.tech),
 * Nethermind (https://docs.nethermind.io), Besu and reth write them.
 */

const hex = asSent<Hex>()
const address = asSent<Address>()
const hash = asSent<Hash>()
const text = asSent<string>()

const actionFields = {
  /** Calls: `call`, `staticcall`, `delegatecall`, `callcode`. */
  callType: optional(text),
  from: optional(address),
  to: optional(address),
  /** In gas. */
  gas: optional(quantity),
  /** In wei. */
  value: optional(quantity),
  input: optional(hex),
  init: optional(hex),
  creationMethod: optional(text),
  address: optional(address),
  refundAddress: optional(address),
  /** In wei. */
  balance: optional(quantity),
  author: optional(address),
  rewardType: optional(text),
}

const traceResultFields = {
  /** In gas. */
  gasUsed: optional(quantity),
  output: optional(hex),
  address: optional(address),
  code: optional(hex),
}

const traceFields = {
  /** Which trace of its transaction it is: `[1, 0]` is the first call of the second call. */
  traceAddress: asSent<number[]>(),
  /** Number of calls that it made. */
  subtraces: number,
  /** Why it failed, if it did; its result is then null or absent. */
  error: optional(text),
  blockHash: optional(nullable(hash)),
  blockNumber: optional(nullable(quantity)),
  /** Null or absent for a reward, as is the next one. */
  transactionHash: optional(nullable(hash)),
  /** Index of the transaction in its block. */
  transactionPosition: optional(nullable(number)),
}

interface TraceFields extends Infer<typeof traceFields> {}

/** A call, in the form of Parity. */
export interface CallTrace extends TraceFields {
  type: 'call'
  /** `gas` in gas, `value` in wei; `callType` as `call` or `delegatecall`. */
  action: { callType: string; from: Address; to: Address; gas: bigint; value: bigint; input: Hex }
  result?: { gasUsed: bigint; output: Hex } | null
}

/** The creation of a contract, in the form of Parity. */
export interface CreateTrace extends TraceFields {
  type: 'create'
  /** `gas` in gas, `value` in wei; `creationMethod` as `create` or `create2`. */
  action: { from: Address; gas: bigint; value: bigint; init: Hex; creationMethod?: string }
  result?: { gasUsed: bigint; address: Address; code: Hex } | null
}

/** The end of a contract by `SELFDESTRUCT`, in the form of Parity. */
export interface SuicideTrace extends TraceFields {
  type: 'suicide'
  /** `balance` in wei. */
  action: { address: Address; refundAddress: Address; balance: bigint }
  result?: null
}

/** What a block of a chain with proof of work paid, in the form of Parity. */
export interface RewardTrace extends TraceFields {
  type: 'reward'
  /** `value` in wei; `rewardType` as `block` or `uncle`. */
  action: { author: Address; rewardType: string; value: bigint }
  result?: null
}

/** One call, creation, self-destruction or reward of a block, in the form of Parity. */
export type Trace = CallTrace | CreateTrace | SuicideTrace | RewardTrace

const decodeTraceFields = object('trace', ['action', 'type', 'traceAddress'], {
  ...traceFields,
  type: text,
  action: decoded(object('action of a trace', [], actionFields)),
  result: optional(decoded(object('result of a trace', [], traceResultFields))),
})

/** Which fields an action has follows from the type of the trace. */
export const decodeTrace = decodeTraceFields as Decode<unknown> as Decode<Trace>
export const decodeTraces: Decode<Trace[]> = arrayOf(decodeTrace)

/**
 * A value that a transaction may have changed: `=` if it did not, `+` for a value that is new, `-`
 * for one that is gone.
 */
export type Change<T> = '=' | { '+': T } | { '-': T } | { '*': { from: T; to: T } }

const decodeChange = <T>(item: Field<T>): Decode<Change<T>> => {
  const both = object('change', ['from', 'to'], { from: item, to: item })
  const fields = object('change: "=", or an object with +, - or *', [], { '+': optional(item), '-': optional(item), '*': optional(decoded(both)) })
  return (value) => (value === '=' ? value : (fields(value) as Change<T>))
}

const accountDiffFields = {
  /** In wei. */
  balance: decoded(decodeChange(quantity)),
  nonce: decoded(decodeChange(number)),
  code: asSent<Change<Hex>>(),
  storage: asSent<Record<Hash, Change<Hash>>>(),
}

/** What a transaction changed in an account, in the form of Parity. */
export interface AccountDiff extends Infer<typeof accountDiffFields> {}

/** Each step of the EVM, in the form of Parity, as sent: its numbers are JSON numbers. */
export interface VmTrace {
  code: Hex
  ops: {
    cost: number
    ex: { mem: { data: Hex; off: number } | null; push: Hex[]; store: { key: Hex; val: Hex } | null; used: number } | null
    pc: number
    /** The steps of the call that it made. */
    sub: VmTrace | null
    op?: string
    idx?: string
  }[]
}

const traceResultsFields = {
  output: hex,
  /** Null where it was not asked for, as are the next two; then `trace` may also be empty. */
  stateDiff: optional(nullable(decoded(mapOf<Address, AccountDiff>('changes by address', object('change of an account', [], accountDiffFields))))),
  trace: optional(nullable(list(decodeTrace))),
  vmTrace: optional(nullable(asSent<VmTrace>())),
  transactionHash: optional(hash),
}

/** What a transaction or call did, in the form of Parity. */
export interface TraceResults extends Infer<typeof traceResultsFields> {}

export const decodeTraceResults: Decode<TraceResults> = object('results of a trace', ['output'], traceResultsFields)
