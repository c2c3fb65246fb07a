import * as timers from 'node:timers'
import type { HexlineError } from '../../errors.ts'
import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import { type Call, type Outcome, type PooledCall, type Post, type Reply, staysPut } from '../call.ts'
import { copyError } from '../copy-error.ts'
import { throttleEvents } from '../events.ts'
import { isFailure, isTooLarge, isUnanswered } from '../failure-kinds.ts'
import { type BatchInFlight, batchResult } from '../limits/batch-result.ts'
import { type Consequences, type CurrentLimits, EndpointLimits, type EndpointLimitsOptions } from '../limits/endpoint-limits.ts'
import type { Pacing } from '../limits/pacer.ts'
import { Caller } from './caller.ts'
import { type Entry, paramsJson } from './entry.ts'
import type { Line } from './line.ts'
import { Lines } from './lines.ts'
import { MethodPauses } from './method-pauses.ts'
import { BatchSender } from './send-batch.ts'
import { Slots } from './slots.ts'
import { ThrottleEvents } from './throttle-events.ts'

/** One endpoint, and how calls are sent to it. */
export interface QueueOptions extends EndpointLimitsOptions {
  /** Names the endpoint in errors and in `Call.tried`. */
  readonly name: string
  readonly post: Post
  readonly waiting: Waiting
  /** Safe calls join identical ones that still wait. */
  readonly dedupe: boolean
}

/**
 * The queue of one endpoint: the only place where calls become POSTs, and the only one that knows
 * about batches. The life of a batch:
 * 1. Calls wait in one of two lines, interactive or bulk; those of a method that is throttled by
 *    itself, in two of its own. At the end of the turn in which they came, p-queue gets a job that
 *    makes a POST of them; before that, where one is to go at once.
 * 2. p-queue runs the job when a slot is free, interactive before bulk. While the endpoint is to
 *    get no calls, p-queue is paused.
 * 3. The job takes as many calls as the limits allow. It does so only now: under load batches grow
 *    by themselves, and a call that was aborted while it waited, or that has joined an identical
 *    one, costs nothing.
 * 4. The limits learn from the result. Each call gets its own outcome, or goes back to the front of
 *    its line if it may do better in a smaller batch.
 * 5. The job rests, and keeps its slot (slots.ts). At the end of a turn with calls in line, it goes
 *    on with 3.
 */
export function createQueue(options: QueueOptions): Queue {
  return new EndpointQueue(options)
}

/** The queue of one endpoint, as routing uses it. */
export interface Queue {
  readonly name: string
  readonly send: (call: PooledCall) => Promise<Reply>
  /**
   * The time until which a pause or a learnt rate holds calls back; in the past where none does.
   */
  readonly pausedUntil: number
  /**
   * Sends this call alone in a POST at once: it does not wait in line or for a slot. Resolves with
   * undefined if a pause or the rate does not allow it, or if there is no outcome. Never rejects.
   */
  beside(call: Call, signal: AbortSignal): Promise<Outcome | undefined>
  /** Calls in line. */
  readonly size: number
  /** What is sent to the endpoint from now on. */
  readonly limits: CurrentLimits
  /**
   * Another pacer decides when calls go, such as one that several processes share. It calls `wake`
   * when calls that it held back may go.
   */
  paceBy(make: (wake: () => void) => Pacing): void
  /** Fails the calls in line that have `whilePaused: 'fail'`, each with a copy of `failure`. */
  turnAway(failure: HexlineError): void
  /** How many calls in line cannot start within `ms`, because of a pause or a learnt rate. */
  callsBeyond(ms: number): number
  /**
   * Takes at most this many calls out of the lines, from the back, so that the router can send them
   * elsewhere: they are rejected with `MOVED`.
   */
  handOver(calls: number): void
  /**
   * The endpoint does not answer. Rejects calls in line with `MOVED`, except those that are bound
   * to it and stay put. Rejects reads in flight with `GIVEN_UP` if `goesElsewhere`, except those
   * that stay put.
   */
  giveUp(goesElsewhere: (call: Call) => boolean): void
  /**
   * After `giveUp`, for reads in flight that stayed then: rejects them with `GIVEN_UP` if
   * `goesElsewhere` by now, except those that are bound to the endpoint or stay put.
   */
  giveUpSent(goesElsewhere: (call: Call) => boolean): void
}

/** Why a call no longer waits here: another endpoint has time for it. Only the router sees this. */
export const MOVED: unique symbol = Symbol('the call goes to another endpoint')
/** The same for a read that was sent to an endpoint which has been given up. */
export const GIVEN_UP: unique symbol = Symbol('the endpoint has been given up')

class EndpointQueue implements Queue {
  readonly name: string
  readonly #options: QueueOptions
  readonly #limits: EndpointLimits
  readonly #sender: BatchSender
  readonly #throttleEvents: ThrottleEvents
  readonly #lines: Lines
  readonly #slots: Slots
  readonly #methodPauses: MethodPauses
  /** The last POST was of a method that waits apart. */
  #wasApart = false
  /** Ends a pause of the slots. */
  readonly #wake: Alarm = { at: 0, place: -1, ring: () => this.#resume() }
  /** The calls of each POST in flight, and how many of these POSTs are of bulk calls. */
  readonly #inFlight = new Set<readonly Entry[]>()
  #bulkPosts = 0
  /** Batches all of whose calls were answered, from which the limits have not learnt yet. */
  readonly #notLearnt: { readonly batch: BatchInFlight; readonly outcomes: readonly Outcome[]; readonly at: number }[] = []
  #isTurnEndSet = false
  #isMicrotaskSet = false

  constructor(options: QueueOptions) {
    this.name = options.name
    this.#options = options
    this.#limits = new EndpointLimits(options, this.#now())
    this.#lines = new Lines(options.dedupe, () => this.#onDropped())
    this.#methodPauses = new MethodPauses(
      this.#lines.apart,
      (method) => this.#limits.methodPausedUntil(method),
      options.waiting,
      () => this.#offer(),
    )
    this.#sender = new BatchSender(options.name, options.post)
    this.#throttleEvents = new ThrottleEvents(options.name, this.#limits.current)
    this.#slots = new Slots(
      this.#limits.concurrency,
      (line, end) => this.#begin(line, end),
      () => this.#offer(),
    )
  }

  readonly send = (call: PooledCall): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const { waiting } = this.#options
      const json = paramsJson(call)
      const caller = new Caller(call, waiting, resolve, reject)
      if (!waiting.hold(caller)) return
      // Most endpoints have never been paused, and the clock costs.
      const mayBePaused = this.#limits.pausedUntil > 0 || this.#limits.methodsApart.size > 0
      const failure = mayBePaused ? this.#limits.failureFor(call, this.#now()) : undefined
      if (failure !== undefined) return caller.cancel(failure)
      this.#lines.add(caller, json)
      if (call.atOnce) this.#offerAtOnce()
      else this.#offerSoon()
    })

  /**
   * Offers the lines in the next microtask, so that calls made until then share the POST, such as
   * those of several listeners to one message. While p-queue is paused, waits for the turn's end.
   */
  #offerAtOnce(): void {
    if (this.#isMicrotaskSet) return
    this.#isMicrotaskSet = true
    void RESOLVED.then(this.#onMicrotask)
  }

  readonly #onMicrotask = (): void => {
    this.#isMicrotaskSet = false
    if (this.#slots.isPaused) this.#offerSoon()
    else this.#offer()
  }

  /** Offers the lines at the end of the turn. Not by a timer, which would delay a lone call. */
  #offerSoon(): void {
    if (this.#isTurnEndSet) return
    this.#isTurnEndSet = true
    setImmediate(this.#onTurnEnd)
  }

  readonly #onTurnEnd = (): void => {
    this.#isTurnEndSet = false
    this.#options.waiting.turn.endTurn()
    this.#learn()
    this.#slots.allow(this.#limits.concurrency)
    this.#offer()
    // New calls, or what the limits have learnt, may have ended the reason for a pause.
    if (this.#slots.isPaused) this.#resume()
  }

  /** Offers lines with calls to the slots, until all calls go or a job waits for a slot. */
  #offer(): void {
    for (let line = this.#nextLine(); line !== undefined; line = this.#nextLine()) if (!this.#slots.offer(line)) return
    this.#methodPauses.setAlarm()
  }

  /** Is it one of the lines of a method that waits apart? */
  #isApart(line: Line): boolean {
    return line !== this.#lines[line.priority]
  }

  /** The line whose calls go next, if they may have a slot. */
  #nextLine(): Line | undefined {
    const { interactive, bulk, apart } = this.#lines
    if (apart.size > 0) {
      const ready = this.#methodPauses.ready(this.#freeBulkSlots > 0)
      // By turns: what waits in it may be many calls, or of low priority.
      if (ready !== undefined && !(this.#wasApart && (interactive.size > 0 || bulk.size > 0))) return ready
    }
    if (interactive.size > 0) return interactive
    // Where there are several slots, one is kept from bulk calls. Where each POST is one call, they
    // get no more slots for that: their replies are large.
    return bulk.size > 0 && this.#freeBulkSlots > 0 ? bulk : undefined
  }

  get #freeBulkSlots(): number {
    const slots = Math.min(this.#options.concurrency, this.#limits.concurrency)
    return Math.max(1, slots - 1) - this.#bulkPosts
  }

  /** A job begins. Ends at once where the calls that it was for have left, or others go first. */
  #begin(line: Line, end: () => void): void {
    if (line === this.#nextLine()) void this.#post(line, end)
    else end()
  }

  /** Makes a POST for a job. `end` ends the job: at once, where the calls have to wait. */
  async #post(line: Line, end: () => void): Promise<void> {
    this.#learn()
    const now = this.#now()
    const isBulk = line.priority === 'bulk'
    const slots = isBulk ? this.#freeBulkSlots : this.#limits.concurrency - this.#inFlight.size
    // Only interactive calls are split by speed, and only where another slot is free for the rest.
    const plan = this.#limits.plan(now, line, line === this.#lines.interactive && slots > 1, slots)
    if ('waitMs' in plan) {
      this.#limits.heldBack(line, now)
      this.#pauseUntil(now + plan.waitMs)
      end()
      return
    }
    const { entries, hadRoom } = line.take(plan)
    const batch = this.#limits.started(entries, now, hadRoom)
    this.#wasApart = this.#isApart(line)
    if (isBulk) this.#bulkPosts++
    this.#inFlight.add(entries)
    const outcomes = await this.#sender.send(entries)
    this.#inFlight.delete(entries)
    if (isBulk) this.#bulkPosts--
    if (outcomes === undefined) this.#limits.cut(batch)
    else this.#finish(line, entries, batch, outcomes)
    this.#slots.rest(end)
    this.#offerSoon()
  }

  #pauseUntil(time: number): void {
    const { alarms } = this.#options.waiting
    this.#slots.pause()
    alarms.unset(this.#wake)
    // An infinite pause ends when a POST in flight has finished, at the end of that turn.
    if (time === Number.POSITIVE_INFINITY) return
    this.#wake.at = time
    alarms.set(this.#wake)
  }

  #resume(): void {
    this.#options.waiting.alarms.unset(this.#wake)
    this.#slots.resume()
    this.#offer()
  }

  #finish(line: Line, entries: readonly Entry[], batch: BatchInFlight, outcomes: readonly Outcome[]): void {
    const now = this.#now()
    // The turn ends below, in the job that this belongs to.
    this.#options.waiting.turn.hold(now)
    if (outcomes.every((outcome) => !(outcome instanceof Error))) {
      // Nothing but the next batch depends on what is learnt: callers do not wait for it.
      this.#notLearnt.push({ batch, outcomes, at: now })
      for (const [i, entry] of entries.entries()) entry.settle(outcomes[i] as Outcome)
      return
    }
    this.#learn()
    const { isPaused, resend } = this.#learnFrom(batch, outcomes, now)
    const again: Entry[] = []
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const outcome = outcomes[i] as Outcome
      if (!isResent(outcome, resend)) entry.settle(outcome)
      else if (entry.isWaitedFor) {
        if (outcome instanceof Error && outcome.kind === 'response-too-large') entry.longest = Math.max(1, Math.floor(entries.length / 2))
        again.push(entry)
      }
    }
    this.#lines.putBack(line, again)
    // Calls that do not wait for the end of a pause, or whose deadline comes before it, fail now.
    if (isPaused) this.#failInLine((call) => this.#limits.failureFor(call, now))
    if (throttleEvents.hasSubscribers) this.#throttleEvents.publish(outcomes.filter(isFailure), this.#limits.current, now)
  }

  /** The limits learn from batches whose callers have their results. */
  #learn(): void {
    for (const { batch, outcomes, at } of this.#notLearnt) {
      this.#learnFrom(batch, outcomes, at)
      if (throttleEvents.hasSubscribers) this.#throttleEvents.publish(NO_FAILURES, this.#limits.current, at)
    }
    this.#notLearnt.length = 0
  }

  #learnFrom(batch: BatchInFlight, outcomes: readonly Outcome[], now: number): Consequences {
    const consequences = this.#limits.finished(batchResult(batch, outcomes), now, this.#areOthersWaiting)
    this.#lines.keepApart(this.#limits.methodsApart)
    return consequences
  }

  readonly #areOthersWaiting = (method: string): boolean => this.#lines.hasOthers(method)

  /** An alarm without calls would keep the process alive; calls behind the first may go sooner. */
  #onDropped(): void {
    if (this.size === 0) {
      this.#options.waiting.alarms.unset(this.#wake)
      this.#methodPauses.unsetAlarm()
    } else if (this.#slots.isPaused) this.#offerSoon()
  }

  get pausedUntil(): number {
    const { pausedUntil } = this.#limits
    const isHeldBack = this.#wake.place >= 0 && this.#limits.isHoldingBack(this.#lines.first, this.#now())
    return isHeldBack ? Math.max(pausedUntil, this.#wake.at) : pausedUntil
  }

  get size(): number {
    return this.#lines.size
  }

  get limits(): CurrentLimits {
    this.#learn()
    return this.#limits.current
  }

  paceBy(make: (wake: () => void) => Pacing): void {
    this.#limits.paceBy(make(() => this.#slots.isPaused && this.#resume()))
  }

  turnAway(failure: HexlineError): void {
    this.#failInLine(({ method, whilePaused }) => (whilePaused === 'fail' ? copyError(failure, method) : undefined))
  }

  callsBeyond(ms: number): number {
    return Math.max(0, this.size - this.#limits.callsWithin(ms, this.#lines.first, this.#now()))
  }

  handOver(calls: number): void {
    const movable = this.#lines
      .list()
      .map(({ callers }) => callers.filter(({ isBound }) => !isBound))
      .filter(({ length }) => length > 0)
    for (const callers of movable.slice(Math.max(0, movable.length - calls))) for (const caller of callers) caller.cancel(MOVED)
  }

  async beside(call: Call, signal: AbortSignal): Promise<Outcome | undefined> {
    if (!this.#limits.startsBeside(call, this.#now())) return undefined
    try {
      return (await this.#options.post([call], signal))[0]
    } catch {
      // A post function of the user's that breaks its contract.
      return undefined
    }
  }

  giveUp(goesElsewhere: (call: Call) => boolean): void {
    const reads = this.#readsInFlight()
    for (const caller of this.#lines.callers) if (!(caller.call.isBound && staysPut(caller.call))) caller.cancel(MOVED)
    for (const caller of reads) if (!staysPut(caller.call) && goesElsewhere(caller.call)) caller.cancel(GIVEN_UP)
  }

  giveUpSent(goesElsewhere: (call: Call) => boolean): void {
    for (const caller of this.#readsInFlight()) {
      if (!caller.call.isBound && !staysPut(caller.call) && goesElsewhere(caller.call)) caller.cancel(GIVEN_UP)
    }
  }

  #readsInFlight(): Caller[] {
    const entries = [...this.#inFlight].flat()
    return entries.filter(({ safe }) => safe).flatMap(({ callers }) => callers)
  }

  #failInLine(failureFor: (call: Call) => HexlineError | undefined): void {
    for (const caller of this.#lines.callers) {
      const failure = failureFor(caller.call)
      if (failure !== undefined) caller.cancel(failure)
    }
  }

  #now(): number {
    return this.#options.waiting.clock.now()
  }
}

/** Whether a call with this outcome may do better in a smaller batch. */
function isResent(outcome: Outcome, resend: Consequences['resend']): boolean {
  if (resend === 'all') return true
  if (!(outcome instanceof Error)) return false
  return (resend === 'too-large' && isTooLarge(outcome)) || (resend === 'unanswered' && isUnanswered(outcome))
}

const NO_FAILURES: readonly HexlineError[] = []

/** Its `then` runs a function in the next microtask, at half the cost of `queueMicrotask`. */
const RESOLVED = Promise.resolve()

/** Node.js's own: test frameworks replace the global one with a fake clock that stands still. */
const { setImmediate } = timers
