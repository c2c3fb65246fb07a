import { describe, expect, test } from 'vitest'
import { HttpError, LimitError, RpcError, TimeoutError } from '../../../src/errors.ts'
import type { Call, Outcome } from '../../../src/rpc/call.ts'
import type { BatchPlan } from '../../../src/rpc/limits/batch/batch-plan.ts'
import { type BatchResult, batchResult } from '../../../src/rpc/limits/batch-result.ts'
import { EndpointLimits, type Wait } from '../../../src/rpc/limits/endpoint-limits.ts'
import type { WaitingCalls } from '../../../src/rpc/limits/rate/pacer.ts'
import { replyOf } from '../../../src/rpc/reply.ts'

const limitsWith = (options = {}) =>
  new EndpointLimits(
    {
      concurrency: 8,
      singleConcurrency: 100,
      maxCalls: 100,
      backoff: { baseDelayMs: 100, maxDelayMs: 1000 },
      isHeavy: (method) => method.startsWith('heavy'),
      ...options,
    },
    0,
  )
const callsOf = (count: number, method = 'any') =>
  Array.from({ length: count }, () => ({ method, params: [], deadline: Number.POSITIVE_INFINITY, priority: 'interactive', safe: true }) as unknown as Call)
const waiting = (count: number) => ({ size: count, first: callsOf(1)[0] as Call })

const answered = () => replyOf('0x1', 10)
const http = (status: number, context: object) => new HttpError({ status, headers: {}, body: 'no' }, { method: 'any', ...context })
const throttled = (retryAfterMs?: number) => http(429, { kind: 'rate-limit', ...(retryAfterMs && { retryAfterMs }) })
const timedOut = () => new TimeoutError('no reply within 5 s', { endpoint: 'node' })
const tooManyResults = () => new RpcError({ code: -32005, message: 'query returned more than 10000 results' }, { method: 'any', kind: 'range-too-large' })
const tooLong = () => new RpcError({ code: -32600, message: 'batch too large' }, { method: 'any', kind: 'batch-too-large' })

/** The limits are asked for a plan: by default for calls that are not split, and one slot. */
const plan = (limits: EndpointLimits, now: number, waiting: WaitingCalls, maySplit = false, slots = 1) => limits.plan(now, waiting, maySplit, slots)

/** A batch has ended, while no calls of other methods wait. */
const finished = (limits: EndpointLimits, result: BatchResult, now: number) => limits.finished(result, now, () => false)

/** Sends a batch of this many calls, which take 50 ms. */
function send(limits: EndpointLimits, count: number, outcome: (i: number) => Outcome, now: number) {
  const batch = limits.started(callsOf(count), now, false)
  return finished(
    limits,
    batchResult(
      batch,
      Array.from({ length: count }, (_, i) => outcome(i)),
    ),
    now + 50,
  )
}

const planOf = (plan: Wait | BatchPlan) => ('waitMs' in plan ? plan.waitMs : plan.maxCalls)

describe('replies that are too large together', () => {
  /** Small replies, then some that are a thousand times as large. */
  const afterLarge = (failure: LimitError) => {
    const limits = limitsWith()
    for (let now = 0; now < 10; now++) send(limits, 50, answered, 100 * now)
    send(limits, 50, () => failure, 1000)
    return limits
  }
  const MiB = 1024 * 1024
  const tooLarge = (size: number) => new LimitError('too large', 'response-too-large', { limit: 16 * MiB, size })
  const fitting = (limits: EndpointLimits) => {
    const planned = plan(limits, 2000, waiting(100)) as BatchPlan
    return callsOf(100).findIndex((call) => planned.fits(call) !== 'yes')
  }

  test('say something about these calls, and nothing about the endpoint, where the limit is hexline’s', () => {
    const limits = afterLarge(tooLarge(45 * MiB))
    expect(limits.current).toMatchObject({ maxCalls: 100, bodyBytes: 1.5 * MiB })
    // 0.3 of 45 MiB / 50 for each.
    expect(fitting(limits)).toBe(6)
    // The others do not wait for a probe.
    limits.started(callsOf(6), 2000, false)
    expect(planOf(plan(limits, 2000, waiting(100)))).toBe(100)
  })

  test('keep POSTs below that limit where it is low, also those that come next', () => {
    const limits = limitsWith()
    const waves = 40
    const eachBytes = 20_000
    const limit = MiB
    let refused = 0
    for (let wave = 0, now = 0; wave < waves; wave++) {
      for (let left = 100; left > 0; now += 100) {
        const planned = plan(limits, now, waiting(left)) as BatchPlan
        const calls = callsOf(left).findIndex((call) => planned.fits(call) !== 'yes')
        const count = calls < 0 ? left : calls
        // With their envelopes.
        const size = count * (eachBytes + 50)
        const isTooLarge = size > limit
        if (isTooLarge) refused++
        const failure = new LimitError('too large', 'response-too-large', { limit, size })
        send(limits, count, () => (isTooLarge ? failure : replyOf('x', eachBytes)), now)
        if (!isTooLarge) left -= count
      }
    }
    expect(refused).toBe(1)
    expect(limits.current).toMatchObject({ maxCalls: 100, bodyBytes: 0.75 * MiB })
  })

  test('never shorten the endpoint’s batches, whatever was expected of them', () => {
    const limits = limitsWith()
    for (let now = 0; now < 5; now++) send(limits, 1, () => replyOf('x', 40 * MiB), 100 * now)
    const { bodyBytes } = limits.current
    send(limits, 3, () => tooLarge(17 * MiB), 1000)
    expect(limits.current).toMatchObject({ maxCalls: 100, bodyBytes })
  })

  test('show what the endpoint takes, where it has cut them', () => {
    expect(afterLarge(new LimitError('cut', 'response-too-large', { limit: MiB, size: MiB })).current).toMatchObject({ bodyBytes: 0.75 * MiB })
  })
})

describe('a plan', () => {
  test('changes nothing, however often it is made', () => {
    const asked = limitsWith({ rate: { perSecond: 100 } })
    const left = limitsWith({ rate: { perSecond: 100 } })
    for (const limits of [asked, left]) {
      send(limits, 5, answered, 0)
      send(limits, 5, (i) => (i < 2 ? answered() : throttled()), 100)
    }
    for (let now = 150; now < 2000; now += 7) plan(asked, now, waiting(50), true)
    for (let now = 2000; now < 4000; now += 50) {
      expect(planOf(plan(asked, now, waiting(50)))).toBe(planOf(plan(left, now, waiting(50))))
      for (const limits of [asked, left]) if (typeof planOf(plan(limits, now, waiting(50))) === 'number') send(limits, 1, answered, now)
    }
    expect(asked.current).toEqual(left.current)
  })

  test('keeps slow calls apart if another slot is free for them', () => {
    const [quick, heavy] = [...callsOf(1), ...callsOf(1, 'heavy')] as [Call, Call]
    for (const [maySplit, fit] of [
      [true, 'split'],
      [false, 'yes'],
    ] as const) {
      const planned = plan(limitsWith(), 0, waiting(2), maySplit) as BatchPlan
      expect(planned.fits(quick)).toBe('yes')
      expect(planned.fits(heavy)).toBe(fit)
    }
  })

  test('shares heavy calls between the free slots, four to eight in each', () => {
    const shareOf = (size: number, slots: number, method = 'heavy') => {
      const planned = plan(limitsWith(), 0, { size, first: callsOf(1, method)[0] as Call }, false, slots) as BatchPlan
      return planned.maxCalls
    }
    expect([shareOf(35, 7), shareOf(56, 7), shareOf(64, 7), shareOf(64, 1), shareOf(5, 7), shareOf(5, 1)]).toEqual([5, 8, 8, 8, 4, 5])
    expect(shareOf(64, 7, 'quick')).toBe(100)
  })

  describe('of heavy calls', () => {
    const mostOf =
      (limits: EndpointLimits) =>
      (count: number, tookMs: number, outcome: Outcome = answered(), method = 'heavy') => {
        const batch = limits.started(callsOf(count, method), 0, false)
        finished(
          limits,
          batchResult(
            batch,
            Array.from({ length: count }, () => outcome),
          ),
          tookMs,
        )
        return planOf(plan(limits, 1e6, { size: 1000, first: callsOf(1, 'heavy')[0] as Call }))
      }

    test('takes up to 24 where the node answers as many within 250 ms, by the newest POST of at least eight', () => {
      const limits = limitsWith()
      const mostAfter = mostOf(limits)
      expect(mostAfter(7, 1)).toBe(8)
      expect(mostAfter(8, 160)).toBe(12)
      expect(mostAfter(8, 20)).toBe(24)
      expect(mostAfter(1, 5000)).toBe(24)
      expect(mostAfter(24, 1, answered(), 'quick')).toBe(24)
      expect(mostAfter(24, 400)).toBe(15)
      expect(mostAfter(15, 5000)).toBe(8)
      expect(mostAfter(8, 20)).toBe(24)
      // Refused calls may have taken no time.
      expect(mostAfter(24, 400, tooManyResults())).toBe(15)
      expect(mostAfter(24, 20, tooManyResults())).toBe(15)
      expect(mostAfter(24, 5000, timedOut())).toBe(8)
      expect(mostAfter(24, 20, answered(), 'heavy too')).toBe(8)
      expect(planOf(plan(limits, 1e6, { size: 1000, first: callsOf(1, 'heavy too')[0] as Call }))).toBe(24)
    })

    test('does not count the round trip, by the quickest POST of other calls', () => {
      const mostAfter = mostOf(limitsWith())
      expect(mostAfter(8, 300)).toBe(8)
      expect(mostAfter(1, 280, answered(), 'quick')).toBe(8)
      expect(mostAfter(8, 300)).toBe(24)
      expect(mostAfter(1, 5000, answered(), 'quick')).toBe(24)
      expect(mostAfter(24, 680)).toBe(15)
      expect(mostAfter(8, 280)).toBe(24)
      expect(mostAfter(24, 5000)).toBe(8)
    })
  })

  test('waits for the batch that probes a new length, unless the calls fit an accepted one', () => {
    const limits = limitsWith()
    expect(send(limits, 100, tooLong, 0)).toEqual({ mayBePaused: false, resend: 'too-large' })
    const probe = limits.started(callsOf(50), 100, false)
    expect(plan(limits, 110, waiting(50))).toEqual({ waitMs: Number.POSITIVE_INFINITY })
    expect(planOf(plan(limits, 110, waiting(1)))).toBe(50)
    finished(limits, batchResult(probe, Array.from({ length: 50 }, answered)), 150)
    expect(planOf(plan(limits, 160, waiting(50)))).toBe(50)
  })

  test('waits for the end of a pause', () => {
    const limits = limitsWith()
    expect(send(limits, 1, () => throttled(400), 0)).toEqual({ mayBePaused: true, resend: 'none' })
    expect(plan(limits, 150, waiting(1))).toEqual({ waitMs: 300 })
    expect(limits.pausedUntil).toBe(450)
    expect(limits.callsWithin(200, waiting(9), 150)).toBe(0)
  })

  test('waits no longer in each pause while some calls are answered before it', () => {
    const limits = limitsWith()
    const pauses = [1000, 2000, 3000].map((now) => {
      send(limits, 2, (i) => (i === 0 ? answered() : throttled()), now)
      send(limits, 2, () => throttled(), now + 100)
      return limits.pausedUntil - (now + 150)
    })
    expect(pauses).toEqual([50, 50, 50])
  })
})

test('a server without batches gets single calls, many at once after the first answers', () => {
  const limits = limitsWith()
  const notFound = () => http(404, { kind: 'not-found' })
  expect(send(limits, 10, notFound, 0).resend).toBe('all')
  expect(limits.current).toMatchObject({ maxCalls: 1, concurrency: 8 })
  send(limits, 1, answered, 100)
  expect(limits.current).toMatchObject({ maxCalls: 1, concurrency: 100 })
})

test('another pacer takes the place of the rates, and is told which calls wait, start and end', () => {
  const limits = limitsWith()
  const told: unknown[][] = []
  let waitMs = 100
  limits.paceBy({
    perSecond: 7,
    standing: () => 'unproven',
    msUntil: () => waitMs,
    isHoldingBack: () => true,
    room: (most) => Math.min(3, most),
    fitting: () => undefined,
    heldBack: ({ size }) => void told.push(['waits', size]),
    started: ({ length }) => void told.push(['started', length]),
    answered: (calls, tookMs, _, noneThrottled) => void told.push(['answered', calls, tookMs, noneThrottled]),
    throttled: ({ sentAt, tookMs, pauseMs }) => {
      told.push(['throttled', sentAt, tookMs, pauseMs])
      return 'too-fast'
    },
  })
  expect(planOf(plan(limits, 0, waiting(50)))).toBe(100)
  limits.heldBack(waiting(50), 0)
  waitMs = 0
  const planned = plan(limits, 0, waiting(50)) as BatchPlan
  expect(planned.maxCalls).toBe(3)
  send(limits, 3, answered, 0)
  send(limits, 1, () => throttled(2000), 100)
  expect(told).toEqual([
    ['waits', 50],
    ['started', 3],
    ['answered', 3, 50, true],
    ['started', 1],
    ['throttled', 100, 50, 2000],
  ])
  expect(limits.current.callsPerSecond).toBe(7)
})
