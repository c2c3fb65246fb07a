import { type Fill, TokenBucket } from '../../../wait/token-bucket.ts'
import { RandomThrottling } from '../estimate/random-throttling.ts'
import { type FirstThrottled, MOST_PER_SECOND, RateEstimate, type RateVerdict, type ThrottledPost } from '../estimate/rate-estimate.ts'
import { LongestPost } from './longest-post.ts'

/**
 * Least and most time between POSTs, in ms. In between, POSTs are as far apart as the slots suffice
 * for, with a margin: otherwise calls would wait for slots, and go in clumps. Tokens are kept for
 * two such times, so that an alarm that rings late loses none.
 */
const LEAST_SPACING_MS = 25
const MOST_SPACING_MS = 250
const MARGIN = 1.25
const LEAST_BURST = 3
/** Weight of the newest reply in their mean time. */
const NEWEST = 0.2
/** A rate that held nothing back for this long is forgotten, in ms. */
const FORGOTTEN_MS = 300_000

/** What is assumed about an endpoint that has throttled for the first time. */
export interface RateGuess {
  readonly perSecond: number
  /**
   * Calls that it saves in the pause it asks for, as far as it has shown: these go at once when the
   * pause is over.
   */
  readonly saved: number
  /** Calls per second that it answered before. */
  readonly answered: number
}

/**
 * A rate learnt from being throttled, and the token bucket that spends it. The estimate grows in
 * `started`, by the time in which tokens were short.
 */
export class LearntRate {
  readonly #estimate: RandomThrottling
  readonly #bucket: TokenBucket
  readonly #longest = new LongestPost()
  #startedAt: number
  #heldAt: number
  /** Saved calls that have not gone yet. */
  #saved: number
  /** Calls were saved, and none has been answered so far. */
  #isUntried: boolean
  /** Mean time of replies, and the time between POSTs for which the slots suffice, in ms. */
  #meanMs: number
  #spacingMs = 0

  /** The guess is made because of this throttled POST. */
  constructor({ perSecond, saved, answered }: RateGuess, first: FirstThrottled, now: number) {
    this.#estimate = new RandomThrottling(new RateEstimate(perSecond, first, now), answered, now)
    this.#bucket = new TokenBucket(0, now)
    this.#saved = saved
    this.#isUntried = saved > 0
    this.#meanMs = first.tookMs
    this.#startedAt = now
    this.#heldAt = now
  }

  /** When it was cut last, or the end of the pause that followed. */
  get since(): number {
    return this.#estimate.since
  }

  /** Calls per second that may go now. */
  get perSecond(): number {
    return this.#estimate.perSecond
  }

  /** It has grown beyond what is known to be taken. */
  get isBeyondLevel(): boolean {
    return this.#estimate.isBeyondLevel
  }

  /** When it last held calls back. */
  get heldAt(): number {
    return this.#heldAt
  }

  /** Mean time of replies, in ms. */
  get meanMs(): number {
    return this.#meanMs
  }

  /** It has held nothing back for long, or takes whatever comes. */
  isForgotten(now: number): boolean {
    return now - this.#heldAt > FORGOTTEN_MS || this.perSecond >= MOST_PER_SECOND
  }

  /** A POST that was sent at this time and throttled proves that nothing had been saved. */
  isRefutedBy(sentAt: number): boolean {
    return this.#isUntried && sentAt >= this.since
  }

  /** Which part of the rate POSTs had that were sent at this time. */
  slower(sentAt: number): number {
    return this.#estimate.slower(sentAt)
  }

  /** How many calls may go now. */
  available(now: number): number {
    return Math.min(this.#longest.most, Math.floor(this.#bucket.tokens(now, this.#fill)))
  }

  /** How long until this many calls, or as many as are worth waiting for, may go, in ms. */
  msUntil(calls: number, now: number): number {
    return this.#bucket.msUntil(Math.min(calls, this.#worthWaiting), now, this.#fill)
  }

  /** This many calls go now. */
  started(calls: number, now: number): void {
    const passedMs = now - this.#startedAt
    const heldMs = Math.min(passedMs, this.msUntil(Number.POSITIVE_INFINITY, this.#startedAt))
    this.#bucket.take(calls, now, this.#fill)
    this.#saved = Math.max(0, this.#saved - calls)
    this.#estimate.started(heldMs, passedMs - heldMs, now)
    this.#startedAt = now
    if (heldMs > 0) this.#heldAt = now
  }

  /**
   * A POST that took this long answered calls, with this many slots for POSTs; none was throttled
   * where `noneThrottled`.
   */
  answered(calls: number, tookMs: number, slots: number, noneThrottled: boolean, now: number): void {
    this.#estimate.answered(calls, now - tookMs, noneThrottled, now)
    if (noneThrottled) this.#longest.answered(calls)
    if (now - tookMs >= this.since) this.#isUntried = false
    this.#meanMs += NEWEST * (tookMs - this.#meanMs)
    this.#spacingMs = Math.min(MOST_SPACING_MS, (MARGIN * this.#meanMs) / slots)
  }

  /** A POST was throttled. `answered`: calls per second that were answered lately. */
  throttled(post: ThrottledPost, answered: number, now: number): RateVerdict {
    const { perSecond } = this
    const verdict = this.#estimate.throttled({ ...post, answered, idleMs: now - this.#startedAt }, now)
    const { calls = 1, part = 1 } = post
    if (verdict !== 'stale') this.#longest.throttled(calls, part)
    if (this.perSecond < perSecond) {
      // The endpoint is out of tokens, too, and gets some before it is asked again.
      this.#bucket.empty(this.#worthWaiting, now)
      this.#saved = 0
      this.#startedAt = now
      this.#heldAt = now
    }
    return verdict
  }

  get #fill(): Fill {
    return { perSecond: this.perSecond, most: Math.max(LEAST_BURST, 2 * this.#worthWaiting, this.#saved) }
  }

  /**
   * Calls for which it is worth waiting: otherwise POSTs would be too many for the slots, or for
   * the clock. No more than a POST may hold.
   */
  get #worthWaiting(): number {
    const { perSecond } = this
    return Math.min(this.#longest.most, Math.max(1, Math.ceil((perSecond * this.#spacingMs) / 1000), Math.floor((perSecond * LEAST_SPACING_MS) / 1000)))
  }
}
