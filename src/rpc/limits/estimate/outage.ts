/**
 * Refusals in a row, without an answer between them, for this many ms are taken for an outage:
 * nothing was answered at any rate.
 */
const REFUSALS = 2
const OUTAGE_MS = 1000
/**
 * The first answer restores this part of the level before the outage: the last one at which that
 * many calls had been answered.
 */
const RESTORED = 1 / 2
const CALLS = 20
/** The level where nothing was answered before. The rate soon grows beyond it. */
const UNKNOWN = 10

/**
 * Notices when nothing at all was answered for a while. Neither the rate nor chance need be the
 * reason then, so the next answer undoes most of what the refusals have done to the level.
 */
export class Outage {
  /** Refusals since the last answer, and when the first of them came. */
  #refusals = 1
  #since: number
  /** The last level that enough calls were answered at, until a first refusal; 0 once restored. */
  #levelBefore: number
  /** Calls answered since that level. */
  #answered = 0

  /** Nothing was answered before it. */
  #isFirst: boolean

  /** A first refusal comes now, after `answered` calls per second. */
  constructor(answered: number, now: number) {
    this.#since = now
    this.#isFirst = answered === 0
    this.#levelBefore = this.#isFirst ? UNKNOWN : answered
  }

  /** A POST was refused while this was the level. */
  refused(level: number, now: number): void {
    if (this.#refusals++ > 0) return
    this.#since = now
    if (this.#answered < CALLS) return
    this.#levelBefore = level
    this.#answered = 0
  }

  /**
   * Calls of a POST that was sent at this time were answered. If that ends an outage: the level to
   * restore, at least `level`.
   */
  answered(calls: number, sentAt: number, level: number, now: number): number | undefined {
    this.#answered += calls
    // A POST that was on its way when the refusals began does not end them.
    if (calls === 0 || (this.#refusals > 0 && sentAt < this.#since)) return undefined
    const isOutage = this.#refusals >= REFUSALS && now - this.#since >= OUTAGE_MS
    this.#refusals = 0
    const restored = Math.max(RESTORED * this.#levelBefore, this.#isFirst ? level : 0)
    this.#isFirst = false
    if (!isOutage || restored < level) return undefined
    this.#levelBefore = 0
    this.#answered = 0
    return restored
  }
}
