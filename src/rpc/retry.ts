import { HexlineError, HttpError, NetworkError, RpcError } from '../errors.ts'
import type { Waiter, Waiting } from '../wait/waiting.ts'
import { type Call, type Layer, type Reply, type Send, waitingForSlow } from './call.ts'
import { type CallFailure, errorFor, failureFrom } from './call-failure.ts'
import { retryEvents } from './events.ts'
import { isStall, isThrottled, mayBeHeld, mayHaveRun, mayRepeat } from './failure-kinds.ts'
import { Doubts, pauses, type Recovery } from './recovery.ts'
import { type Backoff, jittered, type RetryAt } from './retry-delay.ts'

export interface RetryOptions extends Backoff {
  readonly waiting: Waiting
  /** What is known, beyond JSON-RPC, about calls that must not simply run twice. */
  readonly recovery?: Recovery | undefined
}

/**
 * The layer that repeats a call. It is `repeat`, below, applied to calls.
 *
 * - Replay safety: a safe call is repeated after any failure whose kind allows it
 *   (`failure-kinds.ts`), an unsafe one only where the failure proves that it did not run, or where
 *   `recovery` covers it.
 * - Attempts: `call.attempts`. A client's default is 4, from viem's `retryCount` of 3.
 * - Waits: full jitter below `baseDelayMs` (default 150, viem's `retryDelay`), doubled for each
 *   failure up to `maxDelayMs` (default 10,000, reached with the eighth failure), and never less
 *   than the node's own `Retry-After`. The last attempt waits until they would be over without
 *   jitter, as viem's are.
 *
 * No other layer repeats a call that may have run, so attempts do not multiply. Above it, bulk asks
 * again, for reads alone, where it knows more than one call does: that others are answered in the
 * meantime, that a late block holds up those that have arrived, or that a reply cannot be right.
 */
export function retry({ waiting, recovery, ...backoff }: RetryOptions): Layer {
  const retryAt = jittered(backoff)
  const attemptsOf = (call: Call, next: Send) => {
    return callAttempts(call, next, call.safe ? undefined : new Doubts(call, next, recovery, pauses(call, backoff, waiting)))
  }
  // A call that does not fail pays for one promise here, and for nothing that waits with it.
  return (next) => (call) => next(call).catch((reason) => repeat(reason, attemptsOf(call, next), retryAt, waiting))
}

/** Where attempts have no limit, so that none is the last one, each fourth one is as patient. */
const PATIENT_EVERY = 4

/**
 * Repeats what failed with `reason`, until an attempt succeeds, `mayRepeat` says no, `attempts`
 * have failed, or the wait would outlast the deadline: then it fails at once, with the last
 * failure. What is throttled did not run and has not failed: it is repeated until its deadline.
 */
export async function repeat<T>(reason: unknown, task: Attempts<T>, retryAt: RetryAt, waiting: Pick<Waiting, 'sleep' | 'clock'>): Promise<T> {
  let before: CallFailure | undefined
  let firstAt: number | undefined
  for (let posts = 0, failed = 0, stalls = 0; ; ) {
    const failure = failureFrom(reason, task.signal)
    if (failure === undefined) throw reason
    const { error } = failure
    posts += failure.posts
    const counts = !isThrottled(error) || (task.attempts === 1 && task.waits !== true)
    if (counts) failed++
    const now = waiting.clock.now()
    const isLast = failed === task.attempts - 1
    if (counts) firstAt ??= now
    const at = (lastSince?: number) => Math.max(now, retryAt(error, counts ? failed : 1, now, lastSince))
    const whole = at(isLast ? firstAt : undefined)
    const until = whole < task.deadline ? whole : at()
    if (!task.mayRepeat(failure) || failed >= task.attempts || until >= task.deadline) {
      // That the deadline passed in the middle of an attempt says less than why the one before
      // failed.
      const last = before !== undefined && error.kind === 'timeout' && now >= task.deadline ? before : failure
      const given = task.giveUp === undefined ? last.error : task.giveUp(failure, last)
      // Not awaited without need: the stack of the caller is known in this very turn.
      const end = given instanceof Promise ? await given : given
      if (end instanceof HexlineError) throw errorFor(end, posts)
      return end
    }
    const found = await task.beforeWait?.(failure, posts + 1, until - now)
    if (found !== undefined) return found
    if (isLast) stalls = Number.POSITIVE_INFINITY
    else if (isStall(error)) stalls++
    const isPatient = isLast || (task.attempts === Number.POSITIVE_INFINITY && failed % PATIENT_EVERY === PATIENT_EVERY - 1)
    before = failure
    try {
      await waiting.sleep(task, until)
      return await task.again(failure, stalls, isPatient)
    } catch (another) {
      reason = another
    }
  }
}

/**
 * Something that may be tried several times: a call, a GET of the service, a question of the
 * prober.
 */
export interface Attempts<T> extends Waiter {
  /**
   * How often it may fail, the first attempt included. Being throttled counts only where this is 1,
   * unless `waits` is true.
   */
  readonly attempts: number
  readonly waits?: boolean
  /**
   * May it be tried again after this failure? False where it may have run and must not run twice.
   */
  mayRepeat(failure: CallFailure): boolean
  /**
   * Makes another attempt. `stalls`: replies that stopped in their middle so far; infinite for the
   * last attempt. `isPatient`: what may only be slow is waited for.
   */
  again(failure: CallFailure, stalls: number, isPatient: boolean): Promise<T>
  /**
   * Called before the wait for attempt number `attempt`. Ends the matter by resolving with a
   * result.
   */
  beforeWait?(failure: CallFailure, attempt: number, waitMs: number): Promise<T | undefined> | undefined
  /**
   * Called in place of that where no attempt follows: the result after all, or the error to reject
   * with (default: `last`).
   */
  giveUp?(failure: CallFailure, last: CallFailure): T | HexlineError | Promise<T | HexlineError>
}

/** The attempts of a call. `doubts` is there where it is not safe. */
function callAttempts(call: Call, next: Send, doubts: Doubts | undefined): Attempts<Reply> {
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
    again({ error, wasSent, endpoint }, stalls, isPatient) {
      const tried = endpoint === undefined ? call.tried : [...call.tried.filter((name) => name !== endpoint), endpoint]
      const heldBy = !safe && mayBeHeld(error, wasSent) ? endpoint : call.heldBy
      call = { ...call, tried, heldBy, stalls }
      return next(isPatient ? waitingForSlow(call) : call)
    },
    giveUp: (failure, last) => (doubts === undefined ? last.error : doubts.conclude(failure, last)),
  }
}

/** Publishes `hexline:retry`, where anyone listens. */
export function reportRetry(method: string, { error, endpoint }: CallFailure, attempt: number, waitMs: number): undefined {
  if (!retryEvents.hasSubscribers) return
  const code = error instanceof RpcError || error instanceof NetworkError ? error.code : error instanceof HttpError ? error.status : undefined
  retryEvents.publish({ method, endpoint, kind: error.kind, code, attempt, waitMs })
}
