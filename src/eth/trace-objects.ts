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
import { decodeTraces, type Trace } from './parity-traces.ts'

/*
 * What nodes answer to `debug_trace…`. Sources:
 * - the tracers of geth: https://geth.ethereum.org/docs/developers/evm-tracing/built-in-tracers;
 * - the execution API: https://github.com/ethereum/execution-apis, src/schemas/call-tracer.yaml and
 *   opcode-tracer.yaml.
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
