/** A body may make no progress for this many times the longest wait that ended well recently, and beyond the most for this many times at least. */
const TIMES_THE_WORST = 4
const LEAST_TIMES = 1.5
/** Never given up before, in ms: a lost packet is sent again after some 200 ms, a server that collects garbage goes on soon after. */
const LEAST_MS = 500
/** Given up no later than this, in ms, where nothing is known, and where no wait has been longer. */
const MOST_MS = 5_000
/** Share of the longest wait that is forgotten with each whole body. */
const FORGOTTEN = 1 / 64

/**
 * How long the body of an endpoint's reply may make no progress, once some of it has come, before it is given up: `max(clamp(4 x worst, 0.5 s, 5 s), 1.5 x worst)`,
 * where `worst` is the longest wait for more of a body after which more did come, and fades over some hundred replies. Until one body is whole, 5 s.
 */
export class BodyProgress {
  #worstMs = 0
  #isKnown = false

  /** A body had to wait this long for more, and more came. */
  resumed(afterMs: number): void {
    if (afterMs > this.#worstMs) this.#worstMs = afterMs
  }

  /** A body is whole. */
  completed(): void {
    this.#isKnown = true
    this.#worstMs -= this.#worstMs * FORGOTTEN
  }

  /** The longest wait for more of a body from now on, in ms. */
  get limitMs(): number {
    const limitMs = this.#isKnown ? Math.min(MOST_MS, Math.max(LEAST_MS, TIMES_THE_WORST * this.#worstMs)) : MOST_MS
    return Math.max(limitMs, LEAST_TIMES * this.#worstMs)
  }

  /** It makes no sense to look for a stall sooner than this, in ms. */
  static readonly leastMs = LEAST_MS
}
