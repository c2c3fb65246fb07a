import type { Call } from '../call.ts'
import { GivenRate } from './given-rate.ts'
import { LearntRate, type RateGuess } from './learnt-rate.ts'
import type { RateVerdict, Throttling } from './rate-estimate.ts'

/** What may go per second, as the user says. */
export interface Budget {
  /** Units; calls, where each costs 1. */
  readonly perSecond: number
  /** What a call costs, by its method. Without it each costs 1. */
  readonly costOf?: ((method: string) => number) | undefined
}

/** Calls that wait for a POST. */
export interface WaitingCalls {
  readonly size: number
  readonly first: Call
}

/**
 * "Lately" reaches back this far, in ms, or over this many replies, or over this many calls at the
 * learnt rate: over fewer, each would weigh too much.
 */
const LATELY = 250
const LATELY_REPLIES = 2
const LATELY_CALLS = 16
/** Shortest time over which answers are a rate, in ms. */
const LEAST_MEASURED = 120
/**
 * Least first guess, in calls per second: one that is too high is corrected within a second, one
 * that is too low in many.
 */
const LEAST_GUESS = 100
/**
 * An endpoint that asks for a pause of at least this long, in ms, is assumed to give in it what it
 * gave before it, and this part of that at once.
 */
const LEAST_PAUSE = 250
const SAVED_PART = 0.9

/**
 * When calls may go: by the rate that the user gave, and by the rate that throttling has taught,
 * each with a token bucket. Where there is neither it costs nothing. Only `started`, `answered` and
 * `throttled` change anything.
 */
export class Pacer {
  readonly #given: GivenRate | undefined
  readonly #costOf: ((method: string) => number) | undefined
  readonly #lately = new Lately()
  #learnt: LearntRate | undefined

  constructor(budget: Budget | undefined, now: number) {
    this.#given = budget === undefined ? undefined : new GivenRate(budget.perSecond, now)
    this.#costOf = budget?.costOf
  }

  /** A rate has been learnt. */
  get hasLearnt(): boolean {
    return this.#learnt !== undefined
  }

  /** Calls go faster than the endpoint is known to take them. */
  get isBeyondKnown(): boolean {
    return this.#learnt?.isBeyondLevel === true
  }

  /** A rate was learnt later than `time`. */
  hasLearntSince(time: number): boolean {
    return this.#learnt !== undefined && this.#learnt.since > time
  }

  /** The learnt calls per second, if any. */
  get perSecond(): number | undefined {
    return this.#learnt?.perSecond
  }

  /** How long until a POST of the waiting calls, at most `most` of them, may start, in ms. */
  msUntil(waiting: WaitingCalls, most: number, now: number): number {
    if (this.#given === undefined && this.#learnt === undefined) return 0
    const calls = Math.min(waiting.size, most)
    return Math.max(this.#msUntilLearnt(calls, now), this.#given === undefined ? 0 : this.#msUntilGiven(this.#given, waiting.first, calls, now))
  }

  /** The learnt rate holds back a POST of the waiting calls, at most `most` of them. */
  isHoldingBack(waiting: WaitingCalls, most: number, now: number): boolean {
    return this.#msUntilLearnt(Math.min(waiting.size, most), now) > 0
  }

  /** How many calls may go in one POST, at most `most`, now that one may start. */
  room(most: number, now: number): number {
    let room = most
    if (this.#learnt !== undefined && !this.#learnt.isForgotten(now)) room = Math.min(room, this.#learnt.available(now))
    if (this.#given !== undefined && this.#costOf === undefined) room = Math.min(room, this.#given.available(now))
    return room
  }

  /**
   * Whether one call after another fits into the units that are there; undefined where calls are
   * not told apart. The first always does.
   */
  fitting(now: number): ((call: Call) => boolean) | undefined {
    if (this.#given === undefined || this.#costOf === undefined) return undefined
    let left = this.#given.units(now)
    let isFirst = true
    return (call) => {
      const cost = this.#cost(call)
      if (!isFirst && cost > Math.max(0, left)) return false
      isFirst = false
      left -= cost
      return true
    }
  }

  /** A POST of these calls starts. */
  started(calls: readonly Call[], now: number): void {
    if (this.#learnt?.isForgotten(now)) this.#learnt = undefined
    this.#learnt?.started(calls.length, now)
    if (this.#given === undefined) return
    const units = this.#costOf === undefined ? calls.length : calls.reduce((sum, call) => sum + this.#cost(call), 0)
    this.#given.take(units, this.#cost(calls[0] as Call), now)
  }

  /**
   * A POST that took this long answered calls, with this many slots for POSTs; none of its calls
   * was throttled where `isWhole`.
   */
  answered(calls: number, tookMs: number, slots: number, isWhole: boolean, now: number): void {
    // In a trial, fewer go than would be answered.
    this.#lately.add(calls / (this.#learnt?.slower(now - tookMs) ?? 1), this.#memoryMs, now)
    this.#learnt?.answered(calls, tookMs, slots, isWhole, now)
  }

  /** A POST was throttled. */
  throttled(throttling: Omit<Throttling, 'answered' | 'idleMs'>, now: number): RateVerdict {
    const answered = this.#lately.perSecond(this.#memoryMs, now)
    const isRefuted = this.#learnt?.isRefutedBy(throttling.sentAt) === true
    if (this.#learnt !== undefined && !isRefuted) return this.#learnt.throttled({ ...throttling, answered: answered ?? Number.POSITIVE_INFINITY }, now)
    this.#learnt = new LearntRate(isRefuted ? { perSecond: LEAST_GUESS, saved: 0 } : this.#firstGuess(throttling.pauseMs, now), throttling, now)
    return 'too-fast'
  }

  #firstGuess(pauseMs: number, now: number): RateGuess {
    const calls = pauseMs < LEAST_PAUSE ? 0 : this.#lately.calls(LATELY, now)
    const perSecond = Math.max(LEAST_GUESS, this.#lately.perSecond(LATELY, now) ?? 0, pauseMs === 0 ? 0 : (calls / pauseMs) * 1000)
    return { perSecond, saved: SAVED_PART * calls }
  }

  /** How far back "lately" reaches, in ms. */
  get #memoryMs(): number {
    const learnt = this.#learnt
    return learnt === undefined ? LATELY : Math.max(LATELY, LATELY_REPLIES * learnt.meanMs, (LATELY_CALLS / learnt.perSecond) * 1000)
  }

  #msUntilLearnt(calls: number, now: number): number {
    return this.#learnt === undefined || this.#learnt.isForgotten(now) ? 0 : this.#learnt.msUntil(calls, now)
  }

  #msUntilGiven(given: GivenRate, next: Call, calls: number, now: number): number {
    const cost = this.#cost(next)
    return cost === 0 ? 0 : given.msUntil(cost, calls, now)
  }

  #cost(call: Call): number {
    return this.#costOf === undefined ? 1 : this.#costOf(call.method)
  }
}

/**
 * Calls answered per second lately. Calls and time are counted alike, and both count for less the
 * longer ago they are, by `exp(-ms / memoryMs)`.
 */
class Lately {
  #calls = 0
  #ms = 0
  #at: number | undefined

  add(calls: number, memoryMs: number, now: number): void {
    const kept = this.#kept(memoryMs, now)
    this.#calls = this.#calls * kept + calls
    this.#ms = this.#ms * kept + memoryMs * (1 - kept)
    this.#at = now
  }

  calls(memoryMs: number, now: number): number {
    return this.#calls * this.#kept(memoryMs, now)
  }

  /** Undefined while that is too little to tell. */
  perSecond(memoryMs: number, now: number): number | undefined {
    const kept = this.#kept(memoryMs, now)
    const ms = this.#ms * kept + memoryMs * (1 - kept)
    return ms < LEAST_MEASURED ? undefined : ((this.#calls * kept) / ms) * 1000
  }

  #kept(memoryMs: number, now: number): number {
    return Math.exp(((this.#at ?? now) - now) / memoryMs)
  }
}
