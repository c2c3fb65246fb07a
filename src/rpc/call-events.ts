import { RpcError } from '../errors.ts'
import type { Call, Reply, Send } from './call.ts'
import { areCallsWatched, tellBegun, throwLater } from './call-watchers.ts'
import { callEvents, callStartEvents, numbered } from './events.ts'
import { isFailure } from './failure-kinds.ts'
import type { Tally } from './tally.ts'

/*
 * The client tells the start and the end of a call where it awaits the call anyway: another promise
 * would cost a small call more than everything else here.
 */

/** Does anyone want to know of calls that begin now? */
export function areCallsTold(): boolean {
  return areCallsWatched() || callEvents.hasSubscribers || callStartEvents.hasSubscribers
}

/** Makes a call that begins now and is told: `tellAnswered` or `tellFailed` has to follow. */
export function sendTold(send: Send, call: Call, tally: Tally, now: number): Promise<Reply> {
  const { method, priority } = call
  const id = ++numbered.calls
  tally.told = { id, call, startedAt: now, end: tellBegun(id, method, priority) }
  if (callStartEvents.hasSubscribers) callStartEvents.publish({ id, method, priority })
  try {
    // A user's layer may throw, or give the reply itself.
    return Promise.resolve(send(call))
  } catch (reason) {
    return Promise.reject(reason)
  }
}

/** What tells the time of an end, which is read once for all calls that end together. */
interface EndClock {
  now(): number
}

/** Tells the end of a call that was answered, if it is told. */
export function tellAnswered(tally: Tally | undefined, { bytes }: Reply, clock: EndClock): void {
  if (tally?.told !== undefined) tell(tally, tally.told, clock, 'answered', bytes)
}

/** Tells the end of a call that was not answered for this reason, if it is told. */
export function tellFailed(tally: Tally | undefined, reason: unknown, clock: EndClock): void {
  if (tally?.told === undefined) return
  const { signal } = tally.told.call
  tell(tally, tally.told, clock, signal?.aborted && reason === signal.reason ? 'aborted' : 'failed', 0, reason)
}

function tell(
  tally: Tally,
  { id, call, startedAt, end }: NonNullable<Tally['told']>,
  clock: EndClock,
  outcome: 'answered' | 'failed' | 'aborted',
  bytes: number,
  reason?: unknown,
): void {
  const isPublished = callEvents.hasSubscribers
  if (end === undefined && !isPublished) return
  const failure = outcome === 'failed' && isFailure(reason) ? reason : undefined
  const endpoint = failure?.endpoint ?? tally.endpoint
  const { attempts } = tally
  const durationMs = clock.now() - startedAt
  const kind = failure?.kind
  const rpcCode = failure instanceof RpcError ? failure.code : undefined
  if (end !== undefined) {
    try {
      end.ended(outcome, endpoint, attempts, durationMs, bytes, outcome === 'failed' ? { kind, rpcCode } : undefined)
    } catch (error) {
      throwLater(error)
    }
  }
  if (!isPublished) return
  const { method, priority } = call
  callEvents.publish({ id, method, endpoint, priority, attempts, durationMs, outcome, kind, rpcCode, bytes })
}
