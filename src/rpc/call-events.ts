import type { Clock } from '../wait/clock.ts'
import type { Call, Reply, Send } from './call.ts'
import { callEvents } from './events.ts'
import { isFailure } from './failure-kinds.ts'
import type { Tally } from './tally.ts'

/** Makes the call, and publishes its end. The call holds the tally. */
export async function tallied(send: Send, call: Call, tally: Tally, clock: Clock): Promise<Reply> {
  const started = clock.now()
  try {
    const reply = await send(call)
    tell(call, tally, clock.now() - started, 'answered', reply.bytes)
    return reply
  } catch (reason) {
    tell(call, tally, clock.now() - started, call.signal?.aborted && reason === call.signal.reason ? 'aborted' : 'failed', 0, reason)
    throw reason
  }
}

function tell(call: Call, tally: Tally, durationMs: number, outcome: 'answered' | 'failed' | 'aborted', bytes: number, reason?: unknown): void {
  const { method, priority } = call
  const failure = outcome === 'failed' && isFailure(reason) ? reason : undefined
  callEvents.publish({
    method,
    endpoint: failure?.endpoint ?? tally.endpoint,
    priority,
    attempts: tally.attempts,
    durationMs,
    outcome,
    kind: failure?.kind,
    bytes,
  })
}
