import { describe, expect, test } from 'vitest'
import { RandomThrottling } from '../../../../src/rpc/limits/estimate/random-throttling.ts'
import { RateEstimate } from '../../../../src/rpc/limits/estimate/rate-estimate.ts'

/**
 * A rate of 200 calls a second, with one POST of 5 calls every 25 ms. `isRefused` gets the rate.
 * Returns the rate at each POST.
 */
function run(posts: number, isRefused: (perSecond: number, i: number) => boolean): number[] {
  const rate = new RandomThrottling(new RateEstimate(200, { tookMs: 20, pauseMs: 0 }, 0), 0, 0)
  const rates: number[] = []
  for (let i = 0, now = 25; i < posts; i++, now += 25) {
    rates.push(rate.perSecond)
    rate.started(25, 0, now)
    if (isRefused(rate.perSecond, i)) rate.throttled({ sentAt: now, tookMs: 20, pauseMs: 0, answered: 0.95 * rate.perSecond, idleMs: 20 }, now + 20)
    else rate.answered(5, now, true, now + 20)
  }
  return rates
}

const isTenth = (_: number, i: number) => i % 10 === 9

describe('an outage', () => {
  /** The rate after a second of refusals; `meanwhile` is called after the first of them. */
  function rateAfter(meanwhile: (rate: RandomThrottling) => void): number {
    const rate = new RandomThrottling(new RateEstimate(200, { tookMs: 20, pauseMs: 0 }, 0), 200, 0)
    meanwhile(rate)
    for (let now = 200; now <= 1400; now += 100) {
      rate.started(100, 0, now)
      rate.throttled({ sentAt: now, tookMs: 20, pauseMs: 0, answered: 0, idleMs: 0 }, now + 20)
    }
    expect(rate.perSecond).toBeLessThan(60)
    rate.started(100, 0, 1500)
    rate.answered(5, 1500, true, 1520)
    return rate.perSecond
  }

  test('leaves half of the rate, also where calls that were on their way are answered after the first refusal', () => {
    const untouched = rateAfter(() => {})
    expect(untouched).toBeGreaterThan(80)
    expect(rateAfter((rate) => rate.answered(5, -30, true, 50))).toBeCloseTo(untouched, 6)
  })

  test('leaves half of the rate, also where an ordinary refusal came just before it', () => {
    const rate = rateAfter((rate) => {
      rate.started(50, 0, 50)
      rate.answered(30, 50, true, 70)
      rate.throttled({ sentAt: 80, tookMs: 20, pauseMs: 0, answered: 190, idleMs: 0 }, 100)
      rate.started(50, 0, 120)
      rate.answered(5, 120, true, 140)
    })
    expect(rate).toBeGreaterThan(75)
  })
})

describe('throttling', () => {
  test('of every tenth POST is found to be random, and the rate grows further', () => {
    const rates = run(1000, isTenth)
    expect(rates.at(-1)).toBeGreaterThan(1000)
  })

  test('is tested at half the earlier rate', () => {
    const rates = run(200, isTenth)
    expect(rates.some((rate, i) => i > 0 && rate < 0.51 * (rates[i - 1] as number))).toBe(true)
  })

  test('begins a trial where it is cut five times below its level, and never gets back there', () => {
    const rate = new RandomThrottling(new RateEstimate(200, { tookMs: 400, pauseMs: 0 }, 0), 0, 0)
    const verdicts: string[] = []
    const rates = [rate.perSecond]
    for (let now = 500; now <= 7 * 500; now += 500) {
      rate.started(500, 0, now - 480)
      rate.answered(5, now - 490, true, now - 90)
      verdicts.push(rate.throttled({ sentAt: now - 410, tookMs: 400, pauseMs: 0, answered: 0.9 * rate.perSecond, idleMs: 20 }, now - 10))
      rates.push(rate.perSecond)
    }
    expect(verdicts).toEqual(['too-fast', 'below-level', 'below-level', 'below-level', 'below-level', 'below-level', 'random'])
    const parts = rates.slice(1).map((each, i) => each / (rates[i] as number))
    expect(Math.min(...parts.slice(0, 5))).toBeGreaterThan(0.6)
    expect(parts[5]).toBeLessThan(0.5)
  })

  test('begins none where POSTs far below the level were answered after each cut', () => {
    const rate = new RandomThrottling(new RateEstimate(200, { tookMs: 20, pauseMs: 0 }, 0), 0, 0)
    const verdicts: string[] = []
    for (let cut = 0, now = 0; cut < 8; cut++) {
      for (let i = 0; i < 12; i++) {
        now += 25
        rate.started(25, 0, now)
        if (i < 11) rate.answered(5, now, true, now + 20)
      }
      verdicts.push(rate.throttled({ sentAt: now, tookMs: 20, pauseMs: 0, answered: 0.8 * rate.perSecond, idleMs: 20 }, now + 20))
      now += 20
    }
    expect(verdicts).toEqual(['too-fast', ...Array.from({ length: 7 }, () => 'below-level')])
  })

  test('by a limit is never found to be random', () => {
    const rates = run(2000, (perSecond) => perSecond > 150)
    expect(Math.max(...rates.slice(500))).toBeLessThan(200)
    expect(Math.min(...rates.slice(500))).toBeGreaterThan(100)
  })

  test('by a limit that comes later is found in spite of random throttling', () => {
    const rates = run(4000, (perSecond, i) => (i > 1000 && perSecond > 2000) || isTenth(perSecond, i))
    expect(Math.max(...rates.slice(2000))).toBeLessThan(6000)
  })
})
