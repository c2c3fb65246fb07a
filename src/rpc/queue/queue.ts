import * as timers from 'node:timers'
import type { HexlineError } from '../../errors.ts'
import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import { type Call, mayLeave, type Outcome, type PooledCall, type Post, type Reply } from '../call.ts'
import { copyError } from '../copy-error.ts'
import { type CurrentLimits, EndpointLimits, type EndpointLimitsOptions } from '../limits/endpoint-limits.ts'
import type { Pacing } from '../limits/rate/pacer.ts'
import { Batches } from './batches.ts'
import { Caller } from './caller.ts'
import { type Entry, paramsJson } from './entry.ts'
import type { Line } from './line.ts'
import { Lines } from './lines.ts'
import { MethodPauses } from './method-pauses.ts'
import { Slots } from './slots.ts'

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
 *    its line if it may do better in a smaller batch (batches.ts).
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
   * elsewhere: they are rejected with `MOVED`. Takes only those that may leave (`mayLeave`) and
   * that `goes` elsewhere, and stops looking for them once this many have turned out to stay: the
   * next search goes on from there.
   */
  handOver(calls: number, goes: (call: Call) => boolean, stayers?: number): void
  /**
   * The endpoint does not answer. Rejects calls in line with `MOVED`, and reads in flight with
   * `GIVEN_UP` if `goesElsewhere`, as far as they may leave (`mayLeave`).
   */
  giveUp(goesElsewhere: (call: Call) => boolean): void
  /**
   * After `giveUp`, for reads in flight that stayed then: rejects them with `GIVEN_UP` if
   * `goesElsewhere` by now, as far as they may leave.
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
  readonly #lines: Lines
  readonly #batches: Batches
  readonly #slots: Slots
  readonly #methodPauses: MethodPauses
  /** The last POST was of a method that waits apart. */
  #wasApart = false
  /** Ends a pause of the slots. */
  readonly #wake: Alarm = { at: 0, place: -1, ring: () => this.#resume() }
  /** Entries at the back of the lines that a search for calls to hand over has passed. */
  #searched = 0
  #isTurnEndSet = false
  #isMicrotaskSet = false

  constructor(options: QueueOptions) {
    this.name = options.name
    this.#options = options
    this.#limits = new EndpointLimits(options, this.#now())
    this.#lines = new Lines(options.dedupe, () => this.#onDropped())
    this.#batches = new Batches({ ...options, limits: this.#limits, lines: this.#lines })
    this.#methodPauses = new MethodPauses(
      this.#lines.apart,
      (line, now) => this.#limits.methodHeldUntil(line, now),
      options.waiting,
      () => this.#offer(),
    )
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
    this.#batches.learn()
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
    return Math.max(1, slots - 1) - this.#batches.bulk
  }

  /** A job begins. Ends at once where the calls that it was for have left, or others go first. */
  #begin(line: Line, end: () => void): void {
    if (line === this.#nextLine()) this.#post(line, end)
    else end()
  }

  /** Makes a POST for a job. `end` ends the job: at once, where the calls have to wait. */
  #post(line: Line, end: () => void): void {
    this.#batches.learn()
    const now = this.#now()
    const slots = line.priority === 'bulk' ? this.#freeBulkSlots : this.#limits.concurrency - this.#batches.size
    // Only interactive calls are split by speed, and only where another slot is free for the rest.
    const plan = this.#limits.plan(now, line, line === this.#lines.interactive && slots > 1, slots)
    if ('waitMs' in plan) {
      this.#limits.heldBack(line, now)
      this.#pauseUntil(now + plan.waitMs)
      end()
      return
    }
    this.#wasApart = this.#isApart(line)
    void this.#batches.send(line, plan, now, () => {
      this.#slots.rest(end)
      this.#offerSoon()
    })
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
    this.#batches.learn()
    return this.#limits.current
  }

  paceBy(make: (wake: () => void) => Pacing): void {
    this.#limits.paceBy(make(() => this.#slots.isPaused && this.#resume()))
  }

  turnAway(failure: HexlineError): void {
    this.#lines.fail(({ method, whilePaused }) => (whilePaused === 'fail' ? copyError(failure, method) : undefined))
  }

  callsBeyond(ms: number): number {
    return Math.max(0, this.size - this.#limits.callsWithin(ms, this.#lines.first, this.#now()))
  }

  handOver(calls: number, goes: (call: Call) => boolean, stayers = Number.POSITIVE_INFINITY): void {
    const entries = this.#lines.list().reverse()
    let place = stayers === Number.POSITIVE_INFINITY || this.#searched >= entries.length ? 0 : this.#searched
    let stayed = 0
    let taken = 0
    for (; place < entries.length && taken < calls && stayed < stayers; place++) {
      const free = (entries[place] as Entry).callers.filter(({ call }) => mayLeave(call, 'line', 'another can answer'))
      const going = free.filter(({ call }) => goes(call))
      if (going.length > 0) taken++
      else if (free.length > 0) stayed++
      for (const caller of going) caller.cancel(MOVED)
    }
    this.#searched = stayed < stayers ? 0 : place - taken
  }

  async beside(call: Call, signal: AbortSignal): Promise<Outcome | undefined> {
    if (!this.#limits.tryStartBeside(call, this.#now())) return undefined
    try {
      return (await this.#options.post([call], signal))[0]
    } catch {
      // A post function of the user's that breaks its contract.
      return undefined
    }
  }

  giveUp(goesElsewhere: (call: Call) => boolean): void {
    const { readers } = this.#batches
    for (const caller of this.#lines.callers) if (mayLeave(caller.call, 'line', 'given up')) caller.cancel(MOVED)
    for (const caller of readers) if (mayLeave(caller.call, 'flight', 'given up') && goesElsewhere(caller.call)) caller.cancel(GIVEN_UP)
  }

  giveUpSent(goesElsewhere: (call: Call) => boolean): void {
    for (const caller of this.#batches.readers) {
      if (mayLeave(caller.call, 'flight', 'still given up') && goesElsewhere(caller.call)) caller.cancel(GIVEN_UP)
    }
  }

  #now(): number {
    return this.#options.waiting.clock.now()
  }
}

/** Its `then` runs a function in the next microtask, at half the cost of `queueMicrotask`. */
const RESOLVED = Promise.resolve()

/** Node.js's own: test frameworks replace the global one with a fake clock that stands still. */
const { setImmediate } = timers
