import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../src/rpc/call.ts'
import { GivenRate } from '../../../../src/rpc/limits/rate/given-rate.ts'
import { LearntRate } from '../../../../src/rpc/limits/rate/learnt-rate.ts'
import { Pacer } from '../../../../src/rpc/limits/rate/pacer.ts'
import { nightly, seeds } from '../../../support/runs.ts'
import { simulate, type World } from '../../../support/simulated-limit.ts'

/** The most calls sent in any second. */
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

describe('a given budget', () => {
  test('in calls is never exceeded in any second, and is used', () => {
    for (const callsPerSecond of [0.5, 1, 3, 10, 19, 20, 25, 100, 999]) {
      const rate = new GivenRate(callsPerSecond, 0)
      const sent: { at: number; units: number }[] = []
      for (let now = 0; now < 5000; now += 0.7) {
        const available = rate.available(now)
        rate.take(available, 1, now)
        if (available > 0) sent.push({ at: now, units: available })
      }
      expect(mostInASecond(sent)).toBeLessThanOrEqual(Math.max(1, callsPerSecond))
      // And it is used except for the cost of the burst.
      expect(sent.reduce((sum, { units }) => sum + units, 0)).toBeGreaterThan(callsPerSecond * 5 * 0.85 - 1)
    }
  })

  test('gives the exact time to wait', () => {
    const rate = new GivenRate(100, 0)
    rate.take(rate.available(0), 1, 0)
    // For half of a burst of five.
    const wait = rate.msUntil(1, 5, 0)
    expect(wait).toBeGreaterThan(0)
    expect(rate.available(wait - 1)).toBeLessThan(2)
    expect(rate.available(wait)).toBe(2)
  })

  test('in units is never exceeded in any second by calls that cost up to half of it, in any order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 20, max: 1000 }),
        fc.array(fc.double({ min: 0, max: 0.5, noNaN: true }), { minLength: 1, maxLength: 200 }),
        (perSecond, parts) => {
          const costs = new Map(parts.map((part, i) => [`m${i}`, part * perSecond]))
          const pace = new Pacer({ perSecond, costOf: (method) => costs.get(method) ?? 0 }, 0)
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
            pace.started(taken, now)
            sent.push({ at: now, units: taken.reduce((sum, { method }) => sum + (costs.get(method) ?? 0), 0) })
          }
          expect(mostInASecond(sent)).toBeLessThanOrEqual(perSecond * 1.0001)
        },
      ),
      { seed: 8 },
    )
  })

  test('sends a call that costs more than a second allows, and makes the next one wait for it', () => {
    const pace = new Pacer({ perSecond: 330, costOf: (method) => (method === 'dear' ? 1000 : 10) }, 0)
    expect(pace.msUntil({ size: 1, first: callOf('dear') }, 100, 1000)).toBe(0)
    pace.started([callOf('dear')], 1000)
    expect(pace.msUntil({ size: 1, first: callOf('cheap') }, 100, 1000)).toBeGreaterThan(1000)
  })

  test('does not delay calls that cost nothing', () => {
    const pace = new Pacer({ perSecond: 1, costOf: (method) => (method === 'free' ? 0 : 1) }, 0)
    pace.started([callOf('one'), callOf('one')], 0)
    expect(pace.msUntil({ size: 1, first: callOf('free') }, 100, 0)).toBe(0)
    expect(pace.fitting(0)?.(callOf('free'))).toBe(true)
  })
})

const SEEDS = seeds(1, 8)
/** A limit that drops and rises again, in calls per second. */
const dropsAndRises = (now: number) => (now > 20_000 && now < 40_000 ? 50 : 200)

describe('a learnt rate', () => {
  test.each([5, 20, 200, 2000])('matches a server that takes %i a second, with few refusals', (limit) => {
    const seen = simulate({ limitAt: () => limit, burst: Math.max(5, limit / 10), refuses: 'posts', latencyMs: 50, untilMs: 60_000 })
    const { used, refused } = seen.between(10, 60)
    expect(used / limit).toBeGreaterThan(0.95)
    // Each probe beyond the limit costs a call, which matters at low rates.
    expect(refused).toBeLessThan(limit < 20 ? 0.05 : 0.02)
  })

  test.each<[string, Partial<World>]>([
    ['each call over it is refused', { refuses: 'entries' }],
    ['a POST over it is refused', { refuses: 'posts' }],
    ['calls go one by one', { refuses: 'posts', slots: 32, maxCalls: 1 }],
    ['there are three slots', { refuses: 'posts', slots: 3 }],
    ['a second may come at once', { refuses: 'entries', burst: 200 }],
    ['replies take 300 ms', { refuses: 'entries', latencyMs: 300 }],
    ['it asks for 0.1 s of rest', { refuses: 'posts', retryAfterMs: 100 }],
  ])('follows a limit that drops, and one that rises: %s', (_, world) => {
    for (const seed of SEEDS) {
      const seen = simulate({ limitAt: dropsAndRises, burst: 20, latencyMs: 50, untilMs: 68_000, seed, refuses: 'posts', ...world })
      for (const [from, to, limit] of [
        [10, 20, 200],
        [25, 40, 50],
        [60, 68, 200],
      ] as const) {
        const { used, refused } = seen.between(from, to)
        expect(used / limit, `seed ${seed}, from ${from} s`).toBeGreaterThan(0.9)
        expect(refused, `seed ${seed}, from ${from} s`).toBeLessThan(0.025)
      }
    }
  })

  test.each([[150, 50, 10], [150, 50, 40], [300, 150, 60], ...nightly([150, 50, 20], [150, 20, 10], [150, 20, 20], [150, 20, 40])])(
    'follows a limit that drifts: %i a second, plus or minus %i, over %i s',
    (mean, swing, seconds) => {
      const limitAt = (now: number) => mean + swing * Math.sin((2 * Math.PI * now) / (seconds * 1000))
      for (const refuses of ['posts', 'entries'] as const) {
        for (const seed of SEEDS) {
          // Whole periods, after the first ten seconds.
          const seen = simulate({ limitAt, burst: 20, refuses, latencyMs: 50, untilMs: 130_000, seed })
          const { used, refused } = seen.between(10, 130)
          expect(refused, `seed ${seed}, ${refuses}`).toBeLessThan(0.03)
          expect(used / mean, `seed ${seed}, ${refuses}`).toBeGreaterThan(0.85)
        }
      }
    },
  )

  test('is probed less often if each probe costs a pause of a second', () => {
    for (const seed of SEEDS) {
      const seen = simulate({ limitAt: () => 200, burst: 20, refuses: 'posts', latencyMs: 50, retryAfterMs: 1000, untilMs: 100_000, seed })
      const { used, refused } = seen.between(20, 100)
      expect(used / 200).toBeGreaterThan(0.85)
      expect(refused).toBeLessThan(0.01)
    }
  })

  test('is not reduced by idle times', () => {
    const demand = (now: number) => (now % 3000 === 1 ? 300_000 : 0)
    for (const seed of SEEDS) {
      const seen = simulate({ limitAt: () => 200, burst: 20, refuses: 'posts', latencyMs: 50, demand, untilMs: 99_000, seed })
      expect(seen.between(18, 99).used / 100).toBeGreaterThan(0.9)
    }
  })

  test('stays at the limit if POSTs are also throttled at random', () => {
    for (const limit of [200, 2000]) {
      const seen = simulate({ limitAt: () => limit, burst: limit / 10, byChance: 0.03, refuses: 'posts', latencyMs: 50, untilMs: 60_000 })
      const { used, refused } = seen.between(10, 60)
      expect(used / limit).toBeGreaterThan(0.8)
      expect(refused).toBeLessThan(0.1)
    }
  })

  // Means, since chance decides how soon it is told from a limit. They were 20 and 8 % where only
  // refusals right after a cut began a trial.
  test.each([
    [200, 0.3],
    [2000, 0.5],
  ])('is not lost where a tenth of POSTs is throttled at random and replies take 400 ms: %i a second', (limit, least) => {
    const used = [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => {
      const world = { burst: limit / 10, byChance: 0.1, refuses: 'posts', latencyMs: 400, untilMs: 60_000, seed } as const
      return simulate({ limitAt: () => limit, ...world }).between(10, 60).used / (0.9 * limit)
    })
    expect(used.reduce((sum, part) => sum + part, 0) / used.length).toBeGreaterThan(least)
  })

  test('does not swing where replies take 400 ms', () => {
    for (const seed of SEEDS) {
      const seen = simulate({ limitAt: () => 200, burst: 20, refuses: 'posts', latencyMs: 400, untilMs: 60_000, seed })
      const { used, refused } = seen.between(10, 60)
      expect(used / 200, `seed ${seed}`).toBeGreaterThan(0.88)
      expect(refused, `seed ${seed}`).toBeLessThan(0.035)
    }
  })

  test('is forgotten after a long time without holding calls back', () => {
    const rate = new LearntRate({ perSecond: 40, saved: 0, answered: 0 }, { tookMs: 50, pauseMs: 0 }, 0)
    expect(rate.isForgotten(200_000)).toBe(false)
    expect(rate.isForgotten(400_000)).toBe(true)
  })

  test('is always between one and 100,000 calls a second', () => {
    const event = fc.record({
      passed: fc.integer({ min: 0, max: 5000 }),
      calls: fc.integer({ min: 0, max: 100_000 }),
      isRefused: fc.boolean(),
      pauseMs: fc.constantFrom(0, 1000, 60_000),
      answered: fc.double({ min: 0, max: 1e9, noNaN: true }),
      wanted: fc.integer({ min: 1, max: 1000 }),
    })
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.array(event, { maxLength: 100 }), (guess, events) => {
        let now = 0
        const rate = new LearntRate({ perSecond: guess, saved: 0, answered: 0 }, { tookMs: 50, pauseMs: 0 }, now)
        for (const { passed, calls, isRefused, pauseMs, answered, wanted } of events) {
          now += passed
          if (calls > 0) rate.answered(calls, 50, 8, !isRefused, now)
          if (isRefused) rate.throttled({ sentAt: now, tookMs: 50, pauseMs }, answered, now)
          const wait = rate.msUntil(wanted, now)
          expect(wait).toBeGreaterThanOrEqual(0)
          expect(wait).toBeLessThan(Number.POSITIVE_INFINITY)
          if (wait === 0) rate.started(rate.available(now), now)
          expect(rate.perSecond).toBeGreaterThanOrEqual(1)
          expect(rate.perSecond).toBeLessThanOrEqual(100_000)
        }
      }),
      { seed: 8 },
    )
  })

  test('costs nothing if nothing is throttled', () => {
    const pace = new Pacer(undefined, 0)
    for (let now = 0; now < 1000; now++) {
      expect(pace.msUntil({ size: 1000, first: callOf('any') }, 100, now)).toBe(0)
      expect(pace.room(100, now)).toBe(100)
      pace.answered(100, 1, 8, true, now)
    }
    expect(pace.perSecond).toBeUndefined()
  })
})

describe('throttling unrelated to the rate', () => {
  // Without the test for chance the rate would fall to one call a second, and stay there.
  test.each([
    [0.003, 0.9],
    [0.01, 0.9],
    [0.03, 0.9],
    [0.075, 0.9],
    [0.2, 0.5],
  ])('leads to no lasting rate: %f of POSTs are refused, whatever their rate, and after a minute %f of all calls are answered', (byChance, part) => {
    for (const retryAfterMs of [0, 20]) {
      for (const seed of SEEDS) {
        const seen = simulate({ byChance, refuses: 'posts', latencyMs: 50, retryAfterMs, demand: () => 2000, untilMs: 120_000, seed })
        expect(seen.between(60, 120).used / 2000, `seed ${seed}, ${retryAfterMs} ms`).toBeGreaterThan(part)
      }
    }
  })

  // Where a POST counted as refused if one of its calls was, 35 and 8 % of all calls were answered
  // in the last two cases: the longer the POSTs, the more of them were, as beyond a limit.
  test.each([0.03, 0.1, 0.3])('leads to none where single calls of POSTs are refused: %f of them', (callsByChance) => {
    for (const seed of SEEDS) {
      const seen = simulate({ callsByChance, refuses: 'entries', latencyMs: 50, demand: () => 2000, untilMs: 120_000, seed })
      expect(seen.between(60, 120).used / 2000, `seed ${seed}`).toBeGreaterThan(0.9)
    }
  })

  test('leads to none at an endpoint that is rarely called, either', () => {
    const demand = (now: number) => (now % 2000 === 1 ? 2_000_000 : 0)
    for (const seed of SEEDS) {
      const seen = simulate({ byChance: 0.075, refuses: 'posts', latencyMs: 5, demand, untilMs: 120_000, seed })
      expect(seen.between(60, 120).used / 1000, `seed ${seed}`).toBeGreaterThan(0.9)
    }
  })
})
