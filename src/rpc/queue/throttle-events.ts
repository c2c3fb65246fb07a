import type { HexlineError } from '../../errors.ts'
import type { Outcome } from '../call.ts'
import { throttleEvents } from '../events.ts'
import { isFailure, isThrottled, isTooLarge } from '../failure-kinds.ts'
import type { CurrentLimits } from '../limits/endpoint-limits.ts'

/** Tells on `hexline:throttle` that an endpoint throttles, and what has been learnt from its POSTs. Asked only while somebody listens. */
export class Lessons {
  readonly #endpoint: string
  #maxCalls: number
  #concurrency: number

  constructor(endpoint: string, { maxCalls, concurrency }: CurrentLimits) {
    this.#endpoint = endpoint
    this.#maxCalls = maxCalls
    this.#concurrency = concurrency
  }

  /** A POST had these outcomes, and what is sent now follows from them. */
  tell(outcomes: readonly Outcome[], { pausedUntil, maxCalls, concurrency, callsPerSecond }: CurrentLimits, now: number): void {
    const throttled = outcomes.filter((outcome): outcome is HexlineError => isFailure(outcome) && isThrottled(outcome))
    const isAdapted = maxCalls !== this.#maxCalls || concurrency !== this.#concurrency
    if (throttled.length === 0 && !isAdapted) return
    const isLess = maxCalls < this.#maxCalls || concurrency < this.#concurrency
    this.#maxCalls = maxCalls
    this.#concurrency = concurrency
    const failures = throttled.length > 0 ? throttled : isLess ? outcomes.filter(isCause) : []
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

/** Less is sent because of it. */
function isCause(outcome: Outcome): outcome is HexlineError {
  return isFailure(outcome) && (isTooLarge(outcome) || MAY_BE_STRAIN.includes(outcome.kind))
}

/** What endpoints do that are given too much, and do not say so. */
const MAY_BE_STRAIN = ['timeout', 'network', 'server', 'malformed']
