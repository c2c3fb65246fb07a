import { type HexlineError, LimitError } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Backoff } from '../retry-delay.ts'
import { type BatchPlan, Plan } from './batch/batch-plan.ts'
import { BatchSize } from './batch/batch-size.ts'
import { HeavyCalls } from './batch/heavy-calls.ts'
import { ReplySizes } from './batch/reply-sizes.ts'
import { Speeds } from './batch/speeds.ts'
import type { BatchInFlight, BatchResult } from './batch-result.ts'
import { BusyRefusals } from './busy-refusals.ts'
import { Concurrency } from './concurrency.ts'
import type { RateVerdict } from './estimate/rate-estimate.ts'
import { FlowControl } from './flow-control.ts'
import { ThrottledMethods } from './methods/throttled-methods.ts'
import { PostsInFlight } from './posts-in-flight.ts'
import type { Budget } from './rate/given-budget.ts'
import { Pacer, type Pacing, type WaitingCalls } from './rate/pacer.ts'

export interface EndpointLimitsOptions {
  /** Most POSTs in flight, where POSTs hold several calls. */
  readonly concurrency: number
  /** Most POSTs in flight while each POST holds one call. */
  readonly singleConcurrency: number
  /** Longest batch to begin with, in calls. */
  readonly maxCalls: number
  /** Calls or units per second that are never passed. */
  readonly rate?: Budget | undefined
  /** Length of the pause when the endpoint throttles everything without a `Retry-After`. */
  readonly backoff: Backoff
  /** Calls of this method take long at most endpoints. */
  readonly isHeavy: (method: string) => boolean
}

/**
 * No batch may start within `waitMs`; infinite where one may start as soon as a batch in flight has
 * finished.
 */
export interface Wait {
  readonly waitMs: number
}

/** What follows from a batch result. */
export interface Consequences {
  /**
   * The endpoint may be paused by now, or one of its methods: waiting calls for which `failureFor`
   * has a failure are to fail.
   */
  readonly mayBePaused: boolean
  /**
   * Calls that may do better in a smaller batch: none, those that were refused for their size,
   * those without a reply, or all that the batch held.
   */
  readonly resend: 'none' | 'too-large' | 'unanswered' | 'all'
}

/**
 * Why a POST was throttled: by what `RateVerdict` names, because more POSTs were in flight than
 * were ever answered, or because the endpoint is busy, whatever the rate.
 */
export type Verdict = RateVerdict | 'too-many-at-once' | 'busy'

/** What is sent to an endpoint from now on. */
export interface CurrentLimits {
  /** Until when it gets no calls, on the clock. */
  readonly pausedUntil: number
  readonly maxCalls: number
  /** Expected bytes of the replies to one POST. */
  readonly bodyBytes: number
  readonly concurrency: number
  readonly callsPerSecond?: number | undefined
  /** The rate that the user gave in units. */
  readonly units?: Budget | undefined
}

/**
 * What one endpoint takes, learnt from the result of each POST: how long a batch may be, how many
 * may be in flight, how many calls may go per second, which calls travel apart, and when the
 * endpoint is paused. A batch is planned, started and finished; only the last two change anything.
 * See docs/limits.md.
 */
export class EndpointLimits {
  readonly #size: BatchSize
  readonly #replies = new ReplySizes()
  readonly #concurrency: Concurrency
  /** For calls of all methods. */
  readonly #flow: FlowControl
  readonly #speeds: Speeds
  readonly #heavyCalls: HeavyCalls
  readonly #methods: ThrottledMethods
  readonly #busyRefusals = new BusyRefusals()
  readonly #batchConcurrency: number
  readonly #singleConcurrency: number
  /** The rate that the user gave. */
  readonly #given: Budget | undefined
  readonly #isHeavy: (method: string) => boolean
  readonly #inFlight = new PostsInFlight()
  /**
   * The least time that a POST without heavy calls took, in ms: about a round trip. 0 until known.
   */
  #roundTripMs = 0

  constructor({ concurrency, singleConcurrency, maxCalls, rate, backoff, isHeavy }: EndpointLimitsOptions, now: number) {
    this.#size = new BatchSize(maxCalls)
    this.#batchConcurrency = concurrency
    this.#singleConcurrency = singleConcurrency
    this.#concurrency = new Concurrency(this.#size.isSingle ? singleConcurrency : concurrency)
    this.#flow = new FlowControl(new Pacer(rate, now), backoff)
    this.#speeds = new Speeds(isHeavy)
    this.#heavyCalls = new HeavyCalls(isHeavy)
    this.#methods = new ThrottledMethods(backoff)
    this.#given = rate
    this.#isHeavy = isHeavy
  }

  /** Another pacer decides when calls go from now on, in place of the rates of this endpoint. */
  paceBy(pacing: Pacing): void {
    this.#flow.pacer = pacing
  }

  /** These calls were held back: no POST of them may start yet. */
  heldBack(waiting: WaitingCalls, now: number): void {
    this.#flow.pacer.heldBack?.(waiting, now)
  }

  /** POSTs that may be in flight. */
  get concurrency(): number {
    return this.#concurrency.limit
  }

  /** Until when the endpoint is paused; in the past when it is not. */
  get pausedUntil(): number {
    return this.#flow.pause.until
  }

  /** What is sent to the endpoint from now on. */
  get current(): CurrentLimits {
    const given = this.#given
    const isInUnits = given?.costOf !== undefined
    return {
      pausedUntil: this.#flow.pause.until,
      maxCalls: this.#size.calls,
      bodyBytes: this.#size.body.bytes,
      concurrency: this.#concurrency.limit,
      callsPerSecond: this.#flow.pacer.perSecond ?? (isInUnits ? undefined : given?.perSecond),
      units: isInUnits ? given : undefined,
    }
  }

  /**
   * The failure of a call that does not wait for the end of the pause, or whose deadline comes
   * first; undefined for others.
   */
  failureFor(call: Call, now: number): HexlineError | undefined {
    return this.#flow.pause.failureFor(call, now) ?? this.#methods.failureFor(call, now)
  }

  /** The methods whose calls are to wait apart, each with a pause of its own. */
  get methodsApart(): ReadonlySet<string> {
    return this.#methods.apart
  }

  /** Until when the waiting calls of one of these methods are held back. */
  methodHeldUntil(waiting: WaitingCalls, now: number): number {
    return this.#methods.heldUntil(waiting, this.#size.next, now)
  }

  /** The learnt rate holds these calls back now. */
  isHoldingBack(waiting: WaitingCalls, now: number): boolean {
    return this.#flow.pacer.isHoldingBack(waiting, this.#size.next, now)
  }

  /**
   * How many of the waiting calls can start within `ms`; infinite where neither a pause nor a
   * learnt rate holds them back.
   */
  callsWithin(ms: number, waiting: WaitingCalls, now: number): number {
    const pausedMs = Math.max(0, this.#flow.pause.until - now)
    if (pausedMs >= ms) return 0
    return this.isHoldingBack(waiting, now) ? Math.ceil(((this.#flow.pacer.perSecond ?? 0) * (ms - pausedMs)) / 1000) : Number.POSITIVE_INFINITY
  }

  /**
   * How long the waiting calls are to wait, or what the next batch of them may hold. Changes
   * nothing. `maySplit` where another slot is free for calls that are slower or quicker than the
   * first one. `slots` are free for these calls, this batch's own among them.
   */
  plan(now: number, waiting: WaitingCalls, maySplit: boolean, slots: number): Wait | BatchPlan {
    if (this.#size.holdsBack(waiting.size)) return { waitMs: Number.POSITIVE_INFINITY }
    if (this.#flow.pause.until > now) return { waitMs: this.#flow.pause.until - now }
    const longest = this.#size.next
    const waitMs = Math.max(this.#flow.pacer.msUntil(waiting, longest, now), this.#methods.msUntilTrialEnds(waiting, now))
    if (waitMs > 0) return { waitMs }
    const maxCalls = Math.min(
      this.#flow.pacer.room(longest, now),
      this.#methods.room(waiting.first.method, longest, now),
      this.#heavyCalls.maxCalls(waiting.first.method, waiting.size, slots),
    )
    return new Plan(maxCalls, this.#size, this.#replies, this.#flow.pacer.fitting(now), maySplit ? this.#speeds : undefined)
  }

  /** A POST of this call alone may start beside the others now. It counts for the rate. */
  tryStartBeside(call: Call, now: number): boolean {
    if (this.#flow.pause.until > now || this.#methods.apart.has(call.method) || this.#flow.pacer.msUntil({ size: 1, first: call }, 1, now) > 0) return false
    this.#flow.pacer.started([call], now)
    return true
  }

  /** A batch of these calls starts. It `hadRoom` for more calls than were waiting for it. */
  started(calls: readonly Call[], now: number, hadRoom: boolean): BatchInFlight {
    this.#flow.pacer.started(calls, now)
    this.#methods.started(calls, now)
    const isProbe = this.#size.start(calls.length)
    const { nth, nthBusy } = this.#inFlight.add(now)
    return { calls, sentAt: now, nth, nthBusy, expectedBytes: this.#replies.sum(calls), isProbe, hadRoom }
  }

  /** A batch has ended because no caller waited for it any more. That says nothing about limits. */
  abandoned(batch: BatchInFlight): void {
    const { calls, sentAt, isProbe } = batch
    this.#inFlight.drop(sentAt)
    this.#methods.abandoned(batch)
    this.#size.end(calls.length, isProbe)
  }

  /**
   * Learns from what became of a batch. `areOthersWaiting` tells whether calls of other methods
   * than this one wait.
   */
  finished(result: BatchResult, now: number, areOthersWaiting: (method: string) => boolean): Consequences {
    const { batch, taken, throttling } = result
    const { length } = batch.calls
    this.#inFlight.drop(batch.sentAt)
    if (taken.length > 0) this.#learnFromReplies(result, now)
    this.#heavyCalls.learn(result, this.#roundTripMs, now)
    const resend = this.#learnSize(result, now)
    this.#size.end(length, batch.isProbe)
    this.#concurrency.allow(this.#size.isSingle ? this.#singleConcurrency : this.#batchConcurrency)
    if (throttling === undefined && taken.length > 0) this.#busyRefusals.answered()
    const ownership = this.#methods.learn(result, areOthersWaiting, this.#concurrency.limit, now)
    if (ownership === 'found') this.#forgetThrottling(now)
    const isPaused = throttling !== undefined && ownership === 'unknown' && this.#learnThrottling(result, throttling, now)
    const mayBePaused = isPaused || (throttling !== undefined && this.methodsApart.size > 0)
    if (throttling === undefined && result.strained === length) this.#concurrency.strained(batch.nth, batch.sentAt, now)
    return { mayBePaused, resend }
  }

  #learnFromReplies(result: BatchResult, now: number): void {
    const { batch, answered, bytes, common } = result
    const tookMs = now - batch.sentAt
    if ((this.#roundTripMs === 0 || tookMs < this.#roundTripMs) && !this.#isHeavy((batch.calls[0] as Call).method)) this.#roundTripMs = tookMs
    if (answered.length > 0) this.#replies.learn(answered, bytes)
    this.#inFlight.answeredAfter(tookMs)
    this.#flow.took(result, this.#concurrency.limit, now)
    this.#concurrency.answered(batch.nth, now)
    if (common === 'answered' && batch.calls[0]?.priority === 'interactive') this.#speeds.learn(batch.calls, tookMs)
  }

  /** Which calls may do better in a smaller batch. */
  #learnSize({ batch, answered, taken, refusal, answeredFirst, common }: BatchResult, now: number): Consequences['resend'] {
    const { length } = batch.calls
    const { sentAt } = batch
    const bytes = answered.length === length || taken.length < length ? batch.expectedBytes : this.#replies.sum(answered)
    if (taken.length > 0 && refusal === undefined && answeredFirst === 0) this.#size.took(length, batch.hadRoom)
    if (refusal !== undefined) {
      if (refusal.kind === 'response-too-large') this.#learnTooLarge(batch, refusal)
      else this.#size.refused(length)
      return 'too-large'
    }
    if (answeredFirst > 0) {
      this.#size.answeredOnly(answeredFirst, length)
      return 'unanswered'
    }
    const failed = { length, bytes, sentAt, now }
    if (taken.length === length) {
      const noneWaited = batch.hadRoom || this.#hadFreeSlots(batch)
      this.#size.answered({ length, bytes, tookMs: now - sentAt, roundTripMs: this.#roundTripMs, noneWaited })
      return 'none'
    }
    switch (common) {
      case 'timed-out':
        if (length > 1) this.#size.timedOut(failed)
        return 'none'
      case 'not-found':
        return this.#size.failed(length) ? 'all' : 'none'
      case 'unexplained':
        // Nothing says that the length was the reason: each call is repeated after a wait, alone.
        if (this.#size.failed(length)) return 'none'
        return this.#size.failedUnexplained(failed) ? 'all' : 'none'
      case 'cut':
        return this.#size.failedUnexplained(failed) ? 'all' : 'none'
      default:
        return 'none'
    }
  }

  /** Whether another POST of bulk calls could start with this one. One slot is kept from them. */
  #hadFreeSlots({ nth }: BatchInFlight): boolean {
    return nth < Math.min(this.#batchConcurrency, this.#concurrency.limit) - 1
  }

  #learnTooLarge({ calls, expectedBytes }: BatchInFlight, refusal: HexlineError): void {
    const { size, limit } = refusal instanceof LimitError ? refusal : { size: 0, limit: 0 }
    // How large it would have been is known, and was not foreseen.
    if (size > expectedBytes) this.#replies.learn(calls, size)
    // What is beyond a limit of hexline's own says nothing about the endpoint. Where the endpoint
    // has cut it, its size is the limit.
    if (size > limit) this.#size.body.stayWithin(limit)
    else this.#size.tooLarge(calls.length, Math.max(size, expectedBytes))
  }

  /** What was taken for a limit of the endpoint is one of a method. */
  #forgetThrottling(now: number): void {
    this.#flow.pacer.forget?.()
    this.#flow.pause.end(now)
    this.#concurrency.forgive()
  }

  /** True where a pause begins. */
  #learnThrottling(result: BatchResult, throttling: HexlineError, now: number): boolean {
    const { batch, taken } = result
    const verdict = this.#verdictOn(result, throttling, now)
    if (verdict === 'busy') {
      this.#concurrency.strained(batch.nthBusy, batch.sentAt, now)
    } else if (verdict === 'too-many-at-once') {
      this.#concurrency.refused(batch.nthBusy, now)
    } else if (verdict === 'below-level') {
      this.#size.throttled(taken.length)
      if (taken.length === 0 && batch.nthBusy > 1) this.#concurrency.strained(batch.nthBusy, batch.sentAt, now)
    }
    return this.#flow.pauseFor(throttling, verdict !== 'too-many-at-once', now)
  }

  #verdictOn(result: BatchResult, throttling: HexlineError, now: number): Verdict {
    const { batch, taken, throttled } = result
    const { calls, nthBusy, sentAt } = batch
    this.#busyRefusals.throttled(throttling, throttled.length / calls.length)
    if (this.#busyRefusals.explain(throttling)) return 'busy'
    if (taken.length === 0) {
      // More at a time than were ever answered: their number may be the reason, unless the rate is
      // beyond what is known to be taken.
      const isMost = nthBusy > 1 && nthBusy > this.#concurrency.proven
      const standing = this.#flow.pacer.standing(sentAt)
      if (isMost && standing !== 'unproven') return 'too-many-at-once'
      // A single POST is turned away for the rate: those before may have been, too.
      if (nthBusy === 1 && standing === 'none') this.#concurrency.forgive()
    }
    return this.#flow.throttled(result, throttling, now)
  }
}
