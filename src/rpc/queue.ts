import PQueue from 'p-queue'
import { CodecError, copyError, excerpt, type HexlineError, MalformedReplyError, RpcError, TimeoutError } from '../errors.ts'
import type { Alarm } from '../http/alarms.ts'
import type { Backoff } from './backoff.ts'
import type { Call, Outcome, Post, Reply, Send } from './call.ts'
import { Entry, type Ride } from './entry.ts'
import { isFailure, isThrottled, isTooLarge } from './kinds.ts'
import { Limits } from './limits.ts'
import { Line } from './line.ts'
import { Rate } from './rate.ts'
import type { Waiting } from './waiting.ts'

export interface QueueOptions {
  /** Names the endpoint in errors and in `Call.tried`. */
  readonly name: string
  readonly post: Post
  readonly waiting: Waiting
  /** POSTs in flight. */
  readonly concurrency: number
  /** Longest batch to begin with. */
  readonly maxCalls: number
  /** No more than so many calls in any second. */
  readonly callsPerSecond?: number | undefined
  /** `post` takes its listeners off the signal when it is done. */
  readonly reusesSignals: boolean
  /** Safe calls join identical ones that still wait. */
  readonly dedupe: boolean
  /** How long the endpoint is left alone when it throttles without a `Retry-After`. */
  readonly backoff: Backoff
}

/** One endpoint's queue: the one place where calls become POSTs, and the only one that knows about batches. */
export interface Queue {
  readonly name: string
  readonly send: Send
  /** It throttles, and is left alone for now. */
  readonly isPaused: boolean
}

/**
 * Calls of one turn of the event loop travel together, and a POST takes its calls when it starts: under load batches grow
 * by themselves, and a call that was aborted or joined in the meantime costs nothing.
 */
export function createQueue(options: QueueOptions): Queue {
  const running = new Running(options)
  return {
    name: options.name,
    send: (call) => running.send(call),
    get isPaused() {
      return running.isPaused
    },
  }
}

class Running {
  readonly #options: QueueOptions
  readonly #interactive = new Line(() => this.#onEmptied())
  readonly #bulk = new Line(() => this.#onEmptied())
  readonly #posts: PQueue
  readonly #limits: Limits
  readonly #rate: Rate | undefined
  readonly #pause: Pause
  /** POSTs of bulk calls that may be in flight: one slot is kept from them, where there are several. */
  readonly #bulkSlots: number
  readonly #wake: Alarm
  /** Unused ones: making a signal costs as much as the rest of a small POST's way through here. */
  readonly #cuts: AbortController[] = []
  #bulkPosts = 0
  #turnIsSet = false
  /** A POST is under way that tries a length of batches that none has had. */
  #isProbing = false

  constructor(options: QueueOptions) {
    const { concurrency, maxCalls, callsPerSecond, backoff } = options
    this.#options = options
    this.#posts = new PQueue({ concurrency })
    this.#bulkSlots = Math.max(1, concurrency - 1)
    this.#limits = new Limits(maxCalls)
    this.#rate = callsPerSecond === undefined ? undefined : new Rate(callsPerSecond, performance.now())
    this.#pause = new Pause(backoff)
    this.#wake = { at: 0, place: -1, ring: () => this.#start() }
  }

  send(call: Call): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const { waiting, dedupe } = this.#options
      const json = jsonOf(call)
      const key = dedupe && call.safe ? `${call.as} ${call.method} ${json}` : undefined
      const entry = new Entry(call, json, key, waiting, resolve, reject)
      if (!waiting.hold(entry)) return
      if (this.#pause.outlasts(call)) return entry.fail(this.#pause.failureFor(call))
      const line = call.priority === 'bulk' ? this.#bulk : this.#interactive
      const same = key === undefined ? undefined : line.find(key)
      if (same !== undefined) return entry.join(same)
      // What comes back from a failure is older than what waits.
      if (call.tried.length > 0) line.putBack([entry])
      else line.push(entry)
      this.#startSoon()
    })
  }

  get isPaused(): boolean {
    return this.#pause.until > performance.now()
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
  #onEmptied(): void {
    if (this.#interactive.size + this.#bulk.size === 0) this.#options.waiting.alarms.unset(this.#wake)
  }

  /** Starts a POST in every free slot that has calls for it, and lines up one more for the next slot that gets free. */
  #start(): void {
    while (this.#posts.size === 0 && this.#mayStart()) void this.#posts.add(() => this.#run())
  }

  /** True when a POST could start now, had it a slot. When only time is in the way, an alarm is set. */
  #mayStart(): boolean {
    const line = this.#nextLine()
    if (line === undefined || this.#isProbing) return false
    const now = performance.now()
    const wait = Math.max(this.#pause.until - now, this.#rate?.msUntil(this.#wanted(line), now) ?? 0)
    if (wait <= 0) return true
    const { alarms } = this.#options.waiting
    alarms.unset(this.#wake)
    this.#wake.at = now + wait
    alarms.set(this.#wake)
    return false
  }

  #nextLine(): Line | undefined {
    if (this.#interactive.size > 0) return this.#interactive
    return this.#bulk.size > 0 && this.#bulkPosts < this.#bulkSlots ? this.#bulk : undefined
  }

  /** Tokens that are worth waiting for: enough for the whole line, or for a burst. */
  #wanted(line: Line): number {
    return Math.min(line.size, this.#limits.calls, this.#rate?.burst ?? Number.POSITIVE_INFINITY)
  }

  async #run(): Promise<void> {
    if (!this.#mayStart()) return
    const line = this.#nextLine() as Line
    const limits = this.#limits
    const entries = line.take(Math.min(limits.calls, this.#rate?.available(performance.now()) ?? Number.POSITIVE_INFINITY), limits)
    this.#rate?.take(entries.length)
    const isBulk = line === this.#bulk
    const isProbe = limits.isUnproven
    if (isProbe) this.#isProbing = true
    if (isBulk) this.#bulkPosts++
    const outcomes = await this.#post(entries)
    if (isBulk) this.#bulkPosts--
    if (isProbe) this.#isProbing = false
    // An error of a call itself proves the length as well as a result does.
    if (isProbe && outcomes.some((outcome) => !(outcome instanceof Error) || (outcome instanceof RpcError && !isTooLarge(outcome)))) limits.isUnproven = false
    this.#land(line, entries, outcomes)
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
      if (Array.isArray(outcomes) && outcomes.length === entries.length && outcomes.every(isOutcome)) return outcomes
    } catch (error) {
      if (isFailure(error)) return entries.map((entry) => copyError(error, entry.method))
      problem = `rejected: ${error}`
    } finally {
      // Nobody who leaves from now on may cut the POST that gets this signal next.
      left = 0
      if (this.#options.reusesSignals && !cut.signal.aborted) this.#cuts.push(cut)
    }
    return entries.map(({ method }) => new MalformedReplyError(`${name}: its post function ${problem}`, { method, endpoint: name }))
  }

  /** Gives every call its outcome; what was refused for its company goes back to the front of the line. */
  #land(line: Line, entries: readonly Entry[], outcomes: readonly Outcome[]): void {
    const isBatch = entries.length > 1
    const refused: Entry[] = []
    const answered: Entry[] = []
    let bytes = 0
    let throttled: HexlineError | undefined
    let refusal: HexlineError | undefined
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const outcome = outcomes[i] as Outcome
      if (!(outcome instanceof Error)) {
        answered.push(entry)
        bytes += outcome.bytes
      } else if (isBatch && isTooLarge(outcome)) {
        refusal = outcome
        entry.ride = undefined
        if (entry.isWaitedFor) refused.push(entry)
        continue
      } else if (isThrottled(outcome)) {
        if (throttled === undefined || (outcome.retryAfterMs ?? 0) > (throttled.retryAfterMs ?? 0)) throttled = outcome
      }
      // By the name that routing knows: two endpoints may share a host, and a user's post function may not know its name.
      if (outcome instanceof Error) Object.assign(outcome, { attempts: 1, endpoint: this.#options.name })
      entry.settle(outcome)
    }
    if (bytes > 0) this.#limits.learn(answered, bytes)
    if (throttled !== undefined) this.#limits.throttled(answered.length)
    else if (answered.length === entries.length) this.#limits.worked(entries.length)
    if (answered.length > 0 && throttled === undefined) this.#pause.recovered()
    const isTimedOut = isBatch && outcomes.every((outcome) => outcome instanceof Error && outcome.kind === 'timeout')
    if (refusal !== undefined && refusal.kind !== 'response-too-large') this.#limits.refused(entries.length)
    else if (refusal !== undefined || isTimedOut) this.#limits.halve(entries.length)
    line.putBack(refused)
    if (throttled !== undefined) this.#leaveAlone(throttled)
  }

  /** Pauses the endpoint. Calls that will not wait for its end, or could only wait past their deadline, are told so now. */
  #leaveAlone(failure: HexlineError): void {
    this.#pause.begin(failure)
    for (const line of [this.#interactive, this.#bulk]) {
      for (const entry of line.list().flatMap(({ waiters }) => waiters)) if (this.#pause.outlasts(entry)) entry.cancel(this.#pause.failureFor(entry))
    }
  }
}

/** The time for which an endpoint that throttles is left alone. */
class Pause {
  until = 0
  readonly #backoff: Backoff
  #failure: HexlineError | undefined
  #inARow = 0

  constructor(backoff: Backoff) {
    this.#backoff = backoff
  }

  /** For what the endpoint asked, or else for longer each time. */
  begin(failure: HexlineError): void {
    const now = performance.now()
    // The POSTs that were in flight together tell of one and the same throttling.
    if (now >= this.until) this.#inARow++
    const { baseDelayMs, maxDelayMs } = this.#backoff
    const wait = failure.retryAfterMs || Math.min(maxDelayMs, baseDelayMs * 2 ** (this.#inARow - 1)) / 2
    if (now + wait <= this.until) return
    this.until = now + wait
    this.#failure = failure
  }

  recovered(): void {
    this.#inARow = 0
  }

  outlasts(call: Call): boolean {
    return this.until > performance.now() && (call.whilePaused === 'fail' || this.until >= call.deadline)
  }

  failureFor(call: Call): HexlineError {
    return Object.assign(copyError(this.#failure as HexlineError, call.method), { attempts: 0 })
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
    throw new CodecError('params', 'values that JSON can hold', `something else (${excerpt((error as Error).message)})`, { method: call.method })
  }
}
