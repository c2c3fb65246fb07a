import { expect, test } from 'vitest'
import { Lateness } from '../../../src/bulk/ordered/lateness.ts'
import { randomFrom } from '../../support/random.ts'

const after = (delays: readonly number[], leastMs?: number) => {
  const lateness = new Lateness(leastMs)
  for (const delay of delays) lateness.add(delay)
  return lateness.limitMs
}

test('an item is late after the mean delay and four times the mean deviation, from 1 to 10 s; after 5 s until enough delays are known', () => {
  expect(after([])).toBe(5_000)
  expect(after(Array(63).fill(0))).toBe(5_000)
  expect(after(Array(64).fill(0))).toBe(1_000)
  expect(after(Array(500).fill(30_000))).toBe(10_000)
  // At an endpoint with uneven delays few items are late.
  const random = randomFrom(3)
  const uneven = Array.from({ length: 1_000 }, () => random() * 3_000)
  expect(uneven.filter((delay) => delay > after(uneven)).length).toBe(0)
})

test('it is late no sooner than a given bound says, not even at first', () => {
  expect(after([], 8_000)).toBe(8_000)
  expect(after(Array(64).fill(0), 8_000)).toBe(8_000)
  expect(after(Array(500).fill(30_000), 8_000)).toBe(10_000)
})
