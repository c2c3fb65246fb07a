import type { Call } from '../../call.ts'
import type { RateVerdict, ThrottledPost } from '../estimate/rate-estimate.ts'
import { type Budget, GivenBudget } from './given-budget.ts'
import { LATELY_MS, Lately, latelyMs } from './lately.ts'
import { LearntRate, type RateGuess } from './learnt-rate.ts'

/** Calls that wait for a POST. */
export interface WaitingCalls {
  readonly size: number
  readonly first: Call
}

/**
 * Least first guess, in calls per second: one that is too high is corrected within a second, one
 * that is too low in many.
 */
const LEAST_GUESS = 100
/**
 * An endpoint that asks for a pause of at least this long, in ms, is assumed to give in it what it
 * gave before it, and this part of that at once.
 */
const LEAST_PAUSE_MS = 250
const SAVED_PART = 0.9

/**
 * What is known of the rate at which a POST went:
 * - `none`: no rate has been learnt;
 * - `proven`: the endpoint has taken calls at this rate;
 * - `unproven`: it may be more than the endpoint takes, or it was cut only after the POST was sent.
 */
export type RateStanding = 'none' | 'proven' | 'unproven'

/** Decides when calls may go to an endpoint. Questions change nothing. */
export interface Pacing {
  /** The learnt calls per second, if any. */
  readonly perSecond: number | undefined
  /** What is known of the rate at which a POST went that was sent at this time. */
  standing(sentAt: number): RateStanding
  /** How long until a POST of the waiting calls, at most `most` of them, may start, in ms. */
  msUntil(waiting: WaitingCalls, most: number, now: number): number
  /** The learnt rate holds back a POST of the waiting calls, at most `most` of them. */
  isHoldingBack(waiting: WaitingCalls, most: number, now: number): boolean
  /** How many calls may go in one POST, at most `most`, now that one may start. */
  room(most: number, now: number): number
  /**
   * A function that says of one call after another whether the units that are left cover it; the
   * first call always fits. Undefined if all calls cost the same.
   */
  fitting(now: number): ((call: Call) => boolean) | undefined
  /** These calls were held back: no POST of them may start yet. */
  heldBack?(waiting: WaitingCalls, now: number): void
  /** A POST of these calls starts. */
  started(calls: readonly Call[], now: number): void
  /**
   * A POST that took this long answered calls, with this many slots for POSTs; none of its calls
   * was throttled where `noneThrottled`.
   */
  answered(calls: number, tookMs: number, slots: number, noneThrottled: boolean, now: number): void
  /** What throttling has taught is wrong. */
  forget?(): void
  /** A POST was throttled. */
  throttled(post: ThrottledPost, now: number): RateVerdict
}

/**
 * When calls may go: by the rate that the user gave, and by the rate that throttling has taught,
 * each with a token bucket. Where there is neither it costs nothing. Only `started`, `answered` and
 * `throttled` change anything.
 */
export class Pacer implements Pacing {
  readonly #given: GivenBudget | undefined
  readonly #lately = new Lately()
  #learnt: LearntRate | undefined
  /** Calls per second that were answered before the first one was throttled. */
  #answeredBefore = 0

  constructor(budget: Budget | undefined, now: number) {
    this.#given = budget === undefined ? undefined : new GivenBudget(budget, now)
  }

  /** When the learnt rate last held calls back; in the past where there is none. */
  get heldAt(): number {
    return this.#learnt?.heldAt ?? 0
  }

  standing(sentAt: number): RateStanding {
    if (this.#learnt === undefined) return 'none'
    return this.#learnt.isBeyondLevel || this.#learnt.since > sentAt ? 'unproven' : 'proven'
  }

  get perSecond(): number | undefined {
    return this.#learnt?.perSecond
  }

  msUntil(waiting: WaitingCalls, most: number, now: number): number {
    if (this.#given === undefined && this.#learnt === undefined) return 0
    const calls = Math.min(waiting.size, most)
    return Math.max(this.#msUntilLearnt(calls, now), this.#given?.msUntil(waiting.first, calls, now) ?? 0)
  }

  isHoldingBack(waiting: WaitingCalls, most: number, now: number): boolean {
    return this.#msUntilLearnt(Math.min(waiting.size, most), now) > 0
  }

  room(most: number, now: number): number {
    const given = this.#given?.room(most, now) ?? most
    return this.#learnt === undefined || this.#learnt.isForgotten(now) ? given : Math.min(given, this.#learnt.available(now))
  }

  fitting(now: number): ((call: Call) => boolean) | undefined {
    return this.#given?.fitting(now)
  }

  started(calls: readonly Call[], now: number): void {
    if (this.#learnt?.isForgotten(now)) this.#learnt = undefined
    this.#learnt?.started(calls.length, now)
    this.#given?.started(calls, now)
  }

  answered(calls: number, tookMs: number, slots: number, noneThrottled: boolean, now: number): void {
    // In a trial, fewer go than would be answered.
    this.#lately.add(calls / (this.#learnt?.slower(now - tookMs) ?? 1), this.#memoryMs, now)
    this.#learnt?.answered(calls, tookMs, slots, noneThrottled, now)
  }

  forget(): void {
    this.#learnt = undefined
  }

  throttled(post: ThrottledPost, now: number): RateVerdict {
    const answered = this.#lately.perSecond(this.#memoryMs, now)
    const isRefuted = this.#learnt?.isRefutedBy(post.sentAt) === true
    if (this.#learnt !== undefined && !isRefuted) return this.#learnt.throttled(post, answered ?? Number.POSITIVE_INFINITY, now)
    if (!isRefuted) this.#answeredBefore = this.#lately.perSecond(LATELY_MS, now) ?? 0
    this.#learnt = new LearntRate(
      isRefuted ? { perSecond: LEAST_GUESS, saved: 0, answered: this.#answeredBefore } : this.#firstGuess(post.pauseMs, now),
      post,
      now,
    )
    return 'too-fast'
  }

  #firstGuess(pauseMs: number, now: number): RateGuess {
    const calls = pauseMs < LEAST_PAUSE_MS ? 0 : this.#lately.calls(LATELY_MS, now)
    const answered = this.#answeredBefore
    return { perSecond: Math.max(LEAST_GUESS, answered, pauseMs === 0 ? 0 : (calls / pauseMs) * 1000), saved: SAVED_PART * calls, answered }
  }

  /** How far back "lately" reaches, in ms. */
  get #memoryMs(): number {
    const learnt = this.#learnt
    return learnt === undefined ? LATELY_MS : latelyMs(learnt.meanMs, learnt.perSecond)
  }

  #msUntilLearnt(calls: number, now: number): number {
    return this.#learnt === undefined || this.#learnt.isForgotten(now) ? 0 : this.#learnt.msUntil(calls, now)
  }
}
