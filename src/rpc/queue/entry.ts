import { copyError, HexlineError, MalformedReplyError, TimeoutError } from '../../errors.ts'
import { pastDeadline, type Wait, type Waiting } from '../../wait/waiting.ts'
import { type Call, type EncodedCall, type Reply, replyOf } from '../call.ts'
import type { Tally } from '../call-events.ts'
import { CallFailure } from '../call-failure.ts'
import type { Line } from './line.ts'

/** The POST that an entry is in, as far as an entry needs to know. */
export interface Ride {
  /** Name of the endpoint. */
  readonly endpoint: string
  /** One of its entries is waited for by nobody any more, and why not. */
  leave(reason: unknown): void
}

/** A call in the queue, with its params as JSON. Identical calls join the entry of the first, and share its outcome. */
export class Entry implements EncodedCall, Wait {
  readonly method: string
  readonly params: readonly unknown[]
  readonly signal: AbortSignal | undefined
  readonly deadline: number
  readonly attempts: number
  readonly timeoutMs: number | undefined
  readonly whilePaused: 'wait' | 'fail' | undefined
  readonly priority: 'interactive' | 'bulk'
  readonly as: 'value' | 'bytes'
  readonly isUnread: boolean | undefined
  readonly required: boolean
  readonly safe: boolean
  readonly tried: readonly string[]
  readonly stalls: number | undefined
  readonly tally: Tally | undefined
  readonly isBound: boolean

  /** `params`, encoded once: for the body, and for finding an identical call. */
  readonly json: string
  /** What identical calls have in common; undefined for calls that are not joined. */
  readonly key: string | undefined
  /** Where it waits, if it does. */
  line: Line | undefined
  /** The POST it is in, if it is. */
  ride: Ride | undefined

  at: number
  place = -1
  seat = -1

  readonly #waiting: Waiting
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (reason: unknown) => void
  #settled = false
  /** The entry that travels for this one. */
  #leader: Entry = this
  #joined: Entry[] | undefined
  /** How many of this entry and those that joined it are still waited for. */
  #waiters = 1

  constructor(call: Call, json: string, key: string | undefined, waiting: Waiting, resolve: (reply: Reply) => void, reject: (reason: unknown) => void) {
    this.method = call.method
    this.params = call.params
    this.signal = call.signal
    this.deadline = call.deadline
    this.attempts = call.attempts
    this.timeoutMs = call.timeoutMs
    this.whilePaused = call.whilePaused
    this.priority = call.priority
    this.as = call.as
    this.isUnread = call.isUnread
    this.required = call.required
    this.safe = call.safe
    this.tried = call.tried
    this.stalls = call.stalls
    this.tally = call.tally
    this.isBound = call.isBound === true || call.pin !== undefined
    this.json = json
    this.key = key
    this.at = call.deadline
    this.#waiting = waiting
    this.#resolve = resolve
    this.#reject = reject
  }

  get call(): Call {
    return this
  }

  /** This entry and all that joined it, and that are still waited for. */
  get waiters(): Entry[] {
    return [this, ...(this.#joined ?? [])].filter((entry) => !entry.#settled)
  }

  get isWaitedFor(): boolean {
    return this.#waiters > 0
  }

  /** Travels with `leader`, which asks the same and has not been sent. */
  join(leader: Entry): void {
    this.#leader = leader
    leader.#waiters++
    leader.#joined ??= []
    leader.#joined.push(this)
  }

  /** The POST that it is in from now on: the time of this attempt runs. */
  board(ride: Ride): void {
    this.ride = ride
    this.#startClock()
    if (this.#joined !== undefined) for (const entry of this.#joined) entry.#startClock()
  }

  /** Gives the outcome to everybody who waits for it: each gets a value of its own. */
  settle(outcome: Reply | HexlineError): void {
    const { ride } = this
    this.ride = undefined
    const joined = this.#joined
    if (joined === undefined) {
      if (this.tally !== undefined && !this.#settled) this.tally.posted(ride?.endpoint)
      this.#deliver(outcome, ride?.endpoint)
      return
    }
    const waiters = [this, ...joined].filter((entry) => !entry.#settled)
    for (const entry of waiters) entry.tally?.posted(ride?.endpoint)
    if (outcome instanceof Error) {
      for (const entry of waiters) entry.#deliver(entry === waiters[0] ? outcome : copyError(outcome), ride?.endpoint)
      return
    }
    let value: unknown
    try {
      value = outcome.take()
    } catch (cause) {
      for (const entry of waiters)
        entry.#deliver(new MalformedReplyError(`${this.method}: the reply gives no result`, { method: this.method, cause }), ride?.endpoint)
      return
    }
    for (const entry of waiters) {
      try {
        entry.#deliver(replyOf(entry === waiters[waiters.length - 1] ? value : cloneJson(value), outcome.bytes), ride?.endpoint)
      } catch (cause) {
        entry.#deliver(new MalformedReplyError(`${this.method}: the result is nested too deeply`, { method: this.method, cause }), ride?.endpoint)
      }
    }
  }

  ring(): void {
    const { ride } = this.#leader
    if (this.at >= this.deadline) {
      this.#waiting.release(this)
      this.cancel(pastDeadline(this, ride === undefined))
    } else if (ride === undefined) {
      // The attempt whose time this was has ended: it waits in line for another.
      this.#waiting.setAlarm(this, this.deadline)
    } else {
      this.#waiting.release(this)
      const { method, timeoutMs } = this
      const { endpoint } = ride
      this.cancel(new TimeoutError(`${endpoint}: no whole reply within ${timeoutMs} ms`, { method, endpoint }))
    }
  }

  cancel(reason: unknown): void {
    if (this.#settled) return
    const leader = this.#leader
    const posts = leader.ride === undefined ? 0 : 1
    if (this.tally !== undefined) this.tally.attempts += posts
    // The caller's own abort reason stays what it is, even where it is an error of hexline.
    const isFailure = reason instanceof HexlineError && reason !== this.signal?.reason
    this.#fail(isFailure ? new CallFailure(reason, posts, reason.endpoint) : reason)
    if (--leader.#waiters > 0) return
    leader.line?.drop(leader)
    leader.ride?.leave(reason)
  }

  #startClock(): void {
    if (this.timeoutMs === undefined || this.#settled) return
    this.#waiting.setAlarm(this, Math.min(this.deadline, this.#waiting.clock.now() + this.timeoutMs))
  }

  /** Ends the waiting of this call, whatever becomes of the entry. */
  #fail(reason: unknown): void {
    this.#settled = true
    this.#waiting.release(this)
    this.#reject(reason)
  }

  #deliver(outcome: Reply | HexlineError, endpoint: string | undefined): void {
    if (this.#settled) return
    if (outcome instanceof Error) {
      this.#fail(new CallFailure(outcome, 1, endpoint))
    } else {
      this.#settled = true
      this.#waiting.release(this)
      this.#resolve(outcome)
    }
  }
}

/** A copy of parsed JSON that shares nothing that can change. Throws RangeError where it is nested too deeply for the stack. */
function cloneJson(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(cloneJson)
  // Not `slice`, which copies nothing of a Buffer.
  if (value instanceof Uint8Array) return Buffer.from(value)
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const item = cloneJson((value as Record<string, unknown>)[key])
    // Plain assignment of this one key would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: item, enumerable: true, writable: true, configurable: true })
    else copy[key] = item
  }
  return copy
}
