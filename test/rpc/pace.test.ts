import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../src/rpc/call.ts'
import { LearntRate } from '../../src/rpc/learnt-rate.ts'
import { Pace } from '../../src/rpc/pace.ts'
import { Rate } from '../../src/rpc/rate.ts'

/** The most that was sent in any second. */
function mostInASecond(sent: readonly { readonly at: number; readonly units: number }[]): number {
  let most = 0
  let sum = 0
  for (let first = 0, last = 0; last < sent.length; last++) {
    sum += sent[last]?.units ?? 0
    while ((sent[last]?.at ?? 0) - (sent[first]?.at ?? 0) >= 1000) sum -= sent[first++]?.units ?? 0
    most = Math.max(most, sum)
  }
  return most
}

const callOf = (method: string) => ({ method }) as Call

describe('a budget that is given', () => {
  test('in calls is never passed in any second, and used', () => {
    for (const callsPerSecond of [0.5, 1, 3, 10, 19, 20, 25, 100, 999]) {
      const rate = new Rate(callsPerSecond, 0)
      const sent: { at: number; units: number }[] = []
      for (let now = 0; now < 5000; now += 0.7) {
        const available = rate.available(now)
        rate.take(available)
        if (available > 0) sent.push({ at: now, units: available })
      }
      expect(mostInASecond(sent)).toBeLessThanOrEqual(Math.max(1, callsPerSecond))
      // And does not make less of it than the burst costs.
      expect(sent.reduce((sum, { units }) => sum + units, 0)).toBeGreaterThan(callsPerSecond * 5 * 0.85 - 1)
    }
  })

  test('says how long to wait, to the moment', () => {
    const rate = new Rate(100, 0)
    rate.take(rate.available(0))
    const wait = rate.msUntil(5, 0)
    expect(wait).toBeGreaterThan(0)
    expect(rate.available(wait - 1)).toBeLessThan(5)
    expect(rate.available(wait)).toBe(5)
  })

  test('in units is never passed in any second by calls that cost up to half of it, whatever they cost and in what order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 1000 }),
        fc.array(fc.double({ min: 0, max: 0.5, noNaN: true }), { minLength: 1, maxLength: 200 }),
        (perSecond, parts) => {
          const costs = new Map(parts.map((part, i) => [`m${i}`, part * perSecond]))
          const pace = new Pace({ perSecond, costOf: (method) => costs.get(method) ?? 0 }, 0)
          const waiting = parts.map((_, i) => callOf(`m${i}`))
          const sent: { at: number; units: number }[] = []
          for (let now = 0; waiting.length > 0; ) {
            const wait = pace.msUntil({ size: waiting.length, first: waiting[0] as Call }, 100, now)
            if (wait > 0) {
              now += wait
              continue
            }
            const fits = pace.fitting(now)
            const taken: Call[] = []
            while (waiting.length > 0 && taken.length < pace.room(100, now) && fits?.(waiting[0] as Call)) taken.push(waiting.shift() as Call)
            expect(taken.length).toBeGreaterThan(0)
            pace.take(taken)
            sent.push({ at: now, units: taken.reduce((sum, { method }) => sum + (costs.get(method) ?? 0), 0) })
          }
          expect(mostInASecond(sent)).toBeLessThanOrEqual(perSecond * 1.0001)
        },
      ),
      { seed: 8 },
    )
  })

  test('lets a call go that costs more than a second has, and makes the next one wait for it', () => {
    const pace = new Pace({ perSecond: 330, costOf: (method) => (method === 'dear' ? 1000 : 10) }, 0)
    expect(pace.msUntil({ size: 1, first: callOf('dear') }, 100, 1000)).toBe(0)
    pace.take([callOf('dear')])
    expect(pace.msUntil({ size: 1, first: callOf('cheap') }, 100, 1000)).toBeGreaterThan(1000)
  })

  test('holds back no call that costs nothing', () => {
    const pace = new Pace({ perSecond: 1, costOf: (method) => (method === 'free' ? 0 : 1) }, 0)
    pace.take([callOf('one'), callOf('one')])
    expect(pace.msUntil({ size: 1, first: callOf('free') }, 100, 0)).toBe(0)
    expect(pace.fitting(0)?.(callOf('free'))).toBe(true)
  })
})

/** A token bucket that answers at once, asked for as much as the rate lets go, on a clock of its own. */
function simulate(limitAt: (now: number) => number, burst: number, untilMs: number, retryAfterMs = 0) {
  let tokens = burst
  let learnt: LearntRate | undefined
  let pausedUntil = 0
  const taken = new Map<number, number>()
  const refused = new Map<number, number>()
  for (let now = 0; now < untilMs; now += 5) {
    tokens = Math.min(burst, tokens + (limitAt(now) * 5) / 1000)
    if (now < pausedUntil || (learnt?.msUntil(64, now) ?? 0) > 0) continue
    const calls = Math.min(64, learnt?.available(now) ?? 64)
    learnt?.take(calls)
    const answered = Math.min(calls, Math.floor(tokens))
    tokens -= answered
    const second = Math.floor(now / 1000)
    taken.set(second, (taken.get(second) ?? 0) + answered)
    learnt?.answered(answered, 50, 8)
    if (answered === calls) continue
    refused.set(second, (refused.get(second) ?? 0) + calls - answered)
    const throttling = { refused: calls - answered, sentAt: now, tookMs: 50, pauseMs: retryAfterMs, recently: limitAt(now) }
    if (learnt === undefined) learnt = new LearntRate(40, throttling, now)
    else learnt.throttled(throttling, now)
    pausedUntil = now + retryAfterMs
  }
  const sum = (counts: Map<number, number>, from: number, to: number) => {
    let all = 0
    for (let second = from; second < to; second++) all += counts.get(second) ?? 0
    return all
  }
  return { taken: (from: number, to: number) => sum(taken, from, to), refused: (from: number, to: number) => sum(refused, from, to) }
}

describe('a rate that is learnt', () => {
  test.each([5, 20, 200, 2000])('is that of a server that takes %i a second, of which few are refused', (limit) => {
    const { taken, refused } = simulate(() => limit, Math.max(5, limit / 10), 60_000)
    expect(taken(20, 60)).toBeGreaterThan(limit * 40 * 0.9)
    expect(refused(20, 60)).toBeLessThan(limit * 40 * 0.02 + 10)
  })

  test('follows a limit that drops, and one that rises', () => {
    const { taken } = simulate((now) => (now > 20_000 && now < 40_000 ? 50 : 200), 20, 80_000)
    expect(taken(10, 20)).toBeGreaterThan(2000 * 0.9)
    expect(taken(25, 40)).toBeGreaterThan(750 * 0.9)
    expect(taken(55, 80)).toBeGreaterThan(5000 * 0.9)
  })

  test('is looked at more rarely where each look costs a pause of a second', () => {
    const { taken, refused } = simulate(() => 200, 20, 100_000, 1000)
    expect(taken(20, 100)).toBeGreaterThan(16_000 * 0.88)
    expect(refused(20, 100)).toBeLessThan(16_000 * 0.02)
  })

  test('is forgotten when it has long held nothing back', () => {
    const rate = new LearntRate(40, { tookMs: 50, pauseMs: 0 }, 0)
    expect(rate.isForgotten(200_000)).toBe(false)
    expect(rate.isForgotten(400_000)).toBe(true)
  })

  test('is no less than one call a second and no more than 100,000, whatever happens', () => {
    const event = fc.record({
      passed: fc.integer({ min: 0, max: 5000 }),
      answered: fc.integer({ min: 0, max: 100_000 }),
      refused: fc.integer({ min: 0, max: 1000 }),
      pauseMs: fc.constantFrom(0, 1000, 60_000),
      recently: fc.double({ min: 0, max: 1e9, noNaN: true }),
      wanted: fc.integer({ min: 1, max: 1000 }),
    })
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.array(event, { maxLength: 100 }), (guess, events) => {
        let now = 0
        const rate = new LearntRate(guess, { tookMs: 50, pauseMs: 0 }, now)
        for (const { passed, answered, refused, pauseMs, recently, wanted } of events) {
          now += passed
          rate.answered(answered, 50, 8)
          if (refused > 0) rate.throttled({ refused, sentAt: now, tookMs: 50, pauseMs, recently }, now)
          const wait = rate.msUntil(wanted, now)
          expect(wait).toBeGreaterThanOrEqual(0)
          expect(wait).toBeLessThan(Number.POSITIVE_INFINITY)
          if (wait === 0) rate.take(rate.available(now))
          expect(rate.perSecond).toBeGreaterThanOrEqual(1)
          expect(rate.perSecond).toBeLessThanOrEqual(100_000)
        }
      }),
      { seed: 8 },
    )
  })

  test('costs nothing where nothing is throttled', () => {
    const pace = new Pace(undefined, 0)
    for (let now = 0; now < 1000; now++) {
      expect(pace.msUntil({ size: 1000, first: callOf('any') }, 100, now)).toBe(0)
      expect(pace.room(100, now)).toBe(100)
      pace.answered(100, 1, 8, now)
    }
    expect(pace.perSecond).toBeUndefined()
  })
})

describe('throttling that has nothing to do with the rate', () => {
  test('teaches no rate for long: an endpoint that turns away one POST of fourteen, whatever their rate, is not strangled', () => {
    const pace = new Pace(undefined, 0)
    let answered = 0
    let posts = 0
    for (let now = 0; now < 60_000; now += 20) {
      if (pace.msUntil({ size: 1000, first: callOf('eth_call') }, 10, now) > 0) continue
      const calls = Math.max(1, pace.room(10, now))
      pace.take(Array.from({ length: calls }, () => callOf('eth_call')))
      if (++posts % 14 === 0) pace.throttled({ refused: calls, sentAt: now, tookMs: 10, pauseMs: 0 }, now)
      else {
        pace.answered(calls, 10, 8, now)
        answered += calls
      }
    }
    // 500 a second, without a rate.
    expect(answered).toBeGreaterThan(10_000)
  })
})
