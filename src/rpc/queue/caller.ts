import { HexlineError, TimeoutError } from '../../errors.ts'
import { pastDeadline, type Wait, type Waiting } from '../../wait/waiting.ts'
import type { Call, Reply } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { recordOf } from '../call-record.ts'

/** What callers wait for: an entry of the queue. */
export interface Awaited {
  /** The endpoint of the batch that it is in; undefined while it waits in line. */
  readonly sentTo: string | undefined
  /** A caller has stopped waiting, for this reason. */
  onLeft(reason: unknown): void
}

/**
 * One caller that waits for an outcome: until it comes, or the call's signal, deadline, timeout or
 * client ends the waiting.
 */
export class Caller implements Wait {
  readonly call: Call
  /** What it waits for; undefined until it has its place in the queue. */
  entry: Awaited | undefined
  isWaiting = true

  at: number
  place = -1
  index = -1

  readonly #waiting: Waiting
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (reason: unknown) => void

  constructor(call: Call, waiting: Waiting, resolve: (reply: Reply) => void, reject: (reason: unknown) => void) {
    this.call = call
    this.at = call.deadline
    this.#waiting = waiting
    this.#resolve = resolve
    this.#reject = reject
  }

  /** The call is in a batch that starts now. */
  startTimeout(): void {
    const { timeoutMs, deadline } = this.call
    recordOf(this.call)?.sent()
    if (timeoutMs !== undefined && this.isWaiting) this.#waiting.setAlarm(this, Math.min(deadline, this.#waiting.clock.now() + timeoutMs))
  }

  /** The deadline has come, or the timeout of the attempt. */
  ring(): void {
    const { call } = this
    const sentTo = this.entry?.sentTo
    if (this.at < call.deadline && sentTo === undefined) {
      // The attempt that this timeout belonged to is over: the call waits in line for another one.
      this.#waiting.setAlarm(this, call.deadline)
      return
    }
    this.#waiting.release(this)
    this.cancel(this.#timeoutError(sentTo))
  }

  /** Ends the waiting for this reason, and tells the entry. */
  cancel(reason: unknown): void {
    if (!this.isWaiting) return
    const { signal } = this.call
    const sentTo = this.entry?.sentTo
    if (sentTo !== undefined) recordOf(this.call)?.leftIn(sentTo)
    // The caller's own abort reason stays what it is, even where it is an error of hexline.
    if (reason instanceof HexlineError && reason !== signal?.reason) {
      if (sentTo !== undefined) Object.assign(reason, { endpoint: sentTo })
      this.#fail(new CallFailure(reason, sentTo === undefined ? 0 : 1, reason.endpoint))
    } else this.#fail(reason)
    this.entry?.onLeft(reason)
  }

  /** The outcome has come from this endpoint. */
  settle(outcome: Reply | HexlineError, endpoint: string | undefined): void {
    recordOf(this.call)?.posted(endpoint)
    if (outcome instanceof Error) {
      this.#fail(new CallFailure(outcome, 1, endpoint))
    } else {
      this.#end()
      this.#resolve(outcome)
    }
  }

  #fail(reason: unknown): void {
    this.#end()
    this.#reject(reason)
  }

  #end(): void {
    this.isWaiting = false
    this.#waiting.release(this)
  }

  #timeoutError(endpoint: string | undefined): HexlineError {
    const { method, deadline, timeoutMs } = this.call
    if (this.at >= deadline || endpoint === undefined) return pastDeadline(this.call, endpoint)
    return new TimeoutError(`${endpoint}: no whole reply within ${timeoutMs} ms`, { method, endpoint })
  }
}
