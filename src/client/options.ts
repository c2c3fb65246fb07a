import type { Dispatcher } from 'undici'
import * as check from '../check.ts'
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
  check.onlyKnown('options', options, CLIENT_OPTIONS)
  const batch = options.batch === false ? { maxCalls: 1 } : (options.batch ?? {})
  check.onlyKnown('batch', batch, ['maxCalls'], { orElse: ' or false' })
  const retry = options.retry === false ? { attempts: 1 } : (options.retry ?? {})
  check.onlyKnown('retry', retry, ['attempts', 'baseDelayMs', 'maxDelayMs'], { orElse: ' or false' })
  const { dispatcher, layers = (defaults) => defaults } = options
  if (typeof layers !== 'function') throw new OptionError('layers', 'a function of the default layers', show(layers))
  return {
    maxCalls: check.whole('batch.maxCalls', batch.maxCalls ?? 100),
    concurrency: check.whole('concurrency', options.concurrency ?? 8, 1, ONE_SOCKET_PER_POST),
    singleConcurrency: options.concurrency ?? 100,
    rate: options.rate === undefined ? undefined : givenRate(options.rate),
    attempts: check.attempts('retry.attempts', retry.attempts ?? 4),
    backoff: {
      baseDelayMs: check.positive('retry.baseDelayMs', retry.baseDelayMs ?? 150),
      maxDelayMs: check.positive('retry.maxDelayMs', retry.maxDelayMs ?? 10_000),
    },
    timeoutMs: check.ms('timeoutMs', options.timeoutMs ?? 30_000),
    deadlineMs: check.msOrInfinity('deadlineMs', options.deadlineMs ?? 120_000),
    maxResponseBytes: check.whole('maxResponseBytes', options.maxResponseBytes ?? 128 * 1024 * 1024),
    dedupe: check.flag('dedupe', options.dedupe ?? true),
    hedge: hedgeFrom(options.hedge ?? false),
    headers: check.headers('headers', options.headers ?? {}),
    dispatcher: dispatcher === undefined ? undefined : check.dispatcher(dispatcher),
    compression: options.compression === undefined ? undefined : check.flag('compression', options.compression),
    layers,
  }
}

function hedgeFrom(hedge: NonNullable<ClientOptions['hedge']>): HedgeOptions | undefined {
  if (hedge === false) return undefined
  const { percentile = 0.95, maxExtra = 0.05 } = hedge === true ? {} : hedge
  if (hedge !== true) check.onlyKnown('hedge', hedge, ['percentile', 'maxExtra'], { orElse: ', true or false' })
  return { percentile: check.share('hedge.percentile', percentile), maxExtra: check.share('hedge.maxExtra', maxExtra) }
}

function givenRate(rate: CallRate | UnitRate): GivenRate {
  check.onlyKnown('rate', rate, ['callsPerSecond', 'unitsPerSecond', 'units'])
  const { callsPerSecond, unitsPerSecond, units = {} } = rate as Partial<CallRate & UnitRate>
  if (unitsPerSecond === undefined) {
    if (callsPerSecond === undefined) throw new OptionError('rate', 'callsPerSecond or unitsPerSecond', 'neither')
    if ('units' in rate) throw new OptionError('rate.units', 'unitsPerSecond beside it', 'callsPerSecond')
    return { perSecond: check.positive('rate.callsPerSecond', callsPerSecond) }
  }
  if (callsPerSecond !== undefined) throw new OptionError('rate', 'either callsPerSecond or unitsPerSecond', 'both')
  const costs = new Map(
    Object.entries(check.plainObject('rate.units', units, 'of numbers, by method')).map(([method, cost]) => [
      method,
      check.notNegative(`rate.units.${method}`, cost),
    ]),
  )
  return { perSecond: check.positive('rate.unitsPerSecond', unitsPerSecond), units: costs }
}

/** Checks the settings of calls. Throws `OptionError`. */
export function checkCallSettings(settings: CallSettings): CallSettings {
  check.onlyKnown('settings', settings, ['signal', 'deadlineMs', 'priority', 'attempts', 'timeoutMs', 'whilePaused'])
  if (settings.signal !== undefined) check.signal(settings.signal)
  if (settings.deadlineMs !== undefined) check.msOrInfinity('deadlineMs', settings.deadlineMs)
  if (settings.attempts !== undefined) check.attempts('attempts', settings.attempts)
  if (settings.priority !== undefined) check.oneOf('priority', settings.priority, ['interactive', 'bulk'])
  if (settings.timeoutMs !== undefined) check.ms('timeoutMs', settings.timeoutMs)
  if (settings.whilePaused !== undefined) check.oneOf('whilePaused', settings.whilePaused, ['wait', 'fail'])
  return settings
}
