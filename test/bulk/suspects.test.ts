import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { getBlocks } from '../../src/bulk/get-blocks.ts'
import { Suspects } from '../../src/bulk/suspects.ts'
import { systemClock } from '../../src/wait/clock.ts'
import { chainAnswer, type SeenCall } from '../support/chain-server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { serve, clientOf, sleep } = virtualWorld()

describe('an endpoint', () => {
  it('is suspect after three wrong blocks in a row, for a time that doubles', () => {
    let now = 0
    const suspects = new Suspects({ ...systemClock, now: () => now })
    const wrong = (times: number) => {
      for (let i = 0; i < times; i++) suspects.wrong('a')
    }
    wrong(2)
    suspects.right('a')
    wrong(2)
    expect([suspects.names, suspects.version]).toEqual([[], 0])
    wrong(1)
    expect([suspects.names, suspects.version]).toEqual([['a'], 1])
    now += 30_000
    expect(suspects.names).toEqual([])
    wrong(1)
    now += 59_999
    expect([suspects.names, suspects.version]).toEqual([['a'], 2])
    now += 1
    expect(suspects.names).toEqual([])
  })
})

/** A branch of the chain from block `at` on. */
function fork(at: number) {
  return ({ method }: SeenCall, right: unknown) => {
    const block = right as { number: string; hash: string; parentHash: string } | null
    if (method !== 'eth_getBlockByNumber' || block === null || Number(block.number) < at) return undefined
    const other = (hash: string) => `0xf0f0${hash.slice(6)}`
    return { result: { ...block, hash: other(block.hash), parentHash: Number(block.number) === at ? block.parentHash : other(block.parentHash) } }
  }
}

it('the blocks of an endpoint on another branch are not replaced one by one', async () => {
  const options = { head: 600, gate: () => sleep(5) }
  const nodes = [await serve(chainAnswer(options)), await serve(chainAnswer({ ...options, answer: fork(50) }))]
  const client = clientOf(nodes.map(({ url }) => url) as [string, string])
  const moves: unknown[] = []
  const onRoute = (event: unknown) => void moves.push(event)
  subscribe('hexline:route', onRoute)
  onTestFinished(() => void unsubscribe('hexline:route', onRoute))
  let last: string | undefined
  let count = 0
  for await (const { hash, parentHash } of getBlocks(client, { from: 0, to: 600 })) {
    if (last !== undefined) expect(parentHash).toBe(last)
    last = hash ?? undefined
    count++
  }
  expect(count).toBe(601)
  const posts = nodes.reduce((sum, { requests }) => sum + requests.length, 0)
  console.log(`601 blocks, of two endpoints on different branches: ${posts} POSTs`)
  // Without `Suspects`, 450.
  expect(posts).toBeLessThan(120)
  // No call was moved: those that avoid an endpoint never were at it.
  expect(moves).toEqual([])
})
