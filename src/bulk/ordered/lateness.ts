/** Weights of the newest delay in the mean, and in the mean deviation (RFC 6298, 2.3). */
const NEWEST = 1 / 8
const NEWEST_DEVIATION = 1 / 4
/** An item is late at this many mean deviations beyond the mean. */
const DEVIATIONS = 4
/**
 * Bounds of the limit, in ms. Below the lower one a retry has usually been sent already; above the
 * upper one a consumer should not have to wait.
 */
const LEAST_MS = 1_000
const MOST_MS = 10_000
/** The limit until enough delays are known, in ms. */
const FIRST_MS = 5_000
/** Number of delays needed to compute the limit. */
const ENOUGH = 64

/**
 * When an item of an ordered stream counts as late. Its delay is the time from the first arrival of
 * an item requested after it to its own arrival; 0 for most items. The limit is `mean + 4 x mean
 * deviation`, as in TCP's retransmission timeout, between 1 s (or another bound) and 10 s.
 */
export class Lateness {
  #meanMs = 0
  #deviationMs = 0
  #seen = 0
  readonly #leastMs: number

  /** `leastMs` is the lower bound of the limit, at most 10 s. */
  constructor(leastMs = LEAST_MS) {
    this.#leastMs = leastMs
  }

  /** Adds the delay of an item that has arrived. */
  add(delayMs: number): void {
    this.#seen++
    this.#deviationMs += NEWEST_DEVIATION * (Math.abs(delayMs - this.#meanMs) - this.#deviationMs)
    this.#meanMs += NEWEST * (delayMs - this.#meanMs)
  }

  /** The longest delay, in ms, that is not late. */
  get limitMs(): number {
    const ms = this.#seen < ENOUGH ? FIRST_MS : this.#meanMs + DEVIATIONS * this.#deviationMs
    return Math.min(MOST_MS, Math.max(this.#leastMs, ms))
  }
}
