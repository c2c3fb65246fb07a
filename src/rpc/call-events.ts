import { RpcError } from '../errors.ts'
import { type Call, type Reply, sizeFrom } from './call.ts'
import { areCallsWatched, tellBegun, tellEnded } from './call-watchers.ts'
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

/**
 * A call begins now, and is told to those who want to know: `tellAnswered` or `tellFailed` has to
 * follow.
 */
export function tellCall(call: Call, tally: Tally, now: number): void {
  if (!areCallsTold()) {
    if (tally.id > 0) tally.forgetCall()
    return
  }
  const { method, priority } = call
  const id = ++numbered.calls
  tally.id = id
  tally.call = call
  tally.startedAt = now
  tellBegun(id, method, priority, now)
  if (callStartEvents.hasSubscribers) callStartEvents.publish({ id, method, priority })
}

/** What tells the time of an end, which is read once for all calls that end together. */
interface EndClock {
  now(): number
}

/** Tells the end of a call that was answered, if it is told. */
export function tellAnswered(tally: Tally | undefined, { bytes }: Reply, clock: EndClock): void {
  if (tally !== undefined && tally.id > 0) tell(tally, clock, 'answered', sizeFrom(bytes))
}

/** Tells the end of a call that was not answered for this reason, if it is told. */
export function tellFailed(tally: Tally | undefined, reason: unknown, clock: EndClock): void {
  if (tally === undefined || tally.id === 0) return
  const signal = tally.call?.signal
  tell(tally, clock, signal?.aborted && reason === signal.reason ? 'aborted' : 'failed', 0, reason)
}

function tell(tally: Tally, clock: EndClock, outcome: 'answered' | 'failed' | 'aborted', bytes: number, reason?: unknown): void {
  // Those who were told of its start may have left, and others may have come.
  if (!areCallsTold()) return
  const { id, startedAt, attempts } = tally
  const { method, priority } = tally.call as Call
  const failure = outcome === 'failed' && isFailure(reason) ? reason : undefined
  const endpoint = failure?.endpoint ?? tally.endpoint
  const durationMs = clock.now() - startedAt
  const kind = failure?.kind
  const rpcCode = failure instanceof RpcError ? failure.code : undefined
  tellEnded(id, method, outcome, endpoint, attempts, durationMs, bytes, outcome === 'failed' ? { kind, rpcCode } : undefined)
  if (callEvents.hasSubscribers) callEvents.publish({ id, method, endpoint, priority, attempts, durationMs, outcome, kind, rpcCode, bytes })
}
