import type { HexlineError } from '../../errors.ts'
import { throttleEvents } from '../events.ts'
import { isThrottled, isTooLarge } from '../failure-kinds.ts'
import type { CurrentLimits } from '../limits/endpoint-limits.ts'

/**
 * Publishes on `hexline:throttle` that an endpoint throttles, and how its limits change. Used only
 * while the channel has subscribers.
 */
export class ThrottleEvents {
  readonly #endpoint: string
  #maxCalls: number
  #concurrency: number

  constructor(endpoint: string, { maxCalls, concurrency }: CurrentLimits) {
    this.#endpoint = endpoint
    this.#maxCalls = maxCalls
    this.#concurrency = concurrency
  }

  /** Calls of a POST failed in these ways, and the limits are these from now on. */
  publish(failed: readonly HexlineError[], { pausedUntil, maxCalls, concurrency, callsPerSecond }: CurrentLimits, now: number): void {
    const throttled = failed.filter(isThrottled)
    const hasChanged = maxCalls !== this.#maxCalls || concurrency !== this.#concurrency
    if (throttled.length === 0 && !hasChanged) return
    const isLower = maxCalls < this.#maxCalls || concurrency < this.#concurrency
    this.#maxCalls = maxCalls
    this.#concurrency = concurrency
    const failures = throttled.length > 0 ? throttled : isLower ? failed.filter(isCause) : []
    const worst = failures.reduce<HexlineError | undefined>((a, b) => (a === undefined || (b.retryAfterMs ?? 0) > (a.retryAfterMs ?? 0) ? b : a), undefined)
    throttleEvents.publish({
      endpoint: this.#endpoint,
      kind: worst?.kind,
      calls: failures.length,
      pauseMs: Math.max(0, pausedUntil - now),
      retryAfterMs: worst?.retryAfterMs,
      maxCalls,
      concurrency,
      callsPerSecond,
    })
  }
}

/** The limits were lowered because of this failure. */
function isCause(failure: HexlineError): boolean {
  return isTooLarge(failure) || OVERLOAD_SIGNS.includes(failure.kind)
}

/**
 * How endpoints fail that get too much and do not say so, or take no batches: where nothing is
 * found at their URL.
 */
const OVERLOAD_SIGNS = ['timeout', 'network', 'server', 'malformed', 'not-found']
