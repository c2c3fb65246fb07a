import type { HexlineError } from '../errors.ts'
import type { Waiting } from '../wait/waiting.ts'
import type { Call, Reply, Send } from './call.ts'
import { atTheEdge, type CallFailure } from './call-failure.ts'
import { isAmbiguous, isThrottled, mayBeHeld, mayHaveRun } from './failure-kinds.ts'
import { type Backoff, fullJitter } from './retry-delay.ts'

/** What is known, beyond JSON-RPC, about calls that must not simply run twice. */
export interface Recovery {
  /**
   * Sending this unsafe call again does no harm, as long as the outcome is read with `find` and
   * `conclude`.
   */
  covers(call: Call): boolean
  /**
   * Asked after each failure, once one of them has left open whether the call ran. Resolves with
   * the call's reply if it turns out that it did.
   */
  find(call: Call, failure: HexlineError, doubts: readonly HexlineError[], next: Send): Promise<Reply | undefined>
  /**
   * Asked in place of `find` where the call is not sent again. Resolves with its reply, or with the
   * error for the caller. `pause` waits longer each time; it gives false when the deadline is too
   * near.
   */
  conclude(call: Call, last: HexlineError, doubts: readonly HexlineError[], next: Send, pause: () => Promise<boolean>): Promise<Reply | HexlineError>
}

/**
 * Follows one unsafe call through its attempts. Remembers the failures that leave open whether it
 * ran, the doubts, and asks `Recovery` about them.
 */
export class Doubts {
  /** The call may be sent again after any failure. */
  readonly isCovered: boolean
  readonly #call: Call
  readonly #next: Send
  readonly #recovery: Recovery | undefined
  readonly #pause: () => Promise<boolean>
  /** The last doubt at each endpoint, the newest first. */
  #doubts: readonly CallFailure[] = []
  /**
   * The last failure of each endpoint that has turned a covered call away, newest first. A gateway
   * may have passed the call on all the same. These become doubts if a node refuses the call when
   * it is sent again.
   */
  #turnedAway: readonly CallFailure[] = []

  constructor(call: Call, next: Send, recovery: Recovery | undefined, pause: () => Promise<boolean>) {
    this.isCovered = recovery?.covers(call) === true
    this.#call = call
    this.#next = atTheEdge(next)
    this.#recovery = this.isCovered ? recovery : undefined
    this.#pause = pause
  }

  /** The call is to be sent again after `failure`, unless its reply is found. */
  async find(failure: CallFailure): Promise<Reply | undefined> {
    this.#note(failure)
    return this.#doubts.length === 0 ? undefined : this.#recovery?.find(this.#call, failure.error, errorsOf(this.#doubts), this.#next)
  }

  /**
   * The call is not sent again after `failure`: its reply, or the error to report, which is `last`
   * if nothing is in doubt.
   */
  conclude(failure: CallFailure, last: CallFailure): HexlineError | Promise<Reply | HexlineError> {
    this.#note(failure)
    const [doubt] = this.#doubts
    // A node may refuse the call because an earlier copy ran and used up its nonce. Failures of
    // other kinds do not hint at an earlier copy.
    const doubts = last.error.kind === 'execution' ? [...this.#doubts, ...this.#turnedAway] : this.#doubts
    if (doubts.length === 0) return last.error
    // If an earlier copy may have run, an error that says that the last one did not is misleading.
    const reported = mayHaveRun(last.error) ? last : (doubt ?? last)
    return this.#recovery?.conclude(this.#call, reported.error, errorsOf(doubts), this.#next, this.#pause) ?? reported.error
  }

  #note(failure: CallFailure): void {
    for (const each of [...failure.earlier, failure]) this.#noteOne(each)
  }

  #noteOne(failure: CallFailure): void {
    if (leavesOpen(failure)) this.#doubts = withNewest(failure, this.#doubts)
    else if (this.isCovered && isTurnedAway(failure)) this.#turnedAway = withNewest(failure, this.#turnedAway)
  }
}

function withNewest(failure: CallFailure, others: readonly CallFailure[]): readonly CallFailure[] {
  return [failure, ...others.filter(({ endpoint }) => endpoint !== failure.endpoint)]
}

function errorsOf(failures: readonly CallFailure[]): readonly HexlineError[] {
  return failures.map(({ error }) => error)
}

/**
 * Waits before the repeated questions of `conclude`: with full jitter, each up to twice as long as
 * the one before.
 */
export function pauses(call: Call, backoff: Backoff, waiting: Waiting): () => Promise<boolean> {
  let paused = 0
  return async () => {
    const until = waiting.clock.now() + fullJitter(backoff, ++paused)
    if (until >= call.deadline) return false
    await waiting.sleep(call, until)
    return true
  }
}

/**
 * A gateway answered, by its status or in an error object, that it does not take the call now. In
 * rare cases, it had already passed the call on to a node.
 */
function isTurnedAway({ error, wasSent }: CallFailure): boolean {
  return mayBeHeld(error, wasSent) || (wasSent && isThrottled(error))
}

/**
 * The failure leaves open whether the call has run. A call that had not been sent when the client
 * was closed has not run.
 */
function leavesOpen({ error, wasSent }: CallFailure): boolean {
  return isAmbiguous(error) && (error.kind !== 'closed' || wasSent)
}
