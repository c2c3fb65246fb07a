import { describe, expect, test } from 'vitest'
import { TokenBucket } from '../../src/wait/token-bucket.ts'

const fill = { perSecond: 10, most: 5 }

describe('a token bucket', () => {
  test('fills steadily, up to its capacity', () => {
    const bucket = new TokenBucket(2, 1000)
    for (const [now, tokens] of [
      [1000, 2],
      [1100, 3],
      [1250, 4.5],
      [60_000, 5],
    ] as const)
      expect(bucket.tokens(now, fill)).toBeCloseTo(tokens, 4)
  })

  test('gives the exact time until it holds that many', () => {
    const bucket = new TokenBucket(2, 1000)
    expect(bucket.msUntil(2, 1000, fill)).toBe(0)
    const ms = bucket.msUntil(4, 1000, fill)
    expect(ms).toBeCloseTo(200, 2)
    expect(bucket.tokens(1000 + ms, fill)).toBeGreaterThanOrEqual(4)
  })

  test('goes below 0 for calls that cost more than it holds', () => {
    const bucket = new TokenBucket(5, 0)
    bucket.take(8, 0, fill)
    expect(bucket.tokens(0, fill)).toBeCloseTo(-3, 4)
    expect(bucket.msUntil(1, 0, fill)).toBeCloseTo(400, 2)
  })

  test('fills at the rate of each query, and queries change nothing', () => {
    const bucket = new TokenBucket(0, 0)
    expect(bucket.tokens(1000, { perSecond: 3, most: 9 })).toBeCloseTo(3, 4)
    expect(bucket.tokens(1000, { perSecond: 3, most: 2 })).toBeCloseTo(2, 4)
    expect(bucket.tokens(1000, { perSecond: 7, most: 9 })).toBeCloseTo(7, 4)
  })

  test('holds nothing once emptied, and may have a debt', () => {
    const bucket = new TokenBucket(5, 0)
    bucket.empty(0, 100)
    expect(bucket.tokens(100, fill)).toBeCloseTo(0, 4)
    bucket.empty(2, 100)
    bucket.empty(1, 100)
    expect(bucket.tokens(100, fill)).toBeCloseTo(-2, 4)
  })

  test('holds the same after many small steps as after one', () => {
    const bucket = new TokenBucket(0, 0)
    // Ten times 0.1 is a little less than 1.
    for (let now = 100; now <= 1000; now += 100) bucket.take(0, now, { perSecond: 1, most: 5 })
    expect(Math.floor(bucket.tokens(1000, { perSecond: 1, most: 5 }))).toBe(1)
  })
})
