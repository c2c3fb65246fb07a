import PQueue from 'p-queue'
import { CodecError, type HexlineError } from '../../errors.ts'
import { excerpt } from '../../text.ts'
import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import type { Call, Outcome, Post, Reply, Send } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { copyError } from '../copy-error.ts'
import { throttleEvents } from '../events.ts'
import { isTooLarge } from '../failure-kinds.ts'
import { type BatchInFlight, batchResult } from '../limits/batch-result.ts'
import { type BatchPlan, EndpointLimits, type EndpointLimitsOptions, type Wait } from '../limits/endpoint-limits.ts'
import { Caller } from './caller.ts'
import { Entry } from './entry.ts'
import { Line } from './line.ts'
import { BatchSender } from './send-batch.ts'
import { ThrottleEvents } from './throttle-events.ts'

export interface QueueOptions extends EndpointLimitsOptions {
  /** Names the endpoint in errors and in `Call.tried`. */
  readonly name: string
  readonly post: Post
  readonly waiting: Waiting
  /** Safe calls join identical ones that still wait. */
  readonly dedupe: boolean
}

/** One endpoint's queue: the only place where calls become POSTs, and the only one that knows about batches. */
export interface Queue {
  readonly name: string
  readonly send: Send
  /** Until when no call starts, on the clock: the endpoint is paused, or a learnt rate holds calls back. In the past otherwise. */
  readonly pausedUntil: number
  /** Calls in line. */
  readonly size: number
  /** Fails the calls in line that do not wait for an endpoint to recover (`whilePaused` is `fail`), each with a copy of `failure`. */
  turnAway(failure: HexlineError): void
  /** How many calls in line cannot start within `ms`, because of a pause or a learnt rate. */
  late(ms: number): number
  /** Ends the waiting of at most this many calls, the last ones first, with the reason `MOVED`: they have not been sent, and may go elsewhere. */
  handOver(calls: number): void
  /** Ends the waiting of all calls at an endpoint that does not answer: with `MOVED` where they have not been sent, with `GIVEN_UP` where they are reads. */
  giveUp(): void
}

/** Why a call waits no longer here: another endpoint has time for it. Not a failure; only the router sees it. */
export const MOVED: unique symbol = Symbol('the call goes to another endpoint')
/** The same for a read that was sent to an endpoint which has been given up. */
export const GIVEN_UP: unique symbol = Symbol('the endpoint has been given up')

export function createQueue(options: QueueOptions): Queue {
  return new EndpointQueue(options)
}

/** In p-queue, a POST of interactive calls goes before one of bulk calls. */
const INTERACTIVE = { id: 'interactive', priority: 1 }
const BULK = { id: 'bulk', priority: 0 }

/**
 * The life of a batch:
 * 1. Calls wait in a line, interactive ones in one, bulk ones in the other. At the end of the turn in which they came,
 *    p-queue is offered a job that makes a POST of them.
 * 2. p-queue runs the job when a slot is free. While the endpoint is to get no calls, p-queue is paused.
 * 3. The job takes as many calls as the limits allow. It does so only now: under load batches grow by themselves, and a
 *    call that was aborted while it waited, or that has joined an identical one, costs nothing.
 * 4. Each call gets its outcome, or goes back to the front of the line when it may do better in a smaller batch. The
 *    limits learn from the result.
 * 5. The job ends with the turn: callers that go on at once have their next calls in line for the slot that it leaves.
 */
class EndpointQueue implements Queue {
  readonly name: string
  readonly #options: QueueOptions
  readonly #limits: EndpointLimits
  readonly #sender: BatchSender
  readonly #throttleEvents: ThrottleEvents
  readonly #interactive = new Line(() => this.#onDropped())
  readonly #bulk = new Line(() => this.#onDropped())
  readonly #slots: PQueue
  /** Ends a pause of the slots. */
  readonly #wake: Alarm = { at: 0, place: -1, ring: () => this.#offer() }
  /** The calls of each POST in flight, and how many of these POSTs are of bulk calls. */
  readonly #inFlight = new Set<readonly Entry[]>()
  #bulkPosts = 0
  /** Jobs whose POSTs have ended in this turn. */
  #endingJobs: (() => void)[] = []
  #isTurnSet = false

  constructor(options: QueueOptions) {
    this.name = options.name
    this.#options = options
    this.#limits = new EndpointLimits(options, this.#now())
    this.#sender = new BatchSender(options.name, options.post)
    this.#throttleEvents = new ThrottleEvents(options.name, this.#limits.current)
    this.#slots = new PQueue({ concurrency: this.#limits.concurrency })
    this.#slots.on('next', () => this.#offer())
  }

  readonly send = (call: Call): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const { waiting, dedupe } = this.#options
      const json = jsonOf(call)
      // Bulk calls differ from each other by their nature: looking for an identical one costs as much as everything else here. Bytes that nobody has read yet
      // are right for their reader alone.
      const key = dedupe && call.safe && call.priority !== 'bulk' && !call.isUnread ? `${call.as} ${call.method} ${json}` : undefined
      const caller = new Caller(call, waiting, resolve, reject)
      if (!waiting.hold(caller)) return
      const failure = this.#limits.failureFor(call, this.#now())
      if (failure !== undefined) return caller.cancel(failure)
      const line = call.priority === 'bulk' ? this.#bulk : this.#interactive
      const same = key === undefined ? undefined : line.find(key)
      if (same !== undefined) return same.join(caller)
      const entry = new Entry(call, json, key, caller)
      // What comes back from a failure is older than what waits.
      if (call.tried.length > 0) line.insertByAge(entry)
      else line.push(entry)
      this.#offerSoon()
    })

  /** Calls of one turn travel together. No timer, so a lone call waits for nothing but the end of its turn. */
  #offerSoon(): void {
    if (this.#isTurnSet) return
    this.#isTurnSet = true
    setImmediate(this.#onTurnEnd)
  }

  readonly #onTurnEnd = (): void => {
    this.#isTurnSet = false
    if (this.#slots.concurrency !== this.#limits.concurrency) this.#slots.concurrency = this.#limits.concurrency
    for (const end of this.#endingJobs.splice(0)) end()
    this.#offer()
  }

  /** Offers p-queue jobs until it has no free slot for another one; while the calls have to wait, pauses it. */
  #offer(): void {
    for (;;) {
      const line = this.#nextLine()
      if (line === undefined) return
      const plan = this.#plan(line)
      if ('waitMs' in plan) {
        this.#pause(plan.waitMs)
        return
      }
      const options = line === this.#interactive ? INTERACTIVE : BULK
      const isOffered = this.#slots.sizeBy(options) > 0
      if (isOffered && !this.#slots.isPaused) return
      if (!isOffered) void this.#slots.add(() => this.#run(line), options)
      this.#resume()
    }
  }

  /** The line whose calls go next, if they may have a slot. */
  #nextLine(): Line | undefined {
    if (this.#interactive.size > 0) return this.#interactive
    // Where there are several slots, one is kept from bulk calls. They get no more of them for being POSTs of one call: their replies are large.
    const slots = Math.min(this.#options.concurrency, this.#limits.concurrency)
    return this.#bulk.size > 0 && this.#bulkPosts < Math.max(1, slots - 1) ? this.#bulk : undefined
  }

  #plan(line: Line): Wait | BatchPlan {
    // Calls that are left for a POST of their own need a slot for it. Nobody waits for one bulk call.
    const maySplit = line === this.#interactive && this.#inFlight.size + 1 < this.#limits.concurrency
    return this.#limits.plan(this.#now(), line, maySplit)
  }

  #pause(ms: number): void {
    const { alarms } = this.#options.waiting
    this.#slots.pause()
    alarms.unset(this.#wake)
    // Without an end, the pause ends with a POST in flight.
    if (ms === Number.POSITIVE_INFINITY) return
    this.#wake.at = this.#now() + ms
    alarms.set(this.#wake)
  }

  #resume(): void {
    this.#options.waiting.alarms.unset(this.#wake)
    this.#slots.start()
  }

  /** The job of one POST. */
  async #run(line: Line): Promise<void> {
    // While it waited for its slot, its calls may have left, or the endpoint may have been paused.
    const plan = line === this.#nextLine() ? this.#plan(line) : undefined
    if (plan === undefined || 'waitMs' in plan) return
    const { entries, hadRoom } = line.take(plan)
    const batch = this.#limits.started(entries, this.#now(), hadRoom)
    const isBulk = line === this.#bulk
    if (isBulk) this.#bulkPosts++
    this.#inFlight.add(entries)
    const outcomes = await this.#sender.send(entries)
    this.#inFlight.delete(entries)
    if (isBulk) this.#bulkPosts--
    this.#finish(line, entries, batch, outcomes)
    await this.#turnEnd()
  }

  #turnEnd(): Promise<void> {
    this.#offerSoon()
    return new Promise((resolve) => this.#endingJobs.push(resolve))
  }

  #finish(line: Line, entries: readonly Entry[], batch: BatchInFlight, outcomes: readonly Outcome[]): void {
    const now = this.#now()
    const { isPaused, resend } = this.#limits.finished(batchResult(batch, outcomes), now)
    const again: Entry[] = []
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const outcome = outcomes[i] as Outcome
      if (resend === 'all' || (resend === 'too-large' && outcome instanceof Error && isTooLarge(outcome))) {
        if (entry.isWaitedFor) again.push(entry)
        continue
      }
      entry.settle(outcome)
    }
    line.putBack(again)
    if (isPaused) this.#failOverlong(now)
    if (throttleEvents.hasSubscribers) this.#throttleEvents.publish(outcomes, this.#limits.current, now)
  }

  /** Calls that do not wait for the end of the pause, or could only wait past their deadline, fail now. */
  #failOverlong(now: number): void {
    for (const caller of this.#callersInLine()) {
      const failure = this.#limits.failureFor(caller.call, now)
      if (failure !== undefined) caller.cancel(failure)
    }
  }

  /** The pause may have been for the first entry alone. Without entries, its alarm would only keep the process alive. */
  #onDropped(): void {
    if (this.size === 0) this.#options.waiting.alarms.unset(this.#wake)
    else if (this.#slots.isPaused) this.#offerSoon()
  }

  get pausedUntil(): number {
    const { pausedUntil } = this.#limits
    const isHeldBack = this.#wake.place >= 0 && this.#limits.isHoldingBack(this.#firstLine, this.#now())
    return isHeldBack ? Math.max(pausedUntil, this.#wake.at) : pausedUntil
  }

  get size(): number {
    return this.#interactive.size + this.#bulk.size
  }

  turnAway(failure: HexlineError): void {
    for (const caller of this.#callersInLine()) if (caller.call.whilePaused === 'fail') caller.cancel(copyError(failure, caller.call.method))
  }

  late(ms: number): number {
    return Math.max(0, this.size - this.#limits.callsWithin(ms, this.#firstLine, this.#now()))
  }

  handOver(calls: number): void {
    const entries = this.#entriesInLine().filter(({ isBound }) => !isBound)
    for (const { callers } of entries.slice(Math.max(0, entries.length - calls))) for (const caller of callers) caller.cancel(MOVED)
  }

  giveUp(): void {
    const sent = [...this.#inFlight].flat().filter(({ safe }) => safe)
    for (const caller of this.#callersInLine()) caller.cancel(MOVED)
    for (const { callers } of sent) for (const caller of callers) caller.cancel(GIVEN_UP)
  }

  get #firstLine(): Line {
    return this.#interactive.size > 0 ? this.#interactive : this.#bulk
  }

  #entriesInLine(): Entry[] {
    return [...this.#interactive.list(), ...this.#bulk.list()]
  }

  #callersInLine(): Caller[] {
    return this.#entriesInLine().flatMap(({ callers }) => callers)
  }

  #now(): number {
    return this.#options.waiting.clock.now()
  }
}

/** As it was when the module was loaded: test frameworks put clocks of their own in its place, which stand still. */
const { setImmediate } = globalThis

function jsonOf(call: Call): string {
  try {
    return JSON.stringify(call.params)
  } catch (error) {
    const received = `something else (${excerpt((error as Error).message)})`
    throw new CallFailure(new CodecError('params', 'values that JSON can hold', received, { method: call.method }), 0, undefined)
  }
}
