import { CodecError, copyError, type HexlineError, MalformedReplyError, TimeoutError } from '../../errors.ts'
import { excerpt, show } from '../../text.ts'
import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import type { Call, Outcome, Post, Reply, Send } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { throttleEvents } from '../events.ts'
import { isFailure, isTooLarge } from '../failure-kinds.ts'
import { type BatchInFlight, batchResult } from '../limits/batch-result.ts'
import { type BatchPlan, EndpointLimits, type EndpointLimitsOptions } from '../limits/endpoint-limits.ts'
import { Entry, type Ride } from './entry.ts'
import { Line } from './line.ts'
import { Lessons } from './throttle-events.ts'

export interface QueueOptions extends EndpointLimitsOptions {
  /** Names the endpoint in errors and in `Call.tried`. */
  readonly name: string
  readonly post: Post
  readonly waiting: Waiting
  /** Safe calls join identical ones that still wait. */
  readonly dedupe: boolean
}

/** One endpoint's queue: the one place where calls become POSTs, and the only one that knows about batches. */
export interface Queue {
  readonly name: string
  readonly send: Send
  /** Until when, on the clock; in the past when it is not. */
  readonly pausedUntil: number
  /** Calls in line. */
  readonly size: number
  /** Gives calls in line that need not wait here (`whilePaused` is `fail`) a copy of `failure`. */
  turnAway(failure: HexlineError): void
  /** Calls in line that cannot start within `ms`, because it is paused or a rate was learnt. */
  late(ms: number): number
  /** Ends the waiting of so many calls at most, the last ones first, with the reason `MOVED`: they have not been sent, and may go elsewhere. */
  handOver(calls: number): void
  /** Ends the waiting of all calls: of those that have not been sent with the reason `MOVED`, of reads that have with `GIVEN_UP`. The endpoint answers nothing. */
  giveUp(): void
}

/** Why a call waits no longer here: another endpoint has time for it. No failure, and nobody but the router sees it. */
export const MOVED: unique symbol = Symbol('the call goes to another endpoint')
/** The same for a read that was sent to an endpoint which has been given up on. */
export const GIVEN_UP: unique symbol = Symbol('the endpoint has been given up on')

/**
 * Calls of one turn of the event loop travel together, and a POST takes its calls when it starts: under load batches grow
 * by themselves, and a call that was aborted or joined in the meantime costs nothing.
 */
export function createQueue(options: QueueOptions): Queue {
  const running = new Running(options)
  return {
    name: options.name,
    send: (call) => running.send(call),
    get pausedUntil() {
      return running.pausedUntil
    },
    get size() {
      return running.size
    },
    turnAway: (failure) => running.turnAway(failure),
    late: (ms) => running.late(ms),
    handOver: (calls) => running.handOver(calls),
    giveUp: () => running.giveUp(),
  }
}

class Running {
  readonly #options: QueueOptions
  readonly #interactive = new Line(() => this.#onDropped())
  readonly #bulk = new Line(() => this.#onDropped())
  readonly #limits: EndpointLimits
  readonly #lessons: Lessons
  readonly #wake: Alarm
  /** Unused ones: making a signal costs as much as the rest of a small POST's way through here. */
  readonly #cuts: AbortController[] = []
  /** The calls of each POST in flight, and how many of these POSTs are of bulk calls. */
  readonly #inFlight = new Set<readonly Entry[]>()
  #bulkPosts = 0
  #turnIsSet = false

  constructor(options: QueueOptions) {
    this.#options = options
    this.#limits = new EndpointLimits(options, options.waiting.clock.now())
    this.#lessons = new Lessons(options.name, this.#limits.current)
    this.#wake = { at: 0, place: -1, ring: () => this.#start() }
  }

  send(call: Call): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const { waiting, dedupe } = this.#options
      const json = jsonOf(call)
      // Bulk calls differ from each other by their nature: to look for an identical one costs as much as all else here. Bytes that nobody has read yet are
      // right for their reader alone.
      const key = dedupe && call.safe && call.priority !== 'bulk' && !call.isUnread ? `${call.as} ${call.method} ${json}` : undefined
      const entry = new Entry(call, json, key, waiting, resolve, reject)
      if (!waiting.hold(entry)) return
      const failure = this.#limits.failureFor(call, this.#now())
      if (failure !== undefined) return entry.cancel(failure)
      const line = call.priority === 'bulk' ? this.#bulk : this.#interactive
      const same = key === undefined ? undefined : line.find(key)
      if (same !== undefined) return entry.join(same)
      // What comes back from a failure is older than what waits.
      if (call.tried.length > 0) line.letIn(entry)
      else line.push(entry)
      this.#startSoon()
    })
  }

  get pausedUntil(): number {
    const { pausedUntil } = this.#limits
    if (this.#wake.place < 0) return pausedUntil
    // Also when calls wait for what the learnt rate allows.
    return this.#limits.isHoldingBack(this.#firstLine, this.#now()) ? Math.max(pausedUntil, this.#wake.at) : pausedUntil
  }

  turnAway(failure: HexlineError): void {
    for (const line of [this.#interactive, this.#bulk]) {
      for (const entry of line.list().flatMap(({ waiters }) => waiters)) if (entry.whilePaused === 'fail') entry.cancel(copyError(failure, entry.method))
    }
  }

  get size(): number {
    return this.#interactive.size + this.#bulk.size
  }

  late(ms: number): number {
    return Math.max(0, this.size - this.#limits.callsWithin(ms, this.#firstLine, this.#now()))
  }

  handOver(calls: number): void {
    const waiting = [...this.#interactive.list(), ...this.#bulk.list()].filter(({ isBound }) => !isBound)
    for (const { waiters } of waiting.slice(Math.max(0, waiting.length - calls))) for (const entry of waiters) entry.cancel(MOVED)
  }

  giveUp(): void {
    const sent = [...this.#inFlight].flat().filter(({ safe }) => safe)
    for (const { waiters } of [...this.#interactive.list(), ...this.#bulk.list()]) for (const entry of waiters) entry.cancel(MOVED)
    for (const { waiters } of sent) for (const entry of waiters) entry.cancel(GIVEN_UP)
  }

  /** Calls of one turn travel together: no timer, so a lone call waits for nothing but the end of its turn. */
  #startSoon(): void {
    if (this.#turnIsSet) return
    this.#turnIsSet = true
    setImmediate(onTurn, this)
  }

  endTurn(): void {
    this.#turnIsSet = false
    this.#start()
  }

  /** An alarm for nobody would hold the process up. */
  #onDropped(): void {
    if (this.size === 0) this.#options.waiting.alarms.unset(this.#wake)
    // What stands behind it may go sooner.
    else if (this.#wake.place >= 0) this.#startSoon()
  }

  /** Starts a POST in every free slot that has calls for it. When only time is in the way, an alarm is set. */
  #start(): void {
    while (this.#inFlight.size < this.#limits.concurrency) {
      const line = this.#nextLine()
      if (line === undefined) return
      const now = this.#now()
      // Calls that are left for a POST of their own need a slot for it. Nobody waits for a bulk call by itself.
      const plan = this.#limits.plan(now, line, line === this.#interactive && this.#inFlight.size + 1 < this.#limits.concurrency)
      if ('waitMs' in plan) {
        if (plan.waitMs < Number.POSITIVE_INFINITY) this.#wakeAt(now + plan.waitMs)
        return
      }
      void this.#run(line, plan, now)
    }
  }

  #wakeAt(time: number): void {
    const { alarms } = this.#options.waiting
    alarms.unset(this.#wake)
    this.#wake.at = time
    alarms.set(this.#wake)
  }

  #now(): number {
    return this.#options.waiting.clock.now()
  }

  get #firstLine(): Line {
    return this.#interactive.size > 0 ? this.#interactive : this.#bulk
  }

  /** The line of the next POST, if its calls may have a slot. */
  #nextLine(): Line | undefined {
    if (this.#interactive.size > 0) return this.#interactive
    // Where there are several slots, one is kept from bulk calls. They get no more of them for being POSTs of one call: their replies are large.
    const slots = Math.min(this.#options.concurrency, this.#limits.concurrency)
    return this.#bulk.size > 0 && this.#bulkPosts < Math.max(1, slots - 1) ? this.#bulk : undefined
  }

  async #run(line: Line, plan: BatchPlan, now: number): Promise<void> {
    const isBulk = line === this.#bulk
    const entries = line.take(plan)
    const batch = this.#limits.started(entries, now, line.size === 0 || line.leftApart)
    if (isBulk) this.#bulkPosts++
    this.#inFlight.add(entries)
    const outcomes = await this.#post(entries)
    this.#inFlight.delete(entries)
    if (isBulk) this.#bulkPosts--
    this.#finish(line, entries, batch, outcomes)
    // After those who have their outcome: they may send more, or leave the line of an endpoint that fails.
    this.#startSoon()
  }

  async #post(entries: readonly Entry[]): Promise<readonly Outcome[]> {
    const { name, post } = this.#options
    const cut = this.#cuts.pop() ?? new AbortController()
    let left = entries.length
    let late = 0
    const ride: Ride = {
      endpoint: name,
      leave: (reason) => {
        if (reason instanceof TimeoutError) late++
        if (--left === 0) cut.abort()
      },
    }
    for (const entry of entries) entry.board(ride)
    let problem = 'gave no outcome for a call'
    try {
      const outcomes = await post(entries, cut.signal)
      // Nobody sees these any more, but the length of batches follows from them.
      if (late === entries.length) return entries.map(({ method }) => new TimeoutError(`${name}: all calls had waited too long`, { method }))
      if (Array.isArray(outcomes) && outcomes.length === entries.length && Array.from(outcomes).every(isOutcome)) return outcomes
    } catch (error) {
      if (isFailure(error)) return entries.map((entry) => copyError(error, entry.method))
      problem = `rejected: ${error instanceof Error ? error.message : show(error)}`
    } finally {
      // Nobody who leaves from now on may cut the POST that gets this signal next.
      left = 0
      if (!cut.signal.aborted) this.#cuts.push(cut)
    }
    return entries.map(({ method }) => new MalformedReplyError(`${name}: its post function ${problem}`, { method, endpoint: name }))
  }

  /** Gives every call its outcome; what may do better in a smaller batch goes back to the front of the line. */
  #finish(line: Line, entries: readonly Entry[], batch: BatchInFlight, outcomes: readonly Outcome[]): void {
    const { isPaused, resend } = this.#limits.finished(batchResult(batch, outcomes), this.#now())
    const refused: Entry[] = []
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const outcome = outcomes[i] as Outcome
      if (resend === 'all' || (resend === 'too-large' && outcome instanceof Error && isTooLarge(outcome))) {
        entry.ride = undefined
        if (entry.isWaitedFor) refused.push(entry)
        continue
      }
      entry.settle(outcome)
    }
    line.putBack(refused)
    if (isPaused) this.#onPause()
    if (throttleEvents.hasSubscribers) this.#lessons.tell(outcomes, this.#limits.current, this.#now())
  }

  /** Calls that will not wait for the end of the pause, or could only wait past their deadline, are told so now. */
  #onPause(): void {
    const now = this.#now()
    for (const line of [this.#interactive, this.#bulk]) {
      for (const entry of line.list().flatMap(({ waiters }) => waiters)) {
        const failure = this.#limits.failureFor(entry, now)
        if (failure !== undefined) entry.cancel(failure)
      }
    }
  }
}

function isOutcome(outcome: Outcome | undefined): boolean {
  return isFailure(outcome) || typeof (outcome as Reply | undefined)?.take === 'function'
}

/** As it was when the module was loaded: test frameworks put clocks of their own in its place, which stand still. */
const { setImmediate } = globalThis

function onTurn(running: Running): void {
  running.endTurn()
}

function jsonOf(call: Call): string {
  try {
    return JSON.stringify(call.params)
  } catch (error) {
    const received = `something else (${excerpt((error as Error).message)})`
    throw new CallFailure(new CodecError('params', 'values that JSON can hold', received, { method: call.method }), 0, undefined)
  }
}
