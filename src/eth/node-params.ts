import { CodecError } from '../errors.ts'
import { didYouMean } from '../nearest-name.ts'
import { show } from '../text.ts'
import { fault } from './codec/codec-path.ts'
import type { Address, Hex } from './codec/hex.ts'
import { encodeQuantity, type Quantity } from './codec/quantity.ts'
import {
  address,
  type BlockNumber,
  blockNumber,
  blockOverrides,
  type CallObject,
  call,
  each,
  encodeObject,
  fields,
  flag,
  isObject,
  type Json,
  type Param,
  stateOverrides,
  storageKeys,
} from './params.ts'

/** How a `debug_trace` method traces. */
export interface TraceOptions {
  /**
   * `callTracer`, `prestateTracer`, `4byteTracer`, `flatCallTracer`, the name of another one, or
   * JavaScript. Absent: each step of the EVM.
   */
  readonly tracer?: string | undefined
  /**
   * Of the tracer: `{ onlyTopCall, withLog }` for `callTracer`, `{ diffMode, disableCode,
   * disableStorage }` for `prestateTracer`.
   */
  readonly tracerConfig?: { readonly [key: string]: Json | undefined } | undefined
  /** How long the node may take for a transaction, such as `10s`. geth's default is `5s`. */
  readonly timeout?: string | undefined
  /** How many blocks the node may run again for a state that it has dropped. */
  readonly reexec?: number | undefined
  /** Without a tracer: whether steps have the memory. Default false. */
  readonly enableMemory?: boolean | undefined
  /** Without a tracer: whether steps have no stack. Default false. */
  readonly disableStack?: boolean | undefined
  /** Without a tracer: whether steps have no storage. Default false. */
  readonly disableStorage?: boolean | undefined
  /** Without a tracer: whether steps have the data that calls return. Default false. */
  readonly enableReturnData?: boolean | undefined
  /** Without a tracer: at most this many steps; 0 for all. */
  readonly limit?: number | undefined
}

/** The same for a call that is not in a block. */
export interface CallTraceOptions extends TraceOptions {
  /** State to change before the call, by address. */
  readonly stateOverrides?: Json | undefined
  /** Fields of the block to change before the call. */
  readonly blockOverrides?: Json | undefined
  /** Runs the call after this many transactions of its block. Default: after all. */
  readonly txIndex?: Quantity | undefined
}

/** What a `trace_replay` method or `trace_call` is to return. */
export type TraceKind = 'trace' | 'vmTrace' | 'stateDiff'

/** Which traces to return. */
export interface TraceFilter {
  readonly fromBlock?: BlockNumber | undefined
  readonly toBlock?: BlockNumber | undefined
  /** Senders: traces from any of them. */
  readonly fromAddress?: readonly Address[] | undefined
  /** Recipients: traces to any of them. */
  readonly toAddress?: readonly Address[] | undefined
  /** Erigon: whether a trace needs both a sender and a recipient (default), or one of them. */
  readonly mode?: 'intersection' | 'union' | undefined
  /** Number of traces to skip. */
  readonly after?: number | undefined
  /** Most traces to return. */
  readonly count?: number | undefined
}

/** Blocks to simulate on top of one. */
export interface Simulation {
  readonly blockStateCalls: readonly {
    /** Fields of the block. */
    readonly blockOverrides?: Json | undefined
    /** State to change before its calls, by address. */
    readonly stateOverrides?: Json | undefined
    readonly calls?: readonly CallObject[] | undefined
  }[]
  /** Whether calls need a valid nonce, and enough funds and gas. Default false. */
  readonly validation?: boolean | undefined
  /** Whether transfers of ether come as logs. Default false. */
  readonly traceTransfers?: boolean | undefined
  /** Whether blocks have whole transactions. Default false. */
  readonly returnFullTransactions?: boolean | undefined
}

export const traceOptions: Param<CallTraceOptions> = { encode: encodeTraceOptions }
export const bundles: Param<readonly Json[]> = { encode: (value) => each(value, (item) => encodeObject(item, 'a bundle: an object with transactions')) }
/** Where in the chain bundles run. */
export const bundleContext: Param<Json> = { encode: (value) => encodeObject(value, 'an object with blockNumber and transactionIndex') }
export const traceKinds: Param<readonly TraceKind[]> = { encode: (value) => each(value, encodeTraceKind) }
export const traceFilter: Param<TraceFilter> = { encode: encodeTraceFilter }
export const tracedCalls: Param<readonly (readonly [call: CallObject, kinds: readonly TraceKind[]])[]> = { encode: (value) => each(value, encodeTracedCall) }
export const simulation: Param<Simulation> = { encode: encodeSimulation }
export const slotsByAddress: Param<Readonly<Record<Address, readonly Quantity[]>>> = { encode: encodeSlots }
export const indices: Param<readonly Quantity[]> = { encode: (value) => each(value, encodeQuantity) }
export const filterId: Param<Hex> = { encode: encodeFilterId }
/** In ms. Some nodes take a JSON number, others hex: it is sent as it is given. */
export const timeoutMs: Param<number | Hex> = { encode: (value) => (typeof value === 'number' ? encodeCount(value) : encodeQuantity(value)) }

const optionCodecs = {
  tracer: encodeText,
  tracerConfig: (value: unknown) => encodeObject(value, 'an object with options of the tracer'),
  timeout: encodeText,
  enableMemory: flag.encode,
  disableStack: flag.encode,
  disableStorage: flag.encode,
  enableReturnData: flag.encode,
  reexec: encodeCount,
  limit: encodeCount,
  stateOverrides: stateOverrides.encode,
  blockOverrides: blockOverrides.encode,
  txIndex: encodeQuantity,
}

function encodeTraceOptions(value: unknown): unknown {
  if (!isObject(value)) throw fault('an object with options of the trace', value)
  return fields(value, optionCodecs)
}

const KINDS: ReadonlySet<unknown> = new Set<TraceKind>(['trace', 'vmTrace', 'stateDiff'])

function encodeTraceKind(value: unknown): unknown {
  if (KINDS.has(value)) return value
  throw fault("'trace', 'vmTrace' or 'stateDiff'", value)
}

const filterCodecs = {
  fromBlock: blockNumber.encode,
  toBlock: blockNumber.encode,
  fromAddress: (value: unknown) => each(value, address.encode as (item: unknown) => unknown),
  toAddress: (value: unknown) => each(value, address.encode as (item: unknown) => unknown),
  mode: encodeMode,
  after: encodeCount,
  count: encodeCount,
}

function encodeTraceFilter(value: unknown): unknown {
  if (!isObject(value)) throw fault('a filter object', value)
  // A misspelt field, if it were ignored, would widen the query.
  const known = Object.keys(filterCodecs)
  for (const key of Object.keys(value))
    if (!known.includes(key)) throw new CodecError('', `a filter with only ${known.join(', ')}`, show(key) + didYouMean(key, known))
  return fields(value, filterCodecs)
}

function encodeMode(value: unknown): unknown {
  if (value === 'intersection' || value === 'union') return value
  throw fault("'intersection' or 'union'", value)
}

function encodeTracedCall(value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 2) throw fault('a call object and an array of kinds', value)
  return [call.encode(value[0]), traceKinds.encode(value[1])]
}

const blockCodecs = {
  blockOverrides: blockOverrides.encode,
  stateOverrides: stateOverrides.encode,
  calls: (value: unknown) => each(value, call.encode as (item: unknown) => unknown),
}
const simulationCodecs = {
  blockStateCalls: (value: unknown) => each(value, encodeSimulatedBlock),
  validation: flag.encode,
  traceTransfers: flag.encode,
  returnFullTransactions: flag.encode,
}

function encodeSimulation(value: unknown): unknown {
  if (!isObject(value) || value.blockStateCalls == null) throw fault('an object with blockStateCalls', value)
  return fields(value, simulationCodecs)
}

function encodeSimulatedBlock(value: unknown): unknown {
  if (!isObject(value)) throw fault('an object with calls', value)
  return fields(value, blockCodecs)
}

function encodeSlots(value: unknown): unknown {
  if (!isObject(value)) throw fault('an object with storage keys by address', value)
  for (const key of Object.keys(value)) address.encode(key as Address)
  return fields(value, Object.fromEntries(Object.keys(value).map((key) => [key, storageKeys.encode])))
}

/** As the node gave it: some nodes have ids of 16 bytes, with zeros in front. */
function encodeFilterId(value: unknown): unknown {
  if (typeof value === 'string' && /^0x[0-9a-fA-F]+$/.test(value)) return value
  throw fault('the id of a filter, in hex', value)
}

/** A count that is sent as a JSON number; hex stays as it is. */
function encodeCount(value: unknown): unknown {
  if (typeof value === 'string') return encodeQuantity(value)
  const count = typeof value === 'bigint' ? Number(value) : value
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count
  throw fault('a whole number from 0 to 2^53 - 1', value)
}

function encodeText(value: unknown): string {
  if (typeof value === 'string') return value
  throw fault('a string', value)
}
