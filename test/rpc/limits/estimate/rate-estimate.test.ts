import { describe, expect, test } from 'vitest'
import { RateEstimate, type Throttling } from '../../../../src/rpc/limits/estimate/rate-estimate.ts'

/* pacer.test.ts tests it in worlds that throttle. */

const throttling = (answered: number, more: Partial<Throttling> = {}): Throttling => ({ sentAt: 0, tookMs: 20, pauseMs: 0, answered, idleMs: 0, ...more })

/** A rate guessed as 100, and then cut after `calls` calls were answered in a second. */
function cutAt(calls: number, more: Partial<Throttling> = {}) {
  const rate = new RateEstimate(100, throttling(0), 0)
  rate.answered(calls)
  rate.started(1000, 0)
  const verdict = rate.throttled(throttling(calls, more), 0, 1000)
  return { rate, verdict }
}

describe('the rate', () => {
  test('begins at the guess, and grows only while it holds calls back', () => {
    const rate = new RateEstimate(100, throttling(0), 0)
    expect([rate.perSecond, rate.isBeyondLevel]).toEqual([100, true])
    rate.started(0, 60_000)
    expect(rate.perSecond).toBe(100)
    rate.started(500, 0)
    expect(rate.perSecond).toBe(200)
  })

  test('goes on from a level that another estimate has found, without looking for it', () => {
    const rate = new RateEstimate(25, throttling(0), 0)
    rate.resume(200)
    expect([rate.level, rate.isBeyondLevel, rate.isFarBelowLevel]).toEqual([200, false, true])
    expect(rate.perSecond).toBeCloseTo(184, 3)
    rate.started(1900, 0)
    expect(rate.perSecond).toBeCloseTo(200, 0)
  })

  test('restarts at 92 % of the rate answered between two cuts, at 90 % after a pause', () => {
    const { rate, verdict } = cutAt(400)
    expect(verdict).toBe('too-fast')
    expect(rate.level).toBeCloseTo(400, 0)
    expect(rate.perSecond).toBeCloseTo(0.92 * rate.level, 3)
    expect([rate.isBeyondLevel, rate.isFarBelowLevel]).toEqual([false, true])
    const paused = cutAt(400, { pauseMs: 1000 }).rate
    expect(paused.perSecond).toBeCloseTo(0.9 * paused.level, 3)
    expect([rate.since, paused.since]).toEqual([1000, 2000])
  })

  test('starts lower if few calls were answered', () => {
    const few = cutAt(12).rate
    expect(few.perSecond).toBeCloseTo(0.75 * few.level, 3)
  })

  test('returns to its level, stays near it, and then grows ever faster', () => {
    const { rate } = cutAt(400)
    const parts: number[] = []
    for (let ms = 0; ms < 6000; ms += 10) {
      parts.push(rate.perSecond / rate.level)
      rate.started(10, 0)
    }
    const near = parts.filter((part) => Math.abs(part - 1) < 0.02).length
    const first = parts.findIndex((part) => part > 1)
    expect(parts.slice(0, first).filter((part) => part < 0.98).length).toBeLessThan(near)
    expect(rate.isBeyondLevel).toBe(true)
    const growth = parts.slice(1).map((part, i) => part - (parts[i] as number))
    expect(Math.min(...growth)).toBeGreaterThanOrEqual(0)
    expect(growth.at(-1)).toBeGreaterThan(10 * (growth[first] as number))
  })

  test('does not grow while it is temporarily lowered', () => {
    const { rate } = cutAt(400)
    const { perSecond } = rate
    rate.passed(5000, 0)
    expect(rate.perSecond).toBe(perSecond)
  })

  test('follows a limit that falls, but keeps 60 % for one refusal', () => {
    const { rate } = cutAt(400)
    const before = rate.perSecond
    rate.started(50, 0)
    expect(rate.throttled(throttling(300), 0, 1100)).toBe('below-level')
    expect(rate.level).toBeCloseTo(300, 0)
    const deep = cutAt(400).rate
    deep.throttled(throttling(1), 0, 1100)
    expect(deep.level).toBeCloseTo(0.6 * before, 3)
  })

  test('excludes random throttling from its measurement', () => {
    const rate = new RateEstimate(100, throttling(0), 0)
    rate.answered(400)
    rate.started(1000, 0)
    rate.throttled(throttling(400), 0.2, 1000)
    expect(rate.level).toBeCloseTo(500, 0)
  })

  test('is at least 1 and at most 100,000 calls per second', () => {
    expect(new RateEstimate(0, throttling(0), 0).perSecond).toBe(1)
    const rate = new RateEstimate(50_000, throttling(0), 0)
    rate.started(60_000, 0)
    expect(rate.perSecond).toBe(100_000)
  })

  test('is restored to a level that was cut wrongly, and to no lower one', () => {
    const { rate } = cutAt(400)
    rate.restore(900)
    expect(rate.level).toBe(900)
    rate.restore(100)
    expect(rate.level).toBe(900)
  })
})
