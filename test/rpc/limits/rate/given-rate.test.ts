import { describe, expect, test } from 'vitest'
import { GivenRate } from '../../../../src/rpc/limits/rate/given-rate.ts'

/* pacer.test.ts tests that no second has more. */

describe('a given rate', () => {
  test.each([
    [100, 5],
    [1000, 50],
    [10, 1],
    [0.5, 1],
  ])('of %d a second allows %i calls at once', (perSecond, burst) => {
    expect(new GivenRate(perSecond, 0).available(0)).toBe(burst)
  })

  test('subtracts the burst from the rate at which it fills', () => {
    const rate = new GivenRate(100, 0)
    rate.take(5, 1, 0)
    expect(rate.available(0)).toBe(0)
    expect(rate.units(20)).toBeCloseTo(1.9, 3)
  })

  test('wakes for half a burst, or for fewer calls if no more wait', () => {
    const rate = new GivenRate(1000, 0)
    rate.take(50, 1, 0)
    expect(rate.msUntil(1, 1000, 0)).toBeCloseTo(25 / 0.95, 2)
    expect(rate.msUntil(1, 3, 0)).toBeCloseTo(3 / 0.95, 2)
  })

  test('makes room for a call that costs more than a burst, and sends one that costs more than half a second alone', () => {
    const rate = new GivenRate(100, 0)
    expect(rate.msUntil(20, 1, 0)).toBeCloseTo((15 / 80) * 1000, 2)
    const large = new GivenRate(100, 0)
    const wait = large.msUntil(300, 1, 0)
    expect(wait).toBeCloseTo((45 / 50) * 1000, 2)
    large.take(300, 300, wait)
    expect(large.units(wait)).toBeCloseTo(-250, 3)
    expect(large.msUntil(1, 1, wait)).toBeCloseTo((251 / 50) * 1000, 1)
  })
})
