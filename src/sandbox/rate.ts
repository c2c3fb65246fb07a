import { Refusal } from './reply.ts'

/** Takes so many calls. Throws `Refusal` with 429 and `Retry-After` when they are too many for now. */
export type Limit = (calls: number) => void

/**
 * So many calls a second, and a second's worth at once. A client that keeps to the same rate is never refused; a batch of more than a second's worth is
 * taken when nothing else was in that second, and what follows waits for it.
 */
export function createLimit(callsPerSecond: number): Limit {
  if (callsPerSecond === Number.POSITIVE_INFINITY) return () => {}
  const most = Math.max(1, callsPerSecond)
  let left = most
  let filledAt = performance.now()
  return (calls) => {
    const now = performance.now()
    left = Math.min(most, left + ((now - filledAt) / 1000) * callsPerSecond)
    filledAt = now
    const needed = Math.min(calls, most)
    if (left < needed) {
      const seconds = Math.ceil((needed - left) / callsPerSecond)
      throw new Refusal(429, `rate limit: no more than ${callsPerSecond} calls per second`, { headers: { 'retry-after': String(seconds) } })
    }
    left -= calls
  }
}
