import { expect, it } from 'vitest'
import type { PostEvent } from '../../../adapters/bullmq/budget-script.ts'
import { GUESS, SharedEstimate } from '../../../adapters/bullmq/shared-estimate.ts'

const LATENCY = 50
const TURN = 100

/**
 * Sends POSTs of two calls at the rate of an estimate, as all workers together do, to an endpoint
 * with a token bucket. What becomes of them is known a turn later, in any order; at once when calls
 * were refused.
 */
function simulate(
  limitAt: (now: number) => number,
  seconds: number,
  makeNew: (estimate: SharedEstimate, now: number, rate: Rate) => SharedEstimate = (same) => same,
) {
  let rate: Rate = { perSecond: GUESS, level: 0 }
  let estimate = new SharedEstimate(rate)
  let [tokens, owed, held] = [20, 0, 0]
  let events: PostEvent[] = []
  const each: { taken: number; refused: number }[] = []
  for (let now = 1; now <= seconds * 1000; now++) {
    tokens = Math.min(20, tokens + limitAt(now) / 1000)
    for (owed += rate.perSecond / 1000; owed >= 2; owed -= 2) {
      const isThrottled = tokens < 2
      if (!isThrottled) tokens -= 2
      each[Math.floor(now / 1000)] ??= { taken: 0, refused: 0 }
      const second = each[Math.floor(now / 1000)] as (typeof each)[number]
      second[isThrottled ? 'refused' : 'taken'] += 2
      events.push({ at: now + LATENCY, tookMs: LATENCY, calls: isThrottled ? 0 : 2, isThrottled, pauseMs: 0 })
    }
    const known = events.filter(({ at }) => at <= now)
    held++
    if (now % TURN > 0 && !known.some(({ isThrottled }) => isThrottled)) continue
    estimate = makeNew(estimate, now, rate)
    events = events.filter(({ at }) => at > now)
    rate = estimate.learn({ events: known.reverse(), heldMs: held, idleMs: 0, now }, 0) ?? rate
    held = 0
  }
  return { each, of: (from: number, to: number) => sumOf(each.slice(from, to)) }
}

type Rate = { readonly perSecond: number; readonly level: number }

function sumOf(each: readonly { taken: number; refused: number }[]) {
  const taken = each.reduce((sum, second) => sum + second.taken, 0)
  const refused = each.reduce((sum, second) => sum + second.refused, 0)
  return { perSecond: taken / each.length, refused: refused / (taken + refused) }
}

it('finds an unknown limit, and keeps to it', () => {
  const { of } = simulate(() => 200, 60)
  expect(of(0, 60).perSecond).toBeGreaterThan(180)
  expect(of(0, 60).refused).toBeLessThan(0.02)
})

it('follows a limit that drops to a quarter', () => {
  const { of } = simulate((now) => (now < 30_000 ? 200 : 50), 90)
  expect(of(30, 90).perSecond).toBeGreaterThan(45)
  expect(of(30, 90).refused).toBeLessThan(0.03)
  expect(of(40, 90).refused).toBeLessThan(0.02)
})

it('grows beyond any usual rate within seconds where nothing is refused', () => {
  const { each } = simulate(() => Number.POSITIVE_INFINITY, 5)
  expect(each[4]?.taken).toBeGreaterThan(5000)
})

it('another worker goes on from the level, without looking for it again', () => {
  const { of } = simulate(
    () => 200,
    90,
    (estimate, now, rate) => (now > 30_000 && now % 10_000 === 0 ? new SharedEstimate(rate) : estimate),
  )
  expect(of(30, 90).perSecond).toBeGreaterThan(180)
  expect(of(30, 90).refused).toBeLessThan(0.02)
})

it('says nothing before the first POST has ended', () => {
  expect(new SharedEstimate({ perSecond: GUESS, level: 0 }).learn({ events: [], heldMs: 100, idleMs: 0, now: 100 }, 0)).toBeUndefined()
})
