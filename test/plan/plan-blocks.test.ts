import { createClient } from 'hexline'
import { getBlocks, type PlanBlocksOptions, planBlocks, planExport, planLogs } from 'hexline/bulk'
import { describe, expect, it, onTestFinished } from 'vitest'
import { blockLines } from '../../src/bulk/blocks/lines.ts'
import { checkBlockOptions } from '../../src/bulk/get-blocks.ts'
import { startChain } from '../support/chain-server.ts'
import { startGrowingChain } from '../support/growing-chain.ts'
import { holdTime, steadyTime } from '../support/held-time.ts'
import { madeChain, startMadeChain } from '../support/made-chain.ts'

/** Plans a job, does it, and gives both. */
async function planAndDo(transactions: (number: number) => number, job: PlanBlocksOptions, head = 500) {
  const chain = await startGrowingChain({ head, transactions })
  const client = createClient(chain.url, { compression: true })
  onTestFinished(async () => {
    await client.close()
    await chain.close()
  })
  const plan = await planBlocks(client, job)
  for (const method of Object.keys(chain.calls)) delete chain.calls[method]
  chain.sent = 0
  chain.posts = 0
  let disk = 0
  const fresh = createClient(chain.url, { compression: true })
  for await (const line of blockLines(fresh, checkBlockOptions(job))) for (const piece of line) disk += piece.length
  await fresh.close()
  return { plan, did: { calls: chain.calls, posts: chain.posts, sent: chain.sent, disk } }
}

function expectNear(planned: number, counted: number): void {
  expect(planned).toBeGreaterThanOrEqual(0.9 * counted)
  expect(planned).toBeLessThanOrEqual(1.1 * counted)
}

const values = (calls: Readonly<Record<string, { readonly value: number }>>) =>
  Object.fromEntries(Object.entries(calls).map(([method, { value }]) => [method, value]))

describe('planBlocks', () => {
  it.each([
    { name: 'flat', transactions: () => 6 },
    { name: 'growing', transactions: (number: number) => number / 40 },
    { name: 'in bursts', transactions: (number: number) => (number % 10 === 0 ? 50 : 3) },
  ])('is within 10 % of what was then counted: a chain that is $name', async ({ transactions }) => {
    // A late block would be requested twice.
    steadyTime()
    for (const [kind, receipts] of [['full', true] as const, ['hashes', false] as const]) {
      const { plan, did } = await planAndDo(transactions, { from: 2, to: 480, transactions: kind, receipts })
      expect(values(plan.callsByMethod)).toEqual(did.calls)
      expectNear(plan.wireBytes.value, did.sent)
      expectNear(plan.diskBytes.value, did.disk)
      expect(plan.receipts === null).toBe(!receipts)
    }
  })

  it('is exact for fewer blocks than the sample, up to a tag', async () => {
    const { plan, did } = await planAndDo((number) => number / 100, { from: 490, to: 'latest', transactions: 'full', receipts: true })
    expect(plan).toMatchObject({ from: 490n, to: 500n, blocks: 11, diskBytes: { value: did.disk, low: did.disk, high: did.disk } })
    expect(values(plan.callsByMethod)).toEqual(did.calls)
  })

  it.each(['callTracer', 'parity'] as const)('counts the traces, and what they take: %s', async (traces) => {
    const chain = await startChain({ head: 12, transactions: (number) => number })
    const client = createClient(chain.url)
    onTestFinished(async () => {
      await client.close()
      await chain.close()
    })
    const job = { from: 0, to: 12, transactions: 'full', receipts: true, traces } as const
    const plan = await planBlocks(client, job)
    chain.calls.length = 0
    let disk = 0
    for await (const line of blockLines(client, checkBlockOptions(job))) for (const piece of line) disk += piece.length
    const counted: Record<string, number> = {}
    for (const { method } of chain.calls) counted[method] = (counted[method] ?? 0) + 1
    expect(values(plan.callsByMethod)).toEqual(counted)
    expect(plan.diskBytes.value).toBe(disk)
  })

  it('counts the call with which a verification begins', async () => {
    const chain = await startMadeChain(await madeChain(5), 0)
    const client = createClient(chain.url)
    onTestFinished(async () => {
      await client.close()
      await chain.close()
    })
    const job = { from: 0, to: 5, transactions: 'full', receipts: true, verify: 'full' } as const
    const { callsByMethod } = await planBlocks(client, job)
    chain.calls.length = 0
    let blocks = 0
    for await (const _ of getBlocks(client, job)) blocks++
    const counted: Record<string, number> = {}
    for (const { method } of chain.calls) counted[method] = (counted[method] ?? 0) + 1
    expect(blocks).toBe(6)
    expect(values(callsByMethod)).toEqual(counted)
  })

  it.each([
    { name: 'small blocks', transactions: 0, job: { from: 0, to: 2999 } },
    { name: 'whole blocks with receipts', transactions: 1, job: { from: 0, to: 1500, transactions: 'full', receipts: true } },
    { name: 'few blocks', transactions: 3, job: { from: 0, to: 100, transactions: 'full', receipts: true } },
  ] as const)('is within 10 % of the POSTs that were then counted: $name', async ({ transactions, job }) => {
    // A slow machine would request late blocks again.
    holdTime()
    const { plan, did } = await planAndDo(() => transactions, job, 3000)
    expectNear(plan.posts.value, did.posts)
  })

  it('counts the POSTs of the batches that are set', async () => {
    const chain = await startGrowingChain({ head: 100, transactions: () => 0 })
    const client = createClient(chain.url, { batch: { maxCalls: 10 } })
    onTestFinished(async () => {
      await client.close()
      await chain.close()
    })
    expect(await planBlocks(client, { from: 1, to: 99 })).toMatchObject({ posts: { value: 11, low: 11, high: 11 }, callsPerPost: 10 })
  })

  it('rejects for invalid options', async () => {
    const client = createClient('http://127.0.0.1:1')
    await expect(planBlocks(client, { from: 0, to: 5, transactions: 'some' } as never)).rejects.toThrow('transactions: expected')
    await expect(planBlocks(client, { from: 0, to: 5, sample: 1 })).rejects.toThrow('sample: expected')
  })

  it.each([planBlocks, planExport, planLogs])('refuses anything but a client and an object of options: %o', async (plan) => {
    const client = createClient('http://127.0.0.1:1')
    await expect(plan('http://127.0.0.1/eth/k3y' as never, { from: 0, to: 5 })).rejects.toThrow(
      'client: expected a client, as createClient returns it, received a string',
    )
    await expect(plan(client, undefined as never)).rejects.toThrow('options: expected an object, received undefined')
  })
})
