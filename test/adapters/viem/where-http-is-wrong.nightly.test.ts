import { hexline } from 'hexline/viem'
import { BaseError, fallback, http } from 'viem'
import { describe, expect, test } from 'vitest'
import { type Answer, always, answerTo, type Entry, each, errorOf, failed, honest, refuse, right, send, serve, silent } from '../../support/server.ts'
import { clientOver, closing, overHexline, overHttp, readOver, request } from '../../support/viem-clients.ts'
import { hexlineErrorOf, portraitOf } from '../../support/viem-failures.ts'

/*
 * The behaviour of viem 2.57.1 is asserted, too. When a later version does better, its half of a
 * test fails, and the comparison has to be made again.
 */

const three = (client: { request: unknown }) => Promise.allSettled([1, 2, 3].map((i) => readOver(client, i)))
const value = (i: number) => ({ status: 'fulfilled', value: answerTo([i, 'latest']) })
const allRight = [1, 2, 3].map(value)

/** Answers batches with changed replies, and single calls correctly. */
const batches =
  (mangle: (replies: ReturnType<typeof right>[]) => unknown): Answer =>
  ({ entries, isBatch }, response) => {
    const replies = entries.map(right)
    send(response, JSON.stringify(isBatch ? mangle(replies) : replies[0]))
  }

/** The outcome of the promise within 250 ms, since one side hangs. */
function soon(promise: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const waiting = new Promise((resolve) => {
    timer = setTimeout(resolve, 1300, 'still waiting')
  })
  return Promise.race([promise, waiting]).finally(() => clearTimeout(timer))
}

describe('a batch whose replies do not match its calls', () => {
  const rows: { name: string; answer: Answer; wrong: unknown[] }[] = [
    {
      name: 'one is missing',
      answer: batches(([first, , third]) => [first, third]),
      wrong: [value(1), value(3), { status: 'rejected' }],
    },
    {
      name: 'one comes twice',
      answer: batches(([first, second, third]) => [first, first, second, third]),
      wrong: [value(1), value(1), value(2)],
    },
    {
      name: 'an error without an id stands among them',
      answer: batches((replies) => [...replies, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'invalid request' } }]),
      wrong: [{ status: 'rejected' }, value(1), value(2)],
    },
    {
      name: 'one belongs to no call',
      answer: batches((replies) => [{ jsonrpc: '2.0', id: 0, result: 'stray' }, ...replies]),
      wrong: [{ status: 'fulfilled', value: 'stray' }, value(1), value(2)],
    },
  ]

  test.each(rows)('because $name: http() gives calls the results of others, hexline gives each its own', async ({ answer, wrong }) => {
    const { url } = await serve(answer)
    expect(await three(overHttp(url, { batch: true, retryCount: 0 }))).toMatchObject(wrong)
    expect(await three(overHexline(url))).toEqual(allRight)
  })
})

describe('a batch that is answered with one error object', () => {
  const refusing = (message: string) => batches(() => ({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }))

  test('for its size: http() fails and hides why, hexline sends smaller batches', async () => {
    const server = await serve(refusing('batch too large'))
    const failures = await three(overHttp(server.url, { batch: true, retryCount: 0 }))
    for (const failure of failures) {
      expect(failure).toMatchObject({ status: 'rejected', reason: { name: 'UnknownRpcError', details: expect.stringMatching(/undefined/) } })
      expect(String((failure as PromiseRejectedResult).reason)).not.toContain('batch too large')
    }
    expect(await three(overHexline(server.url))).toEqual(allRight)
  })

  test('that refuses some calls: http() hides which, hexline fails exactly those', async () => {
    const { url } = await serve(refusing('must be authenticated'))
    for (const failure of await three(overHttp(url, { batch: true, retryCount: 0 })))
      expect(String((failure as PromiseRejectedResult).reason)).not.toContain('must be authenticated')
    const refused = { status: 'rejected', reason: { name: 'InvalidInputRpcError', code: -32000, details: 'must be authenticated' } }
    expect(await three(overHexline(url))).toMatchObject([refused, refused, refused])
  })
})

test('two clients of one URL: http() sends the calls of one with the key of the other, hexline with its own', async () => {
  const server = await serve(honest)
  const keys = ['key-of-the-first', 'key-of-the-second']
  const configs = keys.map((key) => ({ batch: true, fetchOptions: { headers: { authorization: key } } }))
  const sent = () => server.requests.map(({ headers, entries }) => [headers.authorization, entries.map(({ params }) => params[0])])

  await Promise.all(configs.map((config, i) => readOver(overHttp(server.url, config), i)))
  expect(sent()).toEqual([['key-of-the-first', [0, 1]]])

  await Promise.all(configs.map((config, i) => readOver(overHexline(server.url, config), i)))
  expect(sent().slice(1).sort()).toEqual([
    ['key-of-the-first', [0]],
    ['key-of-the-second', [1]],
  ])
})

describe('the timeout', () => {
  const config = { timeout: 1000, retryCount: 0 }
  const stalled: Answer = async ({ hungUp }, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
    response.write('{"jsonrpc":"2.0",')
    await hungUp
  }

  test('with a stalled body: http() keeps waiting, hexline counts to the last byte', async () => {
    const { url } = await serve(stalled)
    expect(await soon(errorOf(readOver(overHttp(url, config))))).toBe('still waiting')
    expect(await errorOf(readOver(overHexline(url, config)))).toMatchObject({ name: 'TimeoutError', shortMessage: 'The request took too long to respond.' })
  })

  test('with a signal: http() obeys only one of them, hexline both', async () => {
    const server = await serve(silent)
    const { signal } = new AbortController()
    expect(await soon(errorOf(readOver(overHttp(server.url, config), 1, { signal })))).toBe('still waiting')
    expect(await errorOf(readOver(overHexline(server.url, config), 1, { signal }))).toMatchObject({ name: 'TimeoutError' })

    const abort = new AbortController()
    const aborted = errorOf(readOver(overHexline(server.url), 1, { signal: abort.signal }))
    await server.received(3)
    abort.abort()
    expect(await aborted).toBe(abort.signal.reason)
  })
})

describe('Retry-After', () => {
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT'
  const until = (at: string) => ({ date, 'retry-after': `Sun, 06 Nov 1994 ${at} GMT` })
  const plain = (headers: Record<string, string>) => always('slow down', { status: 429, headers: { 'content-type': 'text/plain', ...headers } })
  const inJson = (headers: Record<string, string>) => refuse(-32005, 'slow down', { status: 429, headers })

  test.each<[string, Answer, Answer]>([
    ['as a date', plain(until('08:50:37')), plain(until('08:49:38'))],
    ['beside a JSON-RPC error', inJson({ 'retry-after': '60' }), inJson({ 'retry-after': '1' })],
  ])('%s: http() does not wait, hexline does', { timeout: 30_000 }, async (_, aMinute, aSecond) => {
    const server = await serve(aMinute, honest)
    // Retry-After was a minute, twice as long as this test may take.
    expect(await readOver(overHttp(server.url), 1)).toEqual(answerTo([1, 'latest']))
    expect(server.requests).toHaveLength(2)

    server.script(aSecond, honest)
    expect(await readOver(overHexline(server.url), 1)).toEqual(answerTo([1, 'latest']))
    const [first = 0, second = 0] = server.requests.slice(2).map(({ at }) => at)
    expect(second - first).toBeGreaterThanOrEqual(999)
    expect(server.requests).toHaveLength(4)
  })

  test('beside a JSON-RPC error: with http() it is lost with the status, hexline’s error has both', async () => {
    const { url } = await serve(inJson({ 'retry-after': '60' }))
    const [lost, kept] = [await errorOf(readOver(overHttp(url, { retryCount: 0 }))), await errorOf(readOver(overHexline(url, { retryCount: 0 })))]
    expect(portraitOf(lost)).not.toHaveProperty('status')
    expect(portraitOf(lost)).not.toHaveProperty('retryAfter')
    expect(hexlineErrorOf(kept)).toMatchObject({ status: 429, retryAfterMs: 60_000, kind: 'rate-limit' })
  })
})

test('a body that is too large: http() fetches it four times, hexline once', async () => {
  const server = await serve(always({ result: 'x'.repeat(5000) }))
  const config = { maxResponseBodySize: 1000 }
  expect(await errorOf(readOver(overHttp(server.url, config)))).toMatchObject({ name: 'ResponseBodyTooLargeError' })
  expect(server.requests).toHaveLength(4)
  expect(await errorOf(readOver(overHexline(server.url, config)))).toMatchObject({ name: 'ResponseBodyTooLargeError' })
  expect(server.requests).toHaveLength(5)
})

test('two nodes that fail: fallback sends 8 requests, and 32 if its transports retry; hexline([a, b]) sends 4 in total', async () => {
  const [a, b] = [await serve(always('oops', { status: 500 })), await serve(always('oops', { status: 500 }))]
  // Requests of the call itself: hexline also requests each node's chain and newest block, and the
  // chain again if that batch fails.
  const ours = ['eth_chainId', 'eth_blockNumber']
  const hits = () => [...a.requests, ...b.requests].filter(({ entries }) => entries.some(({ method }) => !ours.includes(method))).length
  const hitsOf = async (client: { request: unknown }) => {
    const before = hits()
    await errorOf(readOver(client))
    return hits() - before
  }
  const fast = { retryDelay: 2 }
  const members = (config: { retryCount?: number }) => [http(a.url, { ...fast, ...config }), http(b.url, { ...fast, ...config })] as const
  expect(await hitsOf(clientOver(fallback(members({}), fast)))).toBe(8)
  expect(await hitsOf(clientOver(fallback(members({ retryCount: 3 }), fast)))).toBe(32)
  expect(await hitsOf(clientOver(closing(hexline([a.url, b.url], fast))))).toBe(4)
})

describe('a reply that answers nothing', () => {
  test.each<[string, Answer, unknown]>([
    ['without a result', each(({ id }) => ({ jsonrpc: '2.0', id })), undefined],
    ['that is an empty object', always({}), undefined],
    ['with an empty body', always('', { headers: { 'content-type': 'text/plain' } }), undefined],
    ['to another call', each(({ id }) => ({ jsonrpc: '2.0', id: id + 1000, result: '0x1' })), '0x1'],
  ])('%s: http() takes it, hexline says what is wrong', async (_, answer, taken) => {
    const { url } = await serve(answer)
    expect(await readOver(overHttp(url))).toBe(taken)
    const error = await errorOf(readOver(overHexline(url)))
    expect(error).toBeInstanceOf(BaseError)
    expect(error).toMatchObject({
      name: 'HttpRequestError',
      details: expect.stringMatching(/neither a result nor an error|no reply with its id|the reply is empty/),
    })
    expect(hexlineErrorOf(error)).toMatchObject({ name: 'MalformedReplyError', attempts: 4 })
  })

  test('but an error that is a bare string: http() shows nothing, hexline shows the reply', async () => {
    const { url } = await serve(each(({ id }) => ({ id, error: 'out of luck' })))
    expect(portraitOf(await errorOf(readOver(overHttp(url))))).not.toHaveProperty('details')
    expect(portraitOf(await errorOf(readOver(overHexline(url))))).toMatchObject({ is: 'RpcRequestError', details: 'out of luck' })
  })
})

test('a call that must not run twice, and may have run: http() sends it four times, hexline once', async () => {
  const server = await serve(each((entry) => failed(entry, -32603, 'Internal error')))
  await errorOf(request(overHttp(server.url), 'anvil_mine', [1]))
  expect(server.requests).toHaveLength(4)
  await errorOf(request(overHexline(server.url), 'anvil_mine', [1]))
  expect(server.requests).toHaveLength(5)
})

test('a result with a failing status: http() fails, hexline accepts the reply, as docs/viem.md says', async () => {
  const { url } = await serve((request, response) => send(response, JSON.stringify(right(request.entries[0] as Entry)), { status: 500 }))
  expect(await errorOf(readOver(overHttp(url, { retryCount: 0 })))).toMatchObject({ name: 'HttpRequestError', status: 500 })
  expect(await readOver(overHexline(url), 1)).toEqual(answerTo([1, 'latest']))
})
