/** What is left of the POSTs in flight when they were too many. */
const DOWN = 3 / 4
/** Signs that may be chance (a cut connection, a timeout) leave at least this part of the most, or this many. */
const LEAST_BY_CHANCE = 1 / 4
const ENOUGH_BY_CHANCE = 2
/** Time without trouble until one more is tried, in ms: twice as long after each try that failed, up to a most. Then one more each step. */
const HOLD = 2000
const LONGEST_HOLD = 32_000
const STEP = 250
/** POSTs that must be answered beyond what is proven before one more is: the endpoint may just have ended one that still counts as in flight here. */
const PROOF = 8

/**
 * How many POSTs an endpoint takes at a time: additive up, multiplicative down. A POST is the nth in flight, itself counted, at the time it
 * starts: that the 4th is turned away says that 4 are too many, whatever the limit was.
 */
export class Concurrency {
  /** POSTs that may be in flight. */
  limit: number
  #most: number
  /** The most that have been answered at a time, as far as that still holds. */
  #proven = 0
  #beyond = 0
  #cutAt = Number.NEGATIVE_INFINITY
  #growAt = 0
  #holdMs = HOLD
  /** It has since the last cut. */
  #hasGrown = false
  /** As many at a time were too many. */
  #failed = Number.POSITIVE_INFINITY

  constructor(most: number) {
    this.limit = most
    this.#most = most
  }

  /** More POSTs than this have never been answered at a time. */
  get proven(): number {
    return this.#proven
  }

  /** From now on this many may be in flight at most. What has been learnt below that stays. */
  allow(most: number): void {
    if (most === this.#most) return
    if (this.limit === this.#most || this.limit > most) this.limit = most
    this.#most = most
  }

  /** The nth POST in flight was answered. */
  worked(nth: number, now: number): void {
    if (nth > this.#proven && ++this.#beyond >= PROOF) {
      this.#proven++
      this.#beyond = 0
      if (this.#proven >= this.#failed) this.#holdMs = HOLD
    }
    // One slot may be kept free, for calls that are more urgent.
    if (this.limit === this.#most || nth < this.limit - 1 || now < this.#growAt) return
    this.limit++
    this.#hasGrown = true
    this.#growAt = now + STEP
  }

  /** The nth POST in flight was turned away, because there were that many. */
  refused(nth: number, now: number): void {
    this.#cut(nth, Math.max(1, Math.floor(nth * DOWN)), now)
  }

  /** It was not their number that POSTs were turned away for. */
  forgive(): void {
    this.limit = this.#most
    this.#failed = Number.POSITIVE_INFINITY
    this.#holdMs = HOLD
    this.#growAt = 0
  }

  /** The nth POST in flight, started at `sentAt`, failed as POSTs do when they are too many. Those of one wave count once. */
  suffered(nth: number, sentAt: number, now: number): void {
    const least = Math.min(ENOUGH_BY_CHANCE, Math.ceil(this.#most * LEAST_BY_CHANCE))
    if (nth > 1 && sentAt >= this.#cutAt) this.#cut(nth, Math.max(least, Math.floor(nth * DOWN)), now)
  }

  #cut(nth: number, limit: number, now: number): void {
    if (this.#hasGrown && nth >= this.#failed) this.#holdMs = Math.min(LONGEST_HOLD, this.#holdMs * 2)
    this.#hasGrown = false
    this.#failed = nth
    this.#growAt = now + this.#holdMs
    this.#cutAt = now
    this.#beyond = 0
    if (limit >= this.limit) return
    this.limit = limit
    this.#proven = Math.min(this.#proven, limit)
  }
}
