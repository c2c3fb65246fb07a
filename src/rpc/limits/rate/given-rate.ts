import { type Fill, TokenBucket } from '../../../wait/token-bucket.ts'

/** Part of a second's units that may go at once. */
const BURST = 1 / 20
/**
 * Calls that cost more than half of a second's units go one by one, rather than ever more slowly.
 */
const MOST_BURST = 1 / 2

/**
 * A rate that the user gave: at most `perSecond` units (calls, where each costs 1) in any second. A
 * burst of 1/20 of that, or one call where that costs more, may go at once. It is taken off the
 * rate at which the bucket fills, so that the burst and the second after it stay within the budget.
 * Only calls that cost more than half of the budget by themselves may pass it.
 */
export class GivenRate {
  readonly #perSecond: number
  readonly #bucket: TokenBucket
  #fill: Fill

  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond
    const burst = Math.max(1, Math.floor(perSecond * BURST))
    this.#fill = { perSecond: perSecond * (1 - BURST), most: burst }
    this.#bucket = new TokenBucket(burst, now)
  }

  /** How many units may go now; below 0 while a call that cost more than a burst is paid for. */
  units(now: number): number {
    return this.#bucket.tokens(now, this.#fill)
  }

  /** How many calls may go now, where each costs one unit. */
  available(now: number): number {
    return Math.floor(this.units(now))
  }

  /**
   * How long until the next of at most `calls` calls, which costs this many units, is to go, in ms.
   */
  msUntil(cost: number, calls: number, now: number): number {
    const fill = this.#fillFor(cost)
    // For half of a burst: with a whole one, every millisecond by which an alarm rings late would
    // be lost.
    const wanted = Math.min(fill.most, Math.max(cost, Math.min(calls * cost, Math.floor(fill.most / 2))))
    return this.#bucket.msUntil(wanted, now, fill)
  }

  /** These units go now, of which the first call costs `first`. */
  take(units: number, first: number, now: number): void {
    this.#fill = this.#fillFor(first)
    this.#bucket.take(units, now, this.#fill)
  }

  /**
   * The burst makes room for calls that cost this much, and the rate at which the bucket fills gets
   * lower by as much.
   */
  #fillFor(units: number): Fill {
    const most = Math.min(units, this.#perSecond * MOST_BURST)
    return most <= this.#fill.most ? this.#fill : { perSecond: this.#perSecond - most, most }
  }
}
