import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { getBlocks } from '../../../src/index-bulk.ts'
import { blockOf } from '../../support/chain-server.ts'
import { node } from '../../support/node.ts'
import type { Answer, Entry, TestServer } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

const LATENCY_MS = 40
const BLOCKS = 4_000
const HEAD = 10_000

const chain = node({
  head: () => HEAD,
  answer: ({ id, method, params }: Entry) =>
    method === 'eth_getBlockByNumber' ? { jsonrpc: '2.0', id, result: blockOf(Number(params[0]), false) } : undefined,
})

/** A slow node. */
const well: Answer = async (...args) => {
  await sleep(LATENCY_MS)
  return chain(...args)
}
const reset = (socket: Socket) => void socket.resetAndDestroy()

/** The outcome of a bulk job that was disturbed at two of its blocks. */
async function fetchWhile(server: TestServer, urls: [string, string], timeoutMs: number, at: Readonly<Record<number, () => void>>) {
  const client = clientOf(urls, { concurrency: 2, batch: { maxCalls: 10 }, timeoutMs, retry: {} })
  let expected = 0
  let longestMs = 0
  let last = clock.now()
  let asked = server.requests.length
  const requests: number[] = []
  for await (const block of getBlocks(client, { from: 0n, to: BigInt(BLOCKS - 1) })) {
    expect(block.number).toBe(BigInt(expected++))
    const now = clock.now()
    longestMs = Math.max(longestMs, now - last)
    last = now
    if (expected in at) {
      requests.push(server.requests.length - asked)
      asked = server.requests.length
      at[expected]?.()
    }
  }
  requests.push(server.requests.length - asked)
  return { blocks: expected, longestMs: Math.round(longestMs), requests }
}

function report(what: string, { blocks, longestMs, requests }: Awaited<ReturnType<typeof fetchWhile>>): void {
  console.log(
    `failover | ${what} | ${blocks} blocks in order | longest time without one ${longestMs} ms | POSTs to it before, while it is away, after: ${requests.join(', ')}`,
  )
}

test('one of two endpoints is killed in the middle of a bulk fetch, and comes back', async () => {
  const [a, b] = [await serve(well), await serve(well)]
  const result = await fetchWhile(b, [a.url, b.url], 30_000, {
    800: () => {
      b.script(({ socket }) => reset(socket))
      for (const socket of b.sockets) reset(socket)
    },
    1600: () => b.script(well),
  })
  report('killed', result)
  expect(result.blocks).toBe(BLOCKS)
  expect(result.longestMs).toBeLessThan(2_000)
  const [before, meanwhile, after] = result.requests as [number, number, number]
  expect(before).toBeGreaterThan(10)
  // Some that were in flight, some until the circuit opens, and the probes afterwards.
  expect(meanwhile).toBeLessThan(15)
  expect(after).toBeGreaterThan(20)
})

test('one of two endpoints stalls in the middle of a bulk fetch, and comes back', async () => {
  const [a, b] = [await serve(well), await serve(well)]
  const timeoutMs = 1_500
  let release = () => {}
  const stalled = new Promise<void>((resolve) => {
    release = resolve
  })
  const result = await fetchWhile(b, [a.url, b.url], timeoutMs, {
    800: () => b.script(({ hungUp }) => Promise.race([hungUp, stalled])),
    1600: () => {
      release()
      b.script(well)
    },
  })
  report('stalls', result)
  expect(result.blocks).toBe(BLOCKS)
  // The timeout, and the retry's wait after it.
  expect(result.longestMs).toBeLessThan(timeoutMs + 1_000)
  expect(result.requests[2]).toBeGreaterThan(10)
})

test('the first of two endpoints is dead from the start, without effect', async () => {
  const [a, b] = [await serve(({ socket }) => reset(socket)), await serve(well)]
  const client = clientOf([a.url, b.url], { retry: {} })
  let blocks = 0
  for await (const block of getBlocks(client, { from: 0n, to: 499n })) expect(block.number).toBe(BigInt(blocks++))
  console.log(`failover | dead from the start | ${blocks} blocks in order | POSTs to it: ${a.requests.length}`)
  expect(blocks).toBe(500)
  expect(a.requests.length).toBeLessThan(10)
})
