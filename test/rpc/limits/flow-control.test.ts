import { describe, expect, test } from 'vitest'
import { HttpError } from '../../../src/errors.ts'
import type { Call } from '../../../src/rpc/call.ts'
import { batchResult } from '../../../src/rpc/limits/batch-result.ts'
import { FlowControl } from '../../../src/rpc/limits/flow-control.ts'
import { Pacer } from '../../../src/rpc/limits/rate/pacer.ts'
import { replyOf } from '../../../src/rpc/reply.ts'

const throttled = (retryAfterMs?: number) =>
  new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit', ...(retryAfterMs !== undefined && { retryAfterMs }) })

/** An endpoint that first pauses for 50 ms, then for 100, 200 and so on. */
function endpoint() {
  const flow = new FlowControl(new Pacer(undefined, 0), { baseDelayMs: 100, maxDelayMs: 10_000 })
  /** A POST of two calls, of which this many are answered. Returns the length of the pause. */
  const post = (answered: number, now: number, failure = throttled(), mayBeRate = true): number => {
    const calls = Array.from({ length: 2 }, () => ({ method: 'any' }) as Call)
    const batch = { calls, sentAt: now - 10, nth: 1, nthBusy: 1, expectedBytes: 0, isProbe: false, hadRoom: false }
    const result = batchResult(
      batch,
      calls.map((_, i) => (i < answered ? replyOf('0x1') : failure)),
    )
    if (answered > 0) flow.took(result, 8, now)
    if (answered === 2) return 0
    flow.throttled(result, failure, now)
    return flow.pauseFor(failure, mayBeRate, now) ? flow.pause.until - now : 0
  }
  return { flow, post }
}

describe('a pause', () => {
  test('begins if nothing was answered since the last refusal, and is longer each time', () => {
    const { post } = endpoint()
    expect([1000, 2000, 3000].map((now) => post(0, now))).toEqual([50, 100, 200])
    expect(post(2, 4000)).toBe(0)
    // Calls are answered in between: the rate holds back what it must.
    expect(post(0, 4100)).toBe(0)
    expect(post(0, 5000)).toBe(50)
  })

  test('does not become longer while some calls of each other POST are answered', () => {
    const { post } = endpoint()
    const pauses = [1000, 2000, 3000].map((now) => {
      expect(post(1, now)).toBe(0)
      return post(0, now + 100)
    })
    expect(pauses).toEqual([50, 50, 50])
  })

  test('begins whenever the endpoint asks for it, and not where the rate cannot be the reason', () => {
    const { flow, post } = endpoint()
    post(2, 1000)
    expect(post(1, 1100, throttled(300))).toBe(300)
    expect(flow.heldUntil({ size: 1, first: { method: 'any' } as Call }, 100, 1200)).toBeGreaterThanOrEqual(1400)
    expect(post(0, 2000, throttled(), false)).toBe(0)
    expect(post(0, 2100, throttled(300), false)).toBe(300)
  })
})
