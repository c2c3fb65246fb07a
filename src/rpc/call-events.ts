import { RpcError } from '../errors.ts'
import type { Call, Reply } from './call.ts'
import type { CallRecord } from './call-record.ts'
import { areCallsWatched, reportBegun, reportEnded } from './call-watchers.ts'
import { type CallEvent, callEvents, callStartEvents, numbered } from './events.ts'
import { isFailure } from './failure-kinds.ts'
import { sizeFrom } from './reply.ts'

/*
 * The client reports the start and the end of a call where it awaits the call anyway: another
 * promise would cost a small call more than everything else here.
 */

/** Does anyone want to know of calls that begin now? */
export function areCallsReported(): boolean {
  return areCallsWatched() || callEvents.hasSubscribers || callStartEvents.hasSubscribers
}

/** A call begins now: `reportAnswered` or `reportFailed` has to follow. */
export function reportCall(call: Call, record: CallRecord, now: number): void {
  if (!areCallsReported()) {
    if (record.id > 0) record.forgetCall()
    return
  }
  const { method, priority } = call
  const id = ++numbered.calls
  record.id = id
  record.call = call
  record.startedAt = now
  reportBegun(id, method, priority, now)
  if (callStartEvents.hasSubscribers) callStartEvents.publish({ id, method, priority })
}

/** What tells the time of an end, which is read once for all calls that end together. */
interface EndClock {
  now(): number
}

/** Reports the end of a call that was answered, if its start was reported. */
export function reportAnswered(record: CallRecord | undefined, { bytes }: Reply, clock: EndClock): void {
  if (record !== undefined && record.id > 0) report(record, clock, 'answered', record.endpoint, sizeFrom(bytes), undefined)
}

/** Reports the end of a call that was not answered for this reason, if its start was reported. */
export function reportFailed(record: CallRecord | undefined, reason: unknown, clock: EndClock): void {
  if (record === undefined || record.id === 0) return
  const signal = record.call?.signal
  if (signal?.aborted && reason === signal.reason) {
    report(record, clock, 'aborted', record.endpoint, 0, undefined)
    return
  }
  // A user's layer may have thrown something else.
  const failure = isFailure(reason) ? reason : undefined
  const rpcCode = failure instanceof RpcError ? failure.code : undefined
  report(record, clock, 'failed', failure?.endpoint ?? record.endpoint, 0, { kind: failure?.kind, rpcCode })
}

function report(
  record: CallRecord,
  clock: EndClock,
  outcome: CallEvent['outcome'],
  endpoint: string | undefined,
  bytes: number,
  failure: Pick<CallEvent, 'kind' | 'rpcCode'> | undefined,
): void {
  // Listeners that were told of its start may have left, and others may have come.
  if (!areCallsReported()) return
  const { id, attempts } = record
  const { method, priority } = record.call as Call
  const durationMs = clock.now() - record.startedAt
  reportEnded(id, method, outcome, endpoint, attempts, durationMs, bytes, failure)
  if (!callEvents.hasSubscribers) return
  callEvents.publish({ id, method, endpoint, priority, attempts, durationMs, outcome, kind: failure?.kind, rpcCode: failure?.rpcCode, bytes })
}
