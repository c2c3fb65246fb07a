import { describe, expect, it } from 'vitest'
import { getBlocks, getLogs } from '../../src/index-bulk.ts'
import { chainAnswer } from '../support/chain-server.ts'
import { errorOf } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

const LAST = 300

/** A node that takes 3 calls a second, and at most this many blocks in a range of logs. */
async function startNode(most: number): Promise<string> {
  let [tokens, at] = [3, clock.now()]
  const isTaken = () => {
    tokens = Math.min(3, tokens + ((clock.now() - at) / 1000) * 3)
    at = clock.now()
    return tokens >= 1 && tokens-- >= 1
  }
  const { url } = await serve(
    chainAnswer({
      head: LAST,
      transactions: () => 1,
      answer({ method, params }) {
        if (!isTaken()) return { error: { code: -32005, message: 'rate limit exceeded' } }
        if (method !== 'eth_getLogs') return undefined
        const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
        return Number(toBlock) - Number(fromBlock) >= most ? { error: { code: -32602, message: `exceed maximum block range: ${most}` } } : { result: [] }
      },
    }),
  )
  return url
}

it.each([1, 2, 5])('an audit ends, however long its calls wait for their turn; %d blocks in a range', async (most) => {
  const client = clientOf([await startNode(most), await startNode(most)], {
    deadlineMs: 15_000,
    timeoutMs: 5_000,
    retry: { attempts: 4, baseDelayMs: 100, maxDelayMs: 10_000 },
  })
  let last = -1n
  for await (const { to } of getLogs(client, { address: `0x${'a'.repeat(40)}`, from: 0, to: LAST, audit: 'receipts' }).pages()) last = to
  expect(last).toBe(BigInt(LAST))
})

describe('a gateway that has no node behind it for a while', () => {
  it.each([
    [404, 'default backend - 404'],
    [403, '<html>blocked</html>'],
    [302, ''],
    [400, 'Bad Request'],
  ])('does not end a job whose calls it has answered: HTTP %i', async (status, body) => {
    const isGone = () => clock.now() > 1000 && clock.now() < 9000
    const answer = chainAnswer({ head: 3000, transactions: () => 1, gate: () => sleep(50) })
    const { url } = await serve((request, response) =>
      isGone() ? response.writeHead(status, { 'content-type': 'text/html' }).end(body) : answer(request, response),
    )
    let next = 0n
    for await (const { number } of getBlocks(clientOf(url, { concurrency: 2, batch: { maxCalls: 20 } }), { from: 0, to: 3000 })) expect(number).toBe(next++)
    expect(next).toBe(3001n)
    expect(clock.now()).toBeGreaterThan(9000)
  })

  it('does not end a job where only one of two nodes behind it is gone', async () => {
    const answer = chainAnswer({ head: 3000, transactions: () => 1, gate: () => sleep(50) })
    let posts = 0
    const { url } = await serve((request, response) => {
      const isGone = clock.now() > 1000 && clock.now() < 6000 && posts++ % 2 === 0
      return isGone ? response.writeHead(404, { 'content-type': 'text/html' }).end('<html>') : answer(request, response)
    })
    let next = 0n
    for await (const { number } of getBlocks(clientOf(url, { concurrency: 3, batch: { maxCalls: 10 } }), { from: 0, to: 3000 })) expect(number).toBe(next++)
    expect([next, clock.now() > 1500]).toEqual([3001n, true])
  })

  it('does not end a job for logs', async () => {
    const isGone = () => clock.now() > 150 && clock.now() < 9000
    const answer = chainAnswer({
      head: 300,
      transactions: () => 1,
      gate: () => sleep(50),
      answer({ method, params }) {
        if (method !== 'eth_getLogs') return undefined
        const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
        return Number(toBlock) - Number(fromBlock) >= 2 ? { error: { code: -32602, message: 'exceed maximum block range: 2' } } : { result: [] }
      },
    })
    const { url } = await serve((request, response) => (isGone() ? response.writeHead(404).end('default backend - 404') : answer(request, response)))
    let last = -1n
    for await (const { to } of getLogs(clientOf(url), { address: `0x${'a'.repeat(40)}`, from: 0, to: 300, audit: 'none' }).pages()) last = to
    expect(last).toBe(300n)
    expect(clock.now()).toBeGreaterThan(9000)
  })

  it('ends it after half a minute, with what it said', async () => {
    const answer = chainAnswer({ head: 3000, transactions: () => 1, gate: () => sleep(50) })
    const { url } = await serve((request, response) => (clock.now() > 1000 ? response.writeHead(404).end('default backend - 404') : answer(request, response)))
    const read = async () => {
      for await (const block of getBlocks(clientOf(url, { concurrency: 2, batch: { maxCalls: 20 } }), { from: 0, to: 3000 })) expect(block).toBeDefined()
    }
    expect(await errorOf(read())).toMatchObject({ name: 'HttpError', status: 404 })
    expect(clock.now()).toBeGreaterThan(30_000)
    expect(clock.now()).toBeLessThan(35_000)
  })

  it('is not taken for one that refuses some calls, and answers others', async () => {
    const answer = chainAnswer({ head: 3000, transactions: () => 1, gate: () => sleep(50) })
    const { url } = await serve((request, response) =>
      request.entries.some(({ method }) => method === 'eth_getBlockReceipts')
        ? response.writeHead(403, { 'content-type': 'text/html' }).end('<html>blocked</html>')
        : answer(request, response),
    )
    expect(await errorOf(getBlocks(clientOf(url), { from: 0, to: 3000, receipts: true }).next())).toMatchObject({ name: 'HttpError', status: 403 })
    expect(clock.now()).toBeLessThan(5000)
  })

  it('is not taken for a node that refuses a range with HTTP 400', async () => {
    const logs = ({ method }: { readonly method: string }) => (method === 'eth_getLogs' ? { result: [] } : undefined)
    const answer = chainAnswer({ head: 300, transactions: () => 1, gate: () => sleep(50), answer: logs })
    let refused = 0
    const { url } = await serve((request, response) => {
      const isTooMuch = request.entries.some(({ method, params }) => {
        if (method !== 'eth_getLogs') return false
        const { fromBlock, toBlock } = (params as [{ fromBlock: string; toBlock: string }])[0]
        return Number(toBlock) - Number(fromBlock) >= 10
      })
      if (!isTooMuch) return answer(request, response)
      refused++
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"exceed maximum block range: 10"}')
    })
    for await (const { to } of getLogs(clientOf(url), { address: `0x${'a'.repeat(40)}`, from: 0, to: 300, audit: 'none' }).pages()) expect(to).toBeDefined()
    expect(refused).toBeLessThan(60)
    expect(clock.now()).toBeLessThan(10_000)
  })

  it('ends a job at once that it has not answered', async () => {
    const { url } = await serve((_, response) => response.writeHead(404).end('default backend - 404'))
    expect(await errorOf(getBlocks(clientOf(url), { from: 0, to: 3000 }).next())).toMatchObject({ name: 'HttpError', status: 404 })
    expect(clock.now()).toBeLessThan(1000)
  })
})
