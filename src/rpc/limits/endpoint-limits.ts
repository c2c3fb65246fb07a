import { type HexlineError, LimitError } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Backoff } from '../retry-delay.ts'
import type { Flight, Landing } from './batch-result.ts'
import { Limits } from './batch-size.ts'
import { Concurrency } from './concurrency.ts'
import { type Budget, Pace } from './pacer.ts'
import { Pause } from './pause.ts'
import { Speeds } from './speeds.ts'

export interface LearntOptions {
  /** POSTs in flight, at most; and where each call is a POST. */
  readonly concurrency: number
  readonly singleConcurrency: number
  /** Longest batch to begin with. */
  readonly maxCalls: number
  /** No more than this in any second. */
  readonly rate?: Budget | undefined
  /** How long the endpoint is left alone when it throttles everything without a `Retry-After`. */
  readonly backoff: Backoff
  /** Calls of this method take long at most endpoints. */
  readonly isHeavy: (method: string) => boolean
}

/** A POST is overdue after this many times the mean of recent ones, and no sooner than this many ms. */
const TIMES_THE_MEAN = 4
const LEAST_OVERDUE_MS = 25
/** Weight of the newest POST in that mean. */
const NEWEST = 1 / 8

/** What is sent to an endpoint from now on. */
export interface Adapted {
  /** Until when it is left alone, on the clock. */
  readonly pausedUntil: number
  readonly maxCalls: number
  readonly concurrency: number
  readonly callsPerSecond?: number | undefined
}

/** Calls that wait for a POST. */
export interface WaitingCalls<C extends Call> {
  readonly size: number
  readonly first: C
  /** The last POST left calls behind that it had room for. */
  readonly leftApart: boolean
  /** The next calls for one POST: at most `max`, within `limits`, each asked whether it fits; those that `speeds` keeps apart from the first one stay. */
  take(max: number, limits: Limits, fits?: (call: Call) => boolean, speeds?: Speeds): readonly C[]
}

/** What an endpoint takes, learnt from what became of each POST: its length, how many at a time, how many a second, what goes apart, and when to leave it alone. */
export class Learnt {
  readonly limits: Limits
  readonly concurrency: Concurrency
  readonly pace: Pace
  readonly pause: Pause
  readonly speeds: Speeds
  readonly #concurrency: number
  readonly #singleConcurrency: number
  /** Calls per second that the user gave, if they are calls. */
  readonly #given: number | undefined
  /** When the POSTs in flight started. */
  readonly #sentAt: number[] = []
  /** Mean time that POSTs take, in ms; undefined while none has been answered. */
  #meanMs: number | undefined
  /** Calls were answered since it last throttled. */
  #answers = false

  constructor({ concurrency, singleConcurrency, maxCalls, rate, backoff, isHeavy }: LearntOptions, now: number) {
    this.limits = new Limits(maxCalls)
    this.#concurrency = concurrency
    this.#singleConcurrency = singleConcurrency
    this.concurrency = new Concurrency(this.limits.isSingle ? singleConcurrency : concurrency)
    this.pace = new Pace(rate, now)
    this.pause = new Pause(backoff)
    this.speeds = new Speeds(isHeavy)
    this.#given = rate?.costOf === undefined ? rate?.perSecond : undefined
  }

  /** How long until a POST of calls of `line` may start, in ms. */
  msUntil(line: WaitingCalls<Call>, now: number): number {
    if (this.pause.until > now) return this.pause.until - now
    return this.pace.msUntil(line, this.limits.most, now)
  }

  /** Takes the calls of a POST that starts now out of `line`: as many as may go, and with `splits` no quick ones beside slow ones. */
  takeOff<C extends Call>(line: WaitingCalls<C>, now: number, splits: boolean): Flight<C> {
    const room = this.pace.room(this.limits.most, now)
    const entries = line.take(room, this.limits, this.pace.fitting(now), splits ? this.speeds : undefined)
    this.pace.take(entries)
    const { limits } = this
    const { length } = entries
    limits.start(length)
    const overdueAt = now - Math.max(LEAST_OVERDUE_MS, TIMES_THE_MEAN * (this.#meanMs ?? Number.POSITIVE_INFINITY))
    const nthBusy = 1 + this.#sentAt.reduce((busy, sentAt) => busy + Number(sentAt > overdueAt), 0)
    const nth = this.#sentAt.push(now)
    return {
      entries,
      sentAt: now,
      nth,
      nthBusy,
      bytes: limits.expected(entries),
      isProbe: limits.isUnproven && length > limits.taken,
      isShort: line.size === 0 || line.leftApart,
    }
  }

  /** What is sent to the endpoint from now on. */
  get adapted(): Adapted {
    const { limits, concurrency, pace, pause } = this
    return { pausedUntil: pause.until, maxCalls: limits.calls, concurrency: concurrency.limit, callsPerSecond: pace.perSecond ?? this.#given }
  }

  /** Learns from what became of a POST. True when the endpoint is to be left alone from now on. */
  land(landing: Landing, now: number): boolean {
    const { flight, answers, refusal, throttling } = landing
    const { limits, concurrency, pace, pause } = this
    const { length } = flight.entries
    this.#sentAt.splice(this.#sentAt.indexOf(flight.sentAt), 1)
    if (landing.isTaken) limits.took(length, flight.isShort)
    if (answers > 0) {
      const { answered } = landing
      limits.learn(answered, landing.bytes, landing.isWhole ? flight.bytes : limits.expected(answered))
      const tookMs = now - flight.sentAt
      this.#meanMs = this.#meanMs === undefined ? tookMs : this.#meanMs + NEWEST * (tookMs - this.#meanMs)
      pace.answered(answers, tookMs, concurrency.limit, throttling === undefined, now)
      concurrency.worked(flight.nth, now)
      this.#answers = true
      if (landing.isWhole && flight.entries[0]?.priority === 'interactive') this.speeds.learn(flight.entries, tookMs)
    }
    if (throttling === undefined) {
      if (answers > 0) pause.recovered()
      if (landing.isWhole) limits.worked(length, flight.bytes)
    }
    if (refusal?.kind === 'response-too-large') this.#tooLarge(flight, refusal)
    else if (refusal !== undefined) limits.refused(length)
    else if (landing.isBatch && landing.isTimedOut) limits.halve(length)
    else if (landing.isUnexplained) limits.failed(length)
    else if (landing.isNotFound) landing.goesAgain = limits.failed(length)
    limits.end(length)
    concurrency.allow(limits.isSingle ? this.#singleConcurrency : this.#concurrency)
    if (throttling !== undefined) return this.#throttled(landing, now)
    if (landing.isStrained) concurrency.suffered(flight.nth, flight.sentAt, now)
    return false
  }

  #tooLarge({ entries, bytes }: Flight, refusal: HexlineError): void {
    const { limits } = this
    if (refusal instanceof LimitError && refusal.size > bytes) {
      // How large it would have been is known, and was not foreseen.
      limits.learn(entries, refusal.size, bytes)
      limits.tooLarge(entries.length, refusal.size, refusal.limit)
    } else {
      limits.tooLarge(entries.length, bytes)
    }
  }

  #throttled(landing: Landing, now: number): boolean {
    const { flight, answers } = landing
    const throttling = landing.throttling as NonNullable<Landing['throttling']>
    const asked = throttling.retryAfterMs ?? 0
    const isTurnedAway = answers === 0
    // More at a time than it ever answered: their number may be the reason, unless the rate is beyond what is known to be taken.
    const { nthBusy } = flight
    const isMost = nthBusy > 1 && nthBusy > this.concurrency.proven
    const isTooMany = isTurnedAway && isMost && !this.pace.isBeyondKnown && !this.pace.hasLearntSince(flight.sentAt)
    if (isTooMany) {
      this.concurrency.refused(nthBusy, now)
    } else {
      // A single POST is turned away for the rate: those before may have been, too.
      if (isTurnedAway && nthBusy === 1 && !this.pace.hasLearnt) this.concurrency.forgive()
      const throttled = { sentAt: flight.sentAt, tookMs: now - flight.sentAt, pauseMs: asked }
      const isExpected = this.pace.throttled(throttled, now)
      if (!isExpected) {
        this.limits.throttled(answers)
        if (isTurnedAway && nthBusy > 1) this.concurrency.suffered(nthBusy, flight.sentAt, now)
      }
    }
    // With calls that are answered in between, the rate holds back what it must.
    const isPaused = asked > 0 || (!isTooMany && !this.#answers)
    if (isPaused) this.pause.begin(throttling, now)
    this.#answers = false
    return isPaused
  }
}
