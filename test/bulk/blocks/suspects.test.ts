import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Suspects } from '../../../src/bulk/blocks/suspects.ts'
import { getBlocks } from '../../../src/bulk/get-blocks.ts'
import { systemClock } from '../../../src/wait/clock.ts'
import { chainAnswer, type SeenCall } from '../../support/chain-server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { serve, clientOf, sleep, clock } = virtualWorld()

describe('an endpoint', () => {
  it('is suspect after three wrong blocks in a row, for a time that doubles', () => {
    let now = 0
    const suspects = new Suspects({ ...systemClock, now: () => now }, 2)
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

  it('is avoided as the only one where all have been suspect', () => {
    const suspects = new Suspects({ ...systemClock, now: () => 0 }, 2)
    // Where all are wrong by turns, it takes more each time.
    for (const [right, wrong, times] of [
      ['a', 'b', 3],
      ['b', 'a', 3],
      ['a', 'b', 6],
    ] as const) {
      for (let i = 1; i < times; i++) suspects.replaced(right, [wrong])
      expect(suspects.names).not.toEqual([wrong])
      suspects.replaced(right, [wrong])
      expect([suspects.names, suspects.isDoubtful(right, 0), suspects.isDoubtful(wrong, 0)]).toEqual([[wrong], false, true])
    }
    expect(suspects.version).toBe(3)
  })

  it('that corrects three blocks in a row is asked anew for all before, the next time for six', () => {
    let now = 0
    const suspects = new Suspects({ ...systemClock, now: () => now }, 2)
    const correct = (times: number) => {
      for (let i = 0; i < times; i++) suspects.replaced('a', ['a'])
    }
    correct(2)
    suspects.right('a')
    correct(2)
    expect([suspects.isDoubtful('a', 0), suspects.version]).toEqual([false, 0])
    now = 7
    correct(1)
    expect(['a', 'b', undefined].map((name) => suspects.isDoubtful(name, 7))).toEqual([true, false, false])
    expect([suspects.isDoubtful('a', 8), suspects.names, suspects.version]).toEqual([false, [], 1])
    now = 9
    correct(5)
    expect([suspects.isDoubtful('a', 8), suspects.version]).toEqual([false, 1])
    correct(1)
    expect([suspects.isDoubtful('a', 8), suspects.version]).toEqual([true, 2])
    // Of the next twelve, a hundred right ones in a row leave six.
    for (let i = 0; i < 100; i++) suspects.right('a')
    correct(5)
    expect(suspects.version).toBe(2)
    correct(1)
    expect(suspects.version).toBe(3)
  })
})

it.each<[string, (call: SeenCall) => { result: unknown } | undefined]>([
  ['blocks', ({ method }) => (method === 'eth_getBlockByNumber' ? { result: {} } : undefined)],
  ['receipts', ({ method }) => (method === 'eth_getBlockReceipts' ? { result: [] } : undefined)],
  ['receipts by number', ({ method, params }) => (method === 'eth_getBlockReceipts' && String(params[0]).length < 20 ? { result: [] } : undefined)],
  ['traces', ({ method }) => (method.startsWith('debug_traceBlock') ? { result: [] } : undefined)],
])('wrong %s that have arrived within a second are not replaced one by one', async (what, wrong) => {
  const from = clock.now() + 500
  let count = 0
  const answer = (call: SeenCall) => {
    const result = clock.now() > from && clock.now() < from + 1000 ? wrong(call) : undefined
    if (result !== undefined) count++
    return result
  }
  const node = await serve(chainAnswer({ head: 4000, gate: () => sleep(50), answer }))
  let last = 0n
  for await (const { number } of getBlocks(clientOf(node.url, { retry: {} }), { from: 1, to: 4000, receipts: true, traces: 'callTracer' }))
    expect(number).toBe(++last)
  expect(last).toBe(4000n)
  console.log(`4,000 blocks, ${count} wrong ${what}: ${Math.round(clock.now() - from + 500)} ms, ${node.requests.length} POSTs`)
  // One by one, it takes as many POSTs more as there are wrong blocks.
  expect(count).toBeGreaterThan(200)
  expect(node.requests.length).toBeLessThan(350)
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

it('blocks of two endpoints that were both wrong for a second are not all requested twice from then on', async () => {
  const from = clock.now() + 300
  let calls = 0
  const answer = ({ method }: SeenCall) => {
    calls++
    return method === 'eth_getBlockByNumber' && clock.now() > from && clock.now() < from + 1000 ? { result: {} } : undefined
  }
  const nodes = [
    await serve(chainAnswer({ head: 4000, gate: () => sleep(50), answer })),
    await serve(chainAnswer({ head: 4000, gate: () => sleep(30), answer })),
  ]
  let last = 0n
  for await (const { number } of getBlocks(clientOf(nodes.map(({ url }) => url) as [string, string], { retry: {} }), { from: 1, to: 4000 })) {
    expect(number).toBe(++last)
  }
  expect(last).toBe(4000n)
  // While both were avoided, 7,200.
  expect(calls).toBeLessThan(5500)
})

it.each(['eth_getBlockReceipts', 'debug_traceBlock'])('an endpoint whose replies to %s are always wrong is avoided', async (wrong) => {
  const options = { head: 2000, gate: () => sleep(50) }
  const answer = ({ method }: SeenCall) => (method.startsWith(wrong) ? { result: [] } : undefined)
  const nodes = [await serve(chainAnswer(options)), await serve(chainAnswer({ ...options, answer }))]
  const client = clientOf(nodes.map(({ url }) => url) as [string, string], { retry: {} })
  let last = 0n
  for await (const { number } of getBlocks(client, { from: 1, to: 2000, receipts: true, traces: 'callTracer' })) expect(number).toBe(++last)
  expect(last).toBe(2000n)
  // One by one, more than 3,000.
  expect(nodes.reduce((sum, { requests }) => sum + requests.length, 0)).toBeLessThan(200)
})
