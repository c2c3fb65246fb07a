import type { Dispatcher } from 'undici'
import { OptionError } from '../errors.ts'
import type { Layer } from '../rpc/call.ts'
import type { HedgeOptions } from '../rpc/route/hedge.ts'
import { show } from '../text.ts'

/** A limit in calls. */
export interface CallRate {
  /** Calls per second and endpoint, entries of a batch counted. */
  readonly callsPerSecond: number
}

/** A limit in units, of which the methods cost different numbers. */
export interface UnitRate {
  /** Units per second and endpoint. */
  readonly unitsPerSecond: number
  /** What methods cost, where it is not what Alchemy charges; methods that are unknown there cost 20. */
  readonly units?: Readonly<Record<string, number>>
}

/** How a client talks to its endpoints. Every option is checked by `createClient`. */
export interface ClientOptions {
  /** Longest batch to begin with, in calls; a batch that an endpoint refuses is halved. `false`: one POST per call. Default `{ maxCalls: 100 }`. */
  readonly batch?: { readonly maxCalls?: number } | false
  /** POSTs in flight per endpoint, at most. Default 8; 100 where each call is a POST: with `batch: false`, and at endpoints that take no batches. */
  readonly concurrency?: number
  /** What may go per second and endpoint. Default: no limit but what the endpoint's throttling teaches. */
  readonly rate?: CallRate | UnitRate
  /**
   * `attempts` counts the first one (default 4); between them are waits with full jitter, up to `baseDelayMs` (150) doubled
   * each time, at most `maxDelayMs` (10,000). `false`: one attempt.
   */
  readonly retry?: { readonly attempts?: number; readonly baseDelayMs?: number; readonly maxDelayMs?: number } | false
  /** One POST from its start to the last byte of its reply, in ms; waiting in line is not counted. Default 30,000. */
  readonly timeoutMs?: number
  /** One call with all its attempts and waits, in ms. Default 120,000. */
  readonly deadlineMs?: number
  /** Longest reply, in bytes after decompression. Default 128 MiB. */
  readonly maxResponseBytes?: number
  /** Joins identical reads that wait for the same POST. Default true. */
  readonly dedupe?: boolean
  /**
   * Sends a second copy of a read that takes longer than `percentile` (0.95) of the recent ones, to another endpoint where there is one;
   * the first answer counts. Copies are at most `maxExtra` (0.05) of the reads. Default false.
   */
  readonly hedge?: boolean | { readonly percentile?: number; readonly maxExtra?: number }
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** An undici dispatcher to send with, for proxies and TLS settings. It is not closed by the client. */
  readonly dispatcher?: Dispatcher
  /** Ask for compressed replies. Default: yes, but not on this machine. */
  readonly compression?: boolean
  /** The layers around the endpoints, outermost first; `defaults` is `[retry]`. */
  readonly layers?: (defaults: readonly Layer[]) => readonly Layer[]
}

/** Settings of calls, for `client.with`. */
export interface CallSettings {
  /** Ends the calls with its reason. */
  readonly signal?: AbortSignal
  /** One call with all its attempts and waits, in ms. */
  readonly deadlineMs?: number
  /** Bulk calls go behind interactive ones, and are tried until their deadline. */
  readonly priority?: 'interactive' | 'bulk'
  /** How often a call may be tried, the first one counted. */
  readonly attempts?: number
  /** One attempt, from the start of its POST, in ms. It shortens the client's own `timeoutMs`, and never lengthens it. */
  readonly timeoutMs?: number
  /**
   * While an endpoint is left alone because it throttles, calls `wait` (default) for the end of the pause; with `fail` they
   * fail at once with what the endpoint said, for callers that have somewhere else to ask.
   */
  readonly whilePaused?: 'wait' | 'fail'
}

/** What may go per second: units, at the costs that are given; or calls, without any. */
export interface GivenRate {
  readonly perSecond: number
  readonly units?: ReadonlyMap<string, number>
}

/** Options with every default filled in. */
export interface Settings {
  readonly maxCalls: number
  readonly concurrency: number
  /** The same where each call is a POST. */
  readonly singleConcurrency: number
  readonly rate: GivenRate | undefined
  readonly attempts: number
  readonly backoff: { readonly baseDelayMs: number; readonly maxDelayMs: number }
  readonly timeoutMs: number
  readonly deadlineMs: number
  readonly maxResponseBytes: number
  readonly dedupe: boolean
  readonly hedge: HedgeOptions | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher | undefined
  readonly compression: boolean | undefined
  readonly layers: NonNullable<ClientOptions['layers']>
}

const ONE_SOCKET_PER_POST = 1000

/** Names of the options. */
export const CLIENT_OPTIONS = [
  'batch',
  'concurrency',
  'rate',
  'retry',
  'timeoutMs',
  'deadlineMs',
  'maxResponseBytes',
  'dedupe',
  'hedge',
  'headers',
  'dispatcher',
  'compression',
  'layers',
] as const satisfies readonly (keyof ClientOptions)[]

/** Checks every option and fills in the defaults. Throws `OptionError`. */
export function settingsFrom(options: ClientOptions): Settings {
  onlyKnown('options', options, CLIENT_OPTIONS)
  const batch = options.batch === false ? { maxCalls: 1 } : (options.batch ?? {})
  onlyKnown('batch', batch, ['maxCalls'], ' or false')
  const retry = options.retry === false ? { attempts: 1 } : (options.retry ?? {})
  onlyKnown('retry', retry, ['attempts', 'baseDelayMs', 'maxDelayMs'], ' or false')
  const { dispatcher, layers = (defaults) => defaults } = options
  if (dispatcher !== undefined && typeof dispatcher?.dispatch !== 'function') throw new OptionError('dispatcher', 'an undici dispatcher', kindOf(dispatcher))
  if (typeof layers !== 'function') throw new OptionError('layers', 'a function of the default layers', show(layers))
  return {
    maxCalls: whole('batch.maxCalls', batch.maxCalls ?? 100),
    concurrency: whole('concurrency', options.concurrency ?? 8, ONE_SOCKET_PER_POST),
    singleConcurrency: options.concurrency ?? 100,
    rate: options.rate === undefined ? undefined : givenRate(options.rate),
    attempts: attempts('retry.attempts', retry.attempts ?? 4),
    backoff: {
      baseDelayMs: positive('retry.baseDelayMs', retry.baseDelayMs ?? 150),
      maxDelayMs: positive('retry.maxDelayMs', retry.maxDelayMs ?? 10_000),
    },
    timeoutMs: positive('timeoutMs', options.timeoutMs ?? 30_000, LONGEST_TIMER),
    deadlineMs: deadline('deadlineMs', options.deadlineMs ?? 120_000),
    maxResponseBytes: whole('maxResponseBytes', options.maxResponseBytes ?? 128 * 1024 * 1024),
    dedupe: flag('dedupe', options.dedupe ?? true),
    hedge: hedgeFrom(options.hedge ?? false),
    headers: checkHeaders('headers', options.headers ?? {}),
    dispatcher,
    compression: options.compression === undefined ? undefined : flag('compression', options.compression),
    layers,
  }
}

function hedgeFrom(hedge: NonNullable<ClientOptions['hedge']>): HedgeOptions | undefined {
  if (hedge === false) return undefined
  const { percentile = 0.95, maxExtra = 0.05 } = hedge === true ? {} : hedge
  if (hedge !== true) onlyKnown('hedge', hedge, ['percentile', 'maxExtra'], ' or true or false')
  return { percentile: share('hedge.percentile', percentile), maxExtra: share('hedge.maxExtra', maxExtra) }
}

function givenRate(rate: CallRate | UnitRate): GivenRate {
  onlyKnown('rate', rate, ['callsPerSecond', 'unitsPerSecond', 'units'])
  const { callsPerSecond, unitsPerSecond, units = {} } = rate as Partial<CallRate & UnitRate>
  if (unitsPerSecond === undefined) {
    if (callsPerSecond === undefined) throw new OptionError('rate', 'callsPerSecond or unitsPerSecond', 'neither')
    if ('units' in rate) throw new OptionError('rate.units', 'unitsPerSecond with it, of which they are spent', 'callsPerSecond')
    return { perSecond: positive('rate.callsPerSecond', callsPerSecond) }
  }
  if (callsPerSecond !== undefined) throw new OptionError('rate', 'either callsPerSecond or unitsPerSecond', 'both')
  if (!isPlainObject(units)) throw new OptionError('rate.units', 'a plain object of numbers, by method', show(units))
  const costs = new Map(Object.entries(units).map(([method, cost]) => [method, notNegative(`rate.units.${method}`, cost)]))
  return { perSecond: positive('rate.unitsPerSecond', unitsPerSecond), units: costs }
}

/** Checks the settings of calls. Throws `OptionError`. */
export function checkCallSettings(settings: CallSettings): CallSettings {
  onlyKnown('settings', settings, ['signal', 'deadlineMs', 'priority', 'attempts', 'timeoutMs', 'whilePaused'])
  if (settings.signal !== undefined) checkSignal(settings.signal)
  if (settings.deadlineMs !== undefined) deadline('deadlineMs', settings.deadlineMs)
  if (settings.attempts !== undefined) attempts('attempts', settings.attempts)
  if (settings.priority !== undefined && settings.priority !== 'interactive' && settings.priority !== 'bulk') {
    throw new OptionError('priority', "'interactive' or 'bulk'", show(settings.priority))
  }
  if (settings.timeoutMs !== undefined) positive('timeoutMs', settings.timeoutMs, LONGEST_TIMER)
  if (settings.whilePaused !== undefined && settings.whilePaused !== 'wait' && settings.whilePaused !== 'fail') {
    throw new OptionError('whilePaused', "'wait' or 'fail'", show(settings.whilePaused))
  }
  return settings
}

export function checkSignal(signal: unknown): void {
  if (!(signal instanceof AbortSignal)) throw new OptionError('signal', 'an AbortSignal', show(signal))
}

/** Names in lower case. A value is never shown: it may be a key. */
export function checkHeaders(name: string, headers: unknown): Record<string, string> {
  if (!isPlainObject(headers)) throw new OptionError(name, 'a plain object of strings', kindOf(headers))
  const checked: Record<string, string> = {}
  for (const [key, value] of Object.entries(headers)) {
    const lower = key.toLowerCase()
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) throw new OptionError(name, 'header names', 'one with characters that a name cannot have')
    if (['content-length', 'transfer-encoding', 'connection'].includes(lower))
      throw new OptionError(`${name}[${show(key)}]`, 'a header that is not set by the connection itself', 'one that is')
    if (typeof value !== 'string') throw new OptionError(`${name}[${show(key)}]`, 'a string', `a value of type ${typeof value}`)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new OptionError(`${name}[${show(key)}]`, 'printable characters', 'a control character, or one beyond Latin-1')
    checked[lower] = value
  }
  return checked
}

/** Refuses what is no object and options that do not exist, which are most often misspelt ones. */
export function onlyKnown(name: string, options: unknown, known: readonly string[], orElse = ''): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) throw new OptionError(name, `an object${orElse}`, kindOf(options))
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw new OptionError(name, `${known.length === 1 ? 'only' : 'some of'} ${known.join(', ')}`, show(key))
  }
}

/** What a value is, where the value may be a secret. */
function kindOf(value: unknown): string {
  return typeof value === 'string' ? 'a string' : show(value)
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const LONGEST_TIMER = 2 ** 31 - 1

function whole(name: string, value: unknown, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= most) return value
  throw new OptionError(name, most === Number.MAX_SAFE_INTEGER ? 'a whole number of at least 1' : `a whole number from 1 to ${most}`, show(value))
}

function positive(name: string, value: unknown, most = Number.MAX_VALUE): number {
  if (typeof value === 'number' && value > 0 && value <= most) return value
  throw new OptionError(name, most === Number.MAX_VALUE ? 'a number above 0' : `a number above 0, at most ${most}`, show(value))
}

function share(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value < 1) return value
  throw new OptionError(name, 'a number between 0 and 1', show(value))
}

function notNegative(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) return value
  throw new OptionError(name, 'a number that is not negative', show(value))
}

function deadline(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw new OptionError(name, 'a number of ms above 0, or Infinity', show(value))
}

function attempts(name: string, value: unknown): number {
  if (value === Number.POSITIVE_INFINITY || (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1)) return value
  throw new OptionError(name, 'a whole number of at least 1 (the first attempt is counted), or Infinity', show(value))
}

function flag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new OptionError(name, 'true or false', show(value))
}
