import { createClient } from 'hexline'
import { expect, it, onTestFinished } from 'vitest'
import { connectionsOf } from '../../src/client/internals.ts'
import { Counts, countingClient } from '../../src/plan/counting-client.ts'
import { startChain } from '../support/chain-server.ts'

it('a counting client counts what its calls took, also those that fail, and is otherwise the same client', async () => {
  const server = await startChain({
    head: 5,
    answer: ({ params }) => (params[0] === '0x3' ? { error: { code: -32602, message: 'invalid params' } } : undefined),
  })
  const client = createClient(server.url)
  onTestFinished(async () => {
    await client.close()
    await server.close()
  })
  const counts = new Counts()
  const counting = countingClient(client, counts)
  expect(connectionsOf(counting)).toBe(connectionsOf(client))
  const ask = (number: number) => counting.with({ priority: 'bulk' }).send({ method: 'eth_getBlockByNumber', params: [`0x${number}`, false], as: 'bytes' })
  const replies = await Promise.allSettled([1, 2, 3].map(ask))
  expect(replies.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
  expect(counts).toMatchObject({ calls: 3, results: 2 })
  expect([...counts.posts]).toEqual([[{ calls: 3, bytes: expect.any(Number), wireBytes: expect.any(Number) }, expect.any(Number)]])
  expect(counts.resultBytes).toBeGreaterThan(0)
  expect(new Counts().add(counts).add(counts)).toMatchObject({ calls: 6, results: 4, posts: counts.posts })
})
