import { HexlineError, HttpError, NetworkError, RpcError } from '../errors.ts'
import type { Waiter, Waiting } from '../wait/waiting.ts'
import { type Attempt, type Attempted, Attempts } from './attempts.ts'
import { type Call, type Layer, type Reply, type Send, sentAgain, waitingForSlow } from './call.ts'
import { type CallFailure, errorFor, failureFrom } from './call-failure.ts'
import { retryEvents } from './events.ts'
import { isThrottled, mayBeHeld, mayHaveRun, mayRepeat } from './failure-kinds.ts'
import { Doubts, pauses, type Recovery } from './recovery.ts'
import { type Backoff, jittered, type RetryAt } from './retry-delay.ts'

/** Delays of the retry layer, and what it may repeat beyond safe calls. */
export interface RetryOptions extends Backoff {
  readonly waiting: Waiting
  /** What is known, beyond JSON-RPC, about calls that must not simply run twice. */
  readonly recovery?: Recovery | undefined
}

/**
 * The retry layer: sends a call again after a failure that may pass. The loop is `repeat`, below;
 * `repeatableCall`, at the end, says how a call takes part in it.
 *
 * - Replay safety: a safe call is repeated after any failure whose kind allows it
 *   (`failure-kinds.ts`). An unsafe call is repeated only if the failure proves that it did not
 *   run, or if `recovery` covers it.
 * - Attempts: at most `call.attempts`. A client's default is 4: the first one, and viem's
 *   `retryCount` of 3.
 * - Waits: a random time up to a bound (full jitter). The bound is `baseDelayMs` (default 150,
 *   viem's `retryDelay`) after the first failure, and doubles with each further one up to
 *   `maxDelayMs` (default 10,000, reached with the eighth). A wait is never shorter than the node's
 *   own `Retry-After`. The wait before the last attempt makes up for what jitter has taken off the
 *   ones before, so a call survives the outages that it would survive without jitter.
 *
 * No other layer repeats a call that may have run, so attempts do not multiply. Bulk jobs, above
 * this layer, repeat reads for reasons that a single call cannot know: other calls are answered in
 * the meantime, a late block holds up blocks that have arrived, or a reply cannot be right.
 */
export function retry({ waiting, recovery, ...backoff }: RetryOptions): Layer {
  const retryAt = jittered(backoff)
  const taskOf = (call: Call, next: Send) => {
    return repeatableCall(call, next, call.safe ? undefined : new Doubts(call, next, recovery, pauses(call, backoff, waiting)))
  }
  // A call that does not fail costs one promise here: all else is made after its first failure.
  return (next) => (call) => next(call).catch((reason) => repeat(reason, taskOf(call, next), retryAt, waiting))
}

/**
 * Repeats a task whose first attempt failed with `reason`. It ends when an attempt succeeds, or no
 * further one follows (`attempts.ts`): `mayRepeat` says no, `attempts` have failed, or the wait for
 * the next attempt would outlast the deadline. Then it rejects at once, with the last failure.
 */
export async function repeat<T>(reason: unknown, task: Repeatable<T>, retryAt: RetryAt, waiting: Pick<Waiting, 'sleep' | 'clock'>): Promise<T> {
  const attempts = new Attempts(task, retryAt)
  for (let previous: CallFailure | undefined; ; ) {
    const failure = failureFrom(reason, task.signal)
    if (failure === undefined) throw reason
    const now = waiting.clock.now()
    const next = attempts.after(failure, now)
    if (next === undefined) {
      const ending = endingOf(task, failure, previous, now)
      // Awaited only if it is a promise: the caller's stack is known in this very turn.
      const end = ending instanceof Promise ? await ending : ending
      if (end instanceof HexlineError) throw errorFor(end, attempts.posts)
      return end
    }
    const found = await task.beforeWait?.(failure, next.number, next.at - now)
    if (found !== undefined) return found
    previous = failure
    try {
      await waiting.sleep(task, next.at)
      return await task.again(failure, next)
    } catch (another) {
      reason = another
    }
  }
}

/** How a task ends that is not attempted again after `failure`: with a result, or an error. */
function endingOf<T>(task: Repeatable<T>, failure: CallFailure, previous: CallFailure | undefined, now: number): T | HexlineError | Promise<T | HexlineError> {
  // If this attempt failed only because the deadline passed, the failure before it explains more.
  const isCutByDeadline = failure.error.kind === 'timeout' && now >= task.deadline
  const last = previous !== undefined && isCutByDeadline ? previous : failure
  return task.giveUp === undefined ? last.error : task.giveUp(failure, last)
}

/** What `repeat` may attempt several times: a call, a GET of the REST API, a probe's call. */
export interface Repeatable<T> extends Waiter, Attempted {
  /** Makes another attempt. */
  again(failure: CallFailure, attempt: Attempt): Promise<T>
  /**
   * Called before the wait for attempt number `attempt`. If it resolves with a result, that is the
   * result of the task, and no attempt follows.
   */
  beforeWait?(failure: CallFailure, attempt: number, waitMs: number): Promise<T | undefined> | undefined
  /**
   * Called instead of `beforeWait` when no attempt follows. Gives the result after all, or the
   * error to reject with, by default that of `last`. `last` is `failure`, or the failure before it
   * if this one only says that the deadline passed.
   */
  giveUp?(failure: CallFailure, last: CallFailure): T | HexlineError | Promise<T | HexlineError>
}

/** A call, as `repeat` takes it. `doubts` is undefined for a safe call. */
function repeatableCall(call: Call, next: Send, doubts: Doubts | undefined): Repeatable<Reply> {
  const { method, signal, deadline, attempts, safe, whilePaused } = call
  return {
    method,
    signal,
    deadline,
    attempts,
    waits: whilePaused === 'wait',
    mayRepeat({ error }) {
      if (isThrottled(error) && whilePaused === 'fail') return false
      return mayRepeat(error) === true && (safe || doubts?.isCovered === true || !mayHaveRun(error))
    },
    async beforeWait(failure, attempt, waitMs) {
      const found = await doubts?.find(failure)
      return found ?? reportRetry(method, failure, attempt, waitMs)
    },
    again({ error, wasSent, endpoint }, { isLast, isPatient, stalls }) {
      const tried = endpoint === undefined ? call.tried : [...call.tried.filter((name) => name !== endpoint), endpoint]
      const heldBy = !safe && mayBeHeld(error, wasSent) ? endpoint : call.heldBy
      call = sentAgain(call, { tried, heldBy, stalls: isLast ? Number.POSITIVE_INFINITY : stalls })
      return next(isPatient ? waitingForSlow(call) : call)
    },
    giveUp: (failure, last) => (doubts === undefined ? last.error : doubts.conclude(failure, last)),
  }
}

/** Publishes `hexline:retry`, if it has subscribers. */
export function reportRetry(method: string, { error, endpoint }: CallFailure, attempt: number, waitMs: number): undefined {
  if (!retryEvents.hasSubscribers) return
  retryEvents.publish({ method, endpoint, kind: error.kind, code: codeOf(error), attempt, waitMs })
}

function codeOf(error: HexlineError): number | string | undefined {
  if (error instanceof RpcError || error instanceof NetworkError) return error.code
  return error instanceof HttpError ? error.status : undefined
}
