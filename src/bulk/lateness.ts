/** Weights of the newest delay in the mean, and in the mean deviation from it (RFC 6298, 2.3). */
const NEWEST = 1 / 8
const NEWEST_DEVIATION = 1 / 4
/** How many mean deviations beyond the mean count as late. */
const DEVIATIONS = 4
/** Bounds of that, in ms: below, a retry is on its way already; above, no reader should wait. */
const LEAST_MS = 1_000
const MOST_MS = 10_000
/** The limit until anything is known, in ms. */
const FIRST_MS = 5_000
/** Items that must have come before anything is known. */
const ENOUGH = 64

/**
 * From when on an item that was asked for in order is late. Its delay is the time between the first item that came although it was asked for later, and its
 * own coming; 0 for most. Late is `mean + 4 x mean deviation`, as TCP finds its timeout for retransmission, between 1 s and 10 s.
 */
export class Lateness {
  #meanMs = 0
  #deviationMs = 0
  #seen = 0

  /** An item has come. */
  add(delayMs: number): void {
    this.#seen++
    this.#deviationMs += NEWEST_DEVIATION * (Math.abs(delayMs - this.#meanMs) - this.#deviationMs)
    this.#meanMs += NEWEST * (delayMs - this.#meanMs)
  }

  /** A longer delay is late, in ms. */
  get limitMs(): number {
    return this.#seen < ENOUGH ? FIRST_MS : Math.min(MOST_MS, Math.max(LEAST_MS, this.#meanMs + DEVIATIONS * this.#deviationMs))
  }
}
