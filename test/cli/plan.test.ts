import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { startSandbox } from 'hexline/sandbox'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startChain } from '../support/chain-server.ts'
import { hexline } from '../support/command.ts'
import { type GrowingChain, startGrowingChain } from '../support/growing-chain.ts'

let chain: GrowingChain
beforeAll(async () => {
  chain = await startGrowingChain({ head: 300, transactions: () => 3 })
})
afterAll(() => chain.close())

const range = () => ['--rpc', chain.url, '--from', '0', '--to', '299']

describe('hexline plan', () => {
  it.each([
    ['export', ['--tables', 'blocks,transactions,receipts,logs', '--format', 'ndjson.gz', '--rate', '100']],
    ['export', ['--tables', 'logs']],
    ['blocks', ['--receipts', '--provider', 'alchemy']],
    ['blocks', ['--verify', 'header']],
    ['logs', ['--audit', 'bloom']],
  ])('%s %j fits 80 columns, and says what the job takes', async (job, more) => {
    const { code, stdout, stderr } = await hexline(['plan', job, ...range(), ...more])
    expect({ code, stderr }).toEqual({ code: 0, stderr: `asking ${chain.url} for at most 20 blocks and 200 headers\n` })
    const lines = stdout.trimEnd().split('\n')
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80)
    expect(lines[0]).toBe('blocks 0 to 299 (300 blocks)')
    for (const name of ['calls', 'POSTs', 'over the wire', 'on disk', 'time', 'provider']) expect(lines.some((line) => line.startsWith(name))).toBe(true)
  })

  it('counts calls and units in full', async () => {
    const { stdout } = await hexline(['plan', 'export', ...range(), '--format', 'ndjson', '--tables', 'receipts', '--provider', 'alchemy', '--rate', '100'])
    expect(stdout).toMatch(/^calls +603$/m)
    expect(stdout).toMatch(/^POSTs +10 {2}if full/m)
    expect(stdout).toMatch(/^alchemy +12,020 +156,020$/m)
    expect(stdout).toMatch(/^eth_getBlockReceipts +6,000 \*$/m)
    expect(stdout).toMatch(/^\* what the provider charges least for$/m)
  })

  it.each([
    ['callTracer', 'debug_traceBlockByNumber'],
    ['parity', 'trace_block'],
  ])('counts the traces of blocks: %s', async (form, method) => {
    const traced = await startChain({ head: 12, transactions: (number) => number })
    onTestFinished(() => traced.close())
    const { stdout } = await hexline(['plan', 'blocks', '--rpc', traced.url, '--from', '1', '--to', '12', '--traces', form, '--json'])
    expect(JSON.parse(stdout).callsByMethod[method]).toEqual({ value: 12, low: 12, high: 12 })
  })

  it('marks the audit that its figures include', async () => {
    const { stdout } = await hexline(['plan', 'logs', ...range(), '--audit', 'receipts'])
    expect(stdout).toMatch(/^receipts \(included\) +602 +[\d.]+ MB +300 blocks$/m)
    expect(stdout).toMatch(/^none +0 +0 B +0 blocks$/m)
  })

  it('prints one JSON object with --json, with large numbers as text', async () => {
    const { code, stdout } = await hexline(['plan', 'export', ...range(), '--format', 'ndjson', '--json', '--quiet', '--sample', '5'])
    expect(code).toBe(0)
    expect(stdout.split('\n')).toHaveLength(2)
    expect(JSON.parse(stdout)).toMatchObject({
      from: '0',
      to: '299',
      blocks: 300,
      calls: { value: 303, low: 303, high: 303 },
      missing: null,
      tables: { transactions: {} },
    })
  })

  it.each(['blocks', 'logs'])('%s takes --last', async (job) => {
    const { code, stdout } = await hexline(['plan', job, '--rpc', chain.url, '--last', '40', '--to', '200', '--json', '--quiet'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ from: '161', to: '200', blocks: 40 })
  })

  it('writes nothing, also where a folder is named', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hexline-plan-cli-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const { code } = await hexline(['plan', 'export', ...range(), '--format', 'ndjson', '--out', join(folder, 'data'), '--shard', '2/3'])
    expect(code).toBe(0)
    expect((await hexline(['plan', 'blocks', ...range(), '--out', join(folder, 'blocks.ndjson')])).code).toBe(0)
    expect(await readdir(folder)).toEqual([])
  })

  it('warns of blocks that the node does not have', async () => {
    const pruned = await startGrowingChain({ head: 300, transactions: () => 1, prunedBelow: 200 })
    onTestFinished(() => pruned.close())
    const { code, stderr } = await hexline(['plan', 'blocks', '--rpc', pruned.url, '--from', '0', '--to', '299'])
    expect(code).toBe(0)
    expect(stderr).toMatch(
      /^hexline: warning: \d+ of the sampled blocks, from \d+ to 19\d, are not there, and the job would fail \(.*pruned history unavailable.*\)$/m,
    )
  })

  it.each([
    [['export', '--format', 'csv'], 'format'],
    [['export', '--tables', 'block'], 'tables: expected only blocks, transactions'],
    [['blocks', '--transactions', 'some'], 'transactions'],
    [['logs', '--address', '0x12'], '--address: address[0]: expected an address'],
    [['blocks', '--from', '9', '--to', '5'], '--to: expected at least the first block, 9, received 5'],
    [['blocks', '--sample', '1'], '--sample: expected a whole number'],
    [['export', '--provider', 'alchmy'], '--provider: expected one of alchemy'],
  ])('refuses %j with 2', async ([job, ...more], message) => {
    const { code, stdout, stderr } = await hexline(['plan', job as string, ...range(), ...more])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})

it('a plan is within 10 % of what was then counted on the sandbox', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.stop())
  const setup = createClient(sandbox.upstream)
  const accounts = (await setup.request({ method: 'eth_accounts' })) as string[]
  await setup.request({ method: 'evm_setAutomine', params: [false] })
  for (let block = 0; block < 150; block++) {
    // More transactions in newer blocks.
    const calls = Array.from({ length: Math.floor(block / 15) }, (_, i) =>
      setup.request({
        method: 'eth_sendTransaction',
        params: [{ from: accounts[i], to: `0x${(block * 100 + i).toString(16).padStart(40, 'a')}`, value: '0x1', gas: '0x5208' }],
      }),
    )
    await Promise.all(calls)
    await setup.request({ method: 'evm_mine' })
  }
  await setup.close()

  const folder = await mkdtemp(join(tmpdir(), 'hexline-plan-sandbox-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { stdout, code } = await hexline([
    'plan',
    'export',
    '--rpc',
    sandbox.nodeUrl(),
    '--from',
    '0',
    '--to',
    '149',
    '--tables',
    'blocks,transactions,receipts',
    '--json',
    '--quiet',
  ])
  expect(code).toBe(0)
  const plan = JSON.parse(stdout)
  const client = createClient(sandbox.nodeUrl())
  let wireBytes = 0
  const calls: Record<string, number> = {}
  const asked = new Set<string>()
  const counting = createClient(async (batch) => {
    const replies = await Promise.all(
      batch.map(async (call) => {
        const reply = await client.send({ method: call.method, params: call.params, as: 'bytes' })
        // A block that is late is requested again, which no plan counts.
        const isAgain = call.params.length > 0 && asked.has(JSON.stringify(call))
        asked.add(JSON.stringify(call))
        if (!isAgain) calls[call.method] = (calls[call.method] ?? 0) + 1
        if (!isAgain) wireBytes += reply.bytes + `{"jsonrpc":"2.0","id":1000,"result":},`.length
        return call.as === 'bytes' ? reply : { bytes: reply.bytes, take: () => JSON.parse(Buffer.from(reply.take() as Uint8Array).toString()) }
      }),
    )
    return replies
  })
  const { rows } = await exportDataset(counting, { from: 0, to: 149, dir: join(folder, 'data'), tables: ['blocks', 'transactions', 'receipts'] })
  await counting.close()
  await client.close()
  const disk = (await readdir(join(folder, 'data'), { recursive: true, withFileTypes: true })).filter((each) => each.isFile())
  expect(disk).toHaveLength(4)
  const sizes = await Promise.all(disk.map(async (each) => (await import('node:fs/promises')).stat(join(each.parentPath, each.name))))
  const bytes = sizes.reduce((sum, { size }) => sum + size, 0)

  const near = (planned: number, counted: number) => expect(Math.abs(planned / counted - 1), `${planned} for ${counted}`).toBeLessThan(0.1)
  for (const [method, count] of Object.entries(calls)) near(plan.callsByMethod[method].value, count)
  near(plan.wireBytes.value, wireBytes)
  near(plan.diskBytes.value, bytes)
  near(plan.tables.blocks.rows.value + plan.tables.transactions.rows.value + plan.tables.receipts.rows.value, rows)
})
