import { createClient } from 'hexline'
import { describe, expect, it } from 'vitest'
import { costTables } from '../../src/eth/costs.ts'
import { Counts } from '../../src/plan/counting-client.ts'
import { known } from '../../src/plan/estimate.ts'
import { bodiesOf, checkPlanOptions, type Findings, onceOf, type Part, partOf, planOf } from '../../src/plan/plan.ts'

/** A sample of this many results, of 100 bytes each, in POSTs whose bodies have these sizes. */
function countsOf(results: number, ...posts: readonly { readonly bytes: number; readonly wireBytes: number }[]): Counts {
  const counts = new Counts()
  for (const post of posts) counts.posts.set({ calls: results / posts.length, ...post }, 10)
  counts.calls = results
  counts.results = results
  counts.resultBytes = 100 * results
  return counts
}

const client = createClient('http://127.0.0.1:1', { batch: { maxCalls: 10 }, rate: { callsPerSecond: 2 } })

describe('options', () => {
  it('have defaults, and are checked', () => {
    expect(checkPlanOptions({ sample: undefined, provider: undefined })).toEqual({ sample: 20, provider: undefined })
    expect(checkPlanOptions({ sample: 2, provider: 'infura' })).toEqual({ sample: 2, provider: 'infura' })
    for (const sample of [1, 10_001, 2.5, '20']) expect(() => checkPlanOptions({ sample: sample as number, provider: undefined })).toThrow('sample: expected')
    expect(() => checkPlanOptions({ sample: 20, provider: 'geth' as 'infura' })).toThrow('provider: expected')
  })
})

describe('bodies', () => {
  const calls = { eth_getBlockByNumber: { value: 30, low: 20, high: 40 } }
  const bytes = { value: 3000, low: 2000, high: 4000 }

  it('are the results with what is around each, and compress as those of the sample', () => {
    // 10 results of 100 bytes in 1200: 20 around each. A quarter of that over the wire.
    const counts = countsOf(10, { bytes: 600, wireBytes: 200 }, { bytes: 600, wireBytes: 100 })
    expect(bodiesOf({ calls, bytes, counts })).toEqual({
      bytes: { value: 3600, low: 2400, high: 4800 },
      wireBytes: { value: 900, low: 600, high: 1200 },
    })
  })

  it('of a function, which has no POSTs, are the results', () => {
    expect(bodiesOf({ calls, bytes, counts: countsOf(10) })).toEqual({ bytes, wireBytes: bytes })
  })

  it('of a sample without results have nothing around them', () => {
    const counts = countsOf(0, { bytes: 50, wireBytes: 25 })
    expect(bodiesOf({ calls, bytes, counts })).toEqual({ bytes, wireBytes: { value: 1500, low: 1000, high: 2000 } })
  })
})

it('the calls for all blocks are estimated from those for each of the sample, absent ones as none', () => {
  const counts = new Counts()
  const twice = (values: readonly number[]) => known(2 * values.reduce((a, b) => a + b, 0))
  const blocks = [
    { calls: { eth_getBlockByNumber: 1, eth_getTransactionReceipt: 7 }, bytes: 100 },
    { calls: { eth_getBlockByNumber: 1 }, bytes: 30 },
  ]
  expect(partOf(twice, blocks, counts)).toEqual({
    calls: { eth_getBlockByNumber: known(4), eth_getTransactionReceipt: known(14) },
    bytes: known(260),
    counts,
  })
  const values: (readonly number[])[] = []
  partOf((each) => known(values.push(each)), blocks, counts)
  expect(values).toContainEqual([7, 0])
})

it('calls that are made once are known, and small unless their size is given', () => {
  const counts = new Counts()
  expect(onceOf({ eth_chainId: 1, eth_blockNumber: 2 }, counts)).toEqual({
    ...{ calls: { eth_chainId: known(1), eth_blockNumber: known(2) }, bytes: known(48), counts, isSingle: true },
  })
  expect(onceOf({ eth_getBlockByNumber: 1 }, counts, 5000).bytes).toEqual(known(5000))
})

describe('a plan', () => {
  const blocks: Part = {
    calls: { eth_getBlockByNumber: { value: 100, low: 90.4, high: 110.2 }, eth_getBlockReceipts: known(100) },
    bytes: { value: 20_000, low: 19_000.5, high: 21_000.5 },
    counts: countsOf(10, { bytes: 1000, wireBytes: 500 }),
  }
  const once: Part = { ...onceOf({ eth_chainId: 1, eth_getBlockByNumber: 1 }, new Counts(), 40) }
  const findings: Findings = {
    ...{ client, range: { from: 5n, to: 104n }, parts: [blocks, once], others: countsOf(3, { bytes: 300, wireBytes: 250 }), ahead: { items: 20, of: 100 } },
    ...{ tables: costTables.slice(0, 1), missing: null },
  }

  it('has the calls of all parts, by method, rounded outwards', () => {
    const plan = planOf(findings)
    expect([plan.from, plan.to, plan.blocks, plan.missing]).toEqual([5n, 104n, 100, null])
    expect(plan.callsByMethod).toEqual({ eth_getBlockByNumber: { value: 101, low: 91, high: 112 }, eth_getBlockReceipts: known(100), eth_chainId: known(1) })
    expect(plan.calls).toEqual({ value: 202, low: 192, high: 213 })
    expect(plan.bytes).toEqual({ value: 20_040, low: 19_040, high: 21_041 })
    // Half of the first part; the second had no POST to tell.
    expect(plan.wireBytes).toEqual({ value: 10_040, low: 9540, high: 10_541 })
  })

  it('posts what is single alone, and the rest in rounds of what is requested ahead', () => {
    // 2 alone, and 200 by 10 calls: 20 blocks ahead are 40 calls, so that all POSTs are full.
    expect(planOf(findings)).toMatchObject({ posts: { value: 22 }, callsPerPost: 10 })
    // 9 blocks are 18 calls, for which 2 POSTs are sent: 11 rounds of them, and one with the other
    // 2 calls.
    expect(planOf({ ...findings, parts: [{ ...blocks, calls: { eth_getBlockByNumber: known(200) } }, once], ahead: { items: 9, of: 100 } }).posts).toEqual({
      ...{ value: Math.round((22 + 25) / 2), low: 22, high: 25 },
    })
  })

  it('takes its time at the rate, and costs what each call does', () => {
    const { duration, units } = planOf(findings)
    expect(duration).toMatchObject({ limitedBy: 'rate', rate: { perSecond: 2, of: 'calls' } })
    expect(duration.seconds.value).toBeCloseTo(101)
    expect(units.map(({ provider }) => provider)).toEqual([costTables[0]?.provider.toLowerCase()])
  })

  it('counts what the sample took, each part of it once', () => {
    expect(planOf(findings).cost).toEqual({ calls: 13, posts: 2, wireBytes: 750 })
    expect(planOf({ ...findings, parts: [blocks, { ...once, counts: blocks.counts }], others: blocks.counts }).cost).toEqual({
      calls: 10,
      posts: 1,
      wireBytes: 500,
    })
  })
})
