import { CodecError, type HexlineError, MalformedReplyError } from '../../errors.ts'
import { excerpt } from '../../text.ts'
import type { BodyPool } from '../body-pool.ts'
import type { Call, CallPosts, EncodedCall, PooledCall, Reply } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { cloneJson } from '../clone-json.ts'
import { copyError } from '../copy-error.ts'
import { replyOf } from '../reply.ts'
import type { Awaited, Caller } from './caller.ts'
import { sharedFields } from './shared-call.ts'

/**
 * Where an entry is on its way from `send` to its outcome:
 *
 *     unplaced ──▶ waiting ──▶ unplaced ──▶ in flight ──▶ settled
 *                     ▲                         │
 *                     └─────────────────────────┘ it may do better in a smaller batch
 *
 * It is settled, too, when its last caller leaves while it waits.
 */
export type EntryState = Unplaced | WaitingInLine | InFlight | Settled

/** New, or taken from its line for a batch that starts at this moment. */
interface Unplaced {
  readonly name: 'unplaced'
}

/** It waits in a line. */
export interface WaitingInLine {
  readonly name: 'waiting'
  /** Takes the entry out of its line: its last caller has left. */
  drop(entry: Entry): void
}

/** It is in a batch that was sent. */
export interface InFlight {
  readonly name: 'in flight'
  /** Name of the endpoint. */
  readonly endpoint: string
  /** The last caller of one of the batch's entries has left, for this reason. */
  abandon(reason: unknown): void
}

/** Its callers have the outcome, or have all left. */
interface Settled {
  readonly name: 'settled'
}

/** The state of an entry that is in no line and in no batch. */
export const UNPLACED: Unplaced = { name: 'unplaced' }
const SETTLED: Settled = { name: 'settled' }

/**
 * A call in the queue, with its params as JSON, and the callers that wait for its outcome: those
 * that ask the same share an entry.
 */
export class Entry implements EncodedCall, Awaited {
  // The fields of the call are its own, since a user's post function may copy them. With several
  // callers, some are set anew when it goes out (`sharedFields`).
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
  readonly bodies: BodyPool | undefined
  readonly decode: ((bytes: Buffer) => object | undefined) | undefined
  readonly required: boolean
  readonly safe: boolean
  readonly tried: readonly string[]
  readonly stalls: number | undefined
  readonly record: CallPosts | undefined
  readonly isBound: boolean | undefined

  /** `params`, encoded once: for the body, and for finding an identical call. */
  readonly json: string

  state: EntryState = UNPLACED
  /**
   * Longest batch that it may be in: 1 for a call that travels alone, and at most half of one whose
   * replies were too large together.
   */
  longest: number
  readonly #first: Caller
  #others: Caller[] | undefined
  #waitingCallers = 1

  constructor(call: PooledCall, json: string, caller: Caller) {
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
    this.bodies = call.bodies
    this.decode = call.decode
    this.required = call.required
    this.safe = call.safe
    this.tried = call.tried
    this.stalls = call.stalls
    this.record = call.record
    this.isBound = call.isBound
    this.longest = longestOf(call)
    this.json = json
    this.#first = caller
    caller.entry = this
  }

  /** Another caller makes the same call. */
  join(caller: Caller): void {
    this.#others ??= []
    this.#others.push(caller)
    this.#waitingCallers++
    this.longest = Math.min(this.longest, longestOf(caller.call))
    caller.entry = this
  }

  /** When its first caller stops waiting: the later, the younger it is. */
  get age(): number {
    return this.#first.call.deadline
  }

  /** The callers that still wait. */
  get callers(): Caller[] {
    return [this.#first, ...(this.#others ?? [])].filter(({ isWaiting }) => isWaiting)
  }

  get joined(): readonly Call[] {
    // Most calls have one caller.
    if (this.#others === undefined && this.#first.isWaiting) return [this.#first.call]
    return this.callers.map(({ call }) => call)
  }

  get isWaitedFor(): boolean {
    return this.#waitingCallers > 0
  }

  get sentTo(): string | undefined {
    return this.state.name === 'in flight' ? this.state.endpoint : undefined
  }

  onLeft(reason: unknown): void {
    if (--this.#waitingCallers > 0) return
    const { state } = this
    if (state.name === 'in flight') state.abandon(reason)
    if (state.name !== 'waiting') return
    state.drop(this)
    this.state = SETTLED
  }

  /** It goes out with this batch: the timeouts of its callers run from now on. */
  start(batch: InFlight): void {
    this.state = batch
    this.#first.startTimeout()
    if (this.#others === undefined) return
    for (const caller of this.#others) caller.startTimeout()
    const [first, ...others] = this.joined
    if (first !== undefined) Object.assign(this, sharedFields([first, ...others]))
  }

  /** Gives the outcome to each caller that waits, with a value that it does not share. */
  settle(outcome: Reply | HexlineError): void {
    const { sentTo } = this
    this.state = SETTLED
    if (this.#others === undefined) {
      if (this.#first.isWaiting) this.#first.settle(outcome, sentTo)
      return
    }
    const { callers } = this
    const copies = outcome instanceof Error ? callers.map((_, i) => (i === 0 ? outcome : copyError(outcome))) : this.#repliesFor(callers.length, outcome)
    for (const [i, caller] of callers.entries()) caller.settle(copies[i] as Reply | HexlineError, sentTo)
  }

  #repliesFor(count: number, reply: Reply): (Reply | HexlineError)[] {
    const { method } = this
    try {
      const value = reply.take()
      return Array.from({ length: count }, (_, i) => replyOf(i === 0 ? value : cloneJson(value), reply.bytes))
    } catch (cause) {
      return Array.from({ length: count }, () => new MalformedReplyError(`${method}: the reply gives no result`, { method, cause }))
    }
  }
}

function longestOf({ alone }: PooledCall): number {
  return alone === 'always' ? 1 : Number.POSITIVE_INFINITY
}

/** The call's params as JSON. */
export function paramsJson(call: Call): string {
  try {
    return plainJson(call.params) ?? JSON.stringify(call.params)
  } catch (error) {
    throw new CallFailure(notJson(error, call.method), 0, undefined)
  }
}

/** How V8 and JavaScriptCore say so. An object that refers to itself may be a `BigInteger`. */
const BIGINT = /^(?:Do not know how to serialize a BigInt|JSON\.stringify cannot serialize BigInt)/

/** The error for params that `JSON.stringify` refuses. */
export function notJson(error: unknown, method: string): CodecError {
  // What `toJSON` throws may be anything.
  const message = error instanceof Error ? error.message : String(error)
  const received = BIGINT.test(message) ? 'a bigint, which client.call encodes; elsewhere, use encodeQuantity' : `something else (${excerpt(message)})`
  return new CodecError('params', 'values that JSON can represent', received, { method })
}

/** What JSON puts between quotes as it is: hex and tags, of which most params consist. */
const PLAIN = /^\w*$/

/** Longer strings are faster by `JSON.stringify`. */
const SHORT = 256

/** Short plain strings and booleans as JSON, in a fraction of the time; undefined for others. */
function plainJson(params: Call['params']): string | undefined {
  if (!Array.isArray(params)) return undefined
  let json = '['
  for (let i = 0; i < params.length; i++) {
    const param: unknown = params[i]
    if (i > 0) json += ','
    if (typeof param === 'string' && param.length <= SHORT && PLAIN.test(param)) json += `"${param}"`
    else if (typeof param === 'boolean') json += param
    else return undefined
  }
  return `${json}]`
}

/**
 * Whether identical calls may share an entry. Bulk calls differ from each other by their nature:
 * looking for an identical one costs as much as all other work of the queue. Bytes that are still
 * unread are right for their reader alone.
 */
export function mayShare({ safe, priority, isUnread }: Call): boolean {
  return safe && priority !== 'bulk' && !isUnread
}
