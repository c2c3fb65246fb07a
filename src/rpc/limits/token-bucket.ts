/** Part of a second's units that may go at once. */
const BURST = 1 / 20
const HAIR = 1e-6
/** Calls that cost more than half of a second's units are let go one by one, rather than ever slower. */
const MOST_BURST = 1 / 2

/**
 * A token bucket for a budget that is given: never more than `perSecond` units (calls, where each costs 1) in any second. A burst of
 * a twentieth of that may go at once, or one call where that costs more, and is taken off the rate at which the bucket fills, so that
 * the burst and the second after it stay within the budget. Only calls that cost more than half of it by themselves may pass it.
 */
export class TokenBucket {
  /** Units that may go at once. */
  burst: number
  readonly #perSecond: number
  #perMs: number
  #tokens: number
  #filledAt: number

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond
    this.burst = Math.max(1, Math.floor(perSecond * BURST))
    this.#perMs = (perSecond * (1 - BURST)) / 1000
    this.#tokens = this.burst
    this.#filledAt = now
  }

  /** How many units may go now; below 0 while a call that cost more than a burst is paid for. */
  units(now: number): number {
    this.#tokens = Math.min(this.burst, this.#tokens + (now - this.#filledAt) * this.#perMs)
    this.#filledAt = now
    // A hair below what is wanted is enough: the fractions of many small steps do not add up exactly.
    return this.#tokens + HAIR
  }

  /** How many calls may go now, where each costs one unit. */
  available(now: number): number {
    return Math.floor(this.units(now))
  }

  take(units: number): void {
    this.#tokens -= units
  }

  /** How long until `units` may go, in ms; `units` is at most `burst`. */
  msUntil(units: number, now: number): number {
    return this.units(now) >= units ? 0 : (units - this.#tokens) / this.#perMs
  }

  /** Makes room for calls that cost so much: the burst grows, and the rate at which the bucket fills gets lower by as much. */
  fit(units: number): void {
    const burst = Math.min(units, this.#perSecond * MOST_BURST)
    if (burst <= this.burst) return
    this.burst = burst
    this.#perMs = (this.#perSecond - burst) / 1000
  }
}
