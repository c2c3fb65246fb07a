import type { Call } from '../../call.ts'
import { setBounded } from '../../set-bounded.ts'

/**
 * Calls travel in different batches when one takes this many times as long as the other, and this
 * many ms longer.
 */
const TIMES = 4
const LEAST_MS = 100
/** Weight of the newest POST in a method's mean time. */
const NEWEST = 1 / 4
/** The same for the time of the quickest POSTs, when the newest one took longer. */
const SLOWER = 1 / 16
/** Assumed time of the quickest POSTs of an endpoint before any was measured, in ms. */
const USUAL_MS = 250
/** What each call may add to the time of a batch without counting as slow, in ms. */
const EACH_MS = 10
/** Assumed time of a heavy call at an endpoint that has not answered one yet, in ms. */
const HEAVY_MS = 1500

/** Methods of which it is not clear yet whether they are slow, at most. */
const MOST_UNCLEAR = 100

/**
 * How long the calls of each method take at one endpoint, so that a quick call does not share a
 * batch with a slow one: a batch is answered when its slowest call is done. A lone call measures
 * its method. A batch only gives an upper bound. A method that has not been measured counts as
 * quick, unless it is known to be heavy.
 */
export class Speeds {
  readonly #isHeavy: (method: string) => boolean
  readonly #msOf = new Map<string, number>()
  /** One of these methods made a mixed batch slow. Each travels alone once, to show which. */
  readonly #unclear = new Set<string>()
  #quickestMs = USUAL_MS

  constructor(isHeavy: (method: string) => boolean) {
    this.#isHeavy = isHeavy
  }

  /** True if calls of these two methods travel in different batches. */
  areSplit(one: string, other: string): boolean {
    if (one === other) return false
    if (this.#unclear.has(one) || this.#unclear.has(other)) return true
    const ms = this.#ms(one)
    const otherMs = this.#ms(other)
    return isMuchLonger(ms, otherMs) || isMuchLonger(otherMs, ms)
  }

  /** A batch of these calls was answered after `tookMs`. */
  learn(calls: readonly Call[], tookMs: number): void {
    const { method } = calls[0] as Call
    if (calls.length === 1) this.#learnAlone(method, tookMs)
    else if (calls.every((call) => call.method === method)) this.#learnOf(method, calls.length, tookMs)
    else this.#learnMixed(calls, tookMs)
    const more = tookMs - this.#quickestMs
    this.#quickestMs += more > 0 ? more * SLOWER : more
  }

  #learnAlone(method: string, tookMs: number): void {
    const before = this.#msOf.get(method)
    setBounded(this.#msOf, method, before === undefined ? tookMs : before + NEWEST * (tookMs - before))
    this.#unclear.delete(method)
  }

  /**
   * A batch of one method: each call took between an equal share of the time and all of it. The
   * known time is corrected where it lies outside.
   */
  #learnOf(method: string, count: number, tookMs: number): void {
    const share = this.#quickestMs + (tookMs - this.#quickestMs) / count
    const least = this.#unclear.delete(method) ? tookMs : Math.min(share, tookMs)
    setBounded(this.#msOf, method, Math.min(tookMs, Math.max(least, this.#ms(method))))
  }

  #learnMixed(calls: readonly Call[], tookMs: number): void {
    const isSlow = isMuchLonger(tookMs, this.#quickestMs + calls.length * EACH_MS)
    let last: string | undefined
    for (const { method } of calls) {
      if (method === last) continue
      last = method
      const ms = this.#msOf.get(method)
      if (tookMs < (ms ?? (this.#isHeavy(method) ? HEAVY_MS : 0))) setBounded(this.#msOf, method, tookMs)
      else if (ms === undefined && isSlow && this.#unclear.size < MOST_UNCLEAR) this.#unclear.add(method)
    }
  }

  #ms(method: string): number {
    return this.#msOf.get(method) ?? (this.#isHeavy(method) ? HEAVY_MS : this.#quickestMs)
  }
}

function isMuchLonger(ms: number, otherMs: number): boolean {
  return ms > TIMES * otherMs && ms - otherMs >= LEAST_MS
}
