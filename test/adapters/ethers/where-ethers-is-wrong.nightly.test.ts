import { JsonRpcProvider } from 'ethers'
import { HexlineProvider } from 'hexline/ethers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { CHAIN, closing, hexlineErrorOf, overEthers, overHexline, portraitOf } from '../../support/ethers-failures.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type Answer,
  always,
  cut,
  deadPort,
  type Entry,
  each,
  errorOf,
  type Received,
  refuse,
  send,
  serve,
  silent,
  type TestServer,
} from '../../support/server.ts'

/*
 * The behaviour of ethers 6.17 is asserted, too. When a later version does better, its half of a
 * test fails, and the comparison has to be made anew.
 */

const replyTo = ({ id, method, params }: Entry) => ({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x7a69' : (params[0] ?? '0x1') })
const node = each(replyTo)
const address = (i: number) => `0x${i.toString(16).padStart(40, '0')}`
/** The node's answer to it is its address, as a number. */
const read = (provider: JsonRpcProvider, i = 1) => provider.getBalance(address(i))
const three = (provider: JsonRpcProvider) => Promise.allSettled([1, 2, 3].map((i) => read(provider, i)))
const value = (i: number) => ({ status: 'fulfilled', value: BigInt(i) })
const allRight = [1, 2, 3].map(value)
const hitsOf = (method: string, { requests }: TestServer) => requests.flatMap(({ entries }) => entries).filter((entry) => entry.method === method).length

/** ethers as it comes: calls of 10 ms in one batch. */
const batchingEthers = (url: string) => closing(new JsonRpcProvider(url, CHAIN, { staticNetwork: true, cacheTimeout: -1 }))
const retryingHexline = (url: string) => overHexline(url, { retry: { baseDelayMs: 1, maxDelayMs: 5 } })

/** Answers batches with changed replies, and single calls correctly. */
const batches =
  (mangle: (replies: ReturnType<typeof replyTo>[]) => unknown): Answer =>
  ({ entries, isBatch }, response) => {
    const replies = entries.map(replyTo)
    send(response, JSON.stringify(isBatch ? mangle(replies) : replies[0]))
  }

/** The outcome of the promise within 250 ms, since one side hangs. */
function soon(promise: Promise<unknown>): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const waiting = new Promise((resolve) => {
    timer = setTimeout(resolve, 250, 'still waiting')
  })
  return Promise.race([promise, waiting]).finally(() => clearTimeout(timer))
}

/** The lines on the console from now on, which are not shown. */
function consoleLines(): string[] {
  const lines: string[] = []
  for (const name of ['log', 'warn', 'error'] as const) vi.spyOn(console, name).mockImplementation((...line) => void lines.push(line.join(' ')))
  onTestFinished(() => void vi.restoreAllMocks())
  return lines
}

describe('a batch that is answered with one error object', () => {
  const refusing = (message: string) => batches(() => ({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }))

  test('for its size: ethers says that a response is missing, hexline sends smaller batches', async () => {
    const { url } = await serve(refusing('batch too large'))
    for (const failure of await three(batchingEthers(url)))
      expect(failure).toMatchObject({ status: 'rejected', reason: { code: 'BAD_DATA', shortMessage: 'missing response for request' } })
    expect(await three(overHexline(url))).toEqual(allRight)
  })

  test('that refuses some calls: ethers says that a response is missing, hexline gives each call the reason', async () => {
    const { url } = await serve(refusing('must be authenticated'))
    for (const failure of await three(batchingEthers(url))) expect(failure).toMatchObject({ status: 'rejected', reason: { code: 'BAD_DATA' } })
    const refused = { status: 'rejected', reason: { code: 'UNKNOWN_ERROR', error: { code: -32000, message: 'must be authenticated' } } }
    expect(await three(overHexline(url))).toMatchObject([refused, refused, refused])
  })
})

describe('a batch whose replies do not match its calls', () => {
  test('because one is missing: ethers fails that call, hexline sends it again', async () => {
    const server = await serve(batches(([first, , third]) => [first, third]))
    const missing = { status: 'rejected', reason: { code: 'BAD_DATA', shortMessage: 'missing response for request' } }
    expect(await three(batchingEthers(server.url))).toMatchObject([value(1), missing, value(3)])
    expect(server.requests).toHaveLength(1)

    expect(await three(retryingHexline(server.url))).toEqual(allRight)
    expect(server.requests.slice(1).map(({ entries }) => entries.map(({ params }) => params[0]))).toEqual([[1, 2, 3].map(address), [address(2)]])
  })

  test('because one is null: ethers fails them all with a TypeError, hexline sends that one again', async () => {
    const { url } = await serve(batches(([first, , third]) => [null, first, third]))
    const failure = { status: 'rejected', reason: { name: 'TypeError', message: expect.stringMatching(/^Cannot read properties of null/) } }
    expect(await three(batchingEthers(url))).toMatchObject([failure, failure, failure])
    expect(await three(retryingHexline(url))).toEqual(allRight)
  })
})

test('`error: null` with a result: ethers fails all calls of the batch with a TypeError, hexline accepts the result', async () => {
  const { url } = await serve(each((entry) => ({ ...replyTo(entry), error: null })))
  const failure = { status: 'rejected', reason: { name: 'TypeError', message: "Cannot read properties of null (reading 'message')" } }
  expect(await three(batchingEthers(url))).toMatchObject([failure, failure, failure])
  expect(await three(overHexline(url))).toEqual(allRight)
})

test.each<[string, Answer]>([
  ['HTTP 500', always('oops', { status: 500 })],
  ['HTTP 503', always('busy', { status: 503 })],
  ['a connection that is cut', cut],
  ['a page instead of JSON', always('<html>')],
  ['a rate limit with status 200', refuse(-32005, 'limit exceeded')],
])('%s: ethers gives up at once, hexline asks again', async (_, answer) => {
  const server = await serve(answer, node)
  await errorOf(read(batchingEthers(server.url)))
  expect(server.requests).toHaveLength(1)
  server.script(answer, node)
  expect(await read(retryingHexline(server.url))).toBe(1n)
  expect(server.requests).toHaveLength(3)
})

describe('Retry-After', () => {
  const throttled = (headers: Record<string, string>) => always('slow down', { status: 429, headers: { 'content-type': 'text/plain', ...headers } })

  test('in seconds: ethers reads it as milliseconds, hexline waits', { timeout: 30_000 }, async () => {
    const server = await serve(throttled({ 'retry-after': '60' }), node)
    // Retry-After was a minute, twice as long as this test may take.
    expect(await read(batchingEthers(server.url))).toBe(1n)
    expect(server.requests).toHaveLength(2)

    server.script(throttled({ 'retry-after': '1' }), node)
    expect(await read(retryingHexline(server.url))).toBe(1n)
    const [first, second] = server.requests.slice(2) as [Received, Received]
    expect(second.at - first.at).toBeGreaterThanOrEqual(999)
    expect(server.requests).toHaveLength(4)
  })

  test('that continues: ethers asks twelve times and reports a 599, hexline reports the node’s error at its deadline', async () => {
    const server = await serve(throttled({ 'retry-after': '20' }))
    expect(await errorOf(read(batchingEthers(server.url)))).toMatchObject({
      code: 'SERVER_ERROR',
      shortMessage: 'exceeded maximum retry limit',
      response: { statusCode: 599 },
    })
    expect(server.requests).toHaveLength(12)
    // A wait beyond the deadline is not started.
    const error = await errorOf(read(overHexline(server.url, { retry: {}, deadlineMs: 10_000 })))
    expect(error).toMatchObject({ code: 'SERVER_ERROR', shortMessage: 'server response 429 Too Many Requests' })
    expect(hexlineErrorOf(error)).toMatchObject({ kind: 'rate-limit', retryAfterMs: 20_000, attempts: 1 })
    expect(server.requests).toHaveLength(13)
  })
})

describe('a node that is dead', () => {
  const deadUrl = async () => `http://127.0.0.1:${await deadPort()}`

  test('from the start: ethers writes lines on the console for ever, hexline rejects and is silent', async () => {
    const lines = consoleLines()
    const url = await deadUrl()
    const ethers = closing(new JsonRpcProvider(url))
    await errorOf(ethers.getBlockNumber())
    // The call is over, and nothing more is requested.
    await eventually(() => expect(lines.filter((line) => line.startsWith('JsonRpcProvider failed to detect network')).length).toBeGreaterThan(1))
    ethers.destroy()

    lines.length = 0
    expect(await errorOf(overHexline(url).getBlockNumber())).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(await errorOf(HexlineProvider.connect(url, { retry: false }))).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(lines).toEqual([])
  })

  test('during waitForTransaction: ethers waits for ever, and leaves a rejection that cannot be handled; hexline rejects', async () => {
    const url = await deadUrl()
    const hash = `0x${'1'.repeat(64)}`
    const unhandled = unhandledRejection()
    const waiting = errorOf(overEthers(url).waitForTransaction(hash))
    expect(await unhandled).toMatchObject({ code: 'ECONNREFUSED' })
    expect(await soon(waiting)).toBe('still waiting')
    expect(await errorOf(overHexline(url).waitForTransaction(hash))).toMatchObject({ code: 'NETWORK_ERROR' })
  })

  test('for which ethers passes on an error of Node.js, hexline reports an error of ethers’', async () => {
    const url = await deadUrl()
    expect(portraitOf(await errorOf(read(overEthers(url))))).not.toHaveProperty('shortMessage')
    expect(portraitOf(await errorOf(read(overHexline(url))))).toMatchObject({ code: 'NETWORK_ERROR', shortMessage: expect.stringMatching(/ECONNREFUSED/) })
  })

  /** The next one, which would end the test run. */
  function unhandledRejection(): Promise<unknown> {
    const listeners = process.rawListeners('unhandledRejection') as NodeJS.UnhandledRejectionListener[]
    process.removeAllListeners('unhandledRejection')
    onTestFinished(() => {
      process.removeAllListeners('unhandledRejection')
      for (const listener of listeners) process.on('unhandledRejection', listener)
    })
    return new Promise((resolve) => process.on('unhandledRejection', resolve))
  }
})

test('eth_chainId: ethers requests it with every call; hexline does so in the same POST, and never after connect', async () => {
  const server = await serve(node)
  const threeOneByOne = async (provider: JsonRpcProvider) => {
    const [calls, posts] = [hitsOf('eth_chainId', server), server.requests.length]
    for (let i = 1; i <= 3; i++) await read(provider, i)
    return { chainIds: hitsOf('eth_chainId', server) - calls, posts: server.requests.length - posts }
  }
  const unbatched = closing(new JsonRpcProvider(server.url, undefined, { batchMaxCount: 1, cacheTimeout: -1 }))
  const ofEthers = await threeOneByOne(unbatched)
  expect(ofEthers.chainIds).toBeGreaterThanOrEqual(3)
  expect(ofEthers.posts).toBeGreaterThanOrEqual(6)
  expect(await threeOneByOne(closing(new HexlineProvider(server.url, undefined, { cacheTimeout: -1 })))).toEqual({ chainIds: 3, posts: 3 })
  expect(await threeOneByOne(closing(await HexlineProvider.connect(server.url, { cacheTimeout: -1 })))).toEqual({ chainIds: 0, posts: 3 })
})

describe('calls that are in flight', () => {
  test('when the provider is destroyed: with ethers they wait for ever and keep their socket, with hexline both end', async () => {
    const server = await serve(silent)
    const lastOf = async (provider: JsonRpcProvider) => {
      const call = errorOf(read(provider))
      const { hungUp } = await server.received(server.requests.length + 1)
      provider.destroy()
      return { call, hungUp }
    }
    const ofEthers = await lastOf(overEthers(server.url))
    expect(await soon(Promise.race([ofEthers.call, ofEthers.hungUp]))).toBe('still waiting')

    const ofHexline = await lastOf(overHexline(server.url))
    expect(await ofHexline.call).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'eth_getBalance' })
    await ofHexline.hungUp
  })

  test('at their timeout: ethers leaves the socket open and the node working, hexline closes the connection', async () => {
    const server = await serve(silent)
    expect(await errorOf(read(overEthers(server.url, { timeoutMs: 50 })))).toMatchObject({ code: 'TIMEOUT' })
    const { hungUp } = await server.received(1)
    expect(await soon(hungUp)).toBe('still waiting')

    expect(await errorOf(read(overHexline(server.url, { timeoutMs: 50 })))).toMatchObject({ code: 'TIMEOUT', operation: 'eth_getBalance' })
    await (await server.received(2)).hungUp
  })
})

describe('many calls of one turn', () => {
  const counting = () => {
    const seen = { times: 0 }
    return { seen, param: { toJSON: () => `0x${(seen.times++).toString(16)}` } }
  }
  const fifty = (provider: JsonRpcProvider, first: unknown) =>
    Promise.all([provider.send('eth_call', [first]), ...Array.from({ length: 49 }, (_, i) => provider.send('eth_getBalance', [address(i)]))])

  test('ethers serialises each one repeatedly as its batch grows, hexline once', async () => {
    const server = await serve(node)
    const [ofEthers, ofHexline] = [counting(), counting()]
    await fifty(batchingEthers(server.url), ofEthers.param)
    expect(ofEthers.seen.times).toBe(50)
    expect(server.requests).toHaveLength(1)

    await fifty(overHexline(server.url), ofHexline.param)
    expect(ofHexline.seen.times).toBe(1)
    expect(server.requests).toHaveLength(2)
  })
})

test('a method that a node calls unknown in unusual words: ethers does not recognise it, hexline says UNSUPPORTED_OPERATION', async () => {
  const { url } = await serve(refuse(-32601, 'Method not found'))
  expect(await errorOf(overEthers(url).send('eth_nope', []))).toMatchObject({ code: 'UNKNOWN_ERROR' })
  expect(await errorOf(overHexline(url).send('eth_nope', []))).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'eth_nope' })
})

test('a result with a failing status: ethers fails, hexline accepts the reply, as docs/ethers.md says', async () => {
  const { url } = await serve((request, response) => send(response, JSON.stringify(replyTo(request.entries[0] as Entry)), { status: 500 }))
  expect(await errorOf(overEthers(url).send('eth_gasPrice', []))).toMatchObject({ code: 'SERVER_ERROR' })
  expect(await overHexline(url).send('eth_gasPrice', [])).toBe('0x1')
})

test('a redirect with 307 or 308: ethers follows it, hexline fails, as docs/ethers.md says', async () => {
  for (const status of [307, 308]) {
    const target = await serve(node)
    const server = await serve(always('', { status, headers: { location: target.url } }))
    expect(await overEthers(server.url).send('eth_gasPrice', [])).toBe('0x1')
    expect(await errorOf(overHexline(server.url).send('eth_gasPrice', []))).toMatchObject({ code: 'SERVER_ERROR', response: { statusCode: status } })
  }
})
