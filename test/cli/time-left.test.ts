import { describe, expect, test } from 'vitest'
import { timeLeft } from '../../src/cli/time-left.ts'

describe('the remaining time of a job', () => {
  test('is not shown before enough time has passed, and enough is done', () => {
    // One block of a million after half a second: "138 h left" would mean nothing.
    expect(timeLeft({ done: 1, total: 1_000_000 }, 500)).toBeUndefined()
    expect(timeLeft({ done: 99, total: 1_000_000 }, 60_000)).toBeUndefined()
    expect(timeLeft({ done: 5_000, total: 10_000 }, 2_999)).toBeUndefined()
    expect(timeLeft({ done: 0, total: 10 }, 60_000)).toBeUndefined()
  })

  test('follows from the pace so far', () => {
    expect(timeLeft({ done: 100, total: 1_100 }, 3_000)).toBe(30_000)
    expect(timeLeft({ done: 1, total: 3 }, 10_000)).toBe(20_000)
    expect(timeLeft({ done: 10, total: 10 }, 5_000)).toBe(0)
  })
})
