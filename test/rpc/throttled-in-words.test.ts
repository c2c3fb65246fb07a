import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { limitResetMs, waitSaid } from '../../src/rpc/retry-delay.ts'
import { type Answer, always, answerTo, each, errorOf, failed, honest, read } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { serve, clientOf } = virtualWorld()

/** What came instead of a reply, each of which asks for a minute. */
const bodies: [string, string | object, Record<string, string>][] = [
  ['plain text', 'Too Many Requests, retry in 60s', { 'content-type': 'text/plain' }],
  ['plain text with a header', 'error code: 1015', { 'content-type': 'text/plain', 'retry-after': '60' }],
  ['HTML', '<html><title>429 Too Many Requests</title><body>Please retry after 60 seconds</body></html>', { 'content-type': 'text/html' }],
  ['JSON without an envelope', { code: -32007, message: '100/second request limit reached, try again in 60s' }, {}],
  ['a JSON status', { statusCode: 429, message: 'slow down, retry in 60s' }, {}],
  ['an error that is a string', { error: 'Too many requests, retry in 1m0s' }, {}],
]

describe('a reply with HTTP 200 that says "too many requests"', () => {
  test.each(bodies)('as %s is throttling: the endpoint is left alone for as long as it asks', async (_, body, headers) => {
    const server = await serve(always(body, { headers }), honest)
    const client = clientOf(server.url, { retry: false })
    expect(await errorOf(read(client, 1))).toMatchObject({ kind: 'rate-limit', retryAfterMs: 60_000, attempts: 1 })
    // Nothing more is sent meanwhile: calls that will not wait are told why.
    expect(await errorOf(read(client.with({ whilePaused: 'fail' }), 2))).toMatchObject({ kind: 'rate-limit', attempts: 0 })
    expect(server.requests).toHaveLength(1)
  })

  test.each(bodies)('as %s refuses a whole batch', async (_, body, headers) => {
    const server = await serve(always(body, { headers }), honest)
    const client = clientOf(server.url, { retry: false })
    const errors = await Promise.all([1, 2, 3].map((n) => errorOf(read(client, n))))
    expect(errors).toEqual([1, 2, 3].map(() => expect.objectContaining({ kind: 'rate-limit' })))
    expect(server.requests).toHaveLength(1)
  })

  test('is no failed attempt: the call is answered after the wait', async () => {
    const server = await serve(always('Too many requests, retry in 300ms'), honest)
    expect(await read(clientOf(server.url, { retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 } }), 1)).toEqual(answerTo([1]))
    const [first, second] = server.requests
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(290)
  })

  test('but not when it is only data of a reply that went wrong in another way', async () => {
    const server = await serve(always({ jsonrpc: '2.0', id: 999_999, result: { status: 200, code: 12345 } }))
    expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toMatchObject({ kind: 'malformed' })
  })
})

describe('how long a throttling error asks to be left alone', () => {
  const throttled = (code: number, message: string, data?: unknown): Answer => each((entry) => failed(entry, code, message, data))

  test.each<[string, Answer, number]>([
    ['Ankr, in words', throttled(-32090, 'Too many requests, reason: call rate limit exhausted, retry in 10m0s'), 600_000],
    ['Infura, in data', throttled(-32005, 'project ID request rate exceeded', { rate: { allowed_rps: 1, backoff_seconds: 30, current_rps: 1.3 } }), 30_000],
    ['Chainstack, in data', throttled(-32005, "You've exceeded the RPS limit available on the current plan.", { try_again_in: '250.5ms' }), 250.5],
  ])('%s', async (_, answer, retryAfterMs) => {
    const server = await serve(answer)
    expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toMatchObject({ kind: 'rate-limit', retryAfterMs })
  })

  test('is read from the limit’s own headers where nothing else says it', async () => {
    const server = await serve(
      each((entry) => failed(entry, -32003, 'daily request limit reached - upgrade your account'), {
        status: 429,
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '27941' },
      }),
    )
    expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toMatchObject({ kind: 'quota', retryAfterMs: 27_941_000 })
  })

  test('is not looked for in what is no throttling: a contract may revert with any words', async () => {
    const server = await serve(each((entry) => failed(entry, 3, 'execution reverted: cooling down, try again in 5 minutes')))
    const error = await errorOf(read(clientOf(server.url), 1))
    expect(error).toMatchObject({ kind: 'execution' })
    expect(error.retryAfterMs).toBeUndefined()
  })

  test('in words', () => {
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
    // Something of this limit is left, so it was another that was hit.
    expect(limitResetMs({ 'ratelimit-reset': '30', 'ratelimit-remaining': '12' })).toBeUndefined()
    for (const nothing of ['', 'soon', '-5', 'Tue Feb 16 2021', '1e9']) expect(limitResetMs({ 'x-ratelimit-reset': nothing })).toBeUndefined()
    expect(limitResetMs({})).toBeUndefined()
  })

  test('is never less than nothing, nor no number, whatever is said', () => {
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
