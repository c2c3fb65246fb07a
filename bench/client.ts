import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { Pool } from 'undici'
import { createPublicClient, http } from 'viem'
import { mainnet } from 'viem/chains'
import { checkOptions } from '../src/bulk/get-blocks.ts'
import { blockLines } from '../src/bulk/lines.ts'
import { EXPORT_AHEAD } from '../src/cli/blocks.ts'
import { openOutput } from '../src/cli/output.ts'

/*
 * One client doing one workload, in a process of its own: warms up, then prints the CPU and wall time of the measured part.
 * `node client.ts WORKLOAD CLIENT URL`
 */

type Job = (first: number, count: number) => Promise<void>

const [workload = '', client = '', url = ''] = process.argv.slice(2)

/** How often: not measured, measured. */
const amounts: Record<string, readonly [number, number]> = {
  'full blocks': [300, 3000],
  'blocks with hashes': [3000, 20_000],
  'full blocks to a file': [300, 4000],
  'small calls, 64 in parallel': [6400, 128_000],
  'small calls, one after another': [3000, 15_000],
}

/** Distinct ones, since equal calls would be joined. */
const addressOf = (i: number) => `0x${(i + 1).toString(16).padStart(40, '0')}` as const

async function inParallel(width: number, first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  let next = first
  const end = first + count
  const worker = async () => {
    while (next < end) await one(next++)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

/** Rounds of `width` calls that start together, as a program does that fills a page. */
async function inRounds(width: number, first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  for (let at = first; at < first + count; at += width) {
    await Promise.all(Array.from({ length: Math.min(width, first + count - at) }, (_, i) => one(at + i)))
  }
}

const undici = new Pool(url, { connections: 64 })
async function post(body: unknown): Promise<unknown> {
  const reply = await undici.request({ path: '/', method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return JSON.parse(Buffer.from(await reply.body.arrayBuffer()).toString('latin1'))
}
const blockCall = (i: number, full: boolean) => ({ jsonrpc: '2.0', id: i, method: 'eth_getBlockByNumber', params: [`0x${i.toString(16)}`, full] })
const balanceCall = (i: number) => ({ jsonrpc: '2.0', id: i, method: 'eth_getBalance', params: [addressOf(i), 'latest'] })

/** The floor of an export: every byte arrives, and nothing is done with it. */
function undiciBytes(batch: number): Job {
  return (first, count) =>
    inParallel(8, 0, Math.ceil(count / batch), async (k) => {
      const body = JSON.stringify(Array.from({ length: batch }, (_, i) => blockCall(first + k * batch + i, true)))
      const reply = await undici.request({ path: '/', method: 'POST', headers: { 'content-type': 'application/json' }, body })
      await reply.body.arrayBuffer()
    })
}

/** As `hexline blocks --out` does it. */
async function hexlineFile(first: number, count: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hexline-bench-'))
  try {
    const output = await openOutput(join(folder, 'blocks.ndjson'), false, new AbortController())
    const options = checkOptions({ from: first, to: first + count - 1, transactions: 'full', maxBytes: EXPORT_AHEAD })
    for await (const line of blockLines(hexline, options)) await output.write(line)
    await output.commit()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const hexline = createClient(url)
const viem = createPublicClient({ chain: mainnet, transport: http(url, { batch: { batchSize: 100, wait: 0 } }) })
const viemSingle = createPublicClient({ chain: mainnet, transport: http(url) })

/** Batches of a size with which it is at its best, 8 of them at a time. */
function undiciBlocks(full: boolean, batch: number): Job {
  return (first, count) =>
    inParallel(8, 0, Math.ceil(count / batch), (k) => post(Array.from({ length: batch }, (_, i) => blockCall(first + k * batch + i, full))))
}

function hexlineBlocks(transactions: 'full' | 'hashes'): Job {
  return async (first, count) => {
    let seen = 0
    for await (const block of getBlocks(hexline, { from: first, to: first + count - 1, transactions })) if (block.gasUsed >= 0n) seen++
    if (seen !== count) throw new Error(`${seen} blocks instead of ${count}`)
  }
}

function viemBlocks(includeTransactions: boolean, width: number): Job {
  return (first, count) => inRounds(width, first, count, (i) => viem.getBlock({ blockNumber: BigInt(i), includeTransactions }))
}

const jobs: Record<string, Record<string, Job>> = {
  'full blocks': { undici: undiciBlocks(true, 5), hexline: hexlineBlocks('full'), viem: viemBlocks(true, 20) },
  'blocks with hashes': { undici: undiciBlocks(false, 50), hexline: hexlineBlocks('hashes'), viem: viemBlocks(false, 100) },
  'full blocks to a file': { undici: undiciBytes(5), hexline: hexlineFile },
  'small calls, 64 in parallel': {
    undici: (first, count) => inRounds(64, first, count, (i) => post(balanceCall(i))),
    hexline: (first, count) => inRounds(64, first, count, (i) => hexline.call('eth_getBalance', addressOf(i))),
    viem: (first, count) => inRounds(64, first, count, (i) => viem.getBalance({ address: addressOf(i) })),
  },
  'small calls, one after another': {
    undici: (first, count) => inParallel(1, first, count, (i) => post(balanceCall(i))),
    hexline: (first, count) => inParallel(1, first, count, (i) => hexline.call('eth_getBalance', addressOf(i))),
    viem: (first, count) => inParallel(1, first, count, (i) => viemSingle.getBalance({ address: addressOf(i) })),
  },
}

const job = jobs[workload]?.[client]
const amount = amounts[workload]
if (job === undefined || amount === undefined) throw new Error(`no client ${client} for ${workload}`)
const [warmUp, measured] = amount
await job(1000, warmUp)
const cpuBefore = process.cpuUsage()
const wallBefore = performance.now()
await job(1_000_000, measured)
const wall = (performance.now() - wallBefore) * 1000
const cpu = process.cpuUsage(cpuBefore)
process.send?.({ cpu: (cpu.user + cpu.system) / measured, wall: wall / measured, peakMb: process.resourceUsage().maxRSS / 1024 })
await hexline.close()
await undici.close()
process.disconnect?.()
