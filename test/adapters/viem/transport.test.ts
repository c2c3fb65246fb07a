import { createClient } from 'hexline'
import { hexline } from 'hexline/viem'
import { createPublicClient, defineChain, fallback, type HttpTransportConfig, http, UrlRequiredError } from 'viem'
import { localhost, mainnet } from 'viem/chains'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { callSettings, clientOptions } from '../../../adapters/viem/config.ts'
import { eventually } from '../../support/eventually.ts'
import { steadyTime } from '../../support/held-time.ts'
import { calls } from '../../support/node.ts'
import { isNewViem } from '../../support/peers.ts'
import {
  type Answer,
  always,
  answerTo,
  cut,
  each,
  errorOf,
  failed,
  gate,
  honest,
  type Received,
  refuse,
  right,
  type serve as Serve,
  serve,
  silent,
} from '../../support/server.ts'

type Target = Parameters<typeof hexline>[0]
type Config = Parameters<typeof hexline>[1]
type Factory = Parameters<ReturnType<typeof hexline>>[0]

/** A transport as viem would make it. Its client ends with the test. */
function made(target: Target, config: Config = {}, factory: Factory = {}) {
  const transport = hexline(target, { retryDelay: 2, ...config })(factory)
  onTestFinished(() => transport.value?.client.close())
  return { ...transport, ask: (params: unknown[], options = {}) => transport.request({ method: 'eth_getBalance', params } as never, options) }
}

/** The same on a shared client, which takes fewer options. */
function shared(url: string, config: Config = {}, factory: Factory = {}) {
  const client = createClient(url, { retry: { baseDelayMs: 1, maxDelayMs: 5 } })
  onTestFinished(() => client.close())
  const transport = hexline(client, config)(factory)
  return { ...transport, client, ask: (params: unknown[], options = {}) => transport.request({ method: 'eth_getBalance', params } as never, options) }
}

const methodsOf = ({ requests }: Awaited<ReturnType<typeof Serve>>) => requests.flatMap(({ entries }) => entries.map(({ method }) => method))

describe('what viem sees', () => {
  it('has its own type and its client', async () => {
    const { config, value } = made('http://127.0.0.1:1')
    expect(config).toMatchObject({ key: 'hexline', name: 'hexline JSON-RPC', type: 'hexline' })
    expect(value).toMatchObject({ client: { endpoints: ['http://127.0.0.1:1'] } })
  })

  it('has the given key, name, retries and timeout', () => {
    const { config } = made('http://127.0.0.1:1', { key: 'k', name: 'n', retryCount: 7, retryDelay: 9, timeout: 11 })
    expect(config).toMatchObject({ key: 'k', name: 'n', retryCount: 7, retryDelay: 9, timeout: 11 })
  })

  it.each<[string, Pick<HttpTransportConfig, 'retryCount' | 'retryDelay' | 'timeout'>, Factory]>([
    ['by default', {}, {}],
    ['as given', { retryCount: 7, retryDelay: 9, timeout: 11 }, {}],
    ['as set by fallback', {}, { retryCount: 0, timeout: 12 }],
    ['as set by both', { retryCount: 7, timeout: 11 }, { retryCount: 0, timeout: 12 }],
  ])('shows retryCount, retryDelay and timeout as http() does: %s', (_, config, factory) => {
    const [ofHexline, ofHttp] = [hexline('http://127.0.0.1:1', config)(factory).config, http('http://127.0.0.1:1', config)(factory).config]
    expect({ ...ofHexline, timeout: ofHexline.timeout === 30_000 ? 10_000 : ofHexline.timeout }).toMatchObject({
      retryCount: ofHttp.retryCount,
      retryDelay: ofHttp.retryDelay,
      timeout: ofHttp.timeout,
    })
  })

  it('shows the settings of a call: three retries and 30 s by default', async () => {
    const server = await serve(always('', { status: 500 }))
    const client = createPublicClient({ transport: hexline(server.url) })
    onTestFinished(() => client.transport.client.close())
    expect(client.transport).toMatchObject({ retryCount: 3, retryDelay: 150, timeout: 30_000 })
    await errorOf(client.getBlockNumber())
    expect(server.requests).toHaveLength(4)
  })

  it('shows the hexline client as client.transport.client', async () => {
    const server = await serve(honest)
    const client = createPublicClient({ transport: hexline(server.url) })
    onTestFinished(() => client.transport.client.close())
    expect(client.transport.type).toBe('hexline')
    expect(await client.transport.client.request({ method: 'eth_getBalance', params: ['0x1'] })).toEqual(answerTo(['0x1']))
  })

  it('shows no URL, since its path may hold a key', () => {
    const { config, value } = made('http://user:pass@127.0.0.1:1/secret?key=secret')
    expect(JSON.stringify({ config, endpoints: value?.client.endpoints })).not.toMatch(/secret|user|pass/)
  })
})

describe('where it sends', () => {
  it('to a node of the service, by chain and key', async () => {
    const server = await serve(honest)
    await made({ baseUrl: server.url, chain: 'base', apiKey: 'k1' }).ask([])
    expect(server.requests.map(({ path }) => path)).toEqual(['/base/k1'])
  })

  it('to the next of several if one fails', async () => {
    const [first, second] = [await serve(always('', { status: 500 })), await serve(honest)]
    expect(await made([first.url, second.url]).ask(['0x1'])).toEqual(answerTo(['0x1']))
    expect([first, second].map((server) => calls(server).length)).toEqual([1, 1])
  })

  it.each([
    ['without a URL', undefined],
    ['with an empty one, such as an empty environment variable', ''],
  ])("%s, to the chain's URL, with a separate client for each chain", async (_, target) => {
    const [one, two] = [await serve(honest), await serve(honest)]
    const transport = hexline(target)
    const on = (url: string) => transport({ chain: defineChain({ ...localhost, rpcUrls: { default: { http: [url] } } }) })
    const clients = [on(one.url), on(two.url), on(one.url)]
    for (const { value } of clients) onTestFinished(() => value?.client.close())
    for (const { request } of clients) await request({ method: 'eth_chainId' })
    expect([one.requests.length, two.requests.length]).toEqual([2, 1])
    expect(clients[0]?.value).toEqual(clients[2]?.value)
  })

  it('nowhere, without a URL and a chain', () => {
    for (const target of [undefined, '']) expect(() => hexline(target)({})).toThrow(UrlRequiredError)
  })

  it('through a shared client, which it does not close', async () => {
    const server = await serve(honest)
    const { client, ask, value } = shared(server.url)
    expect(value).toEqual({ client })
    await ask(['0x1'])
    expect(await client.request({ method: 'eth_getBalance', params: ['0x2'] })).toEqual(answerTo(['0x2']))
    expect(server.opened).toBe(1)
  })

  it('with one client, however often viem calls the factory', async () => {
    const server = await serve(honest)
    const transport = hexline(server.url)
    const instances = Array.from({ length: 20 }, () => transport({ chain: mainnet }))
    onTestFinished(() => instances[0]?.value?.client.close())
    await Promise.all(instances.map(({ request }, i) => request({ method: 'eth_getBalance', params: [`0x${i}`, 'latest'] } as never)))
    expect(server.requests).toHaveLength(1)
    expect(server.opened).toBe(1)
  })
})

describe('options', () => {
  it.each<[string, Config, number[]]>([
    ['calls of one turn travel together', {}, [5]],
    ['batch: true', { batch: true }, [5]],
    ['batch: false', { batch: false }, [1, 1, 1, 1, 1]],
    ['batch: { batchSize: 2 }', { batch: { batchSize: 2, wait: 10 } }, [2, 2, 1]],
    ['batch: { batchSize: undefined }', { batch: { wait: 10 } }, [5]],
    ['batch: { maxCalls: 2 }', { batch: { maxCalls: 2 } }, [2, 2, 1]],
  ])('%s', async (_, config, lengths) => {
    const server = await serve(honest)
    const { ask } = made(server.url, config)
    await Promise.all(Array.from({ length: 5 }, (_, i) => ask([`0x${i}`])))
    expect(server.requests.map(({ entries }) => entries.length)).toEqual(lengths)
  })

  it.each<[string, Config]>([
    ['fetchOptions.headers, an object', { fetchOptions: { headers: { 'X-Key': 'k' } } }],
    ['fetchOptions.headers, Headers', { fetchOptions: { headers: new Headers({ 'X-Key': 'k' }) } }],
    ['fetchOptions.headers, pairs', { fetchOptions: { headers: [['X-Key', 'k']] } }],
    ['headers', { headers: { 'x-key': 'k' } }],
  ])('%s', async (_, config) => {
    const server = await serve(honest)
    await made(server.url, config).ask([])
    expect((server.requests[0] as Received).headers['x-key']).toBe('k')
  })

  it.each<[string, Config, string | undefined]>([
    ['maxResponseBodySize', { maxResponseBodySize: 100 }, 'ResponseBodyTooLargeError'],
    ['maxResponseBytes', { maxResponseBytes: 100 }, 'ResponseBodyTooLargeError'],
    ['maxResponseBodySize: false', { maxResponseBodySize: false }, undefined],
  ])('%s bounds the reply', async (_, config, name) => {
    const server = await serve(each(({ id }) => ({ jsonrpc: '2.0', id, result: 'x'.repeat(200) })))
    const asked = made(server.url, config).ask([])
    if (name === undefined) expect(await asked).toHaveLength(200)
    else
      expect(await errorOf(asked)).toMatchObject(isNewViem ? { name, maxSize: 100 } : { name: 'HttpRequestError', cause: { name: 'LimitError', limit: 100 } })
    expect(server.requests).toHaveLength(1)
  })

  it('null in place of them: refused at once', () => {
    expect(() => hexline('http://127.0.0.1:1', null as never)).toThrow('options: expected an object, received null')
  })

  it.each<[string, object, string]>([
    ['an unknown one', { retrys: 1 }, 'options: expected only key, name, '],
    ['a negative retryCount', { retryCount: -1 }, 'retryCount: expected a whole number of at least 0, or Infinity, received -1'],
    ['a timeout as text', { timeout: '1s' }, 'timeout: expected a number of ms from 0 to 2147483647, received "1s"'],
    ['a key that is not a string', { key: 1 }, 'key: expected a string, received 1'],
    ["hexline's own name for the retries", { retry: { attempts: 2 } }, 'received "retry"'],
    [
      "fetch's own options",
      { fetchFn: () => {} },
      'fetchFn: expected undefined (hexline does not use fetch; use an undici `dispatcher` or `layers` instead), received a function',
    ],
    ['an option of webSocket()', { keepAlive: true }, 'keepAlive: expected undefined (hexline always keeps sockets alive and reconnects), received true'],
    ['an option of fallback()', { rank: true }, 'rank: expected undefined (hexline always ranks endpoints), received true'],
    ['other fetchOptions', { fetchOptions: { cache: 'no-store' } }, 'fetchOptions: expected only headers, received "cache"'],
    [
      'both names of one thing',
      { maxResponseBodySize: 1, maxResponseBytes: 1 },
      'maxResponseBodySize: expected one of maxResponseBodySize and maxResponseBytes, received both',
    ],
    ['headers that would be dropped', { headers: new Headers({ a: 'secret' }) }, 'headers: expected a plain object of strings, received a Headers'],
    ['headers that are a string', { fetchOptions: { headers: 'secret' } }, 'fetchOptions.headers: expected a plain object of strings, received a string'],
    ['raw as text', { raw: 'yes' }, 'raw: expected true or false, received "yes"'],
    ['no batch', { batch: 10 }, 'batch: expected an object or false, received 10'],
    ['methods of another shape', { methods: ['eth_call'] }, 'methods: expected { include } or { exclude }, each an array of names, received an array of 1'],
    [
      'an invalid list of methods',
      { methods: { include: 'eth_call' } },
      'methods: expected { include } or { exclude }, each an array of names, received an object',
    ],
  ])('%s: refused at once', (_, config, message) => {
    expect(() => hexline('http://127.0.0.1:1', config)).toThrow(message)
    expect(() => hexline(undefined, config)).toThrow(message)
  })

  it('client options are refused with a client', () => {
    const client = createClient('http://127.0.0.1:1')
    expect(() => hexline(client, { headers: {} })).toThrow('headers: expected undefined with a client, which has its own options, received an object')
  })

  it.each<[string, unknown, string]>([
    ['an invalid URL', 'nonsense', 'endpoint: expected an http, https, ws or wss URL, such as'],
    ['no endpoints', [], 'endpoint: expected at least one, received an empty array'],
    ['null', null, 'endpoint: expected a URL, { url }, { baseUrl, chain, apiKey } or a function, received null'],
    ["a viem client in hexline's place", createPublicClient({ transport: http('http://127.0.0.1:1') }), 'endpoint: expected '],
  ])('%s: refused at once', (_, target, message) => {
    expect(() => hexline(target as Target)).toThrow(message)
  })
})

describe('methods', () => {
  it.each<[string, Config]>([
    ['excluded', { methods: { exclude: ['eth_getBalance'] } }],
    ['not included', { methods: { include: ['eth_chainId'] } }],
  ])('%s ones are not sent', async (_, config) => {
    const server = await serve(honest)
    const { ask, request } = made(server.url, config)
    expect(await errorOf(ask([]))).toMatchObject({ name: 'MethodNotSupportedRpcError' })
    expect(server.requests).toEqual([])
    await request({ method: 'eth_chainId' })
    expect(methodsOf(server)).toEqual(['eth_chainId'])
  })

  it('without `eth_newFilter`, watchEvent loses no log of a node that is away and has forgotten its filters', async () => {
    const hex = (n: number) => `0x${n.toString(16)}`
    const logAt = (block: number) => ({ address: `0x${'aa'.repeat(20)}`, topics: [], data: '0x', blockNumber: hex(block), logIndex: '0x0', removed: false })
    let head = 1
    let isAway = false
    const node = each((entry) => {
      const [{ fromBlock, toBlock } = {}] = entry.params as [{ fromBlock?: string; toBlock?: string }?]
      if (entry.method === 'eth_blockNumber') return { jsonrpc: '2.0', id: entry.id, result: hex(head) }
      if (entry.method === 'eth_newFilter') return { jsonrpc: '2.0', id: entry.id, result: hex(head) }
      if (entry.method !== 'eth_getLogs') return failed(entry, -32000, 'filter not found')
      const [first, last] = [Number(fromBlock), Number(toBlock)]
      return { jsonrpc: '2.0', id: entry.id, result: Array.from({ length: last - first + 1 }, (_, i) => logAt(first + i)) }
    })
    const server = await serve((request, response) => (isAway ? cut : node)(request, response))
    const client = createPublicClient({
      transport: hexline(server.url, { retryCount: 0, methods: { exclude: ['eth_newFilter'] } }),
      pollingInterval: 5,
      cacheTime: 0,
    })
    onTestFinished(() => client.transport.client.close())
    const blocks: unknown[] = []
    const failures: unknown[] = []
    const onLogs = (logs: readonly { blockNumber: unknown }[]) => void blocks.push(...logs.map(({ blockNumber }) => blockNumber))
    const unwatch = client.watchEvent({ onLogs, onError: (error) => failures.push(error) })
    onTestFinished(() => unwatch())
    const asked = () => methodsOf(server).filter((method) => method === 'eth_blockNumber').length
    await eventually(() => expect(asked()).toBeGreaterThan(1))
    head = 2
    await eventually(() => expect(blocks).toEqual([2n]))
    isAway = true
    head = 5
    await eventually(() => expect(failures.length).toBeGreaterThan(1))
    isAway = false
    await eventually(() => expect(blocks).toEqual([2n, 3n, 4n, 5n]))
  })
})

describe('retries', () => {
  it('wait longer than hexline’s default if retryDelay is longer', () => {
    expect(clientOptions({ retryDelay: 60_000 }).retry).toEqual({ attempts: 4, baseDelayMs: 60_000, maxDelayMs: 60_000 })
  })

  it('of a call are checked, too', async () => {
    const server = await serve(honest)
    const { ask } = made(server.url)
    await expect((async () => ask([], { retryCount: -1 }))()).rejects.toThrow('retryCount: expected a whole number of at least 0, or Infinity, received -1')
    expect(server.requests).toEqual([])
  })

  const down = always('down', { status: 500 })

  it.each<[string, Config, Factory, object, number]>([
    ['3 by default', {}, {}, {}, 4],
    ['as configured', { retryCount: 1 }, {}, {}, 2],
    ['none with 0', { retryCount: 0 }, {}, {}, 1],
    ['from the factory, when not configured', {}, { retryCount: 1 }, {}, 2],
    ['from the config rather than the factory', { retryCount: 2 }, { retryCount: 0 }, {}, 3],
    ['from the call before all others', { retryCount: 2 }, { retryCount: 1 }, { retryCount: 0 }, 1],
    ['more, if the call sets it', { retryCount: 0 }, {}, { retryCount: 4 }, 5],
  ])('%s', async (_, config, factory, options, hits) => {
    const server = await serve(down)
    expect(await errorOf(made(server.url, config, factory).ask([], options))).toMatchObject({ name: 'HttpRequestError', status: 500 })
    expect(server.requests).toHaveLength(hits)
  })

  it.each<[string, Config, object, number]>([
    ["of a shared client are the client's", {}, {}, 4],
    ['of a transport on it may be fewer', { retryCount: 1 }, {}, 2],
    ['of a call, too', {}, { retryCount: 0 }, 1],
  ])('%s', async (_, config, options, hits) => {
    const server = await serve(down)
    await errorOf(shared(server.url, config).ask([], options))
    expect(server.requests).toHaveLength(hits)
  })
})

describe('timeout', () => {
  it.each<[string, (url: string) => { ask(params: unknown[], options?: object): Promise<unknown> }, object]>([
    ['of the transport', (url) => made(url, { timeout: 400, retryCount: 1 }), {}],
    ['of a transport on a shared client', (url) => shared(url, { timeout: 400, retryCount: 1 }), {}],
    ['of the factory, which takes precedence', (url) => made(url, { timeout: 5000, retryCount: 1 }, { timeout: 400 }), {}],
    ['of a call', (url) => made(url, { retryCount: 1 }), { timeout: 400 }],
  ])('%s: each attempt has it', async (_, make, options) => {
    steadyTime()
    const server = await serve(silent)
    expect(await errorOf(make(server.url).ask([], options))).toMatchObject({ name: 'TimeoutError', shortMessage: 'The request took too long to respond.' })
    expect(server.requests).toHaveLength(2)
    for (const { hungUp } of server.requests) await hungUp
  })

  it('covers a body that stalls', async () => {
    const server = await serve((_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc"'))
    expect(await errorOf(made(server.url, { timeout: 50, retryCount: 0 }).ask([]))).toMatchObject({ name: 'TimeoutError' })
  })

  it('0 means none: a slow reply is accepted', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const asked = made(server.url, { timeout: 0 }).ask(['0x1'])
    await server.received(1)
    setTimeout(open, 100)
    expect(await asked).toEqual(answerTo(['0x1']))
  })

  it.each<[NonNullable<Config>, object, number | undefined]>([
    [{}, { timeoutMs: 30_000, deadlineMs: 120_000 }, undefined],
    [{ timeout: 1000 }, { timeoutMs: 1000, deadlineMs: 120_000 }, undefined],
    [{ timeout: 600_000, retryCount: 1 }, { timeoutMs: 600_000, deadlineMs: 610_000 }, 2 * 600_000 + 150 + 300],
    [{ timeout: 600_000 }, { timeoutMs: 600_000, deadlineMs: 610_000 }, 4 * 600_000 + 150 + 300 + 600 + 1200],
    [{ timeout: 300, retryCount: 2, retryDelay: 100 }, { timeoutMs: 300, deadlineMs: 120_000 }, 3 * 300 + 100 + 200 + 400],
    [{ timeout: 300, retryCount: 1000, retryDelay: 0 }, { timeoutMs: 300, deadlineMs: 120_000 }, 1001 * (300 + 10_000)],
    [{ timeout: 300, retryCount: Number.POSITIVE_INFINITY }, { timeoutMs: 300, deadlineMs: 120_000 }, Number.POSITIVE_INFINITY],
    [{ timeout: 300, retryCount: 1, deadlineMs: 5000 }, { timeoutMs: 300, deadlineMs: 5000 }, undefined],
    [{ timeout: 0 }, { timeoutMs: 2 ** 31 - 1, deadlineMs: 120_000 }, 3_600_000],
    [{ timeout: 600_000, deadlineMs: 5000 }, { timeoutMs: 600_000, deadlineMs: 5000 }, undefined],
  ])('%j leaves every attempt its time, and nothing waits forever', (config, ofClient, ofCall) => {
    expect(clientOptions(config)).toMatchObject(ofClient)
    expect(callSettings({ config, factory: {}, call: { method: 'eth_getBalance' } }, true).deadlineMs).toBe(ofCall)
  })

  it.each<[string, Answer]>([
    ['HTTP 429', always('slow down', { status: 429 })],
    ['HTTP 429 and Retry-After', always('slow down', { status: 429, headers: { 'retry-after': '1' } })],
    ['a JSON-RPC error', refuse(-32005, 'limit exceeded')],
  ])('and `retryCount` together end a call that is always throttled by %s', { timeout: 20_000 }, async (_, answer) => {
    const server = await serve(answer)
    const error = await errorOf(made(server.url, { timeout: 300, retryCount: 3 }).ask([]))
    // The error has the reason, not the deadline.
    expect(error.details).toMatch(/slow down|limit exceeded/)
  })

  it.each([made, shared])('reduces a batch that takes too long until it succeeds (%o)', async (make) => {
    steadyTime()
    const server = await serve((request, response) => (request.entries.length > 5 ? request.hungUp : honest(request, response)))
    const { ask } = make(server.url, { timeout: 400, retryCount: 4 })
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => ask([`0x${i}`])))
    expect(answers).toEqual(Array.from({ length: 40 }, (_, i) => answerTo([`0x${i}`])))
  })
})

describe('a signal', () => {
  it('ends the call with its reason, and the connection', async () => {
    const server = await serve(silent)
    const controller = new AbortController()
    const asked = made(server.url).ask([], { signal: controller.signal })
    const { hungUp } = await server.received(1)
    const reason = new Error('no longer wanted')
    controller.abort(reason)
    expect(await errorOf(asked)).toBe(reason)
    await hungUp
  })

  it('that is already aborted sends nothing', async () => {
    const server = await serve(honest)
    expect(await errorOf(made(server.url).ask([], { signal: AbortSignal.abort() }))).toMatchObject({ name: 'AbortError' })
    expect(server.requests).toEqual([])
  })

  it("does not take the timeout's place", async () => {
    const server = await serve(silent)
    const asked = made(server.url, { timeout: 50, retryCount: 0 }).ask([], { signal: new AbortController().signal })
    expect(await errorOf(asked)).toMatchObject({ name: 'TimeoutError' })
  })
})

describe('results and params', () => {
  it('null stays null', async () => {
    const server = await serve(each(({ id }) => ({ jsonrpc: '2.0', id, result: null })))
    expect(await made(server.url).ask([])).toBeNull()
  })

  it('bigints are sent in decimal, as with http()', async () => {
    const server = await serve(honest)
    await made(server.url).ask([{ value: 10n ** 20n }, 5n])
    expect(server.requests[0]?.entries[0]?.params).toEqual([{ value: '100000000000000000000' }, '5'])
  })

  it('raw returns results and errors unchanged', async () => {
    const server = await serve(
      honest,
      refuse(3, 'execution reverted', {}),
      each((entry) => failed(entry, 3, 'execution reverted', '0x08c379a0')),
    )
    const { ask } = made(server.url, { raw: true })
    expect(await ask(['0x1'])).toEqual({ result: answerTo(['0x1']) })
    expect(await ask(['0x1'])).toEqual({ error: { code: 3, message: 'execution reverted' } })
    expect(await ask(['0x1'])).toEqual({ error: { code: 3, message: 'execution reverted', data: '0x08c379a0' } })
  })

  it('raw still rejects when there is no reply', async () => {
    const server = await serve(cut)
    expect(await errorOf(made(server.url, { raw: true, retryCount: 0 }).ask([]))).toMatchObject({ name: 'HttpRequestError' })
  })
})

describe('dedupe', () => {
  it('joins identical calls in flight if viem asks for it', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const { ask } = made(server.url)
    const first = ask(['0x1'], { dedupe: true })
    await server.received(1)
    const second = ask(['0x1'], { dedupe: true })
    open()
    expect(await Promise.all([first, second])).toEqual([answerTo(['0x1']), answerTo(['0x1'])])
    expect(server.requests).toHaveLength(1)
  })

  it('does not join calls of two transports', async () => {
    const { open, answer } = gate()
    const [one, two] = [await serve(answer), await serve(each(({ id }) => ({ jsonrpc: '2.0', id, result: 'of two' })))]
    const first = made(one.url).ask(['0x1'], { dedupe: true })
    await one.received(1)
    expect(await made(two.url).ask(['0x1'], { dedupe: true })).toBe('of two')
    open()
    expect(await first).toEqual(answerTo(['0x1']))
  })
})

describe('under fallback', () => {
  it('a paused endpoint is skipped at once', async () => {
    const busy = await serve(refuse(-32005, 'rate limit exceeded', { status: 429, headers: { 'retry-after': '60' } }))
    const free = await serve(honest)
    const client = createPublicClient({ transport: fallback([hexline(busy.url), hexline(free.url)]) })
    for (const { value } of client.transport.transports) onTestFinished(() => value?.client.close())
    for (let i = 0; i < 5; i++) expect(await client.request({ method: 'eth_getBalance', params: [`0x${i}`, 'latest'] })).toEqual(answerTo([`0x${i}`, 'latest']))
    expect(busy.requests).toHaveLength(1)
    expect(free.requests).toHaveLength(5)
  })

  it('a pause is waited out if there is no other endpoint', async () => {
    const server = await serve(refuse(-32005, 'rate limit exceeded', { status: 429, headers: { 'retry-after': '1' } }), honest)
    const client = createPublicClient({ transport: hexline(server.url) })
    onTestFinished(() => client.transport.client.close())
    expect(await client.request({ method: 'eth_getBalance', params: ['0x1', 'latest'] })).toEqual(answerTo(['0x1', 'latest']))
    const [first, second] = server.requests as [Received, Received]
    expect(second.at - first.at).toBeGreaterThan(990)
  })
})

it('a closed client is reported with an error that viem does not retry', async () => {
  const server = await serve(each(right))
  const { ask, value } = made(server.url)
  await value?.client.close()
  expect(await errorOf(ask([]))).toMatchObject({ name: 'ProviderDisconnectedError', code: 4900, details: 'the client is closed' })
})

it('works while a test framework stops the clocks, as http() does', async () => {
  const server = await serve(honest)
  const { ask } = made(server.url)
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  expect(await ask(['0x1'])).toEqual(answerTo(['0x1']))
})
