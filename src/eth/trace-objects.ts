import { fault, under } from './codec/codec-path.ts'
import type { Address, Hash, Hex } from './codec/hex.ts'
import { decodeNumber } from './codec/quantity.ts'
import {
  arrayOf,
  asSent,
  type Decode,
  decoded,
  type Field,
  type Infer,
  list,
  mapOf,
  nullable,
  number,
  object,
  optional,
  orNull,
  quantity,
} from './codec/schema.ts'

/*
 * What nodes answer to `debug_trace…` and `trace_…`. Sources:
 * - the tracers of geth: https://geth.ethereum.org/docs/developers/evm-tracing/built-in-tracers;
 * - the execution API: https://github.com/ethereum/execution-apis, src/schemas/call-tracer.yaml and
 *   opcode-tracer.yaml;
 * - Parity's traces: https://openethereum.github.io/JSONRPC-trace-module, as Erigon
 *   (https://docs.erigon.tech), Nethermind (https://docs.nethermind.io), Besu and reth write them.
 */

const hex = asSent<Hex>()
const address = asSent<Address>()
const hash = asSent<Hash>()
const text = asSent<string>()

const callLogFields = {
  address,
  topics: asSent<[] | [Hash, ...Hash[]]>(),
  data: hex,
  /** Its index among the logs of the transaction. */
  index: optional(number),
  /** Number of calls of the frame before it. */
  position: optional(number),
}

/** A log of a call frame, with `tracerConfig: { withLog: true }`. */
export interface CallLog extends Infer<typeof callLogFields> {}

const callFrameFields = {
  /**
   * The opcode: `CALL`, `STATICCALL`, `DELEGATECALL`, `CALLCODE`, `CREATE`, `CREATE2`,
   * `SELFDESTRUCT`.
   */
  type: text,
  from: address,
  /** For a creation, the new contract. Absent where it failed. */
  to: optional(nullable(address)),
  /** In wei. Absent where the call cannot carry any. */
  value: optional(quantity),
  /** In gas: what the frame was given. */
  gas: quantity,
  /** In gas. */
  gasUsed: quantity,
  /** In gas, before refunds; from Amsterdam on (EIP-8037), as are the next three. */
  regularGasUsed: optional(quantity),
  /** In gas. */
  stateGasUsed: optional(quantity),
  /** In gas; of the transaction, in its first frame. */
  gasRefund: optional(quantity),
  /** In gas. */
  stateGasRefund: optional(quantity),
  input: hex,
  output: optional(hex),
  /** Why it failed, if it did. */
  error: optional(text),
  /** The text of the revert, where it is a Solidity `Error(string)`. */
  revertReason: optional(text),
  logs: optional(list<CallLog>(object('log of a call frame', ['address', 'topics'], callLogFields))),
}

/** A call with the calls that it made: the result of the `callTracer`. */
export interface CallFrame extends Infer<typeof callFrameFields> {
  /** Absent where it made none. */
  calls?: CallFrame[]
}

/** One frame without its calls. */
const decodeFrame = object('call frame', ['type', 'from'], callFrameFields)

/** Decodes a call frame in place, and the calls in it at any depth, without recursion. */
export const decodeCallFrame: Decode<CallFrame> = (value) => {
  const open: { readonly calls: readonly unknown[]; at: number }[] = []
  const enter = (frame: unknown) => {
    const { calls } = decodeFrame(frame) as { readonly calls?: unknown }
    if (calls === undefined || calls === null) return
    if (!Array.isArray(calls)) throw under(fault('an array', calls), 'calls')
    open.push({ calls, at: -1 })
  }
  try {
    enter(value)
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      if (++last.at < last.calls.length) enter(last.calls[last.at])
      else open.pop()
    }
  } catch (caught) {
    throw open.length === 0 ? caught : under(caught, placeIn(open.map(({ at }) => `calls[${at}]`)))
  }
  return value as CallFrame
}

/** Steps at each end of a path that are named. */
const NAMED = 5

/** The steps to a frame as a path, without those in the middle of a long one. */
function placeIn(steps: readonly string[]): string {
  if (steps.length <= 2 * NAMED) return steps.join('.')
  return [...steps.slice(0, NAMED), `(${steps.length - 2 * NAMED} more)`, ...steps.slice(-NAMED)].join('.')
}

/**
 * A count that nodes write as a JSON number, and some as hex. One above 2^53 - 1, such as the gas
 * of a call without a limit, has lost its last digits in `JSON.parse`.
 */
const count: Field<number> = decoded((value) => (typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : decodeNumber(value)))

const structLogFields = {
  /** Position in the code, in bytes. */
  pc: count,
  /** Name of the opcode. */
  op: text,
  /** In gas: what is left before it. */
  gas: count,
  /** In gas. */
  gasCost: count,
  /** Of the call; 1 for the outermost. */
  depth: count,
  error: optional(asSent<unknown>()),
  /** In gas. */
  refund: optional(asSent<number>()),
  /** From the bottom to the top. */
  stack: optional(nullable(asSent<Hex[]>())),
  /** In words of 32 bytes. */
  memory: optional(nullable(asSent<Hex[]>())),
  returnData: optional(hex),
  /** The slots of the contract that were accessed so far. */
  storage: optional(nullable(asSent<Record<Hash, Hash>>())),
}

/** One step of the EVM. */
export interface StructLog extends Infer<typeof structLogFields> {}

const structTraceFields = {
  /** Gas that the transaction used. */
  gas: count,
  failed: asSent<boolean>(),
  returnValue: hex,
  structLogs: list<StructLog>(object('struct log', ['op'], structLogFields)),
}

/** Each step of the EVM: the result without a tracer. Its counts are JSON numbers. */
export interface StructTrace extends Infer<typeof structTraceFields> {}

export const decodeStructTrace: Decode<StructTrace> = object('trace with struct logs', ['structLogs'], structTraceFields)

const accountStateFields = {
  /** In wei. */
  balance: optional(quantity),
  nonce: optional(number),
  code: optional(hex),
  codeHash: optional(hash),
  storage: optional(asSent<Record<Hash, Hash>>()),
}

/** What a transaction found in an account, or left there. */
export interface AccountState extends Infer<typeof accountStateFields> {}

/**
 * The accounts that a transaction touched, as they were before it: the result of the
 * `prestateTracer`.
 */
export type Prestate = Record<Address, AccountState>

const decodePrestate = mapOf<Address, AccountState>('accounts by address', object('state of an account', [], accountStateFields))

const prestateDiffFields = {
  pre: decoded(decodePrestate),
  post: decoded(decodePrestate),
}

/** What a transaction changed: the result of the `prestateTracer` with `diffMode`. */
export interface PrestateDiff extends Infer<typeof prestateDiffFields> {}

const decodePrestateDiff: Decode<PrestateDiff> = object('pre and post state', ['pre', 'post'], prestateDiffFields)

/** How many times each selector was called with how many bytes: `{ '0xa9059cbb-64': 2 }`. */
export type SelectorCounts = Record<string, number>

const decodeSelectorCounts = mapOf<string, number>('counts by selector', decodeNumber)

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

/** The result for one transaction of a block. */
export interface BlockTrace<T> {
  txHash?: Hash
  /** Absent or null where it could not be traced. */
  result?: T | null
  /** Why not. */
  error?: string
}

/** The result of a tracer whose name is not known when the program is written. */
export type AnyTrace = StructTrace | CallFrame | Prestate | PrestateDiff | SelectorCounts | Trace[]

/** The result of a `debug_trace` method with these options: that of their tracer. */
export type TraceOf<O> = O extends object ? ('tracer' extends keyof O ? OfTracer<O['tracer'], O> : StructTrace) : StructTrace

type OfTracer<T, O> = T extends 'callTracer'
  ? CallFrame
  : T extends 'prestateTracer'
    ? OfMode<O extends { readonly tracerConfig: { readonly diffMode: infer D } } ? D : false>
    : T extends '4byteTracer'
      ? SelectorCounts
      : T extends 'flatCallTracer'
        ? Trace[]
        : T extends undefined | ''
          ? StructTrace
          : unknown

type OfMode<D> = D extends true ? PrestateDiff : Prestate

interface TracerOptions {
  readonly tracer?: unknown
  readonly tracerConfig?: { readonly diffMode?: unknown }
}

/**
 * Decoder of one trace with the options that were sent. The result of an unknown tracer stays as
 * sent.
 */
export function traceDecoder(options: unknown): Decode<unknown> {
  const { tracer, tracerConfig } = (options ?? {}) as TracerOptions
  switch (tracer) {
    case undefined:
    case null:
    case '':
      return decodeStructTrace
    case 'callTracer':
      return decodeCallFrame
    case 'prestateTracer':
      return tracerConfig?.diffMode === true ? decodePrestateDiff : decodePrestate
    case '4byteTracer':
      return decodeSelectorCounts
    case 'flatCallTracer':
      return decodeTraces
    default:
      return (value) => value
  }
}

/** Decoder of the traces of a block with the options that were sent. */
export function blockTracesDecoder(options: unknown): Decode<BlockTrace<unknown>[]> {
  const fields = { txHash: optional(hash), result: optional(decoded(orNull(traceDecoder(options)))), error: optional(text) }
  const decodeFields = object('trace of a transaction', [], fields)
  return arrayOf((value) => {
    const trace = decodeFields(value)
    if (trace.result === undefined && trace.error === undefined) throw fault('a result or an error', value)
    return trace as BlockTrace<unknown>
  })
}
