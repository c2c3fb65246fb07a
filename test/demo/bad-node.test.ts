import { describe, expect, it, onTestFinished } from 'vitest'
import { type Faults, startBadNode } from '../../demo/bad-node.ts'
import { honest, serve } from '../support/server.ts'

const healthy: Faults = { callsPerSecond: 1_000_000, stallEvery: Number.POSITIVE_INFINITY }

async function setUp(faults: Partial<Faults>) {
  const upstream = await serve(honest)
  const node = await startBadNode(upstream.url, { ...healthy, ...faults })
  onTestFinished(() => node.close())
  const post = (body: unknown, signal?: AbortSignal) => fetch(node.url, { method: 'POST', body: JSON.stringify(body), ...(signal && { signal }) })
  return { upstream, node, post }
}

const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'eth_getBalance', params: [id] })
const result = (id: number) => ({ jsonrpc: '2.0', id, result: { asked: [id] } })
const refusal = (id: number) => ({ jsonrpc: '2.0', id, error: { code: -32005, message: 'rate limit exceeded' } })

describe('a bad node', () => {
  it('hands calls and batches on to the real node', async () => {
    const { upstream, post } = await setUp({})
    expect(await (await post(call(1))).json()).toEqual(result(1))
    expect(await (await post([call(2), call(3)])).json()).toEqual([result(2), result(3)])
    expect(upstream.requests.map(({ entries }) => entries.length)).toEqual([1, 2])
  })

  it('refuses the calls of a batch that are over its rate, and answers the others', async () => {
    // So slow that no further call is within the rate.
    const { node, post } = await setUp({ callsPerSecond: 2 })
    const entries = Array.from({ length: 1000 }, (_, id) => call(id))
    const response = await post(entries)
    const replies = (await response.json()) as object[]
    expect(response.status).toBe(200)
    expect(replies.slice(0, 2)).toEqual([result(0), result(1)])
    expect(replies.slice(-500)).toEqual(entries.slice(-500).map(({ id }) => refusal(id)))
    expect(node.counts).toEqual({ throttled: 998, stalled: 0, dropped: 0 })
  })

  it.each([
    ['a call', call(7), refusal(7)],
    ['a batch', [call(7), call(8)], [refusal(7), refusal(8)]],
  ])('answers 429 with Retry-After to %s that is wholly over its rate', async (_, body, refused) => {
    const { upstream, post } = await setUp({ callsPerSecond: 0 })
    const response = await post(body)
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await response.json()).toEqual(refused)
    expect(upstream.requests).toEqual([])
  })

  it('stops each nth reply in the middle', async () => {
    const { node, post } = await setUp({ stallEvery: 2 })
    await (await post(call(1))).json()
    const stop = new AbortController()
    const stalled = await post(call(2), stop.signal)
    const reader = (stalled.body as ReadableStream<Uint8Array>).getReader()
    const { value } = await reader.read()
    expect(value?.length).toBeLessThan(Number(stalled.headers.get('content-length')))
    expect(node.counts.stalled).toBe(1)
    stop.abort()
  })

  it('drops every request while it is dead, counted from its first', async () => {
    const { upstream, node, post } = await setUp({ dead: { fromMs: 0, toMs: Number.POSITIVE_INFINITY } })
    expect(node.isDead).toBe(false)
    await expect(post(call(1))).rejects.toThrow()
    expect(node.isDead).toBe(true)
    expect([node.counts.dropped, upstream.requests.length]).toEqual([1, 0])
  })

  it('drops a request when the real node is gone', async () => {
    const { upstream, post } = await setUp({})
    await upstream.close()
    await expect(post(call(1))).rejects.toThrow()
  })
})
