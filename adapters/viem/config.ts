import type { RpcSchema, TransportConfig } from 'viem'
import * as check from '../../src/check.ts'
import type { CallSettings, ClientOptions } from '../../src/client/options.ts'
import { OptionError } from '../../src/errors.ts'
import { isSafe } from '../../src/eth/methods.ts'
import { DEFAULTS as OF_CALLS } from '../../src/rpc/defaults.ts'
import { show } from '../../src/text.ts'
import { LONGEST_TIMER } from '../../src/wait/clock.ts'

type OrUndefined<T> = { readonly [K in keyof T]: T[K] | undefined }

/** Declared as absent, so that a variable of a wider type is refused, too. */
type Absent<K extends PropertyKey> = { readonly [Name in K]?: undefined }

/**
 * Options of the transport: those of `http()` under viem's own names, and those of a hexline
 * client.
 */
export interface HexlineTransportConfig<rpcSchema extends RpcSchema | undefined = undefined, raw extends boolean = false>
  extends OrUndefined<Omit<ClientOptions, 'batch' | 'retry' | 'timeoutMs'>>,
    Absent<keyof typeof REFUSED> {
  /** Key of the transport. Default `hexline`. */
  readonly key?: string | undefined
  /** Name of the transport. Default `hexline JSON-RPC`. */
  readonly name?: string | undefined
  /** Methods to send, or not to send. */
  readonly methods?: TransportConfig['methods'] | undefined
  /** Resolves to `{ error }` for an error of the node, and to `{ result }` otherwise. */
  readonly raw?: raw | boolean | undefined
  /** Types of the methods. */
  readonly rpcSchema?: rpcSchema | RpcSchema | undefined
  /**
   * Retries of a failed call. 0 sends it once. Default 3. Waiting out a rate limit is not counted
   * as a retry, except with 0.
   */
  readonly retryCount?: number | undefined
  /**
   * Longest wait before the first retry, in ms. It doubles each time, with full jitter. Default
   * 150.
   */
  readonly retryDelay?: number | undefined
  /**
   * Time for one attempt, from its start to the last byte of the reply, in ms. Default 30,000. With
   * 0 only `deadlineMs` ends an attempt.
   */
  readonly timeout?: number | undefined
  /**
   * Time for one call with all its attempts and waits, in ms. The default depends on `timeout` and
   * `retryCount`. With both given, it is the longest time that the attempts and the waits between
   * them can take, which also limits a call that is throttled again and again. Otherwise it is
   * 120,000, or that time if it is longer. With a `timeout` of 0 it is an hour.
   */
  readonly deadlineMs?: number | undefined
  /**
   * Sends the calls of one turn of the event loop in a batch: `true` (default), `false`, or the
   * largest batch in calls, as `batchSize` (1,000 if undefined) or `maxCalls` (100 if undefined).
   */
  readonly batch?: boolean | { readonly batchSize?: number | undefined; readonly wait?: number | undefined } | { readonly maxCalls?: number } | undefined
  /** The headers are the only option of `fetch` that is supported. */
  readonly fetchOptions?: ({ readonly headers?: RequestInit['headers'] | undefined } & Absent<Exclude<keyof RequestInit, 'headers'>>) | undefined
  /** Longest reply in bytes, or `false` for no limit. viem's name for `maxResponseBytes`. */
  readonly maxResponseBodySize?: number | false | undefined
}

type Config = HexlineTransportConfig<RpcSchema | undefined, boolean>

const OF_TRANSPORT = ['key', 'name', 'methods', 'raw', 'rpcSchema', 'retryCount', 'timeout']
/** Client options that have the same meaning in viem and in hexline. */
const OF_CLIENT = ['concurrency', 'rate', 'maxResponseBytes', 'dedupe', 'hedge', 'headers', 'dispatcher', 'compression', 'layers'] as const
/** Client options under viem's names. */
const WITH_VIEM_NAMES = ['retryDelay', 'deadlineMs', 'batch', 'fetchOptions', 'maxResponseBodySize']
const NO_FETCH = 'hexline does not use fetch; use an undici `dispatcher` or `layers` instead'
const ALWAYS = 'hexline always keeps sockets alive and reconnects'
/** Options of viem's transports that have no place here, and why. */
const REFUSED = {
  ...{ fetchFn: NO_FETCH, onFetchRequest: NO_FETCH, onFetchResponse: NO_FETCH },
  ...{ keepAlive: ALWAYS, reconnect: ALWAYS },
  rank: 'hexline always ranks endpoints',
} as const

/** Defaults of the transport: those of calls, under viem's names. */
export const DEFAULTS = { retryCount: OF_CALLS.attempts - 1, retryDelay: OF_CALLS.baseDelayMs, timeout: OF_CALLS.timeoutMs } as const

/**
 * Checks the transport's own options. With a client, which has its own options, client options are
 * refused. Throws `OptionError`.
 */
export function checkConfig(config: Config, hasClient: boolean): void {
  const given = config as Record<string, unknown>
  check.onlyKnown('options', given, [...OF_TRANSPORT, ...WITH_VIEM_NAMES, ...OF_CLIENT], { refused: REFUSED })
  const ofClient = hasClient ? [...OF_CLIENT, ...WITH_VIEM_NAMES].find((name) => given[name] !== undefined) : undefined
  if (ofClient !== undefined) throw new OptionError(ofClient, 'undefined with a client, which has its own options', check.withoutText(given[ofClient]))
  for (const option of ['key', 'name'])
    if (given[option] !== undefined && typeof given[option] !== 'string') throw new OptionError(option, 'a string', show(given[option]))
  if (given.raw !== undefined) check.flag('raw', given.raw)
  if (given.methods !== undefined && !isChoice(given.methods))
    throw new OptionError('methods', '{ include } or { exclude }, each an array of names', show(given.methods))
  checkRetryCount(given.retryCount)
  checkMs('retryDelay', given.retryDelay)
  checkMs('timeout', given.timeout)
}

/** The options of the transport's hexline client. Throws `OptionError`. */
export function clientOptions(config: Config): ClientOptions {
  const { retryCount = DEFAULTS.retryCount, retryDelay = DEFAULTS.retryDelay, timeout, deadlineMs, batch, fetchOptions, maxResponseBodySize } = config
  if (fetchOptions !== undefined) check.onlyKnown('fetchOptions', fetchOptions, ['headers'])
  if (maxResponseBodySize !== undefined && config.maxResponseBytes !== undefined)
    throw new OptionError('maxResponseBodySize', 'one of maxResponseBodySize and maxResponseBytes', 'both')
  const headers = { ...check.headers('fetchOptions.headers', plain(fetchOptions?.headers)), ...check.headers('headers', config.headers ?? {}) }
  const maxResponseBytes = maxResponseBodySize === false ? Number.MAX_SAFE_INTEGER : maxResponseBodySize
  return {
    ...defined(Object.fromEntries(OF_CLIENT.map((name) => [name, config[name]]))),
    ...defined({ batch: batchOf(batch), maxResponseBytes }),
    headers,
    retry: { attempts: retryCount + 1, baseDelayMs: Math.max(retryDelay, 1), maxDelayMs: longestDelay(retryDelay) },
    timeoutMs: timeoutMs(timeout) ?? DEFAULTS.timeout,
    deadlineMs: deadlineMs ?? Math.max(OF_CALLS.deadlineMs, (timeout ?? 0) + 10_000),
  }
}

/** What viem sets for one call, from the widest scope to the narrowest. */
export interface CallConfig {
  readonly config: Config
  readonly factory: { readonly retryCount?: number | undefined; readonly timeout?: number | undefined }
  readonly call: {
    readonly method: string
    readonly retryCount?: number | undefined
    readonly timeout?: number | undefined
    readonly signal?: AbortSignal | undefined
  }
}

/**
 * The settings of one call. As with `http()`, the `retryCount` of the config takes precedence over
 * the factory's, and the factory's `timeout` over the config's.
 */
export function callSettings({ config, factory, call }: CallConfig, ownsClient: boolean): CallSettings {
  const retryCount = call.retryCount ?? config.retryCount ?? factory.retryCount
  const timeout = call.timeout ?? factory.timeout ?? config.timeout
  const attempts = attemptsFor(retryCount)
  const ofTransport = config.retryCount ?? factory.retryCount
  const waits = mayWait(ofTransport, call)
  const hasDeadline = ownsClient && config.deadlineMs === undefined && timeout !== undefined
  // What waits has the deadline that it would have with the transport's own retries.
  const forDeadline = waits ? ofTransport : retryCount
  const needed = hasDeadline ? longestMs(attemptsFor(forDeadline) ?? OF_CALLS.attempts, checkMs('timeout', timeout), config.retryDelay) : 0
  // Given together, they set how long a call may take in all.
  const isExplicit = hasDeadline && forDeadline !== undefined
  return {
    ...defined({ attempts, timeoutMs: timeoutMs(checkMs('timeout', timeout)), signal: call.signal }),
    ...((needed > OF_CALLS.deadlineMs || isExplicit) && { deadlineMs: needed }),
    // viem's `fallback` asks for no retries, so that it can try its next transport at once.
    ...(factory.retryCount === 0 ? { whilePaused: 'fail' } : waits && { whilePaused: 'wait' }),
  }
}

function attemptsFor(retryCount: number | undefined): number | undefined {
  return retryCount === undefined ? undefined : checkRetryCount(retryCount) + 1
}

/**
 * viem's actions that write ask for no retries, so that nothing runs twice: what is throttled has
 * not run, and waits, unless the transport itself has no retries.
 */
function mayWait(ofTransport: number | undefined, { method, retryCount }: CallConfig['call']): boolean {
  return retryCount === 0 && ofTransport !== 0 && !isSafe(method)
}

/** The longest time that all attempts, and the waits before and between them, can take, in ms. */
function longestMs(attempts: number, timeout: number, retryDelay: number = OF_CALLS.baseDelayMs): number {
  if (timeout === 0) return HOUR
  const delay = Math.max(retryDelay, 1)
  return attempts * timeout + Math.min(attempts * longestDelay(delay), delay * (2 ** attempts - 1))
}

/** The longest wait between two attempts, in ms. */
function longestDelay(retryDelay: number): number {
  return Math.max(retryDelay, OF_CALLS.maxDelayMs)
}

const HOUR = 3_600_000

/** Translates viem's `timeout` of 0, which means no timeout. */
function timeoutMs(timeout: number | undefined): number | undefined {
  return timeout === 0 ? LONGEST_TIMER : timeout
}

function batchOf(batch: Config['batch']): ClientOptions['batch'] {
  if (batch === undefined || batch === true) return undefined
  if (typeof batch !== 'object' || batch === null || 'maxCalls' in batch) return batch as ClientOptions['batch']
  check.onlyKnown('batch', batch, ['batchSize', 'wait', 'maxCalls'], { orElse: ', true or false' })
  // hexline collects a batch without a timer, so `wait` has no effect.
  return { maxCalls: (batch as { batchSize?: number }).batchSize ?? 1000 }
}

/** Avoids `Headers`, whose errors show the value. */
function plain(headers: RequestInit['headers']): unknown {
  return typeof headers === 'object' && Symbol.iterator in headers ? Object.fromEntries(headers as Iterable<[string, string]>) : (headers ?? {})
}

/** Removes the options that are undefined. */
function defined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

function isChoice(methods: unknown): boolean {
  if (typeof methods !== 'object' || methods === null || Array.isArray(methods)) return false
  return Object.entries(methods).every(([key, names]) => (key === 'include' || key === 'exclude') && (names === undefined || Array.isArray(names)))
}

function checkRetryCount<T>(value: T): T & number {
  return (value === undefined ? value : check.wholeOrInfinity('retryCount', value, 0)) as T & number
}

function checkMs<T>(option: string, value: T): T {
  if (value !== undefined) check.msOrZero(option, value)
  return value
}
