import type { Call } from '../call.ts'
import { RateEstimate, type RateVerdict, type Throttling } from './rate-estimate.ts'
import { TokenBucket } from './token-bucket.ts'

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

/** A first guess counts what was answered over so long, in ms. */
const LATELY = 500
/** It is no lower than that, in calls per second: what the endpoint had to spare may have gone to others. */
const LEAST_GUESS = 20

/** When calls may go: by the budget that the user gave, and by the rate that throttling has taught. Where there is neither it costs nothing. */
export class Pacer {
  readonly #given: TokenBucket | undefined
  readonly #costOf: ((method: string) => number) | undefined
  readonly #lately = new Lately()
  #learnt: RateEstimate | undefined

  constructor(budget: Budget | undefined, now: number) {
    this.#given = budget === undefined ? undefined : new TokenBucket(budget.perSecond, now)
    this.#costOf = budget?.costOf
  }

  /** A rate has been learnt. */
  get hasLearnt(): boolean {
    return this.#learnt !== undefined
  }

  /** Calls go faster than the endpoint is known to take them. */
  get isBeyondKnown(): boolean {
    return this.#learnt?.hasGrown === true
  }

  /** A rate was learnt later than `time`. */
  hasLearntSince(time: number): boolean {
    return this.#learnt !== undefined && this.#learnt.since > time
  }

  /** The learnt calls per second, if any. */
  get perSecond(): number | undefined {
    return this.#learnt?.perSecond
  }

  /** How long until a POST with calls of `waiting`, up to `most` of them, may start, in ms. */
  msUntil(waiting: WaitingCalls, most: number, now: number): number {
    if (this.#given === undefined && this.#learnt === undefined) return 0
    if (this.#learnt?.isForgotten(now)) this.#learnt = undefined
    const calls = Math.min(waiting.size, most)
    return Math.max(this.#learnt?.msUntil(calls, now) ?? 0, this.#given === undefined ? 0 : this.#msUntilGiven(this.#given, waiting.first, calls, now))
  }

  /** The learnt rate holds back a POST with these calls, up to `most` of them. */
  isHoldingBack(waiting: WaitingCalls, most: number, now: number): boolean {
    return this.#learnt !== undefined && this.#learnt.msUntil(Math.min(waiting.size, most), now) > 0
  }

  /** How many calls may go in one POST, of up to `most`, now that one may start. */
  room(most: number, now: number): number {
    let room = most
    if (this.#learnt !== undefined) room = Math.min(room, this.#learnt.available(now))
    if (this.#given !== undefined && this.#costOf === undefined) room = Math.min(room, this.#given.available(now))
    return room
  }

  /** Whether one call after another fits into the units that are there; undefined where calls are not told apart. The first always does. */
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

  /** A POST with these calls starts. */
  started(calls: readonly Call[], _now: number): void {
    this.#learnt?.take(calls.length)
    this.#given?.take(this.#costOf === undefined ? calls.length : calls.reduce((sum, call) => sum + this.#cost(call), 0))
  }

  /** So many calls were answered by a POST that took so long, with so many slots for POSTs; `isWhole` where none of its calls was throttled. */
  answered(calls: number, tookMs: number, slots: number, isWhole: boolean, now: number): void {
    this.#lately.add(calls, now)
    this.#learnt?.answered(calls, tookMs, slots, isWhole)
  }

  throttled(throttling: Omit<Throttling, 'recently'>, now: number): RateVerdict {
    const recently = this.#lately.perSecond(now)
    if (this.#learnt !== undefined) return this.#learnt.throttled({ ...throttling, recently }, now)
    this.#learnt = new RateEstimate(Math.max(LEAST_GUESS, recently), throttling, now)
    return 'too-fast'
  }

  #msUntilGiven(given: TokenBucket, next: Call, most: number, now: number): number {
    const cost = this.#cost(next)
    if (cost === 0) return 0
    given.fit(cost)
    // For half of a burst: with a whole one, every moment that an alarm rings late would be lost.
    return given.msUntil(Math.min(given.burst, Math.max(cost, Math.min(most * cost, Math.floor(given.burst / 2)))), now)
  }

  #cost(call: Call): number {
    return this.#costOf === undefined ? 1 : this.#costOf(call.method)
  }
}

const SLOTS = 8
const SLOT = LATELY / SLOTS

/** Calls answered in the last half second, in a ring of counts. */
class Lately {
  readonly #counts = new Array<number>(SLOTS).fill(0)
  #slot = 0

  add(calls: number, now: number): void {
    this.#turn(now)
    this.#counts[this.#slot % SLOTS] = (this.#counts[this.#slot % SLOTS] as number) + calls
  }

  perSecond(now: number): number {
    this.#turn(now)
    // The slot of now has only begun.
    const ms = (SLOTS - 1 - this.#slot) * SLOT + now
    return (this.#counts.reduce((sum, count) => sum + count, 0) / ms) * 1000
  }

  #turn(now: number): void {
    const slot = Math.floor(now / SLOT)
    if (slot === this.#slot) return
    for (let passed = Math.max(this.#slot + 1, slot - SLOTS + 1); passed <= slot; passed++) this.#counts[passed % SLOTS] = 0
    this.#slot = slot
  }
}
