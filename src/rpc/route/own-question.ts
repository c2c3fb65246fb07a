import { type Call, ownRead, type PooledCall, staysPut } from '../call.ts'

/** Longest wait for the answer, in ms. */
const ASK_MS = 3_000

/** A question of hexline's own to one endpoint. No other takes its place, nor does it wait long. */
export function ownQuestion(
  asked: Pick<Call, 'method' | 'params'>,
  now: number,
  { signal, deadline = Number.POSITIVE_INFINITY }: Partial<Pick<Call, 'signal' | 'deadline'>> = {},
): Call {
  return ownRead({ ...asked, whilePaused: 'fail', isBound: true, signal, deadline: Math.min(deadline, now + ASK_MS) })
}

/**
 * A question that must be answered for this call: it travels, waits and ends as the call does, by
 * whose patience its POST is read. Calls that wait in the same line share one question.
 */
export function questionFor(call: Call, asked: Pick<Call, 'method' | 'params'>): PooledCall {
  const { signal, deadline, attempts, timeoutMs, whilePaused, tried, stalls } = call
  // Without the pin, which would count the answer as seen by its calls. One that is bound and stays
  // put would stay in line where a call that is pinned and stays put leaves (`mayLeave`).
  const isBound = call.isBound === true || (call.pin !== undefined && !staysPut(call))
  return { ...ownRead({ ...asked, signal, deadline, attempts, timeoutMs, whilePaused, tried, stalls, isBound }), staysPut: staysPut(call), joins: true }
}
