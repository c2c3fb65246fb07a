import { describe, expect, test } from 'vitest'
import { RpcError, ServiceError } from '../../../src/index.ts'
import { operations } from '../../support/rest-operations.ts'
import { always as answers, serveRest } from '../../support/rest-server.ts'
import { type Answer, always, answerTo, each, errorOf, failed, honest, read } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { serve, clientOf } = virtualWorld()

const KEY = 'k9zQwv8SECRETkeyOfTheURL0123456789'
const KiB = 1024
const headers = { 'x-api-key': 'a header "with" back\\slashes/and more' }

/** The error of a read with this answer. */
async function failure<E = RpcError>(answer: Answer): Promise<E> {
  const server = await serve(answer)
  return errorOf(read(clientOf(`${server.url}/v2/${KEY}`, { retry: false, headers, deadlineMs: 20_000 }), 1)) as Promise<E>
}

function refusal(error: object): Answer {
  return each(({ id }) => ({ id, error }))
}

describe('the cost of a long error is linear in its length', () => {
  const hostile: [string, (length: number) => Answer][] = [
    ['ranges in a message', (length) => logs({ code: -32000, message: 'range '.repeat(length / 6) })],
    ['ranges in the data', (length) => logs({ code: -32602, message: 'invalid params', data: 'range '.repeat(length / 6) })],
    ['ranges in an object of the data', (length) => logs({ code: -32602, message: 'invalid params', data: { said: 'range '.repeat(length / 6) } })],
    ['digits in a message', (length) => logs({ code: -32005, message: `too many requests, retry in ${'1'.repeat(length)}` })],
    ['digits in the data', (length) => logs({ code: -32005, message: 'rate limit', data: { try_again_in: '1'.repeat(length) } })],
    ['backslashes in a message', (length) => logs({ code: 1, message: '\\'.repeat(length) })],
    ['backslashes in the data', (length) => logs({ code: 1, message: 'no', data: ['\\'.repeat(length), '\\'.repeat(length)] })],
    ['digits in a body', (length) => always('1'.repeat(length), { status: 500 })],
  ]
  const logs = (error: object): Answer => refusal(error)

  test.each(hostile)('%s', async (_, answer) => {
    const timeOf = async (length: number) => {
      const server = await serve(answer(length))
      const client = clientOf(`${server.url}/v2/${KEY}`, { retry: false, headers, deadlineMs: 60_000 })
      let least = Number.POSITIVE_INFINITY
      for (let i = 0; i < 4; i++) {
        const error = errorOf(client.with({ whilePaused: 'fail' }).request({ method: 'eth_getLogs', params: [{}] }))
        const begun = process.cpuUsage()
        await error
        const { user, system } = process.cpuUsage(begun)
        // An endpoint that throttles is paused, and then only the first one is sent.
        if (i === 0 || server.requests.length > i) least = Math.min(least, user + system)
      }
      return least
    }
    await timeOf(KiB)
    const [short, long] = [await timeOf(16 * KiB), await timeOf(32 * 16 * KiB)]
    // 32 times as long would take 1,024 times as long if it were quadratic.
    expect(long / Math.max(short, 1000)).toBeLessThan(200)
  })
})

describe('an error keeps', () => {
  test('4,096 characters of a message, without part of a key at the end', async () => {
    for (const before of [0, 4000, 4080, 4096, 12_200, 12_280]) {
      const error = await failure(refusal({ code: -32000, message: `${'x'.repeat(before)} ${KEY} ${'y'.repeat(20_000)}` }))
      expect(error.message.length).toBeLessThanOrEqual(4096)
      expect(error.said.length).toBeLessThanOrEqual(4096)
      for (const text of [error.message, error.said]) expect(text).toMatch(/\.\.\.$/)
      expect(`${error.message}${error.stack}${JSON.stringify(error.object)}`).not.toContain(KEY.slice(0, 6))
    }
  })

  test('all of hex data, up to a size that no revert reaches', async () => {
    const revert = `0x08c379a0${'00ab'.repeat(KiB * KiB - 16)}`
    expect((await failure(refusal({ code: 3, message: 'execution reverted', data: revert }))).data).toBe(revert)
    const longer = (await failure(refusal({ code: 3, message: 'execution reverted', data: `0x${'00'.repeat(3 * KiB * KiB)}` }))).data as string
    expect(longer.length).toBeLessThan(70 * KiB)
    // Cut hex must not look complete.
    expect(longer).toMatch(/^0x0.*\.\.\.$/)
  })

  test('all of hex data except the key', async () => {
    const server = await serve(refusal({ code: 3, message: 'no', data: `0x${'ab'.repeat(50)}0123456789abcdef01` }))
    const error = await errorOf<RpcError>(read(clientOf(`${server.url}/0123456789abcdef01`, { retry: false }), 1))
    expect(error.data).toBe(`0x${'ab'.repeat(50)}[hidden]`)
  })

  test('64 Ki characters and 10,000 values of other data, whatever fields are beside it', async () => {
    const { data, object } = await failure(
      refusal({ junk: 'z'.repeat(200_000), code: 1, message: 'no', data: { first: 'words', list: Array.from({ length: 50_000 }, (_, i) => i), last: 1 } }),
    )
    const { first, list } = data as { first: string; list: number[] }
    expect(first).toBe('words')
    expect(list.slice(0, 3)).toEqual([0, 1, 2])
    expect(list.length).toBeLessThanOrEqual(10_000)
    expect(JSON.stringify(object).length).toBeLessThan(300_000)
  })

  test('the outer levels of deeply nested data', async () => {
    const deep = (levels: number) => `${'['.repeat(levels)}"x"${']'.repeat(levels)}`
    for (const member of ['"message"', '"message":"no","data"', '"message":"no","other"']) {
      const server = await serve(({ entries }, response) => void response.end(`{"id":${entries[0]?.id},"error":{"code":1,${member}:${deep(50_000)}}}`))
      expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toBeInstanceOf(RpcError)
    }
  })

  test('the same of a batch’s refusal, for each call', async () => {
    const server = await serve(always({ error: { code: -32000, message: 'batch too large', data: '\\'.repeat(KiB * KiB) } }))
    const client = clientOf(`${server.url}/v2/${KEY}`, { retry: false, headers })
    const errors = await Promise.all(Array.from({ length: 25 }, (_, i) => errorOf<RpcError>(read(client, i))))
    expect(new Set(errors.map(({ kind }) => kind)).size).toBe(1)
    expect(String(errors[0]?.data).length).toBeLessThanOrEqual(64 * KiB)
  })

  test('the same of a service’s body', async () => {
    const server = await serveRest(answers({ message: 'm'.repeat(100_000), more: 'n'.repeat(500_000) }, { status: 400 }))
    const { call, params } = operations.getWalletTokens
    const error = await errorOf<ServiceError>(Promise.resolve(call(server.service, params, { retry: false })))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.message.length).toBeLessThan(1000)
    expect(error.said).toHaveLength(4096)
    expect(JSON.stringify(error.body).length).toBeLessThan(70 * KiB)
  })
})

/** Replies that throttle, each of which asks for a minute. */
const bodies: [string, string | object, Record<string, string>][] = [
  ['plain text', 'Too Many Requests, retry in 60s', { 'content-type': 'text/plain' }],
  ['plain text with a header', 'error code: 1015', { 'content-type': 'text/plain', 'retry-after': '60' }],
  ['HTML', '<html><title>429 Too Many Requests</title><body>Please retry after 60 seconds</body></html>', { 'content-type': 'text/html' }],
  ['JSON without an envelope', { code: -32007, message: '100/second request limit reached, try again in 60s' }, {}],
  ['a JSON status', { statusCode: 429, message: 'slow down, retry in 60s' }, {}],
  ['an error that is a string', { error: 'Too many requests, retry in 1m0s' }, {}],
]

describe('a reply with HTTP 200 that says "too many requests"', () => {
  test.each(bodies)('as %s is throttling: the endpoint gets no calls for as long as it asks', async (_, body, headers) => {
    const server = await serve(always(body, { headers }), honest)
    const client = clientOf(server.url, { retry: false })
    expect(await errorOf(read(client, 1))).toMatchObject({ kind: 'rate-limit', retryAfterMs: 60_000, attempts: 1 })
    // Nothing more is sent in the meantime: calls that do not wait get the reason.
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

  test('is not a failed attempt: the call is answered after the wait', async () => {
    const server = await serve(always('Too many requests, retry in 300ms'), honest)
    expect(await read(clientOf(server.url, { retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 } }), 1)).toEqual(answerTo([1]))
    const [first, second] = server.requests
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(290)
  })

  test('but not if those are only data of a malformed reply', async () => {
    const server = await serve(always({ jsonrpc: '2.0', id: 999_999, result: { status: 200, code: 12345 } }))
    expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toMatchObject({ kind: 'malformed' })
  })
})

describe('the pause that a throttling error asks for', () => {
  const throttled = (code: number, message: string, data?: unknown): Answer => each((entry) => failed(entry, code, message, data))

  test.each<[string, Answer, number]>([
    ['Ankr, in words', throttled(-32090, 'Too many requests, reason: call rate limit exhausted, retry in 10m0s'), 600_000],
    ['Infura, in data', throttled(-32005, 'project ID request rate exceeded', { rate: { allowed_rps: 1, backoff_seconds: 30, current_rps: 1.3 } }), 30_000],
    ['Chainstack, in data', throttled(-32005, "You've exceeded the RPS limit available on the current plan.", { try_again_in: '250.5ms' }), 250.5],
  ])('%s', async (_, answer, retryAfterMs) => {
    const server = await serve(answer)
    expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toMatchObject({ kind: 'rate-limit', retryAfterMs })
  })

  test('is read from the limit’s headers if nothing else has it', async () => {
    const server = await serve(
      each((entry) => failed(entry, -32003, 'daily request limit reached - upgrade your account'), {
        status: 429,
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '27941' },
      }),
    )
    expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toMatchObject({ kind: 'quota', retryAfterMs: 27_941_000 })
  })

  test('is not searched for in other errors, since a contract may revert with any message', async () => {
    const server = await serve(each((entry) => failed(entry, 3, 'execution reverted: cooling down, try again in 5 minutes')))
    const error = await errorOf(read(clientOf(server.url), 1))
    expect(error).toMatchObject({ kind: 'execution' })
    expect(error.retryAfterMs).toBeUndefined()
  })
})
