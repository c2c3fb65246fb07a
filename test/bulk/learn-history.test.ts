import { expect, it, onTestFinished } from 'vitest'
import { learnHistory } from '../../src/bulk/learn-history.ts'
import { createClient } from '../../src/index.ts'
import { getLogs } from '../../src/index-bulk.ts'
import { type ChainServer, hexOf, startChain } from '../support/chain-server.ts'

async function start(count: number) {
  const nodes: ChainServer[] = []
  for (let i = 0; i < count; i++) {
    const node = await startChain({
      head: 1000,
      answer: ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : method === 'eth_getLogs' ? { result: [] } : undefined),
    })
    onTestFinished(() => node.close())
    nodes.push(node)
  }
  const client = createClient(nodes.map(({ url }) => url))
  onTestFinished(() => client.close())
  const asked = () => nodes.map(({ calls }) => calls.filter(({ method }) => method === 'eth_getBlockByNumber').map(({ params }) => params[0]))
  return { client, asked }
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const { signal } = new AbortController()

it('each of several endpoints is asked once for the oldest block of the jobs', async () => {
  const { client, asked } = await start(3)
  await learnHistory(client, 400n, signal)
  expect(asked()).toEqual([[hexOf(400)], [hexOf(400)], [hexOf(400)]])
  await learnHistory(client, 400n, signal)
  await learnHistory(client.with({ priority: 'bulk' }), 900n, signal)
  expect(asked()).toEqual([[hexOf(400)], [hexOf(400)], [hexOf(400)]])
  await learnHistory(client, 399n, signal)
  expect(asked().flat()).toHaveLength(6)
})

it('a single endpoint is not asked', async () => {
  const { client, asked } = await start(1)
  await learnHistory(client, 400n, signal)
  expect(asked()).toEqual([[]])
})

it('a job of logs begins with it', async () => {
  const { client, asked } = await start(2)
  await allOf(getLogs(client, { from: 400n, to: 401n, audit: 'none' }))
  for (const blocks of asked()) expect(blocks).toContain(hexOf(400))
})

it('endpoints that fail do not fail the job, and the signal ends it', async () => {
  const client = createClient(['http://127.0.0.1:1', 'http://localhost:1'])
  onTestFinished(() => client.close())
  await expect(learnHistory(client, 1n, signal)).resolves.toBeUndefined()
  const reason = new Error('enough')
  await expect(learnHistory(client, 0n, AbortSignal.abort(reason))).rejects.toBe(reason)
})
