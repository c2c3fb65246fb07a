/**
 * A body may stall for this multiple of the longest recent stall that ended well. `LEAST_TIMES`
 * applies above the upper bound.
 */
const TIMES_THE_WORST = 4
const LEAST_TIMES = 1.5
/**
 * Lower bound, in ms. A lost packet is sent again after some 200 ms, and a server's garbage
 * collection ends soon after.
 */
const LEAST_MS = 500
/**
 * Upper bound, in ms, and the limit until a body is complete. A longer stall that ended well raises
 * it.
 */
const MOST_MS = 5_000
/** Share by which the longest stall decays with each complete body. */
const DECAY = 1 / 64

/**
 * How long the body of an endpoint's reply may stall, once it has begun, before it is given up:
 * `max(clamp(4 x worst, 0.5 s, 5 s), 1.5 x worst)`, where `worst` is the longest stall after which
 * the body went on. It decays over some hundred replies. Until one body is complete, the limit is
 * at least 5 s.
 */
export class BodyProgress {
  #worstMs = 0
  #isKnown = false
  /** When a body that had begun last went on. */
  resumedAt = Number.NEGATIVE_INFINITY

  /** Records a stall (`Stall.msAt`) after which the body went on. */
  resumed(afterMs: number, now: number): void {
    this.resumedAt = now
    if (afterMs > this.#worstMs) this.#worstMs = afterMs
  }

  /** Records a complete body. */
  completed(): void {
    this.#isKnown = true
    this.#worstMs -= this.#worstMs * DECAY
  }

  /** The longest stall to accept from now on, in ms. */
  get limitMs(): number {
    const limitMs = this.#isKnown ? Math.min(MOST_MS, Math.max(LEAST_MS, TIMES_THE_WORST * this.#worstMs)) : MOST_MS
    return Math.max(limitMs, LEAST_TIMES * this.#worstMs)
  }
}

/**
 * How long a body has made no progress, for a watcher that looks every `stepMs`. Only time in which
 * the process ran counts: however long it was busy or stopped, and read nothing, counts as one
 * step.
 */
export class Stall {
  /** A shorter stall changes no limit. */
  static readonly stepMs = LEAST_MS / TIMES_THE_WORST
  #countedMs = 0
  #seenAt: number

  constructor(now: number) {
    this.#seenAt = now
  }

  /** Its length so far, in ms. */
  msAt(now: number): number {
    this.#countedMs += Math.min(Stall.stepMs, now - this.#seenAt)
    this.#seenAt = now
    return this.#countedMs
  }

  /** The body has made progress. */
  restart(now: number): void {
    this.#countedMs = 0
    this.#seenAt = now
  }
}
