import { createClient } from 'hexline'
import { describe, expect, it } from 'vitest'
import { costTables } from '../../src/eth/costs.ts'
import { known, sum } from '../../src/plan/estimate.ts'
import { planReceipts } from '../../src/plan/receipts-ways.ts'
import type { SampledBlock } from '../../src/plan/sample.ts'

const local = createClient('http://127.0.0.1:8545')
const priced = createClient('https://mainnet.infura.io/v3/KEY')
/** Blocks with this many transactions, whose receipts came by a method. */
const sample = (method: string, transactions: readonly number[], logs = { count: 0, bytes: 0 }) =>
  transactions.map(
    (each, number) => ({ number, header: { transactions: each }, logs, calls: { eth_getBlockByNumber: 1, [method]: 1 } }) as unknown as SampledBlock,
  )
/** The sample is all there is, or stands for ten times as many blocks. */
const all = (values: readonly number[]) => known(sum(values))
const ofTen = (values: readonly number[]) => known(10 * sum(values))

describe('ways to receipts', () => {
  it('are a call for each block, or for each transaction; and logs alone where only these are wanted', () => {
    const blocks = sample('eth_getBlockReceipts', [3, 5])
    const { ways } = planReceipts(local, costTables, 20, ofTen, blocks, false)
    expect(ways.map(({ method, calls, isUsed }) => [method, calls.value, isUsed])).toEqual([
      ['eth_getBlockReceipts', 20, true],
      ['eth_getTransactionReceipt', 80, false],
    ])
    const onlyLogs = planReceipts(local, costTables, 2, all, blocks, true)
    // One call for all blocks.
    expect(onlyLogs.ways.at(-1)).toMatchObject({ method: 'eth_getLogs', calls: known(1), isUsed: false })
  })

  it('by logs, are as many as there are good ranges', () => {
    const of = (logs: { count: number; bytes: number }) =>
      planReceipts(local, costTables, 2000, ofTen, sample('eth_getBlockReceipts', Array(200).fill(1), logs), true).ways.at(-1)?.calls.value
    expect(of({ count: 475, bytes: 1 })).toBe(200)
    expect(of({ count: 1, bytes: 1024 * 1024 })).toBe(1000)
    expect(of({ count: 9999, bytes: 1 })).toBe(2000)
  })

  it('are not the one that the node does not have, unless that was left out for its price', () => {
    const blocks = sample('eth_getTransactionReceipt', [1, 2])
    expect(planReceipts(local, costTables, 2, all, blocks, false).ways.map(({ method }) => method)).toEqual(['eth_getTransactionReceipt'])
    expect(planReceipts(priced, costTables, 2, all, blocks, false).ways.map(({ method, isUsed }) => [method, isUsed])).toEqual([
      ['eth_getBlockReceipts', false],
      ['eth_getTransactionReceipt', true],
    ])
  })

  it('are cheapest by what is billed', () => {
    const many = planReceipts(local, costTables, 2, all, sample('eth_getBlockReceipts', [200, 200]), false).cheapest
    expect(new Set(Object.values(many))).toEqual(new Set(['eth_getBlockReceipts']))
    const few = planReceipts(local, costTables, 2, all, sample('eth_getBlockReceipts', [0, 0]), false).cheapest
    expect(new Set(Object.values(few))).toEqual(new Set(['eth_getTransactionReceipt']))
    expect(Object.keys(few)).toEqual(['alchemy', 'infura', 'quicknode', 'chainstack'])
  })
})
