import type { Clock } from '../wait/clock.ts'
import type { Call, Reply, Send } from './call.ts'
import { callEvents } from './events.ts'
import { isFailure } from './failure-kinds.ts'

/**
 * What becomes of a call on its way: for `hexline:call`, where anyone listens, and for the error of
 * an unreadable result.
 */
export class Tally {
  /** POSTs that it was in. */
  attempts = 0
  /** The endpoint that gave the last outcome. */
  endpoint: string | undefined

  /** A POST that it was in has ended. */
  posted(endpoint: string | undefined): void {
    this.attempts++
    this.endpoint = endpoint
  }
}

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
