import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createLimit } from '../../src/sandbox/rate.ts'
import { Refusal } from '../../src/sandbox/reply.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** The Retry-After of a refusal; undefined for calls that are accepted. */
function retryAfter(count: () => void): unknown {
  try {
    count()
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(Refusal)
    expect((error as Refusal).reply.status).toBe(429)
    return (error as Refusal).reply.headers['retry-after']
  }
}

it('a burst of a second is accepted, and then what the rate allows', () => {
  const limit = createLimit(10)
  for (let i = 0; i < 10; i++) limit(1)
  expect(retryAfter(() => limit(1))).toBe('1')
  vi.advanceTimersByTime(100)
  expect(retryAfter(() => limit(1))).toBeUndefined()
  expect(retryAfter(() => limit(1))).toBe('1')
  // At most a second's worth is saved.
  vi.advanceTimersByTime(60_000)
  expect(retryAfter(() => limit(10))).toBeUndefined()
  expect(retryAfter(() => limit(1))).toBe('1')
})

it('a client that keeps to the rate is never refused', () => {
  const limit = createLimit(4)
  for (let i = 0; i < 100; i++) {
    limit(1)
    vi.advanceTimersByTime(250)
  }
})

it('a longer batch is accepted if nothing else came in that second, and later calls wait for it', () => {
  const limit = createLimit(10)
  limit(35)
  expect(retryAfter(() => limit(1))).toBe('3')
  vi.advanceTimersByTime(2_600)
  expect(retryAfter(() => limit(1))).toBeUndefined()
  expect(retryAfter(() => limit(35))).toBe('1')
})

it('less than one call per second is a rate, too; without a rate nothing is refused', () => {
  const slow = createLimit(0.1)
  slow(1)
  expect(retryAfter(() => slow(1))).toBe('10')
  const free = createLimit(Number.POSITIVE_INFINITY)
  for (let i = 0; i < 1_000; i++) free(1_000)
})
