import { gzipSync } from 'node:zlib'
import { describe, expect, it, test } from 'vitest'
import { HexlineError } from '../../src/errors.ts'
import { getStreams, getTransaction, type RestOptions, ServiceError } from '../../src/rest/index.ts'
import { steadyTime } from '../support/held-time.ts'
import { HASH, names, operations } from '../support/rest-operations.ts'
import { type Answer, always, cut, emptyPage, quick, type RestServer, serveRest } from '../support/rest-server.ts'
import { errorOf } from '../support/server.ts'

function streams(server: RestServer, options: RestOptions = {}) {
  return getStreams(server.service, { limit: 5 }, { retry: quick, ...options }).then((page) => page)
}
/** The error of one attempt. */
async function failure(answer: Answer): Promise<ServiceError> {
  return errorOf<ServiceError>(streams(await serveRest(answer), { retry: false }))
}

test('a byte order mark before the JSON is left out, as for JSON-RPC', async () => {
  const server = await serveRest(always('\ufeff{"result":[],"cursor":null}'))
  expect(await streams(server)).toEqual({ result: [], cursor: null })
})

describe('the meaning of a status', () => {
  test.each<[number, string, string]>([
    [301, 'Moved', 'invalid'],
    [400, 'limit must be a number', 'invalid'],
    [401, 'Token is invalid', 'auth'],
    [401, '', 'auth'],
    [401, 'Validation service blocked: Your plan: free-plan-daily total included usage has been consumed', 'quota'],
    [401, 'Daily quota is used up', 'quota'],
    [401, 'Your credits are exhausted, please upgrade', 'quota'],
    [402, 'Payment required', 'quota'],
    [402, '', 'quota'],
    [403, 'Forbidden', 'auth'],
    // "plan" and "free" occur in words that do not mean a quota.
    [401, 'No such key; see the explanation', 'auth'],
    [401, 'Invalid key. Get a free-range one', 'auth'],
    [403, 'Monthly usage limit reached', 'quota'],
    [404, 'Not found', 'not-found'],
    [405, 'Method Not Allowed', 'invalid'],
    [408, 'Request timed out', 'timeout'],
    [422, 'Unprocessable', 'invalid'],
    [429, 'Too many requests', 'rate-limit'],
    [500, 'Internal Server Error', 'server'],
    [501, 'Not Implemented', 'unsupported'],
    [502, 'Bad Gateway', 'server'],
    [503, 'Service Unavailable', 'server'],
    [504, 'Gateway Timeout', 'server'],
    [520, '', 'server'],
  ])('%i %j is of kind %s', async (status, message, kind) => {
    const error = await failure(always(message === '' ? '' : { message }, { status }))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toBeInstanceOf(HexlineError)
    expect(error).toMatchObject({ name: 'ServiceError', status, kind, method: 'getStreams', attempts: 1 })
    expect(error.said).toBe(message === '' ? undefined : message)
    expect(error.message).toMatch(new RegExp(`^getStreams: 127\\.0\\.0\\.1:\\d+ answered HTTP ${status}${message === '' ? '$' : ': '}`))
    expect(`http://${error.endpoint}`).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  it('a redirect is not followed, which its error says', async () => {
    const { message } = await failure(always({ message: 'Moved' }, { status: 308, headers: { location: 'https://elsewhere.example.com/' } }))
    expect(message).toMatch(/^getStreams: 127\.0\.0\.1:\d+ answered HTTP 308: Moved; redirects are not followed: use the final URL$/)
  })

  it('503 with Retry-After is an overload, with the requested wait', async () => {
    expect(await failure(always('', { status: 503, headers: { 'retry-after': '7' } }))).toMatchObject({ kind: 'overloaded', retryAfterMs: 7000 })
    const headers = { date: 'Wed, 21 Oct 2026 07:28:00 GMT', 'retry-after': 'Wed, 21 Oct 2026 07:28:05 GMT' }
    expect(await failure(always('', { status: 429, headers }))).toMatchObject({ kind: 'rate-limit', retryAfterMs: 5000 })
  })

  it('the page of a gateway does not indicate a quota', async () => {
    expect(await failure(always('<html>Our plans: upgrade now</html>', { status: 403 }))).toMatchObject({ kind: 'auth' })
  })

  it.each(names)('%s has its name in the error', async (name) => {
    const server = await serveRest(always({ message: 'no' }, { status: 400 }))
    const error = await errorOf(Promise.resolve(operations[name].call(server.service, operations[name].params)))
    expect(error).toMatchObject({ name: 'ServiceError', status: 400, method: name, said: 'no', attempts: 1 })
  })
})

describe('an unknown transaction', () => {
  it('is null, after one request', async () => {
    for (const body of [
      { message: 'No transaction found' },
      { message: 'Not Found' },
      { error: 'transaction not found' },
      { message: 'The requested resource was not found' },
      { message: 'Cannot get transaction 0xab: not found' },
      '"Transaction not found"',
      'Transaction not found',
      {},
      '',
    ]) {
      const server = await serveRest(always(body, { status: 404 }))
      expect(await getTransaction(server.service, { transaction_hash: HASH })).toBeNull()
      expect(server.requests).toHaveLength(1)
    }
  })

  it.each([
    '<html><h1>404 Not Found</h1>nginx</html>',
    '404 page not found',
    { message: 'no such path' },
    { statusCode: 404, message: 'Cannot GET /v3/api/v2.2/transaction/0xab', error: 'Not Found' },
    { message: 'Route GET:/v3/api not found', error: 'Not Found', statusCode: 404 },
    { message: 'no Route matched with those values' },
  ])('is not what a wrong address answers: %j', async (body) => {
    const server = await serveRest(always(body, { status: 404 }))
    expect(await errorOf(getTransaction(server.service, { transaction_hash: HASH }))).toMatchObject({ name: 'ServiceError', status: 404, kind: 'not-found' })
  })

  it('any other status is an error', async () => {
    for (const status of [400, 401, 403, 410]) {
      const server = await serveRest(always('', { status }))
      expect(await errorOf(getTransaction(server.service, { transaction_hash: HASH }))).toMatchObject({ status })
    }
  })
})

describe('the service’s message', () => {
  const HTML = `<html>\n<h1>Bad  Gateway</h1>${'x'.repeat(600)}</html>`
  test.each<[string, unknown, string | undefined, string]>([
    ['{ message }', { message: 'no such wallet', details: { a: 1 } }, 'no such wallet', ': no such wallet'],
    ['{ message, statusCode }', { message: 'no', statusCode: 400 }, 'no', ': no'],
    [
      '{ message: [..] }',
      { statusCode: 400, message: ['limit must be a number', 'offset too'], error: 'Bad Request' },
      'limit must be a number; offset too',
      ': limit must be a number; offset too',
    ],
    ['{ message: [{..}] }', { message: [{ property: 'limit' }] }, '{"property":"limit"}', ': {"property":"limit"}'],
    ['{ error }', { error: 'Bad Request' }, 'Bad Request', ': Bad Request'],
    ['an empty message and an error', { message: '', error: 'Bad Request' }, 'Bad Request', ': Bad Request'],
    ['an empty list', { message: [] }, undefined, ''],
    ['an object of another kind', { code: 5 }, undefined, ''],
    ['a string of JSON', '"no"', 'no', ': no'],
    ['null', null, undefined, ''],
    ['a number', 5, undefined, ''],
    ['text', 'upstream  timed\nout', 'upstream  timed\nout', ': upstream timed out'],
    ['HTML, of which the start is kept', HTML, HTML.slice(0, 500), `: <html> <h1>Bad Gateway</h1>${'x'.repeat(170)}`],
    ['nothing', '', undefined, ''],
  ])('%s', async (_, body, said, told) => {
    const error = await failure(always(body, { status: 400 }))
    expect(error.said).toBe(said)
    expect(error.message.replace(/^.*answered HTTP 400/, '').replace(/\.\.\.$/, '')).toBe(told.slice(0, 199))
    expect(error.body).toEqual(body === HTML ? HTML.slice(0, 500) : body === '"no"' ? 'no' : body)
  })
})

describe('retries', () => {
  const good = always({ result: [{ id: 'a' }], cursor: null })
  const noHttp: Answer = ({ socket }) => void socket.end('nonsense\r\n\r\n')
  const half: Answer = (_, response) => void response.write('{"result":[', () => response.destroy())
  const throttling: Record<string, [Answer, string]> = {
    '429': [always('', { status: 429 }), 'rate-limit'],
    '429 with Retry-After: 0': [always('', { status: 429, headers: { 'retry-after': '0' } }), 'rate-limit'],
    '503 with Retry-After: 0': [always('', { status: 503, headers: { 'retry-after': '0' } }), 'overloaded'],
  }
  const failing: Record<string, [Answer, string]> = {
    '408': [always('', { status: 408 }), 'timeout'],
    '500': [always('', { status: 500 }), 'server'],
    '502 with HTML': [always('<html>', { status: 502 }), 'server'],
    '503': [always('', { status: 503 }), 'server'],
    'a connection that is cut': [cut, 'network'],
    'a reply that is cut': [half, 'network'],
    'a reply that is not JSON': [always('<html>ok</html>'), 'malformed'],
    'half of a reply': [always('{"result":['), 'malformed'],
    'an empty reply': [always(''), 'malformed'],
    'what is no HTTP': [noHttp, 'malformed'],
    'nonsense said to be gzip': [always('nonsense', { headers: { 'content-encoding': 'gzip' } }), 'malformed'],
  }

  test.each(Object.entries(failing))('%s is retried, up to `attempts` in total', async (_, [answer, kind]) => {
    for (const attempts of [1, 3]) {
      const server = await serveRest(answer)
      expect(await errorOf(streams(server, { retry: { ...quick, attempts } }))).toMatchObject({ kind, attempts, method: 'getStreams' })
      expect(server.requests).toHaveLength(attempts)
    }
  })

  test.each(Object.entries(throttling))('%s is retried until the deadline', async (_, [answer, kind]) => {
    const time = steadyTime()
    const server = await serveRest(answer)
    const failure = errorOf(streams(server, { retry: { ...quick, attempts: 2 }, timeoutMs: 900_000, deadlineMs: 600_000 }))
    await server.received(4)
    await time.pass(600_000)
    const error = await failure
    expect(error).toMatchObject({ kind, method: 'getStreams' })
    expect(error.attempts).toBeGreaterThan(2)
    // The deadline may end the last one on its way.
    expect([0, 1]).toContain((error.attempts as number) - server.requests.length)
  })

  describe.each(Object.entries({ ...failing, ...throttling }))('%s', (_, [answer, kind]) => {
    it('is retried with the same request until it succeeds', async () => {
      const server = await serveRest(answer, answer, answer, good)
      expect((await streams(server)).result).toMatchObject([{ id: 'a' }])
      expect(server.requests.map(({ url }) => url)).toEqual(Array(4).fill('/streams/evm?limit=5'))
    })

    it('is not retried with `retry: false`', async () => {
      const server = await serveRest(answer)
      expect(await errorOf(streams(server, { retry: false }))).toMatchObject({ kind, attempts: 1 })
      expect(server.requests).toHaveLength(1)
    })
  })

  test.each([301, 400, 401, 402, 403, 404, 422])('%i is final', async (status) => {
    const server = await serveRest(always('', { status }), good)
    expect(await errorOf(streams(server))).toMatchObject({ status, attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  it('an invalid field is final', async () => {
    const server = await serveRest(always({ result: [{}] }), good)
    expect(await errorOf(streams(server))).toMatchObject({ name: 'CodecError' })
    expect(server.requests).toHaveLength(1)
  })

  it('four attempts by default', async () => {
    const server = await serveRest(always('', { status: 500 }))
    expect(await errorOf(streams(server, { retry: { baseDelayMs: 1 } }))).toMatchObject({ attempts: 4 })
    expect(server.requests).toHaveLength(4)
  })

  test.each<[number, Record<string, string>]>([
    [429, { 'retry-after': '0.3' }],
    [503, { 'retry-after': '0.3' }],
    [429, { date: 'Wed, 21 Oct 2026 07:28:00 GMT', 'retry-after': 'Wed, 21 Oct 2026 07:28:01 GMT' }],
  ])('%i with %o is waited out', async (status, headers) => {
    const server = await serveRest(always('', { status, headers }), good)
    await streams(server)
    const [first, second] = server.requests
    // Timers may be early by a ms.
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(299)
  })

  it('a Retry-After beyond the deadline fails at once', async () => {
    const server = await serveRest(always('', { status: 429, headers: { 'retry-after': '3600' } }))
    expect(await errorOf(streams(server))).toMatchObject({ kind: 'rate-limit', retryAfterMs: 3_600_000, attempts: 1 })
  })

  it('reads compressed replies, and requests none on this machine', async () => {
    const body = gzipSync(JSON.stringify({ result: [{ id: 'a' }], cursor: null }))
    const server = await serveRest(always(body, { headers: { 'content-encoding': 'gzip' } }))
    expect((await streams(server)).result).toMatchObject([{ id: 'a' }])
    const error = await failure(always(gzipSync('{"message":"packed"}'), { status: 400, headers: { 'content-encoding': 'gzip' } }))
    expect(error.said).toBe('packed')
    expect(server.requests[0]?.headers).not.toHaveProperty('accept-encoding')
  })

  it('an empty page is not retried', async () => {
    const server = await serveRest(emptyPage)
    expect((await streams(server)).result).toEqual([])
    expect(server.requests).toHaveLength(1)
  })
})
