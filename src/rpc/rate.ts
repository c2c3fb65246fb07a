/** Part of a second's calls that may go at once. */
const BURST = 1 / 20

/**
 * A token bucket: never more than `callsPerSecond` calls in any second. A burst of a twentieth of that may go at once,
 * and is taken off the rate at which the bucket fills, so that the burst and the second after it stay within the limit.
 */
export class Rate {
  readonly burst: number
  readonly #perMs: number
  #tokens: number
  #filledAt: number

  constructor(callsPerSecond: number, now: number) {
    this.burst = Math.max(1, Math.floor(callsPerSecond * BURST))
    this.#perMs = (callsPerSecond * (1 - BURST)) / 1000
    this.#tokens = this.burst
    this.#filledAt = now
  }

  /** How many calls may go now. */
  available(now: number): number {
    this.#tokens = Math.min(this.burst, this.#tokens + (now - this.#filledAt) * this.#perMs)
    this.#filledAt = now
    // A hair below a whole token is a whole one: the fractions of many small steps do not add up exactly.
    return Math.floor(this.#tokens + 1e-6)
  }

  take(calls: number): void {
    this.#tokens -= calls
  }

  /** How long until `calls` may go, in ms; `calls` is at most `burst`. */
  msUntil(calls: number, now: number): number {
    return this.available(now) >= calls ? 0 : (calls - this.#tokens) / this.#perMs
  }
}
