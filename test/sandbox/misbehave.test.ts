import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { createClient } from 'hexline'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { steadyTime } from '../support/held-time.ts'
import { errorOf } from '../support/server.ts'
import { ask } from './ask.ts'

let node: Sandbox

beforeAll(async () => {
  node = await startSandbox()
})
afterAll(() => node?.stop())

const over = (options: SandboxOptions) => startSandbox({ upstream: node.upstream, ...options })
const STREAMS = 'streams/evm?limit=1'

describe('the key', () => {
  it.each([
    STREAMS,
    'api/v2.2/wallets/0x12/tokens',
    'nfts/transfers/collections/x',
    'collections/creators',
    'nfts/transfers/wallets',
    'nfts/collections/x/tokens',
  ])('is required for %s before anything else is checked', async (path) => {
    expect(await ask(node, path, { key: null })).toMatchObject({ status: 401, body: { message: 'missing API key: send it in the header X-API-Key' } })
    expect(await ask(node, path, { key: 'wr0ng-key' })).toMatchObject({ status: 401, body: { message: 'invalid API key: send it in the header X-API-Key' } })
  })

  it('may be out of quota', async () => {
    const message = 'quota exceeded: the quota of this API key is used up'
    expect(await ask(node, STREAMS, { key: `${node.apiKey}-used-up` })).toMatchObject({ status: 401, body: { message } })
    await using own = await over({ apiKey: 'a', quotaKeys: ['b', 'c'] })
    expect([own.apiKey, own.quotaKeys]).toEqual(['a', ['b', 'c']])
    expect(await Promise.all(['a', 'b', 'c', 'd'].map(async (key) => (await ask(own, STREAMS, { key })).body.message))).toEqual([
      undefined,
      message,
      message,
      expect.stringMatching(/^invalid/),
    ])
  })

  it('is different for each sandbox, and works in the path with any characters', async () => {
    await using one = await over({ apiKey: 'a/b?c%#"' })
    await using two = await over({})
    expect(two.apiKey).toMatch(/^[0-9a-f]{32}$/)
    expect(two.apiKey).not.toBe(node.apiKey)
    await using client = createClient(one.nodeUrl())
    expect(await client.call('eth_chainId')).toBe(1)
  })
})

it.each(['', 'api/v2.2/wallets', 'api/v2.1/wallets/x/tokens', 'streams/evm/x', 'streams', 'a/b/c/d', 'constructor/x'])(
  'nothing is served at /%s',
  async (path) => {
    expect(await ask(node, path)).toMatchObject({ status: 404, body: { message: 'no such path' } })
  },
)

it('an undecodable path is refused', async () => {
  expect(await ask(node, 'streams/%ff')).toMatchObject({ status: 400, body: { message: 'invalid path' } })
})

it.each(['POST', 'PUT', 'DELETE'])('%s on a REST operation is 405', async (method) => {
  const { status, headers } = await ask(node, STREAMS, { method })
  expect([status, headers.get('allow')]).toEqual([405, 'GET'])
})

describe('callsPerSecond', () => {
  it('refuses calls beyond the limit, and says how long to wait', async () => {
    await using slow = await over({ callsPerSecond: 0.01 })
    expect((await ask(slow, STREAMS)).status).toBe(200)
    const { status, headers, body } = await ask(slow, STREAMS)
    expect([status, body.message]).toEqual([429, 'rate limit: no more than 0.01 calls per second'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(90)
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(100)
    expect(await errorOf(createClient(slow.nodeUrl(), { retry: false }).call('eth_chainId'))).toMatchObject({
      kind: 'rate-limit',
      retryAfterMs: expect.any(Number),
    })
  })

  it('counts the calls of a batch', async () => {
    steadyTime()
    await using slow = await over({ callsPerSecond: 5 })
    const batch = (length: number) =>
      request(slow.nodeUrl(), {
        method: 'POST',
        body: JSON.stringify(Array.from({ length }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_chainId', params: [] }))),
      }).then(async ({ statusCode, body }) => {
        await body.dump()
        return statusCode
      })
    expect([await batch(4), await batch(4)]).toEqual([200, 429])
  })

  it('never refuses a client that keeps to it', async () => {
    await using slow = await over({ callsPerSecond: 200 })
    await using client = createClient(slow.nodeUrl(), { rate: { callsPerSecond: 200 }, retry: false, dedupe: false })
    const calls = Array.from({ length: 150 }, () => client.call('eth_chainId'))
    expect(await Promise.all(calls)).toEqual(Array(150).fill(1))
  })
})

it('latencyMs delays every request', async () => {
  await using slow = await over({ latencyMs: 80 })
  for (const [path, status] of [
    [STREAMS, 200],
    ['nothing', 404],
  ] as const) {
    const before = performance.now()
    expect((await ask(slow, path)).status).toBe(status)
    // Timers may be a millisecond early.
    expect(performance.now() - before).toBeGreaterThanOrEqual(79)
  }
})

describe('faults', () => {
  /** The outcomes of several requests in sequence. */
  async function fates(sandbox: Sandbox, count: number): Promise<string[]> {
    const found: string[] = []
    for (let i = 0; i < count; i++) found.push(await fateOf(sandbox))
    return found
  }

  async function fateOf(sandbox: Sandbox): Promise<string> {
    const aborter = new AbortController()
    const { signal } = aborter
    setTimeout(() => aborter.abort(), 500)
    try {
      const { statusCode, headers, body } = await request(`${sandbox.url}/${STREAMS}`, { headers: { 'x-api-key': sandbox.apiKey } })
      if (statusCode !== 200) {
        await body.dump()
        return `error ${statusCode}`
      }
      // A stalled body is recognised by its silence: the announced bytes do not arrive.
      const chunks: Buffer[] = []
      let length = 0
      signal.addEventListener('abort', () => body.destroy())
      if (signal.aborted) body.destroy()
      for await (const chunk of body) {
        chunks.push(chunk)
        length += chunk.length
      }
      expect(length).toBe(Number(headers['content-length']))
      try {
        JSON.parse(Buffer.concat(chunks).toString())
        return 'fine'
      } catch {
        return 'truncated'
      }
    } catch (error) {
      if (signal.aborted) return 'stalled'
      if ((error as { code?: string }).code === 'UND_ERR_SOCKET') return 'cut'
      throw error
    }
  }

  it('are of five kinds, with the given frequency, and the same for the same seed', async () => {
    steadyTime()
    await using a = await over({ faults: 0.5, faultSeed: 7 })
    await using b = await over({ faults: 0.5, faultSeed: 7 })
    await using c = await over({ faults: 0.5, faultSeed: 8 })
    const [first, again, other] = await Promise.all([fates(a, 60), fates(b, 60), fates(c, 20)])
    expect(first).toEqual(again)
    expect(first.slice(0, 20)).not.toEqual(other)
    expect(new Set(first)).toEqual(new Set(['fine', 'error 500', 'error 503', 'cut', 'stalled', 'truncated']))
    const fine = first.filter((each) => each === 'fine').length
    expect(fine).toBeGreaterThan(20)
    expect(fine).toBeLessThan(40)
  })

  it('affect all requests with 1, and none with 0', async () => {
    steadyTime()
    await using all = await over({ faults: 1 })
    await using none = await over({ faults: 0 })
    expect(await fates(all, 10)).not.toContain('fine')
    expect(await fates(none, 10)).toEqual(Array(10).fill('fine'))
  })

  it('do not affect the results of a client that handles them', async () => {
    steadyTime()
    await using bad = await over({ faults: 0.3, faultSeed: 3 })
    await using client = createClient(bad.nodeUrl(), { batch: false, timeoutMs: 100, retry: { attempts: 30, baseDelayMs: 1, maxDelayMs: 5 } })
    const numbers = Array.from({ length: 40 }, (_, i) => client.request({ method: 'eth_getBalance', params: [`0x${String(i).padStart(40, '0')}`, 'latest'] }))
    expect(new Set(await Promise.all(numbers))).toEqual(new Set(['0x0']))
  })
})

describe('stop()', () => {
  it('frees the port, cuts requests in flight, and may be called again', async () => {
    const sandbox = await over({ latencyMs: 600_000 })
    const port = Number(new URL(sandbox.url).port)
    const waiting = errorOf(request(`${sandbox.url}/${STREAMS}`, { headers: { 'x-api-key': sandbox.apiKey } }))
    const idle = connect(port, '127.0.0.1').on('error', () => {})
    const idleEnds = new Promise((resolve) => idle.once('close', resolve))
    await new Promise((resolve) => idle.once('connect', resolve))
    await Promise.all([sandbox.stop(), sandbox.stop()])
    expect(await waiting).toMatchObject({ code: expect.stringMatching(/^UND_ERR_SOCKET|ECONNRESET|ECONNREFUSED$/) })
    await idleEnds
    const next = createServer()
    await new Promise<void>((resolve, reject) => next.once('error', reject).listen(port, '127.0.0.1', resolve))
    expect((next.address() as AddressInfo).port).toBe(port)
    await new Promise((resolve) => next.close(resolve))
  })

  it('cuts a body that stalls', async () => {
    const sandbox = await over({ faults: 1, faultSeed: await seedOf('stalled') })
    const { body } = await request(`${sandbox.url}/${STREAMS}`, { headers: { 'x-api-key': sandbox.apiKey } })
    const ended = errorOf(body.text())
    await sandbox.stop()
    expect(await ended).toMatchObject({ code: 'UND_ERR_SOCKET' })
  })

  it('stops its own anvil, but not a given node', async () => {
    const sandbox = await startSandbox()
    const above = await startSandbox({ upstream: sandbox.upstream })
    await above.stop()
    await using client = createClient(sandbox.upstream, { retry: false })
    expect(await client.call('eth_chainId')).toBe(1)
    await sandbox.stop()
    expect(await errorOf(client.call('eth_blockNumber'))).toMatchObject({ kind: 'network' })
  })
})

/** A seed whose first fault is of this kind. */
async function seedOf(fault: string): Promise<number> {
  const { createFaults } = await import('../../src/sandbox/faults.ts')
  for (let seed = 0; ; seed++) if (createFaults(1, seed)() === fault) return seed
}
