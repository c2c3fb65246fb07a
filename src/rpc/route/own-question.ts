import { type Call, ownRead } from '../call.ts'

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
