import { describe, expect, test } from 'vitest'
import { LearntRate } from '../../../../src/rpc/limits/rate/learnt-rate.ts'

/* pacer.test.ts tests it in worlds that throttle. */

const first = { tookMs: 20, pauseMs: 0 }

describe('a learnt rate', () => {
  test('sends calls at its pace, a few at a time', () => {
    const rate = new LearntRate({ perSecond: 200, saved: 0, answered: 0 }, first, 0)
    expect(rate.available(0)).toBe(0)
    // 25 ms' worth of calls, enough to justify an alarm.
    const wait = rate.msUntil(1000, 0)
    expect(wait).toBeCloseTo(25, 1)
    expect(rate.available(wait)).toBe(5)
    expect(rate.available(60_000)).toBe(10)
    expect(rate.msUntil(1, 0)).toBeCloseTo(5, 1)
  })

  test('grows with the time for which it held calls back, and not while idle', () => {
    const [held, idle] = [
      new LearntRate({ perSecond: 200, saved: 0, answered: 0 }, first, 0),
      new LearntRate({ perSecond: 200, saved: 0, answered: 0 }, first, 0),
    ]
    for (let now = 25; now <= 500; now += 25) held.started(5, now)
    idle.started(5, 25)
    idle.started(5, 500)
    expect(held.perSecond).toBeGreaterThan(230)
    expect(idle.perSecond).toBeLessThan(210)
  })

  test('is cut by throttling, which also empties its bucket for some time', () => {
    const rate = new LearntRate({ perSecond: 200, saved: 0, answered: 0 }, first, 0)
    for (let now = 25; now <= 500; now += 25) {
      rate.started(5, now)
      rate.answered(5, 20, 8, true, now + 20)
    }
    const before = rate.perSecond
    expect(rate.throttled({ sentAt: 500, tookMs: 20, pauseMs: 0 }, 200, 520)).toBe('too-fast')
    expect(rate.perSecond).toBeLessThan(before)
    expect([rate.since, rate.isBeyondLevel]).toEqual([520, false])
    expect(rate.available(520)).toBeLessThan(0)
  })

  test('follows the mean time of replies', () => {
    const rate = new LearntRate({ perSecond: 200, saved: 0, answered: 0 }, first, 0)
    rate.answered(1, 120, 8, true, 200)
    expect(rate.meanMs).toBeCloseTo(40, 6)
  })

  test('sends what was saved in the first pause at once when it is over', () => {
    const rate = new LearntRate({ perSecond: 200, saved: 90, answered: 0 }, { tookMs: 20, pauseMs: 1000 }, 0)
    expect(rate.available(1000)).toBe(90)
    rate.started(60, 1000)
    expect(rate.available(1000)).toBe(30)
    rate.started(30, 1000)
    expect([rate.available(1000), rate.available(60_000)]).toEqual([0, 10])
  })

  test('is refuted if that is refused before anything is answered', () => {
    const paused = { tookMs: 20, pauseMs: 1000 }
    const rate = new LearntRate({ perSecond: 200, saved: 90, answered: 0 }, paused, 0)
    expect([999, 1000].map((sentAt) => rate.isRefutedBy(sentAt))).toEqual([false, true])
    rate.answered(1, 20, 8, true, 1010)
    expect(rate.isRefutedBy(1000)).toBe(true)
    rate.answered(1, 20, 8, true, 1020)
    expect(rate.isRefutedBy(1000)).toBe(false)
    expect(new LearntRate({ perSecond: 200, saved: 0, answered: 0 }, paused, 0).isRefutedBy(1000)).toBe(false)
  })

  test('is forgotten after five minutes without holding calls back, or if it exceeds all demand', () => {
    const rate = new LearntRate({ perSecond: 200, saved: 0, answered: 0 }, first, 0)
    expect([300_000, 300_001].map((now) => rate.isForgotten(now))).toEqual([false, true])
    rate.started(1, 200_000)
    expect(rate.isForgotten(300_001)).toBe(false)
    expect(new LearntRate({ perSecond: 1e6, saved: 0, answered: 0 }, first, 0).isForgotten(0)).toBe(true)
  })
})
