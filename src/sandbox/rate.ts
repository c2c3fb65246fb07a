import { TokenBucket } from '../wait/token-bucket.ts'
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
  const fill = { perSecond: callsPerSecond, most: Math.max(1, callsPerSecond) }
  const bucket = new TokenBucket(fill.most, performance.now())
  return (calls) => {
    const now = performance.now()
    const waitMs = bucket.msUntil(Math.min(calls, fill.most), now, fill)
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000)
      throw new Refusal(429, `rate limit: no more than ${callsPerSecond} calls per second`, { headers: { 'retry-after': String(seconds) } })
    }
    bucket.take(calls, now, fill)
  }
}
