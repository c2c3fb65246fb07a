import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type Client, createClient } from 'hexline'
import { type ExportDatasetOptions, exportDataset, planExport } from 'hexline/bulk'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type GrowingChain, type GrowingChainOptions, startGrowingChain } from '../support/growing-chain.ts'
import { nightly } from '../support/runs.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-planned-'))
})
afterEach(() => rm(folder, { recursive: true }))

const TABLES = ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'] as const

async function start(options: Partial<GrowingChainOptions> = {}): Promise<{ chain: GrowingChain; client: Client }> {
  const chain = await startGrowingChain({ head: 500, transactions: () => 3, ...options })
  const client = createClient(chain.url, { compression: true })
  onTestFinished(async () => {
    await client.close()
    await chain.close()
  })
  return { chain, client }
}

/** Plans a job, does it, and gives both. */
async function planAndDo(options: Partial<GrowingChainOptions>, job: Omit<ExportDatasetOptions, 'dir'>) {
  const { chain, client } = await start(options)
  const plan = await planExport(client, job)
  for (const method of Object.keys(chain.calls)) delete chain.calls[method]
  chain.sent = 0
  const dir = join(folder, 'data')
  const fresh = createClient(chain.url, { compression: true })
  const { rows, files } = await exportDataset(fresh, { ...job, dir })
  await fresh.close()
  return { plan, did: { calls: chain.calls, sent: chain.sent, rows, files, disk: await sizeOf(dir) } }
}

async function sizeOf(dir: string): Promise<number> {
  const names = await readdir(dir, { recursive: true })
  const sizes = await Promise.all(names.map((name) => stat(join(dir, name))))
  return sizes.filter((each) => each.isFile()).reduce((sum, { size }) => sum + size, 0)
}

const near = (value: number) => ({ least: 0.9 * value, most: 1.1 * value })

function expectNear(planned: number, counted: number): void {
  const { least, most } = near(counted)
  expect(planned).toBeGreaterThanOrEqual(least)
  expect(planned).toBeLessThanOrEqual(most)
}

const values = (calls: Readonly<Record<string, { readonly value: number }>>) =>
  Object.fromEntries(Object.entries(calls).map(([method, { value }]) => [method, value]))

describe('planExport', () => {
  const densities = {
    flat: () => 9,
    growing: (number: number) => number / 40,
    'in bursts': (number: number) => (number % 10 === 0 ? 50 : 3),
    'late to begin': (number: number) => (number < 250 ? 0 : 20),
  }
  const all = (['ndjson', 'ndjson.gz', 'parquet'] as const).flatMap((format, i) =>
    Object.entries(densities).map(([name, transactions], j) => ({ name, transactions, format, isFirst: i === j })),
  )
  // Each format once.
  const cases = [...all.filter(({ isFirst }) => isFirst), ...nightly(...all.filter(({ isFirst }) => !isFirst))]

  it.each(cases)('is within 10 % of what was then counted: a chain that is $name, as $format', async ({ transactions, format }) => {
    const { plan, did } = await planAndDo({ transactions }, { from: 5, to: 490, tables: TABLES, format, blocksPerFile: 200 })
    expect(values(plan.callsByMethod)).toEqual(did.calls)
    expectNear(plan.wireBytes.value, did.sent)
    expectNear(plan.diskBytes.value, did.disk)
    expectNear(
      Object.values(plan.tables).reduce((sum, { rows }) => sum + rows.value, 0),
      did.rows,
    )
    expect(plan.files).toBe(did.files)
  })

  it('counts receipts one by one where the node has no eth_getBlockReceipts', async () => {
    const { plan, did } = await planAndDo(
      { lacks: ['eth_getBlockReceipts'], transactions: (number) => number / 60 },
      { from: 0, to: 400, tables: ['logs'], format: 'ndjson' },
    )
    expectNear(plan.callsByMethod.eth_getTransactionReceipt?.value as number, did.calls.eth_getTransactionReceipt as number)
    expect(plan.callsByMethod.eth_getBlockReceipts).toBeUndefined()
    expect(plan.receipts?.ways.map(({ method, isUsed }) => [method, isUsed])).toEqual([
      ['eth_getTransactionReceipt', true],
      ['eth_getLogs', false],
    ])
  })

  it.each([
    ['one block', 7, 7, () => 2],
    ['fewer blocks than the sample', 3, 19, (number: number) => number],
    ['blocks without transactions', 0, 12, () => 0],
  ] as const)('is exact for %s', async (_, from, to, transactions) => {
    const { plan, did } = await planAndDo({ transactions }, { from, to, tables: TABLES, format: 'parquet', blocksPerFile: 5 })
    expect(values(plan.callsByMethod)).toEqual(did.calls)
    expect(plan.diskBytes).toEqual({ value: did.disk, low: did.disk, high: did.disk })
    expect(plan.wireBytes.low).toBeGreaterThan(0)
  })

  it('has a tag for its end, and estimates nothing where everything is known', async () => {
    const { plan, did } = await planAndDo({ head: 15 }, { from: 0, to: 'latest', tables: TABLES, format: 'ndjson' })
    expect(plan).toMatchObject({ from: 0n, to: 15n, blocks: 16, diskBytes: { value: did.disk, low: did.disk, high: did.disk } })
    expect(values(plan.callsByMethod)).toEqual(did.calls)
  })

  it('is the same twice, but for times, and leaves no file behind', async () => {
    const { client } = await start()
    const job = { from: 0, to: 300, tables: TABLES, format: 'parquet', dir: join(folder, 'data') } as const
    // Other tests have plans in the system's folder at the same time.
    const scratch = await mkdtemp(join(folder, 'scratch-'))
    vi.stubEnv('TMPDIR', scratch)
    onTestFinished(() => void vi.unstubAllEnvs())
    const [one, two] = [await planExport(client, job), await planExport(client, job)]
    expect({ ...one, duration: undefined, cost: undefined, wireBytes: undefined }).toEqual({
      ...two,
      duration: undefined,
      cost: undefined,
      wireBytes: undefined,
    })
    expect(await readdir(scratch)).toEqual([])
    expect(await readdir(folder)).toEqual([basename(scratch)])
  })

  it.each([
    ['refuses', false],
    ['gives null for', true],
  ])('says which blocks are missing where the node %s old blocks', async (_, prunedAsNull) => {
    const { client } = await start({ prunedBelow: 350, prunedAsNull, head: 400 })
    const { missing, calls } = await planExport(client, { from: 0, to: 399, format: 'ndjson', sample: 5 })
    expect(missing?.blocks).toBeGreaterThan(0)
    expect(missing?.to).toBeLessThan(350n)
    expect(missing?.why).not.toBe('')
    expect(calls.value).toBe(403)
  })

  it('rejects where the node has no block of the range', async () => {
    const { client } = await start({ prunedBelow: 350 })
    await expect(planExport(client, { from: 0, to: 20, format: 'ndjson' })).rejects.toMatchObject({ kind: 'pruned' })
  })

  it('takes the rate of the client for the time, in calls and in units', async () => {
    const { chain } = await start()
    const timeAt = async (rate: { callsPerSecond: number } | { unitsPerSecond: number; units: Record<string, number> }) => {
      const client = createClient(chain.url, { rate })
      const plan = await planExport(client, { from: 0, to: 499, format: 'ndjson', sample: 2 })
      await client.close()
      return plan
    }
    const byCalls = await timeAt({ callsPerSecond: 100 })
    // A machine that is busy may be slower than the rate.
    if (byCalls.duration.limitedBy === 'rate') expect(byCalls.duration.seconds.value).toBeCloseTo(byCalls.calls.value / 100)
    expect(byCalls.duration.rate).toEqual({ perSecond: 100, of: 'calls' })
    const byUnits = await timeAt({ unitsPerSecond: 1000, units: { eth_getBlockByNumber: 10, eth_blockNumber: 0, eth_chainId: 0 } })
    expect(byUnits.duration.rate).toEqual({ perSecond: 1000, of: 'units' })
  })

  it('counts the units of a provider, and which way to receipts it charges least for', async () => {
    const { client } = await start({ transactions: () => 3 })
    const job = { from: 0, to: 300, format: 'ndjson', tables: ['receipts'] } as const
    const all = await planExport(client, job)
    expect(all.units.map(({ provider }) => provider)).toEqual(['alchemy', 'infura', 'quicknode', 'chainstack'])
    // 301 blocks and their receipts; the number of the newest block twice, and the chain id.
    expect(all.units[0]).toMatchObject({ billed: { value: 301 * 40 + 20 }, throttled: { value: 301 * 520 + 20 } })
    expect(all.receipts?.cheapest).toEqual({
      alchemy: 'eth_getBlockReceipts',
      infura: 'eth_getTransactionReceipt',
      quicknode: 'eth_getBlockReceipts',
      chainstack: 'eth_getBlockReceipts',
    })
    const one = await planExport(client, { ...job, provider: 'infura' })
    expect(one.units.map(({ provider }) => provider)).toEqual(['infura'])
  })

  it('stops when its signal is aborted', async () => {
    const { client } = await start()
    const stop = new AbortController()
    const planned = planExport(client, { from: 0, to: 300, format: 'ndjson', signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(planned).rejects.toThrow('enough')
  })

  it.each([
    [{ from: 5, to: 4 }, 'to: expected at least the first block, 5, received 4'],
    [{ from: 0, to: 4, sample: 1 }, 'sample: expected a whole number'],
    [{ from: 0, to: 4, provider: 'alchmy' }, 'provider: expected one of alchemy, infura, quicknode, chainstack, received "alchmy" (did you mean `alchemy`?)'],
    [{ from: 0, to: 4, tables: ['block'] }, 'tables: expected only'],
    [{ from: 0, to: 4, colums: ['x'] }, 'options'],
  ])('rejects for %j', async (options, message) => {
    const client = createClient('http://127.0.0.1:1')
    await expect(planExport(client, options as never)).rejects.toThrow(message)
  })
})
