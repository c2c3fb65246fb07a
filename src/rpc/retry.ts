import { type HexlineError, HttpError, NetworkError, RpcError } from '../errors.ts'
import type { Waiting } from '../wait/waiting.ts'
import type { Call, Layer, Reply, Send } from './call.ts'
import { withCallersStack } from './callers-stack.ts'
import { type RetryEvent, retryEvents } from './events.ts'
import { isAmbiguous, isFailure, isStall, isThrottled, mayBeHeld, mayHaveRun, mayRepeat } from './failure-kinds.ts'
import { type Backoff, fullJitter } from './retry-delay.ts'

export interface RetryOptions extends Backoff {
  readonly waiting: Waiting
  /** What is known, beyond JSON-RPC, about calls that must not simply run twice. */
  readonly recovery?: Recovery | undefined
}

export interface Recovery {
  /** Sending this unsafe call again does no harm, as long as what comes back is read with `find` and `conclude`. */
  covers(call: Call): boolean
  /** Asked after each failure, once one has left open whether the call ran: its reply, if it turns out that it did. */
  find(call: Call, failure: HexlineError, doubts: readonly HexlineError[], next: Send): Promise<Reply | undefined>
  /**
   * Asked in place of `find` where the call is not sent again: its reply, or the error for the caller. `pause` waits longer each time it is called; it gives
   * false when the deadline is too near for that.
   */
  conclude(call: Call, last: HexlineError, doubts: readonly HexlineError[], next: Send, pause: () => Promise<boolean>): Promise<Reply | HexlineError>
}

/** Calls that fail within this time share the chance of their wait: it is clients that full jitter is to spread. */
const TOGETHER_MS = 5

/**
 * Repeats a call that may do better the next time: after `Retry-After` where the endpoint gave one, else after a wait with
 * full jitter. It is the only layer that repeats a call that may have run, so retries cannot multiply. A safe call is
 * repeated; an unsafe one only when the failure proves that it did not run, or when `recovery` covers it. Being throttled
 * is no failed attempt: such a call is repeated until its deadline, unless `attempts` is 1.
 */
export function retry({ waiting, recovery, ...backoff }: RetryOptions): Layer {
  const moment = { at: Number.NEGATIVE_INFINITY, chance: 0 }
  const repeat = async (next: Send, first: Call, reason: unknown): Promise<Reply> => {
    let call = first
    let failure = reason
    let sent = 0
    let failed = 0
    /** The last failure of each endpoint that left open whether the call ran, the newest first. */
    let doubts: readonly HexlineError[] = []
    let before: HexlineError | undefined
    for (;;) {
      if (!isFailure(failure) || (call.signal?.aborted && failure === call.signal.reason)) throw failure
      // The queue says with 1 that the call was in a POST.
      sent += failure.attempts
      const isFailedAttempt = !isThrottled(failure) || call.attempts === 1
      if (isFailedAttempt) failed++

      const recovers = !call.safe && recovery?.covers(call) === true
      if (leavesOpen(failure)) doubts = [failure, ...doubts.filter(({ endpoint }) => endpoint !== (failure as HexlineError).endpoint)]
      const ambiguous = doubts[0]
      const isGivenUp = isThrottled(failure) && call.whilePaused === 'fail'
      const repeatable = !isGivenUp && mayRepeat(failure) === true && (call.safe || recovers || !mayHaveRun(failure))
      // The endpoint's pause is what a throttled call waits for; the jitter only spreads those that come back.
      const now = waiting.clock.now()
      // Calls that fail together come back together, and so travel in one POST again.
      if (now - moment.at > TOGETHER_MS) Object.assign(moment, { at: now, chance: Math.random() })
      const jitter = fullJitter(backoff, isFailedAttempt ? failed : 1, () => moment.chance)
      const until = Math.max(now + (failure.retryAfterMs ?? 0), moment.at + jitter)
      const wait = Math.max(0, until - now)
      // Who could only wait past the deadline is told the truth now.
      if (!repeatable || failed >= call.attempts || now + wait >= call.deadline) {
        // That the deadline passed in the middle of an attempt says less than why the ones before failed.
        const last = before !== undefined && failure.kind === 'timeout' && now >= call.deadline ? before : failure
        // A call that may have run is not said to be unsent because of what became of its repetition.
        const told = !call.safe && ambiguous !== undefined && !mayHaveRun(last) ? ambiguous : last
        const end = recovers && ambiguous !== undefined ? await recovery.conclude(call, told, doubts, next, pauses(call)) : told
        if (!isFailure(end)) return end
        throw withCallersStack(Object.assign(end, { attempts: sent }))
      }
      if (recovers && ambiguous !== undefined) {
        const reply = await recovery.find(call, failure, doubts, next)
        if (reply !== undefined) return reply
      }
      if (retryEvents.hasSubscribers) retryEvents.publish(eventOf(call, failure, sent + 1, wait))
      const { endpoint } = failure
      if (endpoint !== undefined) call = { ...call, tried: [...call.tried.filter((name) => name !== endpoint), endpoint] }
      if (!call.safe && mayBeHeld(failure)) call = { ...call, heldBy: endpoint }
      // The last attempt ends with the endpoint's timeout alone.
      if (failed === call.attempts - 1) call = { ...call, stalls: Number.POSITIVE_INFINITY }
      else if (isStall(failure)) call = { ...call, stalls: (call.stalls ?? 0) + 1 }
      before = failure
      try {
        await waiting.sleep(call, until)
        return await next(call)
      } catch (another) {
        failure = another
      }
    }
  }
  const pauses = (call: Call) => {
    let paused = 0
    return async () => {
      const until = waiting.clock.now() + fullJitter(backoff, ++paused)
      if (until >= call.deadline) return false
      await waiting.sleep(call, until)
      return true
    }
  }
  // A call that does not fail pays for one promise here, and for nothing that waits with it.
  return (next) => (call) => next(call).catch((failure) => repeat(next, call, failure))
}

/** The failure leaves open whether the call has run; one that never left before the client was closed does not. */
function leavesOpen(failure: HexlineError): boolean {
  return isAmbiguous(failure) && (failure.kind !== 'closed' || failure.attempts > 0)
}

function eventOf({ method }: Call, failure: HexlineError, attempt: number, waitMs: number): RetryEvent {
  const { endpoint, kind } = failure
  const code = failure instanceof RpcError || failure instanceof NetworkError ? failure.code : failure instanceof HttpError ? failure.status : undefined
  return { method, endpoint, kind, code, attempt, waitMs }
}
