import type { HexlineError } from '../errors.ts'
import { LONGEST_MESSAGE } from '../text.ts'

/** How the waits between attempts grow. */
export interface Backoff {
  /** Upper bound of the first wait, in ms. */
  readonly baseDelayMs: number
  /**
   * Most that this bound grows to as it doubles, in ms. A wait is longer where the node asks for
   * more time, or before a last attempt (`jittered`).
   */
  readonly maxDelayMs: number
}

/**
 * Longest time, in ms, for which an endpoint that asks for a pause is left alone, and for which a
 * call waits for it. An endpoint that asks for more may have meant something else: it is asked
 * again after this time.
 */
export const LONGEST_PAUSE_MS = 600_000

/**
 * Full jitter, in ms: anywhere between 0 and `baseDelayMs`, doubled for each failure before, so
 * that clients that failed together do not come back together. `failures` counts from 1.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function fullJitter({ baseDelayMs, maxDelayMs }: Backoff, failures: number, random: () => number = Math.random): number {
  return random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (failures - 1))
}

/**
 * When to try again after `error`, on the clock. `failures` counts the failed attempts, this one
 * included. `firstFailedAt`: when the first of them failed, only if the next attempt is the last:
 * the wait then makes up for jitter.
 */
export type RetryAt = (error: HexlineError, failures: number, now: number, firstFailedAt?: number) => number

/**
 * Calls of a client that fail within this time of each other, in ms, share one random number:
 * jitter is to spread different clients, not the calls of one.
 */
const TOGETHER_MS = 5

/**
 * Schedules the next attempt: not before the time that the endpoint asked for (`retryAfterMs`) has
 * passed, up to `LONGEST_PAUSE_MS`, and not before a wait with full jitter is over. Calls that fail
 * together are sent again together, in one POST.
 *
 * The last of three or more attempts is not sent before all waits would be over without jitter.
 * Otherwise short random waits could make a call fail in an outage that it would survive with
 * longer ones. By then, the earlier waits have spread the clients.
 */
export function jittered(backoff: Backoff): RetryAt {
  const moment = { at: Number.NEGATIVE_INFINITY, chance: 0 }
  return ({ retryAfterMs = 0 }, failures, now, firstFailedAt) => {
    if (now - moment.at > TOGETHER_MS) Object.assign(moment, { at: now, chance: Math.random() })
    const spread = moment.at + fullJitter(backoff, failures, () => moment.chance)
    const whole = firstFailedAt === undefined || failures === 1 ? 0 : firstFailedAt + allWaits(backoff, failures)
    return Math.max(now + Math.min(LONGEST_PAUSE_MS, retryAfterMs), spread, whole)
  }
}

/** The sum of the waits after this many failures, without jitter, in ms. */
function allWaits(backoff: Backoff, failures: number): number {
  let sum = 0
  for (let i = 1; i <= failures; i++) sum += fullJitter(backoff, i, () => 1)
  return sum
}

/** Longest text that is read as a time, in characters. An HTTP date has 29. */
const LONGEST_VALUE = 200

/** Response headers, names in lower case. */
type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * What `Retry-After` asks for, in ms: seconds or an HTTP date (RFC 9110, 10.2.3). A date is
 * compared with the reply's own `Date` where it has one, since the clocks of two machines differ.
 * The longest of several, as where a gateway adds its own to the node's. Undefined when there is
 * none that can be read.
 */
export function retryAfterMs(headers: Headers): number | undefined {
  const value = headers['retry-after'] ?? []
  const waits = (typeof value === 'string' ? [value] : value)
    .filter(({ length }) => length <= LONGEST_VALUE)
    .flatMap((line) => line.split(BETWEEN_WAITS))
    .map((text) => waitFrom(text.trim(), headers))
    .filter((wait) => wait !== undefined)
  return waits.length === 0 ? undefined : Math.max(...waits)
}

/** A comma between two waits, not one within a date. */
const BETWEEN_WAITS = /(?<!sun|mon|tue|wed|thu|fri|sat|day),/i

function waitFrom(text: string, headers: Headers): number | undefined {
  if (/^\d{1,15}(\.\d{1,30})?$/.test(text)) return Number(text) * 1000
  // An HTTP date begins with the name of a day; `Date.parse` reads much else.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined
  const wait = Date.parse(/GMT$/i.test(text) ? text : `${text} GMT`) - timeOf(headers)
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

/**
 * How long until the limit that a throttled reply names is reset, in ms: `RateLimit-Reset` in
 * seconds (draft-ietf-httpapi-ratelimit-headers, 03 to 07), or `X-RateLimit-Reset` or
 * `X-Rate-Limit-Reset` in seconds (QuickNode, NestJS) or as a Unix time in seconds or ms. Undefined
 * when there is none, or when part of the limit is left: then another limit was hit.
 */
export function limitResetMs(headers: Headers): number | undefined {
  for (const prefix of ['ratelimit', 'x-ratelimit', 'x-rate-limit']) {
    const reset = headers[`${prefix}-reset`]
    const remaining = headers[`${prefix}-remaining`]
    if (typeof reset !== 'string' || !/^\d{1,15}(\.\d{1,30})?$/.test(reset.trim()) || (typeof remaining === 'string' && Number(remaining) > 0)) continue
    const value = Number(reset)
    if (value < 1e9) return value * 1000
    return Math.max(0, (value < 1e11 ? value * 1000 : value) - timeOf(headers))
  }
  return undefined
}

/**
 * How long the message or the `data` of a throttling error asks to wait, in ms: `retry in
 * 10m0s` (Ankr), `try again in 4ms`, `data.rate.backoff_seconds` (Infura, where 0 says nothing:
 * https://github.com/INFURA/infura/issues/201), `data.try_again_in` (Chainstack, a duration as Go
 * writes it). Undefined when it asks for nothing.
 */
export function waitSaid(message: string, data?: unknown): number | undefined {
  const { rate, try_again_in: again } = (typeof data === 'object' && data !== null ? data : {}) as {
    rate?: { backoff_seconds?: unknown }
    try_again_in?: unknown
  }
  const seconds = rate?.backoff_seconds
  if (typeof seconds === 'number' && seconds > 0) return seconds * 1000
  if (typeof again === 'string') return durationMs(again)
  const said = WAIT.exec(message.slice(0, LONGEST_MESSAGE))?.[1]
  return said === undefined ? undefined : durationMs(said)
}

const WAIT = /\b(?:try again|retry|wait) (?:in|after|for) (\d[\d.]{0,30}\s?[a-zµ]{1,12}(?:\d[\d.]{0,30}[a-z]{1,12}){0,5})/i

/** A duration such as `10m0s`, `250.5ms` or `30 seconds`; undefined for anything else. */
function durationMs(text: string): number | undefined {
  if (text.length > LONGEST_VALUE) return undefined
  let total = 0
  for (const [, count, unit = ''] of text.matchAll(/(?<![\d.])(\d{1,15}(?:\.\d{1,30})?)\s?([a-zµ]{1,12})/gi)) {
    const ms = UNITS.find(([names]) => names.includes(unit.toLowerCase()))?.[1]
    if (ms === undefined) return undefined
    total += Number(count) * ms
  }
  return total > 0 ? total : undefined
}

const UNITS: readonly (readonly [names: readonly string[], ms: number])[] = [
  [['us', 'µs'], 0.001],
  [['ms', 'millisecond', 'milliseconds'], 1],
  [['s', 'sec', 'secs', 'second', 'seconds'], 1000],
  [['m', 'min', 'mins', 'minute', 'minutes'], 60_000],
  [['h', 'hr', 'hrs', 'hour', 'hours'], 3_600_000],
]

/**
 * When the reply was made, by the server's own clock if it says so: the clocks of two machines
 * differ.
 */
function timeOf(headers: Headers): number {
  const date = typeof headers.date === 'string' && headers.date.length <= LONGEST_VALUE ? Date.parse(headers.date) : Number.NaN
  return Number.isNaN(date) ? Date.now() : date
}
