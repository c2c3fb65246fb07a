import { RpcError } from '../errors.ts'
import type { Clock } from '../wait/clock.ts'
import type { Call, Reply, Send } from './call.ts'
import { callEvents, callStartEvents, numbered } from './events.ts'
import { isFailure } from './failure-kinds.ts'
import type { Tally } from './tally.ts'

/*
 * The client publishes the start and the end of a call where it awaits the call anyway: another
 * promise would cost a small call more than everything else here.
 */

/** Does anyone listen to calls that begin now? */
export function areCallsTold(): boolean {
  return callEvents.hasSubscribers || callStartEvents.hasSubscribers
}

/** Makes a call that begins now and is told: `tellAnswered` or `tellFailed` has to follow. */
export function sendTold(send: Send, call: Call, tally: Tally, now: number): Promise<Reply> {
  const { method, priority } = call
  const id = ++numbered.calls
  tally.told = { id, call, startedAt: now }
  if (callStartEvents.hasSubscribers) callStartEvents.publish({ id, method, priority })
  try {
    // A user's layer may throw, or give the reply itself.
    return Promise.resolve(send(call))
  } catch (reason) {
    return Promise.reject(reason)
  }
}

/** Publishes the end of a call that was answered, if it is told. */
export function tellAnswered(tally: Tally | undefined, { bytes }: Reply, clock: Clock): void {
  if (tally?.told !== undefined) tell(tally, tally.told, clock, 'answered', bytes)
}

/** Publishes the end of a call that was not answered for this reason, if it is told. */
export function tellFailed(tally: Tally | undefined, reason: unknown, clock: Clock): void {
  if (tally?.told === undefined) return
  const { signal } = tally.told.call
  tell(tally, tally.told, clock, signal?.aborted && reason === signal.reason ? 'aborted' : 'failed', 0, reason)
}

function tell(
  tally: Tally,
  { id, call, startedAt }: NonNullable<Tally['told']>,
  clock: Clock,
  outcome: 'answered' | 'failed' | 'aborted',
  bytes: number,
  reason?: unknown,
): void {
  const failure = outcome === 'failed' && isFailure(reason) ? reason : undefined
  callEvents.publish({
    id,
    method: call.method,
    endpoint: failure?.endpoint ?? tally.endpoint,
    priority: call.priority,
    attempts: tally.attempts,
    durationMs: clock.now() - startedAt,
    outcome,
    kind: failure?.kind,
    rpcCode: failure instanceof RpcError ? failure.code : undefined,
    bytes,
  })
}
