import { Patience } from '../patience.ts'

const MiB = 1024 * 1024
/**
 * Beyond this size, another POST is better: a larger body would be parsed in one long turn. Bulk
 * calls keep to it at first.
 */
const GOOD_BYTES = 1.5 * MiB
/** Most for bulk calls. With eight POSTs in flight, that is as much as streams read ahead. */
const MOST_BYTES = 4 * MiB
/**
 * Bodies of bulk calls grow while a POST takes less than this many round trips, and shrink where it
 * takes more than `LONG`.
 */
const SHORT = 2
const LONG = 3
const GROWTH = 1.25
/** A POST with this part of what is good tells about bodies of that size. */
const NEARLY = 0.9
/** Smaller replies were not refused for their expected size. */
const LEAST_REFUSED_BYTES = 64 * 1024
/**
 * POSTs near the endpoint's limit that are answered in a row before a larger one is tried; more
 * after refusals.
 */
const ENOUGH = 20
/** How much larger, as a part of the limit. */
const MORE = 0.1
/** What is left of a number of bytes that was too large. */
const FEWER = 3 / 4

/** A POST that was answered in full. */
export interface WholeReply {
  /** Its calls. */
  readonly length: number
  /** Expected size of its replies, in bytes. */
  readonly bytes: number
  readonly tookMs: number
  /** About the time of a round trip, in ms; 0 where that is not known. */
  readonly roundTripMs: number
  /** No call had to wait for the next POST: a larger one would only leave slots empty. */
  readonly noneWaited: boolean
}

/** A POST that failed as a whole. */
export interface WholeFailure {
  readonly length: number
  readonly bytes: number
  readonly sentAt: number
  readonly now: number
}

/**
 * How large the replies to one POST may be together, in expected bytes.
 *
 *     bulk, under 2 round trips:   good * 1.25, up to 4 MiB, where calls wait for a slot: while most
 *                                  of the time is latency, more in a POST means more in flight
 *     bulk, over 3 round trips:    good / 1.25, down to 1.5 MiB, which is good for interactive calls
 *     refused for its size:        limit = max(largest answered, 3/4 of it)
 *     failed without a reason:     the same for what is good, down to 1.5 MiB
 *     after 20 bodies near it:     limit * 1.1; 20 becomes 40, 80 .. 1280 with each refusal
 */
export class BodySize {
  /** What is good for bulk calls, and the most that it grows to. */
  #good = GOOD_BYTES
  #most = MOST_BYTES
  /** When a failure last made it smaller. */
  #smallerAt = Number.NEGATIVE_INFINITY
  /** What the endpoint takes, and the most that this grows to. */
  #limit = Number.POSITIVE_INFINITY
  #highest = Number.POSITIVE_INFINITY
  /** The most that was answered. */
  #proven = 0
  /** With bodies near the limit that are answered, before a larger one. */
  readonly #patience = new Patience(ENOUGH)

  /** Expected bytes of the replies to a POST of bulk calls. */
  get bytes(): number {
    return Math.min(this.#good, this.#limit)
  }

  /** Replies of this many bytes together were answered. */
  isProven(bytes: number): boolean {
    return bytes <= this.#proven
  }

  /**
   * A POST with this many `bytes` expected already should not take a call with `more`. The limit of
   * the endpoint is not passed, a good size may be.
   */
  isFull(bytes: number, more: number, priority: 'interactive' | 'bulk'): boolean {
    if (bytes >= (priority === 'bulk' ? this.#good : GOOD_BYTES)) return true
    return bytes > 0 && bytes + more > this.#limit
  }

  /** A POST was answered in full. */
  answered({ bytes, tookMs, roundTripMs, noneWaited }: WholeReply): void {
    this.#proven = Math.max(this.#proven, bytes)
    if (bytes >= this.#good * NEARLY) {
      if (tookMs > roundTripMs * LONG) this.#good = Math.max(GOOD_BYTES, this.#good / GROWTH)
      else if (tookMs < roundTripMs * SHORT && !noneWaited) this.#good = Math.min(this.#most, this.#good * GROWTH)
    }
    if (this.#limit < this.#highest && bytes >= this.#limit * FEWER && this.#patience.succeeded()) {
      this.#limit = Math.min(this.#highest, this.#limit * (1 + MORE))
    }
  }

  /**
   * Replies of this many bytes, as expected or as they turned out to be, were refused for their
   * size. False where their bytes cannot be the reason.
   */
  refused(bytes: number): boolean {
    if (bytes <= this.#proven || bytes < LEAST_REFUSED_BYTES) return false
    this.#limit = Math.min(this.#limit, Math.max(this.#proven, bytes * FEWER))
    this.#patience.failed()
    return true
  }

  /**
   * A POST of several calls failed without a reason, or timed out. True where that may be because
   * bodies have grown, and they are smaller since. False where they were no larger than they still
   * are: their bytes cannot be made fewer.
   */
  failed({ bytes, sentAt, now }: WholeFailure): boolean {
    if (bytes <= this.#proven || bytes <= GOOD_BYTES) return false
    this.#most = Math.max(GOOD_BYTES, Math.min(this.#most, bytes * FEWER))
    const isSmaller = this.#most < this.#good
    if (isSmaller) {
      this.#good = this.#most
      this.#smallerAt = now
    }
    return isSmaller || sentAt < this.#smallerAt
  }

  /** No POST is to have replies beyond this many bytes, which are hexline's own limit. */
  stayWithin(limit: number): void {
    this.#highest = Math.min(this.#highest, limit * FEWER)
    this.#limit = Math.min(this.#limit, this.#highest)
  }
}
