import type { Dispatcher } from 'undici'
import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import type { Layer } from '../rpc/call.ts'
import { DEFAULTS } from '../rpc/defaults.ts'
import type { HedgeOptions } from '../rpc/route/hedge.ts'
import { show } from '../text.ts'

/** A rate limit in calls. */
export interface CallRate {
  /** Calls per second and endpoint. Each entry of a batch counts. */
  readonly callsPerSecond: number
}

/** A rate limit in units. Each method costs a number of them. */
export interface UnitRate {
  /** Units per second and endpoint. */
  readonly unitsPerSecond: number
  /**
   * Cost by method, in units, where it differs from what the limit of the endpoint's provider
   * counts. Alchemy, Infura, QuickNode and Chainstack are known by their hosts; elsewhere the
   * default is Alchemy's throughput units, 20 for methods that it does not list.
   */
  readonly units?: Readonly<Record<string, number>> | undefined
}

/** Options of a client. `createClient` checks all of them. */
export interface ClientOptions {
  /**
   * The largest batch to begin with, in calls. A batch that an endpoint refuses is halved. `false`
   * sends each call in its own POST. Default `{ maxCalls: 100 }`.
   */
  readonly batch?: { readonly maxCalls?: number | undefined } | false | undefined
  /**
   * Maximum number of POSTs in flight per endpoint. Default 8, or 100 where each call is a POST:
   * with `batch: false`, and at endpoints that take no batches.
   */
  readonly concurrency?: number | undefined
  /**
   * Rate limit per endpoint. Default: none, except for the limit that hexline learns from the
   * endpoint's throttling.
   */
  readonly rate?: CallRate | UnitRate | undefined
  /**
   * Retries of failed calls: `attempts` is the total, with the first one (default 4). The waits
   * between them have full jitter, up to `baseDelayMs` (150) doubled each time, at most
   * `maxDelayMs` (10,000). A wait is longer where the node asks for more time, and before the last
   * attempt, which comes when all waits would be over without jitter. `false`: one attempt.
   */
  readonly retry?:
    | { readonly attempts?: number | undefined; readonly baseDelayMs?: number | undefined; readonly maxDelayMs?: number | undefined }
    | false
    | undefined
  /**
   * Time for one POST, from its start to the last byte of its reply, in ms, without the wait in the
   * queue. Default 30,000.
   */
  readonly timeoutMs?: number | undefined
  /** Time for one call with all its attempts and waits, in ms. Default 120,000. */
  readonly deadlineMs?: number | undefined
  /** Longest reply, in bytes after decompression. Default 128 MiB. */
  readonly maxResponseBytes?: number | undefined
  /** Whether identical reads that wait in the queue share one call. Default true. */
  readonly dedupe?: boolean | undefined
  /**
   * Sends a second copy of a read that takes longer than `percentile` (0.95) of the recent ones, to
   * another endpoint if there is one. The first answer counts. Copies are at most `maxExtra` (0.05)
   * of the reads. Default false.
   */
  readonly hedge?: boolean | { readonly percentile?: number | undefined; readonly maxExtra?: number | undefined } | undefined
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * An undici dispatcher for the requests, for proxies and TLS settings. The client does not close
   * it.
   */
  readonly dispatcher?: Dispatcher | undefined
  /** Whether to request compressed replies. Default true, except for endpoints on this machine. */
  readonly compression?: boolean | undefined
  /** The layers around the endpoints, outermost first; `defaults` is `[retry]`. */
  readonly layers?: ((defaults: readonly Layer[]) => readonly Layer[]) | undefined
}

/** Settings of calls, for `client.with`. */
export interface CallSettings {
  /** Ends the calls; they reject with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Time for one call with all its attempts and waits, in ms. */
  readonly deadlineMs?: number | undefined
  /** Bulk calls yield to interactive ones, and are retried until their deadline. */
  readonly priority?: 'interactive' | 'bulk' | undefined
  /** Maximum number of attempts for a call, with the first one. */
  readonly attempts?: number | undefined
  /**
   * Time for one attempt, from the start of its POST, in ms. It can shorten the client's
   * `timeoutMs`, but not lengthen it.
   */
  readonly timeoutMs?: number | undefined
  /**
   * What a call does while an endpoint is paused because it throttles: `wait` (default) for the end
   * of the pause, or `fail` at once with the endpoint's error, for callers that have an
   * alternative. A call with a single attempt that is itself throttled waits only where `wait` is
   * set.
   */
  readonly whilePaused?: 'wait' | 'fail' | undefined
}

/** A checked rate limit: in units, with the given costs, or in calls. */
interface GivenRate {
  readonly perSecond: number
  readonly units?: ReadonlyMap<string, number>
}

/** Options with every default filled in. */
export interface Settings {
  readonly maxCalls: number
  readonly concurrency: number
  /** The same for endpoints where each call is a POST. */
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
  const { batch = {}, retry = {}, timeoutMs = DEFAULTS.timeoutMs, deadlineMs = DEFAULTS.deadlineMs, maxResponseBytes = 128 * 1024 * 1024 } = options
  const { concurrency = 8, rate, dedupe = true, hedge = false, headers = {}, dispatcher, compression, layers = (defaults) => defaults } = options
  if (batch !== false) check.onlyKnown('batch', batch, ['maxCalls'], { orElse: ' or false' })
  const { maxCalls = 100 } = batch === false ? { maxCalls: 1 } : batch
  if (retry !== false) check.onlyKnown('retry', retry, ['attempts', 'baseDelayMs', 'maxDelayMs'], { orElse: ' or false' })
  const { attempts = DEFAULTS.attempts, baseDelayMs = DEFAULTS.baseDelayMs, maxDelayMs = DEFAULTS.maxDelayMs } = retry === false ? { attempts: 1 } : retry
  if (typeof layers !== 'function') throw new OptionError('layers', 'a function of the default layers', show(layers))
  return {
    maxCalls: check.whole('batch.maxCalls', maxCalls),
    concurrency: check.whole('concurrency', concurrency, 1, ONE_SOCKET_PER_POST),
    singleConcurrency: options.concurrency ?? 100,
    rate: rate === undefined ? undefined : givenRate(rate),
    attempts: check.attempts('retry.attempts', attempts),
    backoff: {
      baseDelayMs: check.positive('retry.baseDelayMs', baseDelayMs),
      maxDelayMs: check.positive('retry.maxDelayMs', maxDelayMs),
    },
    timeoutMs: check.ms('timeoutMs', timeoutMs),
    deadlineMs: check.msOrInfinity('deadlineMs', deadlineMs),
    maxResponseBytes: check.whole('maxResponseBytes', maxResponseBytes),
    dedupe: check.flag('dedupe', dedupe),
    hedge: hedgeFrom(hedge),
    headers: check.headers('headers', headers),
    dispatcher: dispatcher === undefined ? undefined : check.dispatcher(dispatcher),
    compression: compression === undefined ? undefined : check.flag('compression', compression),
    layers,
  }
}

function hedgeFrom(hedge: NonNullable<ClientOptions['hedge']>): HedgeOptions | undefined {
  if (hedge === false) return undefined
  if (hedge !== true) check.onlyKnown('hedge', hedge, ['percentile', 'maxExtra'], { orElse: ', true or false' })
  const { percentile = 0.95, maxExtra = 0.05 } = hedge === true ? {} : hedge
  return { percentile: check.share('hedge.percentile', percentile), maxExtra: check.share('hedge.maxExtra', maxExtra) }
}

function givenRate(rate: CallRate | UnitRate): GivenRate {
  check.onlyKnown('rate', rate, ['callsPerSecond', 'unitsPerSecond', 'units'])
  const { callsPerSecond, unitsPerSecond, units = {} } = rate as Partial<CallRate & UnitRate>
  if (unitsPerSecond === undefined) {
    if (callsPerSecond === undefined) throw new OptionError('rate', 'callsPerSecond or unitsPerSecond', 'neither')
    if ('units' in rate) throw new OptionError('rate.units', 'unitsPerSecond as well', 'callsPerSecond')
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

/** Those of the settings that have a value. */
export function givenSettings(settings: CallSettings): CallSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}
