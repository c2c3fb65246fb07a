import { createPublicClient } from 'viem'
import { describe, expect, test } from 'vitest'
import { HexlineProvider } from '../../../adapters/ethers/index.ts'
import { hexline } from '../../../adapters/viem/index.ts'
import { type ClientOptions, createClient, type HexlineError, type Post, RpcError, replyOf } from '../../../src/index.ts'
import { getBlocks } from '../../../src/index-bulk.ts'
import { eventsOf } from '../../support/events.ts'
import { limiter } from '../../support/limited-server.ts'
import { calls, hex, node } from '../../support/node.ts'
import {
  type Answer,
  always,
  answerTo,
  cut,
  type Entry,
  each,
  errorOf,
  failed,
  gate,
  honest,
  read,
  refuse,
  right,
  silent,
  type TestServer,
} from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { clock, serve, serveAt, clientOf, deadPort, sleep } = virtualWorld()

const quick: ClientOptions = { retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 2 } }
const broken = always('oops', { status: 500 })
const throttled = (retryAfter: string) => refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': retryAfter } })
const host = (server: TestServer) => `127.0.0.1:${server.port}`
const isRead = ({ entries }: { entries: readonly Entry[] }) => entries.some(({ method }) => method === 'eth_getBalance')
const failsReads: Answer = (request, response) => (isRead(request) ? broken : node())(request, response)
/** Each answer takes this long. */
const slowBy =
  (ms: number): Answer =>
  async (...args) => {
    await sleep(ms)
    return node()(...args)
  }
const counts = (...servers: TestServer[]) => servers.map((server) => calls(server).length)

describe('an error in words that nobody knows', () => {
  const refusing = (error: object) =>
    node({ answer: ({ id, method }) => (method === 'eth_getBalance' || method === 'evm_mine' ? { jsonrpc: '2.0', id, error } : undefined) })

  test.each([
    { code: -32000, message: 'hold on a moment, please' },
    { code: 17, message: 'wait', data: { hint: 'later' } },
  ])('sends a read on to the other endpoints, once: %j', async (error) => {
    const [a, b] = [await serve(refusing(error)), await serve(node())]
    expect(await read(clientOf([a.url, b.url], quick), 1)).toEqual(answerTo([1]))
    b.script(refusing(error))
    const refused = await errorOf(read(clientOf([a.url, b.url], quick), 1))
    expect(refused).toMatchObject({ kind: 'execution', said: error.message, attempts: 2 })
    expect((refused.cause as Error).message).toContain(error.message)
  })

  test.each<[string, Answer | undefined]>([
    ['cannot be reached', undefined],
    ['fails', broken],
    ['is cut', cut],
    ['throttles', throttled('8')],
    ['says nothing', silent],
  ])('which stands where the other endpoint %s', async (_, answer) => {
    const a = await serve(refusing({ code: -32000, message: 'hold on' }))
    const b = answer === undefined ? `http://127.0.0.1:${deadPort()}` : (await serve(answer)).url
    const client = clientOf([a.url, b], { retry: { attempts: 4 }, timeoutMs: 30_000 })
    for (let n = 0; n < 3; n++) {
      const begun = clock.now()
      const refused = await errorOf(read(client, n))
      expect(refused).toMatchObject({ kind: 'execution', said: 'hold on' })
      expect(refused.attempts).toBeLessThanOrEqual(2)
      expect(clock.now() - begun).toBeLessThan(11_000)
    }
    expect(a.requests.length).toBeLessThan(6)
  })

  test('which stands within ten seconds, however many endpoints say nothing', async () => {
    const a = await serve(refusing({ code: -32000, message: 'hold on' }))
    // They answer questions for their heads, so that they are not out.
    const mute: Answer = (request, response) => (isRead(request) ? silent : node())(request, response)
    const others = await Promise.all([1, 2, 3].map(() => serve(mute)))
    const client = clientOf([a.url, ...others.map(({ url }) => url)], { retry: { attempts: 4 }, timeoutMs: 30_000 })
    const begun = clock.now()
    expect(await errorOf(read(client, 1))).toMatchObject({ kind: 'execution', said: 'hold on' })
    expect(clock.now() - begun).toBeLessThan(10_100)
  })

  test.each<[string, object, object]>([
    ['a revert', { code: 3, message: 'execution reverted', data: '0x08c379a0' }, { kind: 'execution', data: '0x08c379a0' }],
    ['a wrong argument', { code: -32602, message: 'invalid argument 0' }, { kind: 'invalid' }],
  ])('does not stand where the other endpoint knows better: %s', async (_, error, expected) => {
    const [a, b] = [await serve(refusing({ code: -32000, message: 'hold on' })), await serve(refusing(error))]
    expect(await errorOf(read(clientOf([a.url, b.url], quick), 1))).toMatchObject(expected)
  })

  test('is worth less than an endpoint that throttles for a moment', async () => {
    const [a, b] = [await serve(node(), throttled('0'), node()), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await read(client, 0)
    b.script(refusing({ code: -32000, message: 'hold on' }))
    expect(await read(client, 1)).toEqual(answerTo([1]))
  })

  test('does not hide that the client was closed', async () => {
    const a = await serve(refusing({ code: -32000, message: 'hold on' }))
    const mute: Answer = (request, response) => (isRead(request) ? silent : node())(request, response)
    const b = await serve(mute)
    const client = clientOf([a.url, b.url], quick)
    const refused = errorOf(read(client, 1))
    await sleep(100)
    await client.close()
    expect(await refused).toMatchObject({ kind: 'closed' })
  })

  test('does so for no call that must not run twice, nor where it has the bytes of a revert', async () => {
    const odd = { code: -32000, message: 'no funds here' }
    const [a, b] = [await serve(refusing(odd)), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    expect(await errorOf(client.request({ method: 'evm_mine', params: [] }))).toMatchObject({ said: odd.message, attempts: 1 })
    a.script(refusing({ ...odd, data: '0x08c379a0' }))
    expect(await errorOf(read(client, 1))).toMatchObject({ said: odd.message, attempts: 1 })
    expect(calls(b)).toEqual([])
  })
})

describe('the chain', () => {
  const chainQuestions = (server: TestServer) => server.requests.flatMap(({ entries }) => entries.filter(({ method }) => method === 'eth_chainId')).length

  test('of a single endpoint is not requested', async () => {
    const server = await serve(node())
    await read(clientOf(server.url), 1)
    expect(chainQuestions(server)).toBe(0)
  })

  test('of each of several is requested once, with its newest block, in the POST of the first call', async () => {
    const [a, b] = [await serve(node(), broken, node()), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    for (let i = 0; i < 4; i++) expect(await read(client, i)).toEqual(answerTo([i]))
    expect([a, b].map(chainQuestions)).toEqual([1, 1])
    expect([a.requests[0], b.requests[0]].map((request) => request?.entries.length)).toEqual([3, 2])
  })

  test('of each of several is requested once, also by many bulk calls that start together', async () => {
    const [a, b] = [await serve(node()), await serve(node())]
    const bulk = clientOf([a.url, b.url], quick).with({ priority: 'bulk' })
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => read(bulk, i)))
    expect(answers).toEqual(Array.from({ length: 60 }, (_, i) => answerTo([i])))
    expect(Math.max(...[a, b].map(chainQuestions))).toBe(1)
  })

  test.each(['interactive', 'bulk'] as const)(
    'of each of several is requested once with `dedupe: false`, too, by %s calls that start together',
    async (priority) => {
      const [a, b] = [await serve(node()), await serve(node())]
      const client = clientOf([a.url, b.url], { ...quick, dedupe: false }).with({ priority })
      const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => read(client, i % 10)))
      expect(answers).toEqual(Array.from({ length: 500 }, (_, i) => answerTo([i % 10])))
      expect(Math.max(...[a, b].map(chainQuestions))).toBe(1)
      expect(counts(a, b).reduce((sum, n) => sum + n)).toBe(500)
    },
  )

  test('that differs takes the endpoint out before a call gets its answer, and the next one is called', async () => {
    for (const answer of [right, (entry: Entry) => failed(entry, 3, 'execution reverted')]) {
      const [a, wrong, c] = [
        await serve(node(), broken),
        await serve(node({ chain: 137, answer: (entry) => (entry.method === 'eth_chainId' ? undefined : answer(entry)) })),
        await serve(node()),
      ]
      const client = clientOf([a.url, wrong.url, c.url], quick)
      for (let i = 0; i < 5; i++) expect(await read(client, i)).toEqual(answerTo([i]))
      expect(wrong.requests).toHaveLength(1)
    }
  })

  test('that differs at all others is reported with the endpoints and the reason', async () => {
    const [a, wrong] = [await serve(node(), broken), await serve(node({ chain: 137 }))]
    const client = clientOf([a.url, wrong.url], { retry: { attempts: 2, baseDelayMs: 1 } })
    await read(client, 1)
    const error = await errorOf<HexlineError>(read(client, 2))
    expect(error).toMatchObject({ name: 'HttpError', endpoint: host(a) })
    expect((error.cause as Error).message).toBe(`other endpoints failed, too: ${host(wrong)} is taken out: it is on chain 137, not 1 (the chain of ${host(a)})`)
  })

  test('is the declared one, whichever answers first; without an endpoint on it a call rejects with that reason', async () => {
    const [a, b] = [await serve(node({ chain: 137 })), await serve(node({ chain: 56 }))]
    const client = clientOf([{ baseUrl: a.url, chain: 'eth', apiKey: 'k' }, b.url], quick)
    const error = await errorOf<HexlineError>(read(client, 1))
    expect(error).toMatchObject({
      name: 'IntegrityError',
      kind: 'integrity',
      endpoint: host(a),
      method: 'eth_getBalance',
      message: `${host(a)} is taken out: it is on chain 137, not 1`,
    })
    expect((error.cause as Error).message).toContain(`${host(b)} is taken out: it is on chain 56, not 1`)
    const posts = [a, b].map(({ requests }) => requests.length)
    await errorOf(read(client, 2))
    expect([a, b].map(({ requests }) => requests.length)).toEqual(posts)
  })

  test('is known before a call that writes is sent', async () => {
    const wrong = await serve(node({ chain: 137 }))
    const client = clientOf([`http://127.0.0.1:${deadPort()}`, { baseUrl: wrong.url, chain: 'eth', apiKey: 'k' }], { retry: { attempts: 1 } })
    await errorOf(client.request({ method: 'evm_mine', params: [] }))
    expect(calls(wrong)).toEqual([])
  })

  test('stays unknown at an endpoint without the method, which is used', async () => {
    const [a, b] = [
      await serve(node(), broken),
      await serve(node({ answer: (entry) => (entry.method === 'eth_chainId' ? failed(entry, -32601, 'the method eth_chainId does not exist') : undefined) })),
    ]
    const client = clientOf([a.url, b.url], quick)
    for (let i = 0; i < 3; i++) expect(await read(client, i)).toEqual(answerTo([i]))
  })

  test('is that of the first one to answer a call, even if another one reports its own sooner', async () => {
    const { open, answer } = gate(node())
    const [a, wrong] = [await serve(answer), await serve(node({ chain: 137 }))]
    const client = clientOf([a.url, wrong.url], quick)
    const first = read(client, 1)
    await wrong.received(1)
    await sleep(50)
    open()
    expect(await first).toEqual(answerTo([1]))
    for (let i = 0; i < 3; i++) expect(await read(client, i)).toEqual(answerTo([i]))
    expect(calls(wrong)).toEqual([])
  })

  test('and the head stay unknown at endpoints that know neither method, which are used', async () => {
    const mock = () => serve(node({ answer: (entry) => (/chainId|blockNumber/.test(entry.method) ? failed(entry, -32601, 'method not found') : undefined) }))
    const [a, b] = [await mock(), await mock()]
    const client = clientOf([a.url, b.url], quick)
    expect(await read(client, 1)).toEqual(answerTo([1]))
    a.script(broken)
    expect(await read(client, 2)).toEqual(answerTo([2]))
  })

  test('may not be declared differently, since such endpoints cannot replace each other', () => {
    const at = (chain: 'eth' | 'base') => ({ baseUrl: 'http://127.0.0.1:1', chain, apiKey: 'k' })
    expect(() => createClient([at('eth'), at('base')])).toThrow('endpoint: expected endpoints of one chain (1), received one of chain 8453')
  })
})

describe('a failing endpoint', () => {
  test('gets no more calls, is probed after a second, and is used again', async () => {
    const [a, b] = [await serve(node(), cut), await serve(node())]
    // On a slow machine the first one may be out when the other begins to fail, which takes four
    // attempts to be taken out as well.
    const client = clientOf([a.url, b.url], { retry: { attempts: 8, baseDelayMs: 1, maxDelayMs: 2 } })
    await read(client, 0)
    for (let i = 0; i < 20; i++) expect(await read(client, i)).toEqual(answerTo([i]))
    const failures = counts(a)[0] as number
    // The first one that failed is enough to prefer the other.
    expect(failures).toBeLessThan(6)
    a.script(node())
    b.script(broken)
    // Now the other one fails until it is out; then the first is the better of the two.
    for (let i = 0; i < 10; i++) expect(await read(client, `then ${i}`)).toEqual(answerTo([`then ${i}`]))
    expect(counts(a)[0]).toBeGreaterThan(failures + 5)
  })

  test('is asked for its head, one request at a time, and only while there are calls', async () => {
    const [a, b] = [await serve(node(), cut), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await read(client, 0)
    // Pinned to the failing one, with `tried` empty each time: four failures, and it is out.
    const pinned = client.pinned().with({ attempts: 1 })
    for (let i = 0; i < 4; i++) await Promise.allSettled([read(pinned, i), sleep(3)])
    const before = counts(a)[0] as number
    await sleep(1_100)
    expect(counts(a)[0]).toBe(before)
    a.script(silent)
    for (let i = 0; i < 5; i++) await read(client, i)
    expect(calls(a).slice(before)).toEqual(['eth_blockNumber'])
  })

  test('that is the only one is never taken out, since the waits of retry are enough', async () => {
    const server = await serve(broken)
    const client = clientOf(server.url, { retry: { attempts: 20, baseDelayMs: 1, maxDelayMs: 1 } })
    await errorOf(read(client, 0))
    expect(server.requests).toHaveLength(20)
    server.script(honest)
    expect(await read(client, 1)).toEqual(answerTo([1]))
  })

  test('among failing ones is still tried, and calls find the one that is back first', async () => {
    const [a, b] = [await serve(broken), await serve(broken)]
    const client = clientOf([a.url, b.url], { retry: { attempts: 12, baseDelayMs: 4, maxDelayMs: 8 } })
    const error = await errorOf<HexlineError>(read(client, 0))
    expect(error).toMatchObject({ status: 500, attempts: 12 })
    expect((error.cause as Error).message).toMatch(/^other endpoints failed, too: 127\.0\.0\.1:\d+ answered HTTP 500: oops$/)
    b.script(node())
    expect(await read(client, 1)).toEqual(answerTo([1]))
  })

  test('that has not replied for a second gets no new calls', async () => {
    const [a, b] = [await serve(node(), silent), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await read(client, 0)
    const aborter = new AbortController()
    const stuck = errorOf(read(client.with({ signal: aborter.signal }), 'stuck'))
    await a.received(2)
    await sleep(1_300)
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect([a, b].map((server) => calls(server).filter((method) => method === 'eth_getBalance').length)).toEqual([2, 1])
    aborter.abort()
    await stuck
  })

  test('that times out hands the calls in its line to another one, which sends them by age', async () => {
    const [a, b] = [await serve(node(), silent), await serve(node())]
    const client = clientOf([a.url, b.url], { ...quick, concurrency: 1, timeoutMs: 400, batch: { maxCalls: 5 } })
    await read(client, 0)
    const stuck = Array.from({ length: 5 }, (_, i) => read(client, i))
    await a.received(2)
    const inLine = Array.from({ length: 15 }, (_, i) => read(client, 5 + i))
    expect(await Promise.all([...stuck, ...inLine])).toEqual(Array.from({ length: 20 }, (_, i) => answerTo([i])))
    expect(a.requests).toHaveLength(2)
    const order = b.requests.flatMap(({ entries }) => entries).flatMap(({ method, params }) => (method === 'eth_getBalance' ? (params[0] as number) : []))
    const young = order.filter((i) => i >= 5)
    expect(young).toEqual([...young].sort((x, y) => x - y))
  })

  test('with a rejected key or a used-up quota is taken out: the next calls do not go there', async () => {
    for (const answer of [always('unauthorized', { status: 401 }), refuse(-32000, 'daily request count exceeded')]) {
      const [a, b] = [await serve(node(), answer), await serve(node())]
      const client = clientOf([a.url, b.url], quick)
      for (let i = 0; i < 6; i++) expect(await read(client, i)).toEqual(answerTo([i]))
      // For any method.
      expect(await client.request({ method: 'eth_getCode', params: ['x'] })).toEqual(answerTo(['x']))
      expect(counts(a, b)).toEqual([2, 6])
    }
  })

  test.each([404, 410, 302])('whose URL is wrong, as HTTP %i says, is taken out: the next calls do not go there', async (status) => {
    const [a, b] = [await serve(node(), always('nothing here', { status })), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    for (let i = 0; i < 6; i++) expect(await read(client, i)).toEqual(answerTo([i]))
    expect(counts(a, b)).toEqual([2, 5])
  })

  test('whose gateway has no route for one method is passed over for that method, and gets the other calls', async () => {
    const isTrace = ({ entries }: { entries: readonly Entry[] }) => entries.some(({ method }) => method === 'trace_block')
    const a = await serve((...args) => (isTrace(args[0]) ? always('no route', { status: 404 }) : node())(...args))
    const b = await serve(node())
    const client = clientOf([a.url, b.url], quick)
    const events = eventsOf('hexline:route')
    for (let i = 0; i < 3; i++) {
      expect(await read(client, i)).toEqual(answerTo([i]))
      expect(await client.request({ method: 'trace_block', params: [hex(i)] })).toEqual(answerTo([hex(i)]))
    }
    expect(counts(a, b)).toEqual([6, 3])
    expect(events.filter(({ change }) => change === 'left-out')).toEqual([])
  })

  test('whose gateway calls a request bad is passed over: another one may take the call', async () => {
    const [a, b] = [await serve(node(), always('Bad Request', { status: 400 })), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    for (let i = 0; i < 3; i++) expect(await read(client, i)).toEqual(answerTo([i]))
    expect(await errorOf(read(clientOf(a.url, quick), 0))).toMatchObject({ kind: 'invalid', status: 400, attempts: 1 })
  })

  test('that refuses the connection is passed over at once: nothing was sent, so not even a single attempt is used', async () => {
    const b = await serve(node())
    const client = clientOf([`http://127.0.0.1:${deadPort()}`, b.url], { retry: false })
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(await client.request({ method: 'evm_mine', params: [] })).toEqual(answerTo([]))
  })
})

describe('an endpoint that has never answered', () => {
  /** No call ends at its deadline. */
  const patient: ClientOptions = { timeoutMs: 2 ** 31 - 1, deadlineMs: Number.POSITIVE_INFINITY, retry: false }

  test('is given up once another one answers: its reads go there, with or without retries', async () => {
    const [a, b, c] = [await serve(silent), await serve(silent), await serve(node())]
    const client = clientOf([a.url, b.url, c.url], patient)
    expect(await Promise.all([read(client, 0), read(client.pinned(), 1)])).toEqual([answerTo([0]), answerTo([1])])
    expect(counts(a)).toEqual([2])
    await a.requests[0]?.hungUp
  })

  test('is not sent a call that writes, which goes to the one that answers, once', async () => {
    const [a, b] = [await serve(silent), await serve(node())]
    const client = clientOf([a.url, b.url], patient)
    expect(await client.request({ method: 'evm_mine', params: [7] })).toEqual(answerTo([7]))
    expect(counts(a, b)).toEqual([0, 1])
  })

  test('counts the attempt, and the failure of the other one is reported', async () => {
    const [a, b] = [await serve(silent), await serve(node({ answer: (entry) => (entry.method === 'eth_getBalance' ? failed(entry, 3, 'no') : undefined) }))]
    const error = await errorOf<HexlineError>(read(clientOf([a.url, b.url], patient), 0))
    expect(error).toMatchObject({ message: expect.stringMatching(/: no$/), attempts: 2 })
  })

  test('does not count as an attempt of a call that writes, which waited for its chain', async () => {
    const [a, b] = [await serve(silent), await serve(node({ answer: (entry) => (entry.method === 'evm_mine' ? failed(entry, -32000, 'no') : undefined) }))]
    const client = clientOf([a.url, b.url])
    expect(await errorOf(client.request({ method: 'evm_mine' }))).toMatchObject({ kind: 'execution', attempts: 1 })
    expect([calls(a), calls(b)]).toEqual([[], ['evm_mine']])
  })

  test.each([1, 4])('is called again, and waited for, if the other one fails (attempts: %i)', async (attempts) => {
    const asks = ({ entries }: { entries: readonly Entry[] }) => entries.some(({ method }) => method === 'eth_getBalance')
    const held = gate(node())
    const [a, b] = [await serve(held.answer), await serve((request, response) => (asks(request) ? broken : node())(request, response))]
    const answer = read(clientOf([a.url, b.url], { ...patient, retry: { attempts, baseDelayMs: 1, maxDelayMs: 2 } }), 0)
    await sleep(5_000)
    expect([a, b].map(({ requests }) => requests.filter(asks).length)).toEqual([2, attempts])
    held.open()
    expect(await answer).toEqual(answerTo([0]))
  })

  test('is not called again where the other one fails once: that one is', async () => {
    let reads = 0
    const failsOnce: Answer = (request, response) => (isRead(request) && reads++ === 0 ? broken : node())(request, response)
    const [a, b] = [await serve(silent), await serve(failsOnce)]
    const client = clientOf([a.url, b.url], { ...patient, retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 2 } })
    const started = clock.now()
    expect(await read(client, 0)).toEqual(answerTo([0]))
    expect(clock.now() - started).toBeLessThan(2_000)
    expect([a, b].map(({ requests }) => requests.filter(isRead).length)).toEqual([1, 2])
  })

  test.each([2, 4, Number.POSITIVE_INFINITY])('is waited for where the other one fails each of %d attempts: it may only be slow', async (attempts) => {
    const [a, b] = [await serve(slowBy(8_000)), await serve(failsReads)]
    const client = clientOf([a.url, b.url], { timeoutMs: 30_000, deadlineMs: 120_000, retry: { baseDelayMs: 1, maxDelayMs: 2 } })
    const started = clock.now()
    expect(await read(client.with({ attempts }), 0)).toEqual(answerTo([0]))
    expect(clock.now() - started).toBeLessThan(11_000)
  })

  test('is waited for by a pinned call, too, that the other one fails', async () => {
    const [a, b] = [await serve(slowBy(4_000)), await serve(failsReads)]
    const pinned = clientOf([a.url, b.url], { timeoutMs: 30_000, deadlineMs: 120_000, retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 } }).pinned()
    expect(await read(pinned, 0)).toEqual(answerTo([0]))
    expect([a, b].map(({ requests }) => requests.filter(isRead).length)).toEqual([2, 2])
  })

  test('is waited for until another one answers', async () => {
    const held = gate(node())
    const [a, b] = [await serve(held.answer), await serve(silent)]
    const answer = read(clientOf([a.url, b.url], patient), 0)
    await sleep(1_500)
    held.open()
    expect(await answer).toEqual(answerTo([0]))
    expect(counts(a, b)).toEqual([1, 0])
  })

  test('differs from one that works on a slow call and has reported its newest block', async () => {
    const held = gate()
    const asksHead = ({ entries }: { entries: readonly Entry[] }) => entries.some(({ method }) => method === 'eth_blockNumber')
    const [a, b] = [await serve((request, response) => (asksHead(request) ? node() : held.answer)(request, response)), await serve(node())]
    const logs = clientOf([a.url, b.url], patient).request({ method: 'eth_getLogs', params: [{}] })
    await sleep(2_500)
    held.open()
    expect(await logs).toEqual(answerTo([{}]))
    expect([a, b].map(({ requests }) => requests.filter(({ entries }) => entries.some(({ method }) => method === 'eth_getLogs')).length)).toEqual([1, 0])
  })
})

test.each([
  ['has never answered', 0, 2_000],
  ['has answered', 1, 3_000],
])('a silent endpoint that %s is given up also where it is out already, since a shorter timeout has passed', async (_, answers, mostMs) => {
  const [a, b] = [await serve(...([...Array(answers).fill(node()), silent] as [Answer])), await serve(node())]
  const client = clientOf([a.url, b.url], { timeoutMs: 60_000, deadlineMs: 60_000, retry: false })
  if (answers > 0) await read(client, 0)
  const started = clock.now()
  const long = read(client, 1)
  expect(await errorOf(read(client.with({ timeoutMs: 900 }), 2))).toMatchObject({ kind: 'timeout' })
  expect(await long).toEqual(answerTo([1]))
  expect(clock.now() - started).toBeLessThan(mostMs)
})

describe('an endpoint that has answered, and then goes silent', () => {
  const patient: ClientOptions = { timeoutMs: 2 ** 31 - 1, deadlineMs: Number.POSITIVE_INFINITY, retry: false }

  test.each([1, 500])('is given up where another one answers: reads under way go there (%i at once)', async (reads) => {
    const [a, b] = [await serve(node(), silent), await serve(node())]
    const client = clientOf([a.url, b.url], patient)
    await read(client, 0)
    const started = clock.now()
    expect(await Promise.all(Array.from({ length: reads }, (_, i) => read(client, i)))).toEqual(Array.from({ length: reads }, (_, i) => answerTo([i])))
    expect(clock.now() - started).toBeLessThan(3_000)
    await a.requests[1]?.hungUp
    // It is asked again by and by, and no read goes there meanwhile.
    expect(await read(client, 1)).toEqual(answerTo([1]))
  })

  test('is given up, too, where it cuts each new connection', async () => {
    const [a, b] = [await serve(node(), silent, cut), await serve(node())]
    const client = clientOf([a.url, b.url], patient)
    await read(client, 0)
    const route = eventsOf('hexline:route')
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(route.map(({ change, endpoint }) => [change, endpoint])).toEqual([
      ['left-out', host(a)],
      ['moved', host(a)],
    ])
  })

  test.each(['that only it has', 'that a pinned client has seen there'])(
    'keeps a call for a block %s until another one has that block, and no longer',
    async (which) => {
      let head = 99
      const [a, b] = [await serve(node(), silent), await serve(node({ head: () => head }))]
      const client = clientOf([a.url, b.url], patient)
      const pinned = client.pinned()
      expect(await pinned.call('eth_blockNumber')).toBe(100n)
      const started = clock.now()
      const block = which === 'that only it has' ? client.request({ method: 'eth_getBlockByNumber', params: ['0x64', false] }) : read(pinned, 1)
      await sleep(30_000)
      expect(b.requests.length).toBeLessThan(40)
      head = 100
      expect(await block).toEqual(which === 'that only it has' ? { number: '0x64' } : answerTo([1]))
      expect(clock.now() - started).toBeLessThan(32_000)
    },
  )

  test('keeps the calls for a filter that it made: they fail as they would without the others', async () => {
    let isSilent = false
    const makesFilters = node({ answer: ({ id, method }) => (method === 'eth_newFilter' ? { jsonrpc: '2.0', id, result: '0x7' } : undefined) })
    const a = await serve((request, response) => (isSilent ? silent : makesFilters)(request, response))
    const client = clientOf([a.url, (await serve(node())).url], { timeoutMs: 10_000, concurrency: 1, retry: false })
    const filter = await client.request({ method: 'eth_newFilter', params: [{}] })
    isSilent = true
    const started = clock.now()
    const ask = (method: 'eth_getFilterLogs' | 'eth_getFilterChanges') => errorOf(client.request({ method, params: [filter] }))
    for (const error of await Promise.all([ask('eth_getFilterLogs'), ask('eth_getFilterChanges')]))
      expect(error).toMatchObject({ kind: 'timeout', endpoint: host(a) })
    expect(clock.now() - started).toBeGreaterThanOrEqual(10_000)
  })

  test('keeps a call that takes long, as long as it answers others', async () => {
    const held = gate()
    const isSlow = ({ entries }: { entries: readonly Entry[] }) => entries.some(({ method }) => method === 'eth_call')
    const [a, b] = [await serve((request, response) => (isSlow(request) ? held.answer : node())(request, response)), await serve(node())]
    const client = clientOf([a.url, b.url], patient)
    await read(client, 0)
    const answer = client.request({ method: 'eth_call', params: [{}] })
    await sleep(60_000)
    held.open()
    expect(await answer).toEqual(answerTo([{}]))
    expect(b.requests.some(isSlow)).toBe(false)
    // Whether it still answers is asked every five seconds at most.
    expect(a.requests.length).toBeLessThan(30)
  })

  test('keeps the call in the end, where the call is what makes each endpoint silent', async () => {
    const isSlow = ({ entries }: { entries: readonly Entry[] }) => entries.some(({ method }) => method === 'eth_call')
    const busy = () => {
      let until = 0
      const answer: Answer = async (request, response) => {
        if (isSlow(request)) until = clock.now() + 20_000
        await sleep(Math.max(0, until - clock.now()))
        if (!request.socket.destroyed) await node()(request, response)
      }
      return answer
    }
    const [a, b] = [await serve(busy()), await serve(busy())]
    const client = clientOf([a.url, b.url], patient)
    await Promise.all([0, 1, 2].map((i) => read(client.with({ priority: 'bulk' }), i)))
    expect(await client.request({ method: 'eth_call', params: [{}] })).toEqual(answerTo([{}]))
    expect([...a.requests, ...b.requests].filter(isSlow).length).toBeLessThan(4)
  })

  test.each(['its caller has left', 'the client is closed'])('is asked no longer, and is not given up, once %s', async (end) => {
    let isSilent = false
    const signals: AbortSignal[] = []
    const post: Post = (asked, signal) => {
      signals.push(signal)
      return isSilent ? new Promise(() => {}) : Promise.resolve(asked.map(({ method }) => replyOf(method === 'eth_chainId' ? '0x1' : '0x64')))
    }
    const client = clientOf([post, (await serve(node())).url], patient)
    await read(client, 0)
    isSilent = true
    const route = eventsOf('hexline:route')
    const aborter = new AbortController()
    const stuck = errorOf(client.request({ method: 'eth_getBalance', params: [1] }, { signal: aborter.signal }))
    await sleep(1_500)
    expect(signals.slice(-2).map(({ aborted }) => aborted)).toEqual([false, false])
    if (end === 'its caller has left') aborter.abort()
    else void client.close()
    await stuck
    expect(signals.slice(-2).map(({ aborted }) => aborted)).toEqual([true, true])
    await sleep(2_000)
    expect(route).toEqual([])
  })

  test('keeps a call that no other endpoint can answer, and gets it once', async () => {
    const isOldCall = ({ entries }: { entries: readonly Entry[] }) => entries.some(({ params }) => params[1] === hex(1))
    let until = 0
    const busyArchive: Answer = async (request, response) => {
      if (isOldCall(request)) until = clock.now() + 20_000
      await sleep(Math.max(0, until - clock.now()))
      if (!request.socket.destroyed) await node()(request, response)
    }
    const [archive, pruned] = [await serve(node(), busyArchive), await serve(node())]
    const client = clientOf([archive.url, { url: pruned.url, since: 90 }], patient)
    await read(client, 0)
    expect(await client.request({ method: 'eth_call', params: [{}, hex(1)] })).toEqual(answerTo([{}, hex(1)]))
    expect([archive, pruned].map(({ requests }) => requests.filter(isOldCall).length)).toEqual([1, 0])
  })

  test('is not silent where it is a function that rejects with what the node has answered', async () => {
    let isThrottled = false
    const post: Post = async (asked) => {
      if (asked.some(({ method }) => method === 'eth_call')) await sleep(5_000)
      else if (isThrottled) throw new RpcError({ code: -32005, message: 'too many requests' }, { kind: 'rate-limit' })
      return asked.map(({ method }) => replyOf(method === 'eth_chainId' ? '0x1' : '0x64'))
    }
    const client = clientOf([post, (await serve(node())).url], patient)
    await read(client, 0)
    isThrottled = true
    const route = eventsOf('hexline:route')
    expect(await client.request({ method: 'eth_call', params: [{}] })).toBe('0x64')
    expect(route).toEqual([])
  })

  test('keeps a call that writes until its timeout: it may run there', async () => {
    const [a, b] = [await serve(node(), silent), await serve(node())]
    const client = clientOf([a.url, b.url], { ...quick, timeoutMs: 10_000 })
    await read(client, 0)
    const started = clock.now()
    expect(await errorOf(client.request({ method: 'evm_mine', params: [] }))).toMatchObject({ kind: 'timeout' })
    expect(clock.now() - started).toBeGreaterThanOrEqual(10_000)
    expect(calls(b)).toEqual([])
  })
})

describe('a call that writes', () => {
  const mine = { method: 'evm_mine', params: [] }

  test.each([
    ['a connection that is cut', cut],
    ['HTTP 502', always('Bad Gateway', { status: 502 })],
    ['HTTP 400', always('Bad Request', { status: 400 })],
    ['a used-up quota in a gateway’s message', always('daily request quota exceeded', { status: 502 })],
    ['a bad key in a gateway’s message', always('unauthorized: invalid api key', { status: 504 })],
    ['missing history in a gateway’s message', always('upstream: requires an archive node', { status: 502 })],
    ['throttling in a gateway’s message', always('upstream: too many connections', { status: 502 })],
    ['a message that the method is not available', refuse(-32000, 'method evm_mine is not available')],
  ])('does not go to another endpoint after %s: it may have run', async (_, answer) => {
    const [a, b] = [await serve(answer), await serve(node())]
    a.script(node(), answer)
    const client = clientOf([a.url, b.url], { ...quick, deadlineMs: 5_000 })
    await read(client, 0)
    await errorOf(client.request(mine))
    expect(counts(a, b)).toEqual([2, 0])
  })

  test.each([
    ['a bad key', always('unauthorized', { status: 401 })],
    ['throttling, as the answer to this very call', refuse(-32005, 'rate limit exceeded')],
    ['a method that does not exist', refuse(-32601, 'method not found')],
    ['HTTP 404', always('not found', { status: 404 })],
  ])('does so after %s: it has not run', async (_, answer) => {
    const [a, b] = [await serve(node(), answer), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await read(client, 0)
    expect(await client.request(mine)).toEqual(answerTo([]))
    expect(counts(a, b)).toEqual([2, 1])
  })

  const bare = (status: number) => always('slow down', { status, headers: { 'retry-after': '0.01' } })
  const inJson = (status: number) => refuse(-32005, 'slow down', { status, headers: { 'retry-after': '0.01' } })

  test.each([
    ['HTTP 429', bare(429)],
    ['HTTP 429 with an error object', inJson(429)],
    ['HTTP 503', bare(503)],
    ['HTTP 529', bare(529)],
  ])('waits for the same endpoint after %s, which may come from a gateway that forwarded it', async (_, answer) => {
    const [a, b] = [await serve(node(), answer, answer, node()), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await read(client, 0)
    expect(await client.request({ method: 'eth_sendUserOperation', params: [] })).toEqual(answerTo([]))
    expect(counts(a, b)).toEqual([4, 0])
  })

  test('fails with that endpoint’s error if that continues', async () => {
    const [a, b] = [await serve(node(), bare(429)), await serve(node())]
    const client = clientOf([a.url, b.url], { ...quick, deadlineMs: 300 })
    await read(client, 0)
    expect(await errorOf(client.request(mine))).toMatchObject({ kind: 'rate-limit', status: 429, endpoint: host(a) })
    // While the endpoint is paused, a call goes elsewhere.
    await sleep(1_000)
    expect(await errorOf(client.with({ attempts: 1 }).request(mine))).toMatchObject({ kind: 'rate-limit' })
    expect(counts(b)).toEqual([0])
  })

  test('does not go elsewhere after HTTP 429 for a used-up quota', async () => {
    const [a, b] = [await serve(node(), always('daily request quota exceeded', { status: 429 })), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await read(client, 0)
    expect(await errorOf(client.request(mine))).toMatchObject({ kind: 'quota', endpoint: host(a) })
    expect(counts(a, b)).toEqual([2, 0])
  })

  test('goes elsewhere while the endpoint is paused: it has not been sent', async () => {
    const [a, b] = [await serve(node(), throttled('60')), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await read(client, 0)
    await read(client, 1)
    expect(await client.request(mine)).toEqual(answerTo([]))
    expect(counts(a, b)).toEqual([2, 2])
  })

  test.each<[string, Answer]>([
    ['gets no reply', each((entry) => ({ ...right(entry), id: 'lost' }))],
    ['is cut off', cut],
    ['fails with 502', always('bad gateway', { status: 502 })],
  ])('goes on where the question for the chain %s: it has not been sent', async (_, lost) => {
    const [a, b] = [await serve(lost, node()), await serve(lost, node())]
    const client = clientOf([a.url, b.url], quick)
    expect(await client.request(mine)).toEqual(answerTo([]))
    expect(calls(a).length + calls(b).length).toBe(1)
    const alone = clientOf([a.url, b.url], quick).with({ attempts: 1 })
    a.script(lost)
    b.script(lost)
    expect(await errorOf(alone.request(mine))).toMatchObject({ kind: 'network', unsent: true, attempts: 0, method: mine.method })
  })

  test('is treated as a read after HTTP 429 if it may run twice: a signed transaction, a filter', async () => {
    for (const method of ['eth_sendRawTransaction', 'eth_newFilter']) {
      const [a, b] = [await serve(node(), throttled('60')), await serve(node())]
      const client = clientOf([a.url, b.url], quick)
      await read(client, 0)
      await client.request({ method, params: ['0x01'] })
      expect(counts(a, b)).toEqual([2, 1])
    }
  })
})

describe('a paused endpoint', () => {
  test('hands the calls in its line to another one', async () => {
    const { open, answer } = gate(throttled('60'))
    const [a, b] = [await serve(node(), answer), await serve(node())]
    const client = clientOf([a.url, b.url], { ...quick, concurrency: 1 })
    await read(client, 0)
    const first = read(client, 1)
    await a.received(2)
    const inLine = [2, 3, 4].map((i) => read(client, i))
    await sleep(0)
    open()
    expect(await Promise.all([first, ...inLine])).toEqual([1, 2, 3, 4].map((i) => answerTo([i])))
    expect(counts(a, b)).toEqual([2, 4])
  })

  test('is waited for if all are paused: the one whose pause ends first', async () => {
    const late: Answer = async (...args) => {
      await sleep(20)
      return throttled('30')(...args)
    }
    const [a, b] = [await serve(late, node()), await serve(throttled('0.5'), node())]
    const client = clientOf([a.url, b.url], { ...quick, deadlineMs: 20_000 })
    const started = clock.now()
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(clock.now() - started).toBeGreaterThan(450)
    // eth_chainId was already throttled.
    expect(counts(a, b)).toEqual([1, 1])
  })

  test('is waited for while the others are out, which would only fail the calls', async () => {
    let trouble = false
    const [a, b] = [await serve((...args) => (trouble ? throttled('30') : node())(...args)), await serve((...args) => (trouble ? cut : node())(...args))]
    const client = clientOf([a.url, b.url], { ...quick, deadlineMs: 60_000 })
    await read(client, 0)
    trouble = true
    const reads = Promise.allSettled(
      Array.from({ length: 8 }, async (_, i) => {
        await sleep(200 * i)
        return read(client, i)
      }),
    )
    // The first ones find out that it is down.
    await sleep(3_000)
    trouble = false
    const late = (await reads).slice(4)
    expect(late).toEqual([4, 5, 6, 7].map((i) => ({ status: 'fulfilled', value: answerTo([i]) })))
  })

  test('is waited for by each call that it throttles: none goes to one that is out, and says nothing', async () => {
    const asked = new Set<unknown>()
    const isFirst = ({ method, params }: Entry) => method === 'eth_getBalance' && asked.size < asked.add(params[0]).size
    const throttles = (entry: Entry) => (isFirst(entry) && Number(entry.params[0]) % 3 === 0 ? failed(entry, -32005, 'rate limit exceeded') : undefined)
    const [a, b] = [await serve(silent), await serve(node({ answer: throttles }))]
    const client = clientOf([a.url, b.url], { retry: {} })
    const numbers = Array.from({ length: 60 }, (_, i) => i)
    const started = clock.now()
    expect(await Promise.all(numbers.map((i) => read(client, i)))).toEqual(numbers.map((i) => answerTo([i])))
    expect(clock.now() - started).toBeLessThan(5_000)
    // They went there once, before it was given up.
    expect(counts(a, b)).toEqual([60, 80])
  })

  test('that throttles everything for ten seconds is waited for no longer: one that is out may only be slow', async () => {
    const [a, b] = [await serve(slowBy(8_000)), await serve(node())]
    const client = clientOf([a.url, b.url], { timeoutMs: 30_000, deadlineMs: 120_000, retry: {} })
    expect(await read(client, 0)).toEqual(answerTo([0]))
    b.script(refuse(429, 'Too many requests', { status: 429 }))
    const started = clock.now()
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(clock.now() - started).toBeLessThan(30_000)
  })

  test('delays no call beyond the first endpoint that is back: calls in its line go there', async () => {
    const limit = limiter(clock, { perSecond: 5, burst: 5, refuses: 'entries', latencyMs: 5 })
    const slow = await serve(limit.answer)
    const port = deadPort()
    const client = clientOf([slow.url, `http://127.0.0.1:${port}`], { ...quick, deadlineMs: 60_000 })
    const waiting = Promise.all(Array.from({ length: 100 }, (_, i) => read(client, i)))
    await sleep(1_500)
    const back = await serveAt(port, node())
    expect(await waiting).toEqual(Array.from({ length: 100 }, (_, i) => answerTo([i])))
    // Its line had work for 15 s.
    expect(calls(back).length).toBeGreaterThan(60)
    expect(limit.count().taken).toBeLessThan(45)
  })

  test('makes no call wait past the time when an unreachable one is back', async () => {
    const a = await serve(throttled('60'))
    const port = deadPort()
    const client = clientOf([a.url, `http://127.0.0.1:${port}`], { ...quick, deadlineMs: 300_000 })
    const waiting = read(client, 1)
    await a.received(1)
    await sleep(100)
    await serveAt(port, node())
    expect(await waiting).toEqual(answerTo([1]))
    expect(counts(a)).toEqual([1])
  })

  test('fails calls that do not wait at once if all are paused', async () => {
    const [a, b] = [await serve(throttled('30')), await serve(throttled('30'))]
    const client = clientOf([a.url, b.url], quick).with({ whilePaused: 'fail' })
    expect(await errorOf(read(client, 0))).toMatchObject({ kind: 'rate-limit' })
    expect(counts(a)).toEqual([1])
    expect(await errorOf(read(client, 1))).toMatchObject({ kind: 'rate-limit', attempts: 0 })
    expect(counts(a)).toEqual([1])
  })
})

describe('a method that an endpoint lacks', () => {
  test('since its plan has no debug methods shows nothing about the state of the block', async () => {
    const plan = (entry: Entry) => failed(entry, -32002, 'Archive, Debug and Trace requests are not available on your current plan.')
    const [a, b] = [await serve(node({ answer: (entry) => (entry.method.startsWith('debug_') ? plan(entry) : undefined) })), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await client.request({ method: 'debug_traceBlockByNumber', params: [hex(100)] })
    for (let i = 0; i < 3; i++) await client.request({ method: 'eth_getBalance', params: [hex(i), hex(100)] })
    expect(counts(a, b)).toEqual([4, 1])
  })

  const without = node({
    answer: (entry) => (entry.method === 'trace_block' ? failed(entry, -32601, 'the method trace_block does not exist/is not available') : undefined),
  })
  const trace = { method: 'trace_block', params: ['0x1'] }

  test('is called at another one, and from then on only there', async () => {
    const [a, b] = [await serve(without), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    for (let i = 0; i < 3; i++) expect(await client.request(trace)).toEqual(answerTo(['0x1']))
    await read(client, 1)
    expect(calls(a)).toEqual(['trace_block', 'eth_getBalance'])
  })

  test('as do all others fails the call; that is remembered', async () => {
    const [a, b] = [await serve(without), await serve(without)]
    const client = clientOf([a.url, b.url], quick)
    expect(await errorOf(client.request(trace))).toMatchObject({ name: 'RpcError', kind: 'unsupported', attempts: 2 })
    expect(await errorOf(client.request(trace))).toMatchObject({ name: 'RpcError', kind: 'unsupported', attempts: 1 })
    expect(counts(a, b).reduce((sum, n) => sum + n)).toBe(3)
  })

  test.each([
    ['after', (limited: string, lacking: string) => [limited, lacking]],
    ['before', (limited: string, lacking: string) => [lacking, limited]],
  ] as const)('waits for a throttled one that has it; the one without it is listed %s it', async (_, order) => {
    const limited = await serve(limiter(clock, { perSecond: 20, burst: 20, refuses: 'entries', latencyMs: 1 }).answer)
    const lacking = await serve(without)
    const client = clientOf(order(limited.url, lacking.url) as [string, string])
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => client.request({ ...trace, params: [hex(i)] })))
    expect(answers).toEqual(Array.from({ length: 100 }, (_, i) => answerTo([hex(i)])))
    // No call goes back to the one that lacks the method while it waits for the other.
    expect(calls(lacking).length).toBeLessThanOrEqual(100)
  })

  test.each([
    ['pruned', 'has dropped the block', refuse(4444, 'pruned history unavailable')],
    ['unsupported', 'does not take the key', refuse(-32000, 'Unauthorized', { status: 401 })],
    ['server', 'answers nothing but errors', broken],
  ] as const)('fails a call as %s if another one %s', async (kind, _, answer) => {
    const [a, b] = [await serve(without), await serve(answer)]
    for (const urls of [
      [a.url, b.url],
      [b.url, a.url],
    ] as const)
      expect(await errorOf(clientOf(urls, quick).request(trace))).toMatchObject({ kind })
  })

  test('as do all others fails the call at once, though one of them throttles by then', async () => {
    const [a, b] = [await serve(without), await serve(without)]
    const client = clientOf([a.url, b.url], quick)
    await errorOf(client.request(trace))
    a.script(throttled('8'))
    const started = clock.now()
    expect(await errorOf(client.request(trace))).toMatchObject({ kind: 'unsupported' })
    expect(clock.now() - started).toBeLessThan(1000)
  })
})

describe('an endpoint without old blocks', () => {
  const old = { method: 'eth_getBlockByNumber', params: ['0x1', false] }
  const pruning = (code: number, message: string) =>
    node({ answer: (entry) => (entry.method === old.method && entry.params[0] === '0x1' ? failed(entry, code, message) : undefined) })

  test.each([
    [4444, 'pruned history unavailable'],
    [4444, 'gone'],
    [-32000, 'old data not available due to pruning: requested block 1, history is available from block 90'],
    [-32603, 'this request requires an archive node'],
  ])('is passed over at once for one that has them: %i %s', async (code, message) => {
    const [a, b] = [await serve(pruning(code, message)), await serve(node())]
    const client = clientOf([a.url, b.url], { retry: false })
    for (let i = 0; i < 20; i++) expect(await client.request(old)).toEqual({ number: '0x1' })
    // It is fine otherwise.
    expect(await read(client, 'x')).toEqual(answerTo(['x']))
    expect(calls(a).at(-1)).toBe('eth_getBalance')
  })

  test('is reported if all lack them, with the errors of the others as its cause', async () => {
    const [a, b] = [await serve(pruning(4444, 'pruned history unavailable')), await serve(pruning(-32602, 'Archive requests require a personal token'))]
    const error = await errorOf<HexlineError>(clientOf([a.url, b.url], quick).request(old))
    expect(error).toMatchObject({ name: 'RpcError', kind: 'pruned', code: 4444, said: 'pruned history unavailable', endpoint: host(a), attempts: 2 })
    expect((error.cause as Error).message).toBe(`other endpoints failed, too: ${host(b)}: Archive requests require a personal token`)
  })

  test('that is the only one fails a call at once, since a retry would not help', async () => {
    const server = await serve(pruning(4444, 'pruned history unavailable'))
    expect(await errorOf(clientOf(server.url, quick).request(old))).toMatchObject({ kind: 'pruned', code: 4444, attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('has the usual error for users of viem and ethers if it is the only one', async () => {
    const server = await serve(pruning(4444, 'pruned history unavailable'))
    const viem = createPublicClient({ transport: hexline(clientOf(server.url, quick)) })
    const ethers = new HexlineProvider(clientOf(server.url, quick), 1, { staticNetwork: true })
    expect(await errorOf(viem.request(old as never))).toMatchObject({ name: 'RpcRequestError', code: 4444, details: 'pruned history unavailable' })
    expect(await errorOf(ethers.send(old.method, old.params))).toMatchObject({ code: 'UNKNOWN_ERROR', error: { code: 4444 } })
    ethers.destroy()
  })
})

describe('a lagging endpoint', () => {
  /** Two endpoints with known heads: the first is three blocks behind. */
  async function apart() {
    const [a, b] = [await serve(node({ head: () => 97 })), await serve(broken)]
    const client = clientOf([a.url, b.url], quick)
    const tells = async (server: TestServer, head: number, other: TestServer) => {
      other.script(broken)
      server.script(node({ head: () => head }))
      expect(await client.call('eth_blockNumber')).toBe(BigInt(head))
      // The next one is called after this one has reported.
      await sleep(1)
    }
    await tells(a, 97, b)
    await tells(b, 100, a)
    await tells(a, 97, b)
    b.script(node({ head: () => 100 }))
    return { a, b, client, before: calls(a).length }
  }

  test('gets no call for the newest block, nor for one that only others have', async () => {
    const { a, b, client, before } = await apart()
    for (let i = 0; i < 5; i++) {
      expect(await client.call('eth_blockNumber')).toBe(100n)
      expect(await client.request({ method: 'eth_getBalance', params: ['x'] })).toEqual(answerTo(['x']))
      expect(await client.request({ method: 'eth_getBalance', params: ['x', hex(99)] })).toEqual(answerTo(['x', hex(99)]))
    }
    expect(calls(a)).toHaveLength(before)
    // It may get calls for blocks that it has.
    b.script(broken)
    expect(await client.request({ method: 'eth_getBalance', params: ['x', hex(90)] })).toEqual(answerTo(['x', hex(90)]))
  })

  test.each(['eth_getTransactionReceipt', 'eth_getTransactionByHash', 'eth_getBlockByHash'])(
    'gets no %s, whose answer may be in the newest block, unless it is one of a bulk job',
    async (method) => {
      const { a, client, before } = await apart()
      const ask = (priority: 'interactive' | 'bulk') => client.send({ method, params: [`0x${'1'.repeat(64)}`], priority })
      for (let i = 0; i < 5; i++) await ask('interactive')
      expect(calls(a)).toHaveLength(before)
      await Promise.all(Array.from({ length: 500 }, () => ask('bulk')))
      expect(calls(a).length).toBeGreaterThan(before)
    },
  )

  test('is asked for its newest block where the one that told of a block does not have it: the read goes there', async () => {
    let head = 98
    const lacksNewest = ({ id, method, params }: Entry) =>
      method === 'eth_getBalance' && params[1] === hex(100) ? failed({ id }, -32000, 'header not found') : undefined
    const [a, b] = [await serve(node({ answer: lacksNewest })), await serve(node({ head: () => head }))]
    const client = clientOf([a.url, b.url], { retry: { attempts: 4, baseDelayMs: 50, maxDelayMs: 200 } })
    for (let i = 0; i < 3; i++) expect(await client.request({ method: 'eth_getBalance', params: [`0x${i}`, hex(90)] })).toBeDefined()
    head = 100
    await sleep(500)
    expect(await client.request({ method: 'eth_getBalance', params: ['0x1', hex(100)] })).toEqual(answerTo(['0x1', hex(100)]))
  })

  test('is asked for its newest block once a second in the long run, however often the other one lacks a block', async () => {
    const lacksNewest = ({ id, method, params }: Entry) =>
      method === 'eth_getBalance' && params[1] === hex(100) ? failed({ id }, -32000, 'header not found') : undefined
    const [a, b] = [await serve(node({ answer: lacksNewest })), await serve(node({ head: () => 95 }))]
    const client = clientOf([a.url, b.url], { retry: { attempts: 4, baseDelayMs: 50, maxDelayMs: 200 } })
    await read(client, '0x0', hex(90))
    const before = b.requests.length
    for (const started = clock.now(); clock.now() - started < 20_000; ) await errorOf(read(client, '0x1', hex(100)))
    expect(b.requests.slice(before).filter(({ entries }) => entries.some(({ method }) => method === 'eth_blockNumber')).length).toBeLessThan(30)
  })

  test('that has no receipt yet is found out within seconds, by the heads of all', async () => {
    let head = 97
    const mined = ({ id, method }: Entry) =>
      method === 'eth_getTransactionReceipt' ? { id, result: head < 100 ? null : { blockNumber: hex(100) } } : undefined
    const none = ({ id, method }: Entry) => (method === 'eth_getTransactionReceipt' ? { id, result: null } : undefined)
    const [a, b] = [await serve(node({ head: () => 97, answer: none })), await serve(node({ head: () => head, answer: mined }))]
    const client = clientOf([a.url, b.url], quick)
    const receipt = () => client.request({ method: 'eth_getTransactionReceipt', params: [`0x${'1'.repeat(64)}`] })
    while (calls(b).length === 0) await receipt()
    await sleep(50)
    head = 100
    const started = clock.now()
    while ((await receipt()) === null) await sleep(100)
    expect(clock.now() - started).toBeLessThan(3_000)
    // However often the receipt is asked for, each endpoint is asked once a second.
    const heads = [...calls(a), ...calls(b)].filter((method) => method === 'eth_blockNumber')
    expect(heads.length).toBeLessThanOrEqual(8)
  })

  test('is asked for its head once a second while a receipt is missing, also if it never tells it', async () => {
    const none = ({ id, method }: Entry) => (method === 'eth_getTransactionReceipt' ? { id, result: null } : undefined)
    const lacking = (entry: Entry) => (entry.method === 'eth_blockNumber' ? failed(entry, -32601, 'the method does not exist') : none(entry))
    const [a, b] = [await serve(node({ answer: none })), await serve(node({ answer: lacking }))]
    const client = clientOf([a.url, b.url], quick)
    for (const started = clock.now(); clock.now() - started < 10_000; await sleep(50)) {
      await client.request({ method: 'eth_getTransactionReceipt', params: [`0x${'1'.repeat(64)}`] })
    }
    for (const server of [a, b]) expect(calls(server).filter((method) => method === 'eth_blockNumber').length).toBeLessThanOrEqual(11)
  })

  test('gets no call for the newest block once both heads are known, if it lags from the start', async () => {
    const { open, answer } = gate(node({ head: () => 100 }))
    const [stuck, fresh] = [await serve(node({ head: () => 90 })), await serve(answer)]
    const client = clientOf([stuck.url, fresh.url], quick)
    const latest = () => client.request({ method: 'eth_getBalance', params: ['x', 'latest'] })
    const methods = (server: TestServer) => server.requests.map(({ entries }) => entries.map(({ method }) => method).sort())
    const reads = (server: TestServer) => calls(server).filter((method) => method === 'eth_getBalance').length
    // The first calls do not wait for the slower one's head.
    for (let i = 0; i < 3; i++) await latest()
    expect(reads(stuck)).toBe(3)
    expect(methods(stuck)[0]).toEqual(['eth_blockNumber', 'eth_chainId', 'eth_getBalance'])
    expect(methods(fresh)).toEqual([['eth_blockNumber', 'eth_chainId']])
    open()
    while (reads(fresh) === 0) await latest()
    const before = reads(stuck)
    for (let i = 0; i < 20; i++) await latest()
    expect([reads(stuck) - before, reads(fresh)]).toEqual([0, 21])
  })

  test('answers if there is no other', async () => {
    const { b, client } = await apart()
    await b.close()
    expect(await client.call('eth_blockNumber')).toBe(97n)
  })

  test('is detected by a missing block', async () => {
    const [a, b] = [await serve(broken), await serve(node({ head: () => 100 }))]
    const client = clientOf([a.url, b.url], quick)
    expect(await client.call('eth_blockNumber')).toBe(100n)
    a.script(node({ head: () => 97 }))
    b.script(broken, node({ head: () => 100 }))
    const reply = await client.send({ method: 'eth_getBlockByNumber', params: [hex(99), false], required: true })
    expect(reply.take()).toEqual({ number: hex(99) })
    expect(calls(a).at(-1)).toBe('eth_getBlockByNumber')
    const before = calls(a).length
    expect(await client.call('eth_blockNumber')).toBe(100n)
    expect(calls(a)).toHaveLength(before)
  })
})

describe('a range of logs', () => {
  const range = (fromBlock: string, toBlock: string) => ({ method: 'eth_getLogs', params: [{ fromBlock, toBlock }] })

  /** A node that ends ranges at its head, as nodes do. Each block has a log. */
  function logNode(head: () => number): Answer {
    const answer = ({ id, method, params }: Entry) => {
      if (method !== 'eth_getLogs') return undefined
      const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
      const [from, to] = [Number(fromBlock), toBlock === 'latest' ? head() : Math.min(head(), Number(toBlock))]
      return { jsonrpc: '2.0', id, result: Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => ({ blockNumber: hex(from + i) })) }
    }
    return node({ head, answer })
  }

  /** The first endpoint gets the calls, and has stopped at block 100; the other one is at 105. */
  async function apart(options: ClientOptions = {}) {
    let head = 100
    const [a, b] = [await serve(logNode(() => 100)), await serve(logNode(() => head))]
    const client = clientOf([a.url, b.url], { ...quick, ...options })
    expect(await client.call('eth_blockNumber')).toBe(100n)
    await sleep(1)
    head = 105
    await client.send({ method: 'eth_getBlockByNumber', params: [hex(105), false], required: true })
    return { a, b, client }
  }

  test.each([
    [hex(98), hex(105), 8],
    [hex(103), hex(105), 3],
    [hex(103), 'latest', 3],
  ])('from %s to %s comes from an endpoint that has all of it, not from one that lags without having said so', async (from, to, logs) => {
    const { client } = await apart()
    expect(await client.request(range(from, to))).toHaveLength(logs)
  })

  test('comes from an endpoint that is known to be at an older block, once that says that it has caught up', async () => {
    const { a, client } = await apart()
    a.script(logNode(() => 105))
    const before = calls(a).length
    expect(await client.request(range(hex(98), hex(105)))).toHaveLength(8)
    expect(calls(a).slice(before)).toEqual(['eth_blockNumber', 'eth_getLogs'])
    expect(await client.request(range(hex(98), hex(105)))).toHaveLength(8)
    expect(calls(a).slice(before)).toEqual(['eth_blockNumber', 'eth_getLogs', 'eth_getLogs'])
  })

  test('asks once for the newest block where several are wanted together, also with `dedupe: false`', async () => {
    const { a, client } = await apart({ dedupe: false })
    a.script(logNode(() => 105))
    const before = calls(a).length
    await Promise.all(Array.from({ length: 20 }, (_, i) => client.request(range(hex(80 + i), hex(105)))))
    expect(calls(a).slice(before)).toEqual(['eth_blockNumber', ...Array.from({ length: 20 }, () => 'eth_getLogs')])
  })

  test('fails where the endpoint that has all of it fails, and comes once that answers', async () => {
    const { b, client } = await apart()
    b.script(broken)
    expect(await errorOf(client.request(range(hex(98), hex(105))))).toMatchObject({ name: 'HttpError', endpoint: host(b), status: 500 })
    b.script(logNode(() => 105))
    expect(await client.request(range(hex(98), hex(105)))).toHaveLength(8)
  })

  test('fails where the endpoint that has all of it cannot be reached', async () => {
    const { a, b, client } = await apart()
    await b.close()
    const error = await errorOf<HexlineError>(client.request(range(hex(98), hex(105))))
    expect(error.kind).toBe('network')
    expect((error.cause as Error).message).toContain(`${host(a)} is at block 100, and would leave out what is in block 105, which another endpoint has`)
  })

  test('that no endpoint has to its end is requested as it is', async () => {
    const { client } = await apart()
    expect((await client.request(range(hex(98), hex(1000)))) as unknown[]).toHaveLength(3)
  })

  test('is requested from an endpoint that does not tell its newest block, as long as it is not known to lag', async () => {
    const untold = each(({ id, method, params }) => {
      if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: '0x1' }
      if (method !== 'eth_getLogs') return failed({ id }, -32601, `the method ${method} does not exist`)
      return { jsonrpc: '2.0', id, result: [{ blockNumber: (params[0] as { fromBlock: string }).fromBlock }] }
    })
    const [archive, full] = [await serve(untold), await serve(node())]
    const client = clientOf([archive.url, full.url], quick)
    await client.call('eth_blockNumber')
    full.script(refuse(4444, 'pruned history unavailable'))
    for (let i = 0; i < 3; i++) expect(await client.request(range(hex(1), hex(2)))).toHaveLength(1)
    expect(calls(archive)).toEqual(['eth_getLogs', 'eth_getLogs', 'eth_getLogs'])
  })

  test('moves to an endpoint that is free again, while the one in whose line it is waits longer', async () => {
    const [a, b] = [await serve(logNode(() => 99)), await serve(logNode(() => 100))]
    const client = clientOf([a.url, b.url], { ...quick, concurrency: 1, batch: { maxCalls: 1 } })
    await client.call('eth_blockNumber')
    await sleep(1)
    const { open, answer } = gate(throttled('30'))
    a.script(answer)
    b.script(
      throttled('2'),
      logNode(() => 100),
    )
    const balance = client.request({ method: 'eth_getBalance', params: ['x', hex(100)] })
    await sleep(50)
    const started = clock.now()
    const logs = client.request(range(hex(98), hex(100)))
    await sleep(50)
    open()
    expect(await logs).toHaveLength(3)
    expect(clock.now() - started).toBeLessThan(4000)
    await balance
  })

  test('comes whole also while an endpoint is restarted and has lost its newest blocks', async () => {
    const [a, b] = [await serve(logNode(() => 100)), await serve(logNode(() => 100))]
    const client = clientOf([a.url, b.url], quick)
    await client.call('eth_blockNumber')
    await sleep(1)
    await a.close()
    const ask = async () => ((await client.send({ ...range(hex(91), hex(100)), priority: 'bulk' })).take() as unknown[]).length
    expect(await Promise.all([ask(), ask()])).toEqual([10, 10])
    const again = await serveAt(
      a.port,
      logNode(() => 80),
    )
    for (let i = 0; i < 20; i++) expect(await Promise.all([ask(), ask()])).toEqual([10, 10])
    expect(calls(again)).toContain('eth_blockNumber')
  })

  test('waits for the newest block of an endpoint no longer than its own timeout', async () => {
    const { a, client } = await apart()
    a.script(silent)
    const started = clock.now()
    expect(await client.with({ timeoutMs: 300 }).request(range(hex(98), hex(105)))).toHaveLength(8)
    expect(clock.now() - started).toBeLessThan(1000)
  })
})

describe('an honest endpoint far ahead of all others', () => {
  const HEAD = 20_000
  const block = (number: number) => ({ method: 'eth_getBlockByNumber', params: [hex(number), false], required: true })

  /** Beside it, one that is still being synchronised. It answers null where it `lacks` a block. */
  async function endpoints(lacks: (number: number) => boolean) {
    const answer = ({ id, method, params }: Entry) =>
      method === 'eth_getBlockByNumber' && lacks(Number(params[0])) ? { jsonrpc: '2.0', id, result: null } : undefined
    const ahead = await serve(node({ head: () => HEAD + Math.floor(clock.now() / 1_000), answer }))
    const client = clientOf([ahead.url, (await serve(node({ head: () => 10_000 }))).url], { deadlineMs: 15_000 })
    await client.call('eth_blockNumber')
    await sleep(100)
    return { ahead, client }
  }

  test('is still believed after it has lacked old blocks again and again', async () => {
    const { ahead, client } = await endpoints((number) => number < HEAD - 1_000)
    await errorOf(client.send({ ...block(15_000), attempts: Number.POSITIVE_INFINITY }))
    for (let i = 0; i < 20; i++) {
      expect(Number(await client.call('eth_blockNumber'))).toBeGreaterThan(HEAD)
      expect((await client.send(block(HEAD))).take()).toEqual({ number: hex(HEAD) })
      await sleep(1_000)
    }
    const proofs = ahead.requests.flatMap(({ entries }) => entries.filter(({ params }) => Number(params[0]) > HEAD - 100 && params[0] !== hex(HEAD)))
    expect(proofs).toHaveLength(1)
  })

  test('is asked again for blocks that it has lacked for some seconds, as after a restart', async () => {
    const { client } = await endpoints((number) => number < HEAD - 1_000 && clock.now() < 8_000)
    expect((await client.send({ ...block(15_000), attempts: Number.POSITIVE_INFINITY })).take()).toEqual({ number: hex(15_000) })
  })

  test('is believed again where it lacked all blocks for some seconds', async () => {
    const { client } = await endpoints(() => clock.now() < 8_000)
    await errorOf(client.send({ ...block(15_000), attempts: Number.POSITIVE_INFINITY, deadlineMs: 7_000 }))
    expect(await client.call('eth_blockNumber')).toBe(10_000n)
    await sleep(4_000)
    for (let i = 0; i < 4; i++) {
      await client.call('eth_blockNumber')
      await sleep(1_000)
    }
    expect(Number(await client.call('eth_blockNumber'))).toBeGreaterThan(HEAD)
    expect((await client.send(block(15_000))).take()).toEqual({ number: hex(15_000) })
  })
})

describe('a pinned client', () => {
  test('stays on one endpoint, whatever other clients do', async () => {
    const [a, b] = [await serve(node()), await serve(node())]
    const client = clientOf([a.url, b.url], quick)
    await read(client, 0)
    a.script(broken)
    for (let i = 0; i < 3; i++) await read(client, i)
    a.script(node())
    const [onA, onB] = counts(a, b) as [number, number]
    const pinned = client.pinned()
    await Promise.all(Array.from({ length: 20 }, (_, i) => read(pinned, i)))
    await read(pinned.with({ priority: 'bulk' }), 'bulk')
    const [nowA, nowB] = counts(a, b) as [number, number]
    expect([nowA - onA, nowB - onB]).toContain(21)
  })

  test('moves to another one that has the newest block it has seen', async () => {
    const [a, b] = [await serve(node({ head: () => 100 })), await serve(node({ head: () => 101 }))]
    const pinned = clientOf([a.url, b.url], quick).pinned()
    expect(await pinned.call('eth_blockNumber')).toBe(100n)
    await a.close()
    expect(await pinned.call('eth_blockNumber')).toBe(101n)
    expect(await read(pinned, 1)).toEqual(answerTo([1]))
  })

  test('fails rather than see an older head, says so, and continues once the other one has caught up', async () => {
    let head = 99
    const [a, b] = [await serve(node({ head: () => 100 })), await serve(node({ head: () => head }))]
    const client = clientOf([a.url, b.url], { retry: { attempts: 3, baseDelayMs: 1, maxDelayMs: 2 } })
    const pinned = client.pinned()
    // A receipt shows a block, too.
    a.script(node({ answer: (entry) => (entry.method === 'eth_getTransactionReceipt' ? { id: entry.id, result: { blockNumber: '0x64' } } : undefined) }))
    await pinned.request({ method: 'eth_getTransactionReceipt', params: ['0x1'] })
    await a.close()
    const error = await errorOf<HexlineError>(read(pinned, 1))
    const why = `${host(b)}: is at block 99, and calls pinned to ${host(a)} have seen block 100: they cannot continue here yet`
    expect(`${error.message} ${(error.cause as Error).message}`).toContain(why)
    expect(await read(client, 1)).toEqual(answerTo([1]))
    head = 100
    expect(await read(pinned, 1)).toEqual(answerTo([1]))
  })

  test('works under a viem transport and an ethers provider', async () => {
    const [a, b] = [await serve(node({ head: () => 100 })), await serve(node({ head: () => 100 }))]
    const client = clientOf([a.url, b.url], quick)
    const viem = createPublicClient({ transport: hexline(client.pinned()), cacheTime: 0 })
    const ethers = new HexlineProvider(client.pinned())
    expect([await viem.getBlockNumber(), await ethers.getBlockNumber()]).toEqual([100n, 100])
    a.script(cut)
    expect([await viem.getBlockNumber(), await ethers.getBlockNumber()]).toEqual([100n, 100])
    ethers.destroy()
  })

  test('waits no longer than its deadline for another one’s head', async () => {
    const [a, b] = [await serve(node({ head: () => 100 })), await serve(node({ head: () => 101 }))]
    const pinned = clientOf([a.url, b.url], quick).pinned()
    expect(await pinned.call('eth_blockNumber')).toBe(100n)
    a.script(broken)
    b.script(silent)
    const started = clock.now()
    await errorOf(read(pinned.with({ deadlineMs: 150 }), 1))
    // Its own request may take 3 s.
    expect(clock.now() - started).toBeLessThan(2_000)
  })

  test('that has seen no block may go anywhere', async () => {
    const [a, b] = [await serve(node(), cut), await serve(node({ head: () => 1 }))]
    const pinned = clientOf([a.url, b.url], quick).pinned()
    await read(pinned, 0)
    expect(await read(pinned, 1)).toEqual(answerTo([1]))
  })
})

describe('a filter', () => {
  /**
   * A node whose filters have the ids 0x1, 0x2, ..., and that returns the id of the requested
   * filter.
   */
  function filters(name: string) {
    let made = 0
    return node({
      answer: ({ id, method, params }) => {
        if (method.startsWith('eth_new')) return { id, result: hex(++made) }
        return /Filter/.test(method) ? { id, result: `${name} ${params[0]}` } : undefined
      },
    })
  }

  test('is polled where it was made, even if two endpoints return the same id', async () => {
    const [a, b] = [await serve(filters('a')), await serve(filters('b'))]
    const client = clientOf([a.url, b.url], quick)
    const ask = (method: string, ...params: unknown[]) => client.request({ method, params })
    const first = await ask('eth_newBlockFilter')
    a.script(always('unauthorized', { status: 401 }))
    const second = await ask('eth_newFilter', {})
    a.script(filters('a'))
    expect(first).toBe('0x1')
    expect(second).not.toBe(first)
    expect(await ask('eth_getFilterChanges', first)).toBe('a 0x1')
    expect(await ask('eth_getFilterLogs', second)).toBe('b 0x1')
    expect(await ask('eth_uninstallFilter', second)).toBe('b 0x1')
    const bytes = await client.send({ method: 'eth_newPendingTransactionFilter', as: 'bytes' })
    expect(JSON.parse(Buffer.from(bytes.take() as Uint8Array).toString())).toMatch(/^0x/)
  })

  test('waits where it was made, even if others are free', async () => {
    const [a, b] = [await serve(filters('a')), await serve(filters('b'))]
    const client = clientOf([a.url, b.url], quick)
    const id = await client.request({ method: 'eth_newBlockFilter' })
    a.script(throttled('1.6'), filters('a'))
    await read(client, 1)
    expect(await client.request({ method: 'eth_getFilterChanges', params: [id] })).toBe('a 0x1')
    expect(calls(b).filter((method) => /Filter/.test(method))).toEqual([])
  })

  test('counts as dropped by the node once its endpoint has been out of use for half a minute', async () => {
    const [a, b] = [await serve(filters('a')), await serve(filters('b'))]
    const client = clientOf([a.url, b.url], quick)
    const id = await client.request({ method: 'eth_newBlockFilter' })
    const poll = () => errorOf(client.request({ method: 'eth_getFilterChanges', params: [id] }))
    await a.close()
    const names: string[] = []
    const from = clock.now()
    while (clock.now() - from < 60_000 && names.at(-1) !== 'RpcError') {
      names.push((await poll()).name)
      await sleep(1000)
    }
    expect(new Set(names)).toEqual(new Set(['NetworkError', 'RpcError']))
    expect(clock.now() - from).toBeGreaterThan(30_000)
    expect(clock.now() - from).toBeLessThan(40_000)
    // A new one is made at the other endpoint, which gives it the same id.
    const other = await client.request({ method: 'eth_newBlockFilter' })
    expect(await client.request({ method: 'eth_getFilterChanges', params: [other] })).toBe('b 0x1')
    expect(await errorOf(client.request({ method: 'eth_uninstallFilter', params: [id] }))).toMatchObject({ name: 'RpcError' })
    expect(calls(b)).not.toContain('eth_uninstallFilter')
  })

  test('counts as dropped after half a minute, too, where its endpoint accepts polls and never answers', async () => {
    const [a, b] = [await serve(filters('a')), await serve(filters('b'))]
    const client = clientOf([a.url, b.url], { retry: false })
    const id = await client.request({ method: 'eth_newBlockFilter' })
    a.script(silent)
    const from = clock.now()
    const names: string[] = []
    while (clock.now() - from < 120_000 && names.at(-1) !== 'RpcError') {
      names.push((await errorOf(client.request({ method: 'eth_getFilterChanges', params: [id] }))).name)
      await sleep(1000)
    }
    expect(names).toEqual(['TimeoutError', 'TimeoutError', 'RpcError'])
    expect(clock.now() - from).toBeLessThan(40_000)
  })

  test('lasts where its endpoint is back in time, and where there is no other one', async () => {
    const [a, b] = [await serve(filters('a')), await serve(filters('b'))]
    const client = clientOf([a.url, b.url], quick)
    const id = await client.request({ method: 'eth_newBlockFilter' })
    const poll = () => client.request({ method: 'eth_getFilterChanges', params: [id] })
    a.script(always('', { status: 503 }))
    const from = clock.now()
    while (clock.now() - from < 20_000) {
      await errorOf(poll())
      await sleep(1000)
    }
    a.script(filters('a'))
    b.script(always('', { status: 503 }))
    await expect.poll(async () => await poll().catch(() => sleep(1000))).toBe('a 0x1')
    a.script(always('', { status: 503 }))
    await errorOf(read(client, 1))
    const again = clock.now()
    while (clock.now() - again < 60_000) {
      expect((await errorOf(poll())).name).not.toBe('RpcError')
      await sleep(1000)
    }
  })

  test('lasts where its endpoint was back while no call asked for it', async () => {
    const [a, b] = [await serve(filters('a')), await serve(filters('b'))]
    const client = clientOf([a.url, b.url], quick)
    const id = await client.request({ method: 'eth_newBlockFilter' })
    const poll = () => client.request({ method: 'eth_getFilterChanges', params: [id] })
    a.script(broken)
    for (let i = 0; i < 5; i++) await errorOf(poll())
    a.script(filters('a'))
    await sleep(60_000)
    expect(await poll()).toBe('a 0x1')
  })

  test('is not lost for a poll that is aborted while its endpoint is asked whether it is back', async () => {
    const [a, b] = [await serve(filters('a')), await serve(filters('b'))]
    const client = clientOf([a.url, b.url], quick)
    const id = await client.request({ method: 'eth_newBlockFilter' })
    a.script(broken)
    for (let i = 0; i < 5; i++) await errorOf(client.request({ method: 'eth_getFilterChanges', params: [id] }))
    a.script(silent)
    await sleep(60_000)
    const stop = new AbortController()
    const poll = errorOf(client.with({ signal: stop.signal }).request({ method: 'eth_getFilterChanges', params: [id] }))
    await sleep(500)
    const reason = new Error('not needed any more')
    stop.abort(reason)
    expect(await poll).toBe(reason)
  })

  test('of an endpoint that is gone is lost: no other one is asked for it', async () => {
    const [a, b] = [await serve(filters('a')), await serve(filters('b'))]
    const client = clientOf([a.url, b.url], quick)
    const id = await client.request({ method: 'eth_newBlockFilter' })
    await a.close()
    expect(await errorOf(client.request({ method: 'eth_getFilterChanges', params: [id] }))).toMatchObject({ name: 'NetworkError', endpoint: host(a) })
    expect(calls(b)).toEqual([])
  })
})

describe('bulk calls', () => {
  test('are spread over endpoints by their pace, and interactive ones kept together', async () => {
    const slow =
      (ms: number, answer = node()): typeof answer =>
      async (...args) => {
        await sleep(ms)
        return answer(...args)
      }
    const [a, b] = [await serve(slow(20)), await serve(slow(100))]
    const client = clientOf([a.url, b.url], { batch: { maxCalls: 2 } })
    await read(client, 0)
    const bulk = client.with({ priority: 'bulk' })
    let next = 0
    await Promise.all(
      Array.from({ length: 24 }, async () => {
        while (next < 400) await read(bulk, next++)
      }),
    )
    const [onA, onB] = counts(a, b) as [number, number]
    // A sixth of the calls, by their paces.
    expect(onB).toBeGreaterThan(400 / 6 / 3)
    expect(onA).toBeGreaterThan(onB)
    const before = counts(a, b)
    await Promise.all(Array.from({ length: 40 }, (_, i) => read(client, `together ${i}`)))
    expect(
      counts(a, b)
        .map((n, i) => n - (before[i] as number))
        .sort(),
    ).toEqual([0, 40])
  })

  test('of getBlocks need an endpoint only to answer', async () => {
    const chain = (entry: Entry) => {
      if (entry.method !== 'eth_getBlockByNumber') return undefined
      const number = Number(entry.params[0])
      return {
        id: entry.id,
        result: { number: hex(number), hash: `0x${'a'.repeat(8)}${number}`, parentHash: `0x${'a'.repeat(8)}${number - 1}`, transactions: [] },
      }
    }
    const [a, b] = [await serve(node({ answer: chain })), await serve(node({ answer: chain }))]
    let blocks = 0
    for await (const block of getBlocks(clientOf([a.url, b.url]), { from: 0n, to: 99n })) expect(block.number).toBe(BigInt(blocks++))
    expect(blocks).toBe(100)
    expect(Math.min(...counts(a, b))).toBeGreaterThan(10)
  })
})

describe('hedging', () => {
  /** Answers at once, except calls with a marker, which wait until they are cut. */
  const stalling = each(right)
  const stuck: typeof stalling = (request, response) =>
    request.entries.some(({ params }) => params[0] === 'stuck') ? silent(request, response) : stalling(request, response)
  const hedged: ClientOptions = { ...quick, hedge: { percentile: 0.95, maxExtra: 0.5 } }

  test('sends a slow read to another endpoint, uses the first answer, and cuts the other', async () => {
    const [a, b] = [
      await serve(stuck),
      await serve(async (...args) => {
        await sleep(20)
        return stalling(...args)
      }),
    ]
    const client = clientOf([a.url, b.url], hedged)
    for (let i = 0; i < 40; i++) await read(client, i)
    const posts = a.requests.length
    expect(await read(client, 'stuck')).toEqual(answerTo(['stuck']))
    await (await a.received(posts + 1)).hungUp
    expect(calls(b).length).toBeGreaterThan(0)
    // The slower one has not failed: it gets the next call.
    await read(client, 'next')
    expect(a.requests.at(-1)?.entries[0]?.params).toEqual(['next'])
  })

  test('sends it to the same endpoint if there is no other', async () => {
    let isFirst = true
    const server = await serve((request, response) => {
      const isStuck = isFirst && request.entries.some(({ params }) => params[0] === 'stuck')
      if (isStuck) isFirst = false
      return (isStuck ? silent : honest)(request, response)
    })
    const client = clientOf(server.url, hedged)
    for (let i = 0; i < 40; i++) await read(client, i)
    expect(await read(client, 'stuck')).toEqual(answerTo(['stuck']))
  })

  test('copies no call that writes, no bulk call, and no call before the usual duration is known', async () => {
    const server = await serve(stuck)
    const client = clientOf(server.url, hedged)
    const aborter = new AbortController()
    const stuckOne = (of: typeof client) => errorOf(of.with({ signal: aborter.signal }).request({ method: 'eth_getBalance', params: ['stuck'] }))
    const waits = [stuckOne(client)]
    await server.received(1)
    for (let i = 0; i < 40; i++) await read(client, i)
    waits.push(stuckOne(client.with({ priority: 'bulk' })), errorOf(client.with({ signal: aborter.signal }).request({ method: 'evm_mine', params: ['stuck'] })))
    await sleep(300)
    const asked = server.requests.flatMap(({ entries }) => entries).filter(({ params }) => params[0] === 'stuck')
    expect(asked).toHaveLength(3)
    aborter.abort('enough')
    expect(await Promise.all(waits)).toEqual(['enough', 'enough', 'enough'])
  })

  test('accepts a final error of either as the answer', async () => {
    const [a, b] = [
      await serve(stuck),
      await serve(node({ answer: (entry) => (entry.params[0] === 'stuck' ? failed(entry, 3, 'execution reverted') : undefined) })),
    ]
    const client = clientOf([a.url, b.url], hedged)
    for (let i = 0; i < 40; i++) await read(client, i)
    expect(await errorOf(read(client, 'stuck'))).toMatchObject({ name: 'RpcError', code: 3 })
  })

  test('waits for the first when a gateway, not a node, calls its copy a bad request', async () => {
    const a = await serve(async (request, response) => {
      if (request.entries[0]?.params[0] === 'slow') await sleep(500)
      return stalling(request, response)
    })
    const b = await serve((request, response) =>
      (request.entries[0]?.method === 'eth_getBalance' ? always('Bad Request', { status: 400 }) : stalling)(request, response),
    )
    const client = clientOf([a.url, b.url], hedged)
    for (let i = 0; i < 40; i++) await read(client, i)
    expect(await read(client, 'slow')).toEqual(answerTo(['slow']))
    expect(calls(b)).toContain('eth_getBalance')
  })

  test('waits for the first when its copy went to an endpoint that is given up', async () => {
    let ms = 15
    const a = await serve(async (...args) => {
      await sleep(ms)
      return honest(...args)
    })
    const mute = await serve(silent)
    const client = clientOf([a.url, mute.url], hedged)
    for (let i = 0; i < 40; i++) await read(client, i)
    ms = 3_000
    const posts = a.requests.length
    const started = clock.now()
    await read(client, 'slow')
    expect(clock.now() - started).toBeLessThan(3_100)
    expect(a.requests.slice(posts).flatMap(({ entries }) => entries.filter(({ params }) => params[0] === 'slow'))).toHaveLength(1)
    expect(calls(mute)).toContain('eth_getBalance')
  })

  test('ends with its client and its deadline, and leaves nothing', async () => {
    const server = await serve(stuck)
    const client = clientOf(server.url, hedged)
    for (let i = 0; i < 40; i++) await read(client, i)
    expect(await errorOf(read(client.with({ deadlineMs: 300 }), 'stuck'))).toMatchObject({ name: 'TimeoutError' })
    const error = errorOf(read(client, 'stuck'))
    await sleep(50)
    await client.close()
    expect(await error).toMatchObject({ name: 'ClosedError' })
  })
})
