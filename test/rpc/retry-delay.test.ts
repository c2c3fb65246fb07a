import fc from 'fast-check'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { HttpError } from '../../src/errors.ts'
import { fullJitter, jittered, limitResetMs, retryAfterMs, waitSaid } from '../../src/rpc/retry-delay.ts'

const backoff = { baseDelayMs: 100, maxDelayMs: 1000 }

describe('full jitter', () => {
  test('is between 0 and the base delay, doubled for each earlier failure, up to the maximum', () => {
    expect([1, 2, 3, 4, 5, 6, 2000].map((failures) => fullJitter(backoff, failures, () => 1))).toEqual([100, 200, 400, 800, 1000, 1000, 1000])
    expect([1, 2, 3].map((failures) => fullJitter(backoff, failures, () => 0))).toEqual([0, 0, 0])
    expect(fullJitter(backoff, 3, () => 0.25)).toBe(100)
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 1, max: 60_000 }),
        fc.integer({ min: 1, max: 60_000 }),
        (failures, baseDelayMs, maxDelayMs) => {
          const wait = fullJitter({ baseDelayMs, maxDelayMs }, failures)
          expect(wait).toBeGreaterThanOrEqual(0)
          expect(wait).toBeLessThanOrEqual(maxDelayMs)
        },
      ),
      { seed: 7 },
    )
  })
})

describe('the time of the next attempt', () => {
  const failure = (retryAfterMs?: number) => new HttpError({ status: 500, headers: {}, body: '' }, { retryAfterMs })
  const drawing = (...chances: number[]) => {
    const random = vi.spyOn(Math, 'random').mockImplementation(() => chances.shift() as number)
    onTestFinished(() => random.mockRestore())
    return jittered(backoff)
  }

  test('is the same for calls that fail within 5 ms of each other, and drawn again for later ones', () => {
    const retryAt = drawing(0.5, 0.25)
    expect([1000, 1003, 1005].map((now) => retryAt(failure(), 1, now))).toEqual([1050, 1050, 1050])
    expect(retryAt(failure(), 1, 1006)).toBe(1031)
    expect(retryAt(failure(), 2, 1006)).toBe(1056)
  })

  test('is, for the last of three or more attempts, when all waits would be over without jitter', () => {
    const retryAt = drawing(0.5, 0.5, 0.5, 0.5)
    expect(retryAt(failure(), 3, 1200, 1000)).toBe(1700)
    expect(retryAt(failure(2000), 3, 1200, 1000)).toBe(3200)
    // The attempts themselves have taken longer than that.
    expect(retryAt(failure(), 3, 9000, 1000)).toBe(9200)
    // Nothing has spread the clients before.
    expect(retryAt(failure(), 1, 9500, 9500)).toBe(9550)
  })

  test('is never before the time that the endpoint asked for', () => {
    const retryAt = drawing(0.5)
    expect(retryAt(failure(40), 1, 1000)).toBe(1050)
    expect(retryAt(failure(400), 1, 1000)).toBe(1400)
  })

  test('is after ten minutes where the endpoint asked for more', () => {
    const retryAt = drawing(0.5)
    for (const asked of [600_000, 86_400_000, Number.POSITIVE_INFINITY]) expect(retryAt(failure(asked), 1, 1000)).toBe(601_000)
  })
})

describe('Retry-After', () => {
  test('is read strictly according to RFC 9110', () => {
    const date = 'Sun, 06 Nov 1994 08:49:37 GMT'
    expect(retryAfterMs({ 'retry-after': '120' })).toBe(120_000)
    expect(retryAfterMs({ 'retry-after': ' 0 ' })).toBe(0)
    expect(retryAfterMs({ 'retry-after': 'Sun, 06 Nov 1994 08:50:37 GMT', date })).toBe(60_000)
    expect(retryAfterMs({ 'retry-after': date, date: 'Sun, 06 Nov 1994 09:00:00 GMT' })).toBe(0)
    expect(retryAfterMs({ 'retry-after': date })).toBe(0)
    expect(retryAfterMs({ 'retry-after': new Date(Date.now() + 60_000).toUTCString(), date: 'nonsense' })).toBeGreaterThan(55_000)
    for (const nonsense of ['', 'soon', '-1', '1e3', '0x10', '2030-01-01T00:00:00Z', 'Sun, nonsense', ',', '1 2', '9'.repeat(201)])
      expect(retryAfterMs({ 'retry-after': nonsense })).toBeUndefined()
    expect(retryAfterMs({})).toBeUndefined()
  })

  test.each<[string | string[], number]>([
    ['1, 1', 1_000],
    ['1, 20,3', 20_000],
    [['1', '2'], 2_000],
    [['soon', '3'], 3_000],
    ['7, soon', 7_000],
    ['Sun, 06 Nov 1994 08:50:37 GMT, Sun, 06 Nov 1994 08:51:37 GMT', 120_000],
    ['Sunday, 06-Nov-94 08:50:37 GMT, 5', 60_000],
    [['90', 'Sun Nov  6 08:50:37 1994'], 90_000],
  ])('is the longest wait of several: %j', (value, ms) => {
    expect(retryAfterMs({ 'retry-after': value, date: 'Sun, 06 Nov 1994 08:49:37 GMT' })).toBe(ms)
  })
})

describe('the obsolete date formats, which RFC 9110 (5.6.7) requires every recipient to accept', () => {
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT'
  const zone = process.env.TZ
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ
    else process.env.TZ = zone
  })

  test('are read as GMT, wherever the client is', () => {
    for (const TZ of ['UTC', 'America/New_York', 'Asia/Kolkata']) {
      process.env.TZ = TZ
      expect(retryAfterMs({ 'retry-after': 'Sunday, 06-Nov-94 08:50:37 GMT', date })).toBe(60_000)
      expect(retryAfterMs({ 'retry-after': 'Sun Nov  6 08:50:37 1994', date })).toBe(60_000)
    }
  })
})

describe('the pause that a throttling error asks for', () => {
  test('in the message', () => {
    expect(waitSaid('rate limited, try again in 4ms')).toBe(4)
    expect(waitSaid('retry in 10s')).toBe(10_000)
    expect(waitSaid('retry in 1h2m3s')).toBe(3_723_000)
    expect(waitSaid('Please retry after 5 seconds.')).toBe(5000)
    expect(waitSaid('Too Many Requests! Wait for 2290s')).toBe(2_290_000)
    expect(waitSaid('wait for 2 minutes')).toBe(120_000)
    for (const nothing of [
      'some other error',
      'try again in',
      'try again in ms',
      'try again in 4 blocks',
      'retry in 0s',
      'try again later',
      'retry with the range 1-2',
    ])
      expect(waitSaid(nothing)).toBeUndefined()
  })

  test('in data', () => {
    expect(waitSaid('', { rate: { backoff_seconds: 1.5 } })).toBe(1500)
    expect(waitSaid('', { try_again_in: '1.2s' })).toBe(1200)
    expect(waitSaid('', { try_again_in: '640µs' })).toBeCloseTo(0.64)
    for (const nothing of [
      { rate: { backoff_seconds: 0 } },
      { rate: { backoff_seconds: '30' } },
      { rate: null },
      { try_again_in: 'soon' },
      {},
      null,
      'x',
      5,
      [],
    ])
      expect(waitSaid('', nothing)).toBeUndefined()
    expect(waitSaid('retry in 2s', { rate: { backoff_seconds: 0 } })).toBe(2000)
  })

  test('in headers', () => {
    expect(limitResetMs({ 'ratelimit-reset': '30' })).toBe(30_000)
    expect(limitResetMs({ 'x-ratelimit-reset': '7', 'x-ratelimit-remaining': '0' })).toBe(7000)
    expect(limitResetMs({ 'x-rate-limit-reset': '7', 'x-rate-limit-remaining': '0' })).toBe(7000)
    expect(limitResetMs({ 'x-ratelimit-reset': String(1_795_000_060), date: new Date(1_795_000_000_000).toUTCString() })).toBe(60_000)
    expect(limitResetMs({ 'x-ratelimit-reset': String(1_795_000_060_000), date: new Date(1_795_000_000_000).toUTCString() })).toBe(60_000)
    expect(limitResetMs({ 'x-ratelimit-reset': String(1_795_000_000), date: new Date(1_795_000_060_000).toUTCString() })).toBe(0)
    // Part of this limit is left, so another one was hit.
    expect(limitResetMs({ 'ratelimit-reset': '30', 'ratelimit-remaining': '12' })).toBeUndefined()
    for (const nothing of ['', 'soon', '-5', 'Tue Feb 16 2021', '1e9']) expect(limitResetMs({ 'x-ratelimit-reset': nothing })).toBeUndefined()
    expect(limitResetMs({})).toBeUndefined()
  })

  test('is undefined or a finite number above 0, for any message', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.stringMatching(/^[0-9.]{1,6}$/),
        fc.constantFrom('s', 'ms', 'm', 'h', 'seconds', ''),
        fc.string(),
        (before, number, unit, after) => {
          const wait = waitSaid(`${before} retry in ${number}${unit} ${after}`)
          expect(wait === undefined || (Number.isFinite(wait) && wait > 0)).toBe(true)
        },
      ),
    )
  })
})
