import type { Clock } from '../wait/clock.ts'
import type { Call, CallPosts } from './call.ts'

/** A POST whose reply came whole. */
export interface PostFigures {
  /** Calls in it. */
  readonly calls: number
  /** Size of the reply's body, in bytes: after decompression, and as it came over the wire. */
  readonly bytes: number
  readonly wireBytes: number
}

/**
 * What becomes of a call on its way: for `hexline:call` where somebody listens, for the error of a
 * result that cannot be read, and for ranges that depend on how long a reply takes.
 */
export class CallRecord implements CallPosts {
  /**
   * The call's number in the events. 0 where nobody listens or watches; then there are no call and
   * no start.
   */
  id = 0
  call: Call | undefined
  startedAt = 0
  /** When its caller stops waiting, on the client's clock. */
  deadline = Number.POSITIVE_INFINITY
  /** POSTs that it was in. A batch that was sent again in shorter ones counts once. */
  attempts = 0
  /** The endpoint of the last POST. */
  endpoint: string | undefined
  /** How long the last POST took, in ms; undefined without a clock. */
  tookMs: number | undefined
  /**
   * The last POST; undefined without a clock, without a reply, and for an endpoint that is a
   * function.
   */
  post: PostFigures | undefined
  /** Measures the POSTs. */
  #clock: { now(): number } | undefined
  #sentAt = 0

  constructor(clock?: Clock) {
    this.#clock = clock
  }

  /** Nobody is told of the call that it counts for now. */
  forgetCall(): void {
    this.id = 0
    this.call = undefined
  }

  /** Its POSTs are measured. */
  get isMeasured(): boolean {
    return this.#clock !== undefined
  }

  /** From now on, its POSTs are measured by this clock. */
  measureBy(clock: { now(): number }): void {
    this.#clock = clock
  }

  /** It is in a POST that starts now. */
  sent(): void {
    if (this.#clock === undefined) return
    this.post = undefined
    this.#sentAt = this.#clock.now()
  }

  /** It is in a POST, whose outcome it does not wait for. */
  leftIn(endpoint: string): void {
    this.attempts++
    this.endpoint = endpoint
  }

  /** It was in a POST, which has given its outcome. */
  posted(endpoint: string | undefined): void {
    this.attempts++
    this.endpoint = endpoint
    if (this.#clock !== undefined) this.tookMs = this.#clock.now() - this.#sentAt
  }
}

/**
 * The record of a call, unless it is an object that a user's layer has put there. It may be of the
 * other build's class.
 */
export function recordOf({ record }: Call): CallRecord | undefined {
  return record === undefined || (record as Partial<CallRecord>).posted === undefined ? undefined : (record as CallRecord)
}
