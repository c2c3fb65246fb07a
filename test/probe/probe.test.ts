import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createClient, type EndpointReport, OptionError, type Post, type ProbeOptions, probe, replyOf } from '../../src/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { steadyTime } from '../support/held-time.ts'
import { type LimitedNode, type NodeLimits, startLimited } from '../support/limited-node.ts'
import { nightly } from '../support/runs.ts'
import { always, clientOf, deadPort, errorOf, serve, silent } from '../support/server.ts'

/** The report of a client with one endpoint. */
async function probed(url: string, options: ProbeOptions = {}): Promise<EndpointReport> {
  const { endpoints } = await probe(clientOf(url), options)
  expect(endpoints).toHaveLength(1)
  return endpoints[0] as EndpointReport
}

/** The same for a node with these limits. Asserts that `maxCalls` is obeyed. */
async function learnt(limits: NodeLimits, options: ProbeOptions = { rateCalls: false }): Promise<EndpointReport & { node: LimitedNode }> {
  const node = await startLimited(limits)
  const report = await probed(node.url, options)
  const sent = node.posts.reduce((sum, length) => sum + length, 0)
  expect(sent).toBeLessThanOrEqual(options.maxCalls ?? 500)
  expect(report.cost).toMatchObject({ calls: sent, posts: node.posts.length })
  expect(Math.max(...node.posts)).toBeLessThanOrEqual(options.maxBatch ?? 100)
  return { ...report, node }
}

const geth = () => ({ code: -32600, message: 'batch too large' })

describe('a node without limits', () => {
  test('gets "at least" for every limit, and nothing that was not observed', async () => {
    steadyTime()
    const report = await learnt({ version: 'Geth/v1.16.0' }, {})
    expect(report).toMatchObject({
      error: null,
      chainId: { known: 'exactly', value: 1 },
      clientVersion: { known: 'exactly', value: 'Geth/v1.16.0' },
      head: { known: 'exactly', value: 100_000 },
      batchCalls: { known: 'at least', value: 100, refused: null, how: 'a batch of 100 passed, and nothing longer was tried' },
      logRange: { known: 'at least', value: 99_998, how: 'the whole chain passed; its newest 3 blocks were not tried' },
      rate: { known: 'at least', value: 50 },
      archiveDepth: { known: 'exactly', value: 99_999, how: 'the state of block 1 is there' },
      replyBytes: { known: 'at least', refused: null },
    })
    expect(report.replyBytes.value).toBeGreaterThan(100 * 500)
    expect(report.latencyMs).toMatchObject({ median: expect.any(Number), p95: expect.any(Number), calls: 10 })
    expect(Object.values(report.methods).map(({ supported }) => supported)).toEqual(Array(28).fill(true))
    expect(Object.values(report.tags).map(({ supported }) => supported)).toEqual(Array(5).fill(true))
  })

  test('gets no more calls than the options allow', async () => {
    steadyTime()
    const report = await learnt({}, { rateCalls: 5, maxBatch: 7, maxLogRange: 300, maxCalls: 90 })
    expect(report).toMatchObject({
      batchCalls: { known: 'at least', value: 7 },
      logRange: { known: 'at least', value: 300 },
      rate: { known: 'at least', value: 5 },
    })
    expect(report.node.posts.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(90)
  })
})

describe('the batch limit', () => {
  test.each([1, 2, 3, 10, 37, 50, 99])('of %i calls is found', async (most) => {
    const { batchCalls } = await learnt({ batch: { most, says: geth } }, { rateCalls: false, maxCalls: 1000 })
    expect(batchCalls).toMatchObject({ known: 'exactly', value: most, refused: most + 1, how: expect.stringContaining('batch too large') })
  })

  test('that the refusal names is tried at once', async () => {
    for (const says of [
      (length: number) => ({ code: -32000, message: `batch limit 23 exceeded (can increase by --rpc.batch.limit). Requested batch of size: ${length}` }),
      () => ({ code: 31, message: 'Batch of more than 23 requests are not allowed on free plan' }),
      () => ({ code: -32010, message: 'The batch request was too large', data: 'Exceeded max limit of 23' }),
    ]) {
      const { batchCalls, node } = await learnt({ batch: { most: 23, says } })
      expect(batchCalls).toMatchObject({ known: 'exactly', value: 23, refused: 24 })
      expect(node.methods.filter((method) => method === 'eth_blockNumber').length).toBe(10 + 1 + 100 + 23 + 24)
    }
  })

  test('is 1 if all batches are refused', async () => {
    const { batchCalls } = await learnt({
      batch: { most: 0, says: () => ({ code: -32005, message: 'Batched requests are not supported by this server' }), status: 400 },
    })
    expect(batchCalls).toMatchObject({ known: 'exactly', value: 1, refused: 2, how: expect.stringMatching(/^a batch of 2 was refused: .*not supported/) })
  })

  test('is reported as open if the calls run out', async () => {
    const { batchCalls } = await learnt({ batch: { most: 89, says: geth } }, { rateCalls: false, maxCalls: 330 })
    expect(batchCalls).toMatchObject({ known: 'between', value: 75, refused: 100, how: expect.stringContaining('the limit of 330 calls') })
  })
})

describe('the log range limit', () => {
  test.each<[string, NodeLimits['range'] & object]>([
    ['10000, as Infura says it', { most: 10_000, says: (blocks) => ({ code: -32602, message: `range ${blocks} exceeds limit of 10000` }) }],
    [
      '2048, as Avalanche says it',
      {
        most: 2048,
        says: (blocks, from) => ({ code: -32000, message: `requested too many blocks from ${from} to ${from + blocks - 1}, maximum is set to 2048` }),
      },
    ],
    [
      '801, where the number named counts one end only',
      { most: 801, says: () => ({ code: -32047, message: "'fromBlock'-'toBlock' range too large. Max range: 800" }) },
    ],
    ['799, where the number named is refused, too', { most: 799, says: () => ({ code: -32047, message: 'range too large. Max range: 800' }) }],
    ['1024, without a number', { most: 1024, says: () => ({ code: -32600, message: 'block range is too wide' }) }],
    ['777, without a number', { most: 777, says: () => ({ code: -32600, message: 'block range is too wide' }) }],
    [
      '5000, named in data',
      { most: 5000, says: () => ({ code: -32602, message: 'invalid params', data: { payload: 'range 9 is bigger than range limit 5000' } }) },
    ],
  ])('of %s is found', async (name, range) => {
    const most = Number.parseInt(name, 10)
    const { logRange } = await learnt({ range })
    expect(logRange).toMatchObject({ known: 'exactly', value: most, refused: most + 1, how: expect.stringMatching(/^a range of \d+ blocks was refused: /) })
  })

  test('is no limit if old logs are refused for another reason', async () => {
    const says = () => ({ code: -32602, message: 'Archive requests require a personal token. Get one at: https://www.allnodes.com/publicnode' })
    const { logRange } = await learnt({ range: { most: 600, says } })
    expect(logRange).toMatchObject({ known: 'at least', value: 500, refused: null, how: expect.stringContaining('Archive requests') })
  })
})

describe('the reply limit', () => {
  test.each([1_000_000, 300_000])('of %i bytes lies between the accepted and the refused size', async (replyBytes) => {
    const { replyBytes: found } = await learnt({ replyBytes, blockBytes: 20_000 })
    expect(found).toMatchObject({ known: 'between', how: expect.stringContaining('response too large') })
    expect(found.value).toBeLessThanOrEqual(replyBytes)
    expect(found.refused).toBeGreaterThan(replyBytes * 0.99)
    expect((found.refused as number) - (found.value as number)).toBeLessThan(21_000)
  })

  test('is tried only as far as batches reach', async () => {
    const { replyBytes } = await learnt({ batch: { most: 3, says: geth }, blockBytes: 20_000 })
    expect(replyBytes).toMatchObject({ known: 'at least', refused: null, how: expect.stringContaining('at most 3 of them fit in a batch') })
    expect(replyBytes.value).toBeGreaterThan(60_000)
  })
})

describe('the archive depth', () => {
  test.each([0, 127, 128, 5000])('of %i blocks is found, though the genesis state is kept', async (stateDepth) => {
    const { archiveDepth } = await learnt({ stateDepth })
    if (stateDepth === 0) expect(archiveDepth).toMatchObject({ known: 'unknown', how: expect.stringContaining('missing trie node') })
    else expect(archiveDepth).toMatchObject({ known: 'exactly', value: stateDepth, refused: stateDepth + 1 })
  })
})

describe('the rate', () => {
  // Throttling takes its time, so these wait for it together.
  test.each(nightly('every form'))('of 20 calls a second is found in %s, and affects no other figure', async () => {
    const throttled = { code: -32005, message: 'rate limit exceeded' }
    const named = { code: -32007, message: '25/second request limit reached - reduce calls per second' }
    const [object, text, spoken, strict] = await Promise.all([
      learnt({ rate: { perSecond: 20, says: throttled, status: 429 } }, {}),
      learnt({ rate: { perSecond: 20, says: 'Too Many Requests' } }, {}),
      learnt({ rate: { perSecond: 30, says: named, status: 429 } }, {}),
      learnt({ rate: { perSecond: 20, says: throttled }, stateDepth: 128 }),
    ])
    for (const { rate } of [object, text]) {
      expect(rate).toMatchObject({ known: 'exactly', how: expect.stringMatching(/^\d+ calls within \d+\.\d\d s were answered, and the next was throttled: /) })
      expect(rate.value).toBeGreaterThanOrEqual(20)
      // It takes 20 more in each second, of which a busy machine may need more than one.
      const seconds = Number(/within (\S+) s/.exec(rate.how)?.[1])
      expect(rate.value).toBeLessThanOrEqual(20 * (Math.floor(seconds) + 1))
      expect(rate.refused).toBe((rate.value as number) + 1)
    }
    // The endpoint's own statement is better than an observation.
    expect(spoken.rate).toMatchObject({ known: 'exactly', value: 25, how: expect.stringMatching(/^the endpoint reports it: 25\/second/) })

    // Throttled calls are repeated; a throttled batch says nothing about its length.
    expect(strict.batchCalls).toMatchObject({ known: 'at least', value: 20, refused: null, how: 'a batch of 50: rate limit exceeded' })
    expect(Object.values(strict.methods).every(({ supported }) => supported)).toBe(true)
    expect(Object.values(strict.tags).every(({ supported }) => supported)).toBe(true)
    expect(strict.archiveDepth).toMatchObject({ known: 'exactly', value: 128 })
  })

  test('is left out when it is not wanted', async () => {
    const { rate, node } = await learnt({}, { rateCalls: false })
    expect(rate).toEqual({ known: 'unknown', value: null, refused: null, how: 'not tried' })
    expect(node.methods.filter((method) => method === 'eth_blockNumber')).toHaveLength(10 + 1 + 100)
  })
})

describe('methods and tags', () => {
  test('that are missing are reported, with the node’s own message', async () => {
    const { methods, tags } = await learnt({ without: ['eth_getProof', 'eth_createAccessList'], withoutTags: ['safe', 'pending'] })
    const missing = Object.entries(methods).filter(([, { supported }]) => !supported)
    expect(missing.map(([name]) => name)).toEqual(['eth_createAccessList', 'eth_getProof'])
    expect(methods.eth_getProof).toEqual({ supported: false, how: 'the method eth_getProof does not exist/is not available' })
    expect(methods.eth_sendRawTransaction).toEqual({ supported: true, how: 'typed transaction too short' })
    expect(
      Object.entries(tags)
        .filter(([, { supported }]) => supported)
        .map(([name]) => name),
    ).toEqual(['latest', 'finalized', 'earliest'])
  })

  test('are unknown, not missing, if the answer shows neither', async () => {
    const node = await startLimited()
    let n = 0
    const proxy = await serve(async ({ entries, isBatch }, response) => {
      const reply = await fetch(node.url, { method: 'POST', body: JSON.stringify(isBatch ? entries : entries[0]) })
      const isFaulty = !isBatch && ['eth_gasPrice', 'eth_feeHistory'].includes(entries[0]?.method ?? '')
      if (isFaulty) response.writeHead(n++ % 2 === 0 ? 502 : 500).end('Bad Gateway')
      else response.writeHead(200).end(await reply.text())
    })
    const { methods } = await probed(proxy.url, { rateCalls: false })
    expect(methods.eth_gasPrice).toEqual({ supported: null, how: expect.stringContaining('Bad Gateway') })
    expect(methods.eth_feeHistory.supported).toBeNull()
  })
})

describe('an endpoint that does not answer', () => {
  test('is one clear error, and gets no more calls', async () => {
    steadyTime()
    const client = clientOf(`http://127.0.0.1:${await deadPort()}/KEY-that-nobody-may-see`)
    const error = await errorOf(probe(client))
    expect(error).toMatchObject({ name: 'NetworkError', method: 'eth_chainId', attempts: 1, message: expect.stringContaining('ECONNREFUSED') })
    expect(JSON.stringify(error) + error.stack).not.toContain('KEY')

    const stalled = await serve(silent)
    const late = await errorOf(probe(clientOf(stalled.url), { timeoutMs: 300 }))
    expect(late).toMatchObject({ name: 'TimeoutError', kind: 'timeout', method: 'probe', attempts: 1, message: expect.stringMatching(/300 ms/) })
    expect(stalled.requests).toHaveLength(1)
  })

  test.each([
    [401, '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Must be authenticated!"}}', 'auth'],
    [402, 'Payment Required', 'quota'],
    [404, 'not here', 'not-found'],
    [200, '<html>a page</html>', 'malformed'],
  ])('but with HTTP %i %s is reported with that', async (status, body, kind) => {
    const server = await serve(always(body, { status }))
    expect(await errorOf(probe(clientOf(server.url)))).toMatchObject({ kind })
    expect(server.requests).toHaveLength(1)
  })

  test('any more is given up, and earlier results are kept', async () => {
    const node = await startLimited()
    const proxy = await serve(async ({ entries, socket }, response) => {
      if (proxy.requests.length > 20) return void socket.destroy()
      const reply = await fetch(node.url, { method: 'POST', body: JSON.stringify(entries[0]) })
      response.writeHead(200).end(await reply.text())
    })
    const report = await probed(proxy.url)
    expect(report).toMatchObject({
      error: null,
      clientVersion: { value: 'Limited/v1.0.0' },
      batchCalls: { known: 'at least', value: 1 },
      archiveDepth: { known: 'unknown' },
    })
    expect(proxy.requests.length).toBeLessThan(40)
  })
})

describe('probe', () => {
  test('reports each endpoint of a client, including dead ones', async () => {
    const [strict, dead] = [await startLimited({ batch: { most: 3, says: geth } }), `http://127.0.0.1:${await deadPort()}`]
    const { endpoints } = await probe(clientOf([strict.url, dead]), { rateCalls: false })
    expect(endpoints.map(({ endpoint, error, batchCalls }) => [endpoint, error === null, batchCalls.value])).toEqual([
      [new URL(strict.url).host, true, 3],
      [new URL(dead).host, false, null],
    ])
    expect(endpoints[1]).toMatchObject({ error: expect.stringContaining('ECONNREFUSED'), cost: { calls: 1 }, methods: { eth_call: { supported: null } } })
  })

  test('ends with the signal’s reason, in the middle of a POST and of a wait', async () => {
    const stalled = await serve(silent)
    const aborter = new AbortController()
    const ended = errorOf(probe(clientOf(stalled.url), { signal: aborter.signal }))
    await stalled.received(1)
    aborter.abort('enough')
    expect(await ended).toBe('enough')

    const throttled = await serve(always('Too Many Requests, retry in 15s'))
    const other = new AbortController()
    const waiting = errorOf(probe(clientOf(throttled.url), { signal: other.signal }))
    await throttled.received(1)
    other.abort('enough')
    expect(await waiting).toBe('enough')
    expect(throttled.requests).toHaveLength(1)
    expect(await errorOf(probe(clientOf(throttled.url), { signal: AbortSignal.abort('before') }))).toBe('before')
    expect(throttled.requests).toHaveLength(1)
  })

  test.each(['before', 'while it measures'])('rejects with ClosedError where the client is closed %s', async (when) => {
    const server = await serve(always({ jsonrpc: '2.0', id: 1, result: '0x1' }), silent)
    const client = clientOf(server.url)
    if (when === 'before') await client.close()
    const ended = errorOf(probe(client))
    if (when !== 'before') {
      await server.received(2)
      await client.close()
    }
    expect(await ended).toMatchObject({ name: 'ClosedError', method: 'probe' })
  })

  test('reports its progress', async () => {
    const node = await startLimited()
    const seen: string[] = []
    await probed(node.url, { rateCalls: 10, onProgress: ({ endpoint, step, calls, maxCalls }) => seen.push(`${endpoint} ${step} ${calls}/${maxCalls}`) })
    const { host } = new URL(node.url)
    expect(seen[0]).toBe(`${host} chain id 1/500`)
    expect([...new Set(seen.map((line) => line.replace(`${host} `, '').replace(/ \d+\/500$/, '')))]).toEqual([
      'chain id',
      'version',
      'latency',
      'tags',
      'methods',
      'archive depth',
      'log range',
      'batch limit',
      'reply limit',
      'history',
      'rate',
    ])
  })

  test('does not affect the client: its queue learns nothing, and its calls continue', async () => {
    const node = await startLimited({ batch: { most: 3, says: geth } })
    const client = clientOf(node.url)
    await probe(client.with({ priority: 'bulk' }), { rateCalls: false })
    node.posts.length = 0
    await Promise.all(Array.from({ length: 20 }, (_, i) => client.request({ method: 'eth_getBalance', params: [`0x${i}`, 'latest'] })))
    // The client starts with its own longest batch, which is refused.
    expect(node.posts[0]).toBe(20)
  })

  test('accepts endpoints that are functions, whatever they do', async () => {
    const post: Post = async (calls) => calls.map(({ method }) => replyOf(method === 'eth_getBlockByNumber' ? null : '0x5', 10))
    const { endpoints } = await probe(clientOf(post), { rateCalls: 3 })
    expect(endpoints[0]).toMatchObject({ endpoint: 'post', chainId: { value: 5 }, tags: { latest: { supported: false, how: 'it answers null' } } })
    const broken: Post = async () => Promise.reject(new Error('no'))
    expect(await errorOf(probe(clientOf(broken)))).toMatchObject({ kind: 'malformed', message: 'the POST failed: no' })
  })

  test('refuses invalid options', async () => {
    const client = clientOf('http://127.0.0.1:1')
    const wrong: [unknown, string][] = [
      [{ maxCalls: 5 }, 'maxCalls: expected a whole number of at least 110, received 5'],
      [{ maxBatch: 0 }, 'maxBatch: expected a whole number of at least 1, received 0'],
      [{ rateCalls: true }, 'rateCalls: expected a whole number of at least 1, received true'],
      [{ maxcalls: 5 }, 'options: expected only'],
      [{ onProgress: 5 }, 'onProgress: expected a function, received 5'],
      [{ signal: 5 }, 'signal: expected an AbortSignal, received 5'],
    ]
    for (const [options, message] of wrong) {
      const error = await errorOf(probe(client, options as ProbeOptions))
      expect(error).toBeInstanceOf(OptionError)
      expect(error.message).toContain(message)
    }
    expect(await errorOf(probe({} as never))).toMatchObject({ name: 'OptionError', option: 'client' })
  })

  test('returns plain data that JSON can represent', async () => {
    const shapeOf = (value: unknown): unknown => {
      if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shapeOf(item)]))
    }
    const report = await learnt({}, {})
    const { node: _, ...data } = report
    expect(JSON.parse(JSON.stringify(data))).toEqual(data)
    const figure = { known: 'string', value: 'number', refused: 'null', how: 'string' }
    const support = { supported: 'boolean', how: 'string' }
    expect(shapeOf(data)).toEqual({
      endpoint: 'string',
      error: 'null',
      ...{ chainId: figure, clientVersion: { ...figure, value: 'string' }, head: figure },
      latencyMs: { median: 'number', p95: 'number', calls: 'number' },
      ...{ batchCalls: figure, replyBytes: figure, logRange: figure, rate: figure, archiveDepth: figure },
      history: { blocks: figure, receipts: figure, logs: figure, state: figure, oldState: { isRight: 'null', how: 'string' } },
      methods: Object.fromEntries(Object.keys(report.methods).map((name) => [name, support])),
      tags: { latest: support, safe: support, finalized: support, pending: support, earliest: support },
      cost: { calls: 'number', posts: 'number', seconds: 'number' },
    })
    expect(Object.keys(report.methods)).toHaveLength(28)
  })
})

describe('anvil', () => {
  let anvil: Anvil
  beforeAll(async () => {
    anvil = await startAnvil()
    const client = createClient(anvil.url)
    await client.request({ method: 'anvil_mine', params: ['0x3e8'] })
    await client.close()
    return () => anvil.stop()
  })

  test('has all methods and tags, all state, and no limit', async () => {
    steadyTime()
    const client = createClient(anvil.url)
    onTestFinished(() => client.close())
    const { endpoints } = await probe(client, { rateCalls: 20 })
    const [report] = endpoints as [EndpointReport]
    expect(report).toMatchObject({
      chainId: { value: 31337 },
      clientVersion: { value: 'anvil/v1.7.1' },
      head: { value: 1000 },
      batchCalls: { known: 'at least', value: 100 },
      logRange: { known: 'at least', value: 998, how: 'the whole chain passed; its newest 3 blocks were not tried' },
      rate: { known: 'at least', value: 20 },
      archiveDepth: { known: 'exactly', value: 999 },
      history: { blocks: { known: 'exactly', value: 1 }, receipts: { value: 1 }, logs: { value: 1 }, state: { value: 1 } },
    })
    expect(Object.entries(report.methods).filter(([, { supported }]) => supported !== true)).toEqual([])
    expect(Object.entries(report.tags).filter(([, { supported }]) => supported !== true)).toEqual([])
    expect(report.cost.calls).toBeLessThanOrEqual(500)
  })
})
