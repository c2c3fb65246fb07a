import { type Client, createClient } from 'hexline'
import { type PlanLogsOptions, planLogs } from 'hexline/bulk'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkLogOptions } from '../../src/bulk/get-logs.ts'
import { copiedLogs } from '../../src/bulk/logs/log-lines.ts'
import { LogStream } from '../../src/bulk/logs/log-stream.ts'
import { type GrowingChain, type GrowingChainOptions, RARE_TOKEN, startGrowingChain, TRANSFER } from '../support/growing-chain.ts'
import { startLogChain } from '../support/log-chain.ts'
import { nightly } from '../support/runs.ts'

async function start(options: Partial<GrowingChainOptions> = {}): Promise<{ chain: GrowingChain; client: Client }> {
  const chain = await startGrowingChain({ head: 1200, transactions: () => 3, ...options })
  const client = createClient(chain.url, { compression: true })
  onTestFinished(async () => {
    await client.close()
    await chain.close()
  })
  return { chain, client }
}

/** Plans a job, does it, and gives both. */
async function planAndDo(options: Partial<GrowingChainOptions>, job: PlanLogsOptions) {
  const { chain, client } = await start(options)
  const plan = await planLogs(client, job)
  for (const method of Object.keys(chain.calls)) delete chain.calls[method]
  chain.sent = 0
  const { sample: _, ...own } = job
  const stream = new LogStream(client, checkLogOptions(own), copiedLogs())
  let [logs, bytes] = [0, 0]
  for await (const { items } of stream.pages()) {
    logs += items.length
    for (const { json } of items) bytes += json.length + 1
  }
  return { plan, did: { calls: chain.calls, sent: chain.sent, logs, bytes, audit: stream.audit } }
}

function expectNear(planned: number, counted: number): void {
  expect(planned).toBeGreaterThanOrEqual(0.9 * counted)
  expect(planned).toBeLessThanOrEqual(1.1 * counted)
}

const total = (calls: Readonly<Record<string, number>>) => Object.values(calls).reduce((sum, number) => sum + number, 0)

describe('planLogs', () => {
  const densities = { flat: () => 3, growing: (number: number) => number / 150, 'in bursts': (number: number) => (number % 10 === 0 ? 15 : 1) }
  const all = Object.entries(densities).flatMap(([name, transactions]) => (['none', 'receipts'] as const).map((audit) => ({ name, transactions, audit })))
  const cases = all
    .filter(({ name, audit }) => name === 'in bursts' && audit === 'none')
    .concat(nightly(...all.filter(({ name, audit }) => name !== 'in bursts' || audit !== 'none')))

  it.each(cases)('is within 10 % of what was then counted: a chain that is $name, audit $audit', async ({ transactions, audit }) => {
    const { plan, did } = await planAndDo({ transactions }, { from: 3, to: 1190, topics: [TRANSFER], audit })
    expectNear(plan.logs.value, did.logs)
    expectNear(plan.calls.value, total(did.calls))
    expectNear(plan.wireBytes.value, did.sent)
    expectNear(plan.diskBytes.value, did.bytes)
  })

  it('is within 10 % of what was then counted: logs that begin suddenly', async () => {
    const chain = await startLogChain({ head: 8000, logs: (number) => (number >= 3020 ? 6 : 0) })
    await using client = createClient(chain.url)
    const job = { from: 0, to: 7999, topics: [TRANSFER], audit: 'none' } as const
    const plan = await planLogs(client, job)
    for (const method of Object.keys(chain.calls)) delete chain.calls[method]
    const stream = new LogStream(client, checkLogOptions(job), copiedLogs())
    let [logs, bytes] = [0, 0]
    for await (const { items } of stream.pages()) {
      logs += items.length
      for (const { json } of items) bytes += json.length + 1
    }
    expect(logs).toBeGreaterThan(5000)
    // Without a look at where they begin, it would be 4 % more.
    expect(plan.logs.value / logs).toBeGreaterThan(0.985)
    expect(plan.logs.value / logs).toBeLessThan(1.015)
    expect(plan.logs.high - plan.logs.low).toBeLessThan(0.2 * logs)
    expectNear(plan.calls.value, total(chain.calls))
    expectNear(plan.diskBytes.value, bytes)
  })

  it('counts the receipts of blocks whose bloom may match', async () => {
    // Every ninth block has a log of the token, and blooms of a hundred logs match by chance.
    const { plan, did } = await planAndDo({ transactions: () => 40, head: 250 }, { from: 0, to: 249, address: RARE_TOKEN, audit: 'bloom' })
    expect(plan.audit).toBe('bloom')
    expect(plan.audits.map(({ level }) => level)).toEqual(['none', 'bloom', 'receipts'])
    const { receipts } = plan.audits[1] as (typeof plan.audits)[number]
    expect(receipts.low).toBeLessThanOrEqual(did.audit.fetched)
    expect(receipts.high).toBeGreaterThanOrEqual(did.audit.fetched)
    expectNear(plan.calls.value, total(did.calls))
  })

  it('finds out which ranges the node takes', async () => {
    const { plan, did } = await planAndDo({ maxLogRange: 20 }, { from: 0, to: 1000, audit: 'none', address: RARE_TOKEN })
    expect(plan.blocksPerCall).toBe(20)
    expect(plan.callsByMethod.eth_getLogs?.value).toBe(did.calls.eth_getLogs)
  })

  it.each([
    ['one block', 9, 9],
    ['a range without logs', 10, 14],
  ])('is exact for %s', async (_, from, to) => {
    const { plan, did } = await planAndDo({}, { from, to, address: RARE_TOKEN, audit: 'none' })
    expect(plan.logs).toEqual({ value: did.logs, low: did.logs, high: did.logs })
    expect(plan.calls.value).toBe(total(did.calls))
    expect(plan.diskBytes.value).toBe(did.bytes)
  })

  it('takes the audit that getLogs would take', async () => {
    const { client } = await start({ head: 40 })
    expect((await planLogs(client, { from: 0, to: 'finalized', sample: 2 })).audit).toBe('bloom')
    expect((await planLogs(client, { from: 0, to: 30, sample: 2 })).audit).toBe('bloom')
  })

  it('says which blocks are missing', async () => {
    const { client } = await start({ prunedBelow: 900 })
    const { missing } = await planLogs(client, { from: 0, to: 1199, audit: 'none', sample: 5 })
    expect(missing?.to).toBeLessThan(900n)
    expect(missing?.why).toContain('pruned')
  })

  it('goes on where the node does not give its chain, as getLogs does', async () => {
    const { plan, did } = await planAndDo({ lacks: ['eth_chainId'] }, { from: 0, to: 99, address: RARE_TOKEN, audit: 'bloom' })
    expect(plan.audit).toBe('bloom')
    expect(plan.logs.value).toBe(did.logs)
  })

  it('rejects where the node has no block of the range', async () => {
    const { client } = await start({ prunedBelow: 900 })
    await expect(planLogs(client, { from: 0, to: 99, audit: 'none' })).rejects.toMatchObject({ kind: 'pruned' })
  })

  it.each([
    [{ from: 0, to: 5, audit: 'all' }, 'audit: expected'],
    [{ from: 0, to: 5, address: '0x12' }, 'address'],
    [{ from: 0, to: 5, sample: 0 }, 'sample: expected'],
  ])('rejects for %j', async (options, message) => {
    const client = createClient('http://127.0.0.1:1')
    await expect(planLogs(client, options as never)).rejects.toThrow(message)
  })
})
