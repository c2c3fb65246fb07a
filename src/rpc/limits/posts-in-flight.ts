/**
 * A POST is overdue after this many times the mean of recent ones, and no sooner than this many ms.
 */
const TIMES_THE_MEAN = 4
const LEAST_OVERDUE_MS = 25
/** Weight of the newest POST in that mean. */
const NEWEST = 1 / 8

/** The POSTs that an endpoint has not answered yet. */
export class PostsInFlight {
  /** When they started, in no order. */
  readonly #sentAt: number[] = []
  /** Mean time that POSTs take, in ms; undefined while none has been answered. */
  #meanMs: number | undefined

  /**
   * A POST starts now. Returns its number among those in flight, and among those of them that are
   * not overdue, counted from 1.
   */
  add(now: number): { nth: number; nthBusy: number } {
    const overdueAt = now - Math.max(LEAST_OVERDUE_MS, TIMES_THE_MEAN * (this.#meanMs ?? Number.POSITIVE_INFINITY))
    let nthBusy = 1
    for (const sentAt of this.#sentAt) if (sentAt > overdueAt) nthBusy++
    return { nth: this.#sentAt.push(now), nthBusy }
  }

  /** A POST that started at this time has ended. */
  drop(sentAt: number): void {
    const last = this.#sentAt.pop() as number
    if (last !== sentAt) this.#sentAt[this.#sentAt.indexOf(sentAt)] = last
  }

  /** A POST with answers took this long. */
  answeredAfter(ms: number): void {
    this.#meanMs = this.#meanMs === undefined ? ms : this.#meanMs + NEWEST * (ms - this.#meanMs)
  }
}
