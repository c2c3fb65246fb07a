import { describe, expect, test } from 'vitest'
import { TokenBucket } from '../../../src/rpc/limits/token-bucket.ts'

const fill = { perSecond: 10, most: 5 }

describe('a token bucket', () => {
  test('fills steadily, and holds no more than it may', () => {
    const bucket = new TokenBucket(2, 1000)
    for (const [now, tokens] of [
      [1000, 2],
      [1100, 3],
      [1250, 4.5],
      [60_000, 5],
    ] as const)
      expect(bucket.tokens(now, fill)).toBeCloseTo(tokens, 4)
  })

  test('says how long it takes to hold as many, to the moment', () => {
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

  test('fills as each question says, and nothing changes for being asked', () => {
    const bucket = new TokenBucket(0, 0)
    expect(bucket.tokens(1000, { perSecond: 3, most: 9 })).toBeCloseTo(3, 4)
    expect(bucket.tokens(1000, { perSecond: 3, most: 2 })).toBeCloseTo(2, 4)
    expect(bucket.tokens(1000, { perSecond: 7, most: 9 })).toBeCloseTo(7, 4)
  })

  test('holds nothing once it is emptied, and may owe some', () => {
    const bucket = new TokenBucket(5, 0)
    bucket.empty(0, 100)
    expect(bucket.tokens(100, fill)).toBeCloseTo(0, 4)
    bucket.empty(2, 100)
    bucket.empty(1, 100)
    expect(bucket.tokens(100, fill)).toBeCloseTo(-2, 4)
  })

  test('gives as much in small steps as in one', () => {
    const bucket = new TokenBucket(0, 0)
    let given = 0
    for (let now = 0; now <= 10_000; now += 7) {
      const calls = Math.floor(bucket.tokens(now, fill))
      bucket.take(calls, now, fill)
      given += calls
    }
    expect(given).toBe(99)
  })
})
