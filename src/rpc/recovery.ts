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

/** One unsafe call: its failures that leave open whether it ran, and what follows from them. */
export class Doubts {
  /** It may be sent again whatever happened to it. */
  readonly isCovered: boolean
  readonly #call: Call
  readonly #next: Send
  readonly #recovery: Recovery | undefined
  readonly #pause: () => Promise<boolean>
  /** The last such failure of each endpoint, the newest first. */
  #doubts: readonly CallFailure[] = []
  /**
   * The last failure of each endpoint that has turned a covered call away, though a gateway may
   * have passed it on: one more doubt once the call is refused when it is sent again.
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
    // Its first copy may be why a node refuses it, such as for its nonce. Other failures say what
    // they say.
    const doubts = last.error.kind === 'execution' ? [...this.#doubts, ...this.#turnedAway] : this.#doubts
    if (doubts.length === 0) return last.error
    // A call that may have run is not said to be unsent because of what became of its repetition.
    const told = mayHaveRun(last.error) ? last : (doubt ?? last)
    return this.#recovery?.conclude(this.#call, told.error, errorsOf(doubts), this.#next, this.#pause) ?? told.error
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
 * A gateway answered, by a status or in the body of a reply, that it does not take the call now;
 * rarely, it has passed it on before.
 */
function isTurnedAway({ error, wasSent }: CallFailure): boolean {
  return mayBeHeld(error, wasSent) || (wasSent && isThrottled(error))
}

/**
 * The failure leaves open whether the call has run. One that never left before the client was
 * closed does not.
 */
function leavesOpen({ error, wasSent }: CallFailure): boolean {
  return isAmbiguous(error) && (error.kind !== 'closed' || wasSent)
}
