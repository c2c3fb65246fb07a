/** Shortest time between two looks at the head, in ms. */
const LEAST_MS = 50
/** Longest time between two looks at the head while all is well, in ms. */
const MOST_MS = 12_000
/** Time between blocks until it is known, in ms. */
const FIRST_MS = 1_000
/** Share of the time between blocks after which the next one is expected. */
const EARLY = 0.9
/** Looks within the time between blocks, once a block is expected. */
const LOOKS = 10
/** Factor by which each further look that finds nothing lengthens the wait. */
const GROWTH = 1.5
/** Weight of the newest time between blocks. */
const NEWEST = 1 / 4
/**
 * Times between blocks, and ms, after which a bell that has not rung may have failed: the loss of a
 * socket is only reported once another one is open.
 */
const SILENT = 2
const LEAST_SILENT_MS = 1_000
/** Waits after failures, in ms; doubled for each. */
const FIRST_RETRY_MS = 250
const MOST_RETRY_MS = 30_000

/**
 * When to look for a new block that was not announced: when it is due by the time between the last
 * ones, and then ever less often. So few looks find nothing, and a block is seen within about a
 * tenth of the time between blocks.
 */
export class Pace {
  #blockMs = FIRST_MS
  #isKnown = false
  #newAt: number
  #misses = 0
  #failures = 0

  /** All times are on one clock, in ms. */
  constructor(now: number) {
    this.#newAt = now
  }

  /** A look has found this many new blocks. */
  found(blocks: number, now: number): void {
    const each = Math.min(MOST_MS, (now - this.#newAt) / blocks)
    // Timestamps of blocks are whole seconds, so shorter times are measured between arrivals.
    this.#blockMs = this.#isKnown ? this.#blockMs + NEWEST * (each - this.#blockMs) : each
    this.#isKnown = true
    this.#newAt = now
    this.#misses = 0
    this.#failures = 0
  }

  /**
   * The stream has caught up with the head: what it found is not a measure of the time between
   * blocks.
   */
  caughtUp(now: number): void {
    this.#newAt = now
    this.#misses = 0
    this.#failures = 0
  }

  /** A block has come. What failed before it is no reason to wait longer after the next failure. */
  came(): void {
    this.#failures = 0
  }

  /** A look has found nothing new. */
  missed(): void {
    this.#misses++
    this.#failures = 0
  }

  failed(): void {
    this.#failures++
  }

  /** Time until the next look, in ms. `random` is between 0 and 1. */
  waitMs(now: number, hasBell: boolean, random: number): number {
    // Never at once, so that a node that refuses at once is not asked in a loop.
    if (this.#failures > 0) return Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1)) * (0.5 + random / 2)
    if (this.#misses === 0) {
      if (hasBell) return Math.max(LEAST_SILENT_MS, this.#newAt + SILENT * this.#blockMs - now)
      return Math.max(LEAST_MS, this.#newAt + EARLY * this.#blockMs - now)
    }
    const most = Math.max(LEAST_MS, Math.min(MOST_MS, Math.max(FIRST_MS, this.#blockMs)))
    return Math.min(most, Math.max(LEAST_MS, this.#blockMs / LOOKS) * GROWTH ** (this.#misses - 1))
  }
}
