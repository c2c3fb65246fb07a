import { Refusal } from './reply.ts'

/**
 * Counts this many calls. Throws `Refusal` with 429 and `Retry-After` when they exceed the rate.
 */
export type Limit = (calls: number) => void

/**
 * At most this many calls per second, with bursts of a second's worth. A client that keeps to the
 * rate is never refused. A batch of more than a second's worth is accepted when nothing else came
 * in that second, and later calls wait for it.
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
