import type { HexlineError } from '../../errors.ts'
import type { Outcome } from '../call.ts'
import { throttleEvents } from '../events.ts'
import { isFailure, isThrottled, isTooLarge } from '../failure-kinds.ts'
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

  /** A POST had these outcomes, and the limits are these from now on. */
  publish(outcomes: readonly Outcome[], { pausedUntil, maxCalls, concurrency, callsPerSecond }: CurrentLimits, now: number): void {
    const throttled = outcomes.filter((outcome): outcome is HexlineError => isFailure(outcome) && isThrottled(outcome))
    const hasChanged = maxCalls !== this.#maxCalls || concurrency !== this.#concurrency
    if (throttled.length === 0 && !hasChanged) return
    const isLower = maxCalls < this.#maxCalls || concurrency < this.#concurrency
    this.#maxCalls = maxCalls
    this.#concurrency = concurrency
    const failures = throttled.length > 0 ? throttled : isLower ? outcomes.filter(isCause) : []
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

/** The limits were lowered because of this outcome. */
function isCause(outcome: Outcome): outcome is HexlineError {
  return isFailure(outcome) && (isTooLarge(outcome) || OVERLOAD_SIGNS.includes(outcome.kind))
}

/** How endpoints fail that get too much and do not say so. */
const OVERLOAD_SIGNS = ['timeout', 'network', 'server', 'malformed']
