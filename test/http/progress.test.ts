import type { ServerResponse } from 'node:http'
import { type Layer, TimeoutError } from 'hexline'
import { describe, expect, test } from 'vitest'
import { BodyProgress } from '../../src/http/progress.ts'
import { type Answer, honest, type Received } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { serve, clientOf, sleep: after } = virtualWorld()

/** Nothing here ends at the timeout, unless a test says so. */
const NEVER = 600_000

/** The body of the right reply. */
const bodyOf = ({ entries, isBatch }: Received) => {
  const replies = entries.map(({ id }) => ({ jsonrpc: '2.0', id, result: `0x${'1'.repeat(2000)}` }))
  return JSON.stringify(isBatch ? replies : replies[0])
}

function begin(request: Received, response: ServerResponse): { rest: string } {
  const body = bodyOf(request)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
  response.write(body.slice(0, 1000))
  return { rest: body.slice(1000) }
}

/** Half of a reply, and then nothing. */
const stall: Answer = (request, response) => void begin(request, response)

/** Half of a reply, and after a pause the rest. */
const pause =
  (ms: number): Answer =>
  async (request, response) => {
    const { rest } = begin(request, response)
    await after(ms)
    response.end(rest)
  }

/** A reply that trickles. */
const trickle: Answer = async (request, response) => {
  const { rest } = begin(request, response)
  for (let at = 0; at < 8; at++) {
    await after(150)
    response.write(rest.slice((at * rest.length) / 8, ((at + 1) * rest.length) / 8))
  }
  response.end()
}

/** The failure of each attempt. */
function watch() {
  const failures: unknown[] = []
  const layer: Layer = (next) => (call) =>
    next(call).catch((failure) => {
      failures.push(failure)
      throw failure
    })
  return { failures, layers: (defaults: readonly Layer[]) => [...defaults, layer] }
}

test('a body may stall for four times the longest recent stall, from 0.5 to 5 s, and always for 1.5 times a stall that ended well', () => {
  const progress = new BodyProgress()
  expect(progress.limitMs).toBe(5_000)
  progress.resumed(10, 0)
  progress.completed()
  expect(progress.limitMs).toBe(500)
  progress.resumed(400, 0)
  expect(progress.limitMs).toBe(1_600)
  progress.resumed(2_000, 0)
  expect(progress.limitMs).toBe(5_000)
  progress.resumed(8_000, 0)
  expect(progress.limitMs).toBe(12_000)
  // A long pause is forgotten.
  for (let i = 0; i < 1_000; i++) progress.completed()
  expect(progress.limitMs).toBe(500)
})

describe('a reply that stops in the middle', () => {
  test('is given up long before the timeout, and the call is repeated', async () => {
    const { failures, layers } = watch()
    const server = await serve(honest, stall, honest)
    const client = clientOf(server.url, { layers, timeoutMs: NEVER, deadlineMs: Number.POSITIVE_INFINITY })
    await client.request({ method: 'eth_chainId' })
    await client.request({ method: 'eth_blockNumber' })
    expect(server.requests).toHaveLength(3)
    expect(failures).toEqual([expect.any(TimeoutError)])
    expect(failures[0]).toMatchObject({ kind: 'timeout', stalled: true, unsent: false })
    expect((failures[0] as Error).message).toMatch(/^127\.0\.0\.1:\d+: the reply stalled after 1000 bytes: no data for \d+ ms$/)
    // Its connection cannot be used again.
    await (server.requests[1] as Received).hungUp
  })

  test('may be the very first one', async () => {
    const server = await serve(stall, honest)
    const client = clientOf(server.url, { timeoutMs: NEVER, deadlineMs: Number.POSITIVE_INFINITY })
    await client.request({ method: 'eth_chainId' })
    expect(server.requests).toHaveLength(2)
  })

  test('does not shorten batches, since it says nothing about their size', async () => {
    const server = await serve(honest, honest, stall, honest)
    const client = clientOf(server.url, { timeoutMs: NEVER, deadlineMs: Number.POSITIVE_INFINITY })
    const ask = (from: number) => Promise.all(Array.from({ length: 50 }, (_, i) => client.request({ method: 'eth_getBalance', params: [`0x${from + i}`] })))
    await ask(0)
    await ask(100)
    await ask(200)
    expect(server.requests.map(({ entries }) => entries.length)).toEqual([50, 50, 50, 50])
  })

  test('is waited for until the timeout by the last attempt, and by the only one', async () => {
    for (const attempts of [1, 3]) {
      const { failures, layers } = watch()
      const server = await serve(honest, stall)
      const client = clientOf(server.url, { layers, timeoutMs: 2_500, retry: { attempts, baseDelayMs: 1 } })
      await client.request({ method: 'eth_chainId' })
      await expect(client.request({ method: 'eth_blockNumber' })).rejects.toThrow(/the reply was still incomplete \(1000 bytes\) within 2500 ms/)
      expect(server.requests).toHaveLength(1 + attempts)
      expect(failures.map((failure) => (failure as TimeoutError).stalled)).toEqual([...Array(attempts - 1).fill(true), false])
    }
  })

  test('is waited for to its end if the call must not run twice', async () => {
    const server = await serve(honest, pause(2_000))
    const client = clientOf(server.url, { timeoutMs: NEVER, deadlineMs: Number.POSITIVE_INFINITY })
    await client.request({ method: 'eth_chainId' })
    await client.request({ method: 'personal_sign', params: [] })
    expect(server.requests).toHaveLength(2)
  })
})

describe('a reply that has not begun', () => {
  /** Shows at once that it is working, and answers later. */
  const early =
    (say: (response: ServerResponse) => void): Answer =>
    async (request, response) => {
      say(response)
      await after(1_500)
      response.end(bodyOf(request))
    }

  test.each([
    ['sends its headers at once', (response: ServerResponse) => void response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()],
    ['sends 102', (response: ServerResponse) => response.writeProcessing()],
    ['sends 103', (response: ServerResponse) => response.writeEarlyHints({ link: '</a>; rel=preload' })],
  ])('is waited for if the node %s', async (_, say) => {
    const server = await serve(honest, early(say))
    const client = clientOf(server.url, { timeoutMs: NEVER, deadlineMs: Number.POSITIVE_INFINITY })
    await client.request({ method: 'eth_chainId' })
    await client.request({ method: 'eth_blockNumber' })
    expect(server.requests).toHaveLength(2)
  })
})

describe('a reply that continues', () => {
  test('is received to its end, however slow it is', async () => {
    const server = await serve(honest, trickle)
    const client = clientOf(server.url, { timeoutMs: NEVER, deadlineMs: Number.POSITIVE_INFINITY })
    await client.request({ method: 'eth_chainId' })
    await client.request({ method: 'eth_blockNumber' })
    expect(server.requests).toHaveLength(2)
  })

  test('is finally received from a node that always pauses', async () => {
    const server = await serve(honest, pause(2_500))
    const client = clientOf(server.url, { timeoutMs: NEVER, deadlineMs: Number.POSITIVE_INFINITY, retry: { baseDelayMs: 1 } })
    await client.request({ method: 'eth_chainId' })
    await client.request({ method: 'eth_blockNumber' })
    expect(server.requests.length).toBeLessThanOrEqual(5)
    // Its pauses are known from now on.
    const known = server.requests.length
    await client.request({ method: 'eth_gasPrice' })
    expect(server.requests).toHaveLength(known + 1)
  })
})
