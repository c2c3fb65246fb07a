import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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

const blockCall = (i: number, full: boolean) => ({ jsonrpc: '2.0', id: i, method: 'eth_getBlockByNumber', params: [`0x${i.toString(16)}`, full] })
const balanceCall = (i: number) => ({ jsonrpc: '2.0', id: i, method: 'eth_getBalance', params: [addressOf(i), 'latest'] })

/** Loads what a client needs and no more: what is loaded besides is collected again and again. Gives the job, and how to end it. */
type Load = () => Promise<{ job: Job; end(): Promise<void> }>

async function undici(jobOf: (send: (body: unknown) => Promise<Buffer>) => Job): ReturnType<Load> {
  const { Pool } = await import('undici')
  const pool = new Pool(url, { connections: 64 })
  const send = async (body: unknown) => {
    const reply = await pool.request({ path: '/', method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    return Buffer.from(await reply.body.arrayBuffer())
  }
  return { job: jobOf(send), end: () => pool.close() }
}

/** Batches of a size with which it is at its best, 8 of them at a time. */
function undiciBlocks(full: boolean, batch: number, use: (body: Buffer) => unknown): Load {
  return () =>
    undici((send) => (first, count) => {
      const call = (k: number) => Array.from({ length: Math.min(batch, count - k * batch) }, (_, i) => blockCall(first + k * batch + i, full))
      return inParallel(8, 0, Math.ceil(count / batch), async (k) => use(await send(call(k))))
    })
}

const parse = (body: Buffer): unknown => JSON.parse(body.toString('latin1'))

async function hexline(jobOf: (client: import('hexline').Client) => Job | Promise<Job>): ReturnType<Load> {
  const { createClient } = await import('hexline')
  const client = createClient(url)
  return { job: await jobOf(client), end: () => client.close() }
}

function hexlineBlocks(transactions: 'full' | 'hashes'): Load {
  return () =>
    hexline(async (client) => {
      const { getBlocks } = await import('hexline/bulk')
      return async (first, count) => {
        let seen = 0
        for await (const block of getBlocks(client, { from: first, to: first + count - 1, transactions })) if (block.gasUsed >= 0n) seen++
        if (seen !== count) throw new Error(`${seen} blocks instead of ${count}`)
      }
    })
}

/** As `hexline blocks --out` does it. */
const hexlineFile: Load = () =>
  hexline(async (client) => {
    const built = (path: string) => import(new URL(`../dist/src/${path}`, import.meta.url).href)
    const { checkOptions }: typeof import('../src/bulk/get-blocks.ts') = await built('bulk/get-blocks.js')
    const { blockLines }: typeof import('../src/bulk/lines.ts') = await built('bulk/lines.js')
    const { openOutput }: typeof import('../src/cli/output.ts') = await built('cli/output.js')
    const { EXPORT_AHEAD }: typeof import('../src/cli/blocks.ts') = await built('cli/blocks.js')
    return async (first, count) => {
      const folder = mkdtempSync(join(tmpdir(), 'hexline-bench-'))
      try {
        const output = await openOutput(join(folder, 'blocks.ndjson'), false, new AbortController())
        const options = checkOptions({ from: first, to: first + count - 1, transactions: 'full', maxBytes: EXPORT_AHEAD })
        for await (const line of blockLines(client, options)) await output.write(line)
        await output.commit()
      } finally {
        rmSync(folder, { recursive: true })
      }
    }
  })

/** viem at its best for the workload: batched without a wait, or not batched where there is one call at a time. */
function viem(isBatched: boolean, jobOf: (client: import('viem').PublicClient) => Job): Load {
  return async () => {
    const [{ createPublicClient, http }, { mainnet }] = await Promise.all([import('viem'), import('viem/chains')])
    const client = createPublicClient({ chain: mainnet, transport: http(url, isBatched ? { batch: { batchSize: 100, wait: 0 } } : {}) })
    return { job: jobOf(client), async end() {} }
  }
}

function viemBlocks(includeTransactions: boolean, width: number): Load {
  return viem(true, (client) => (first, count) => inRounds(width, first, count, (i) => client.getBlock({ blockNumber: BigInt(i), includeTransactions })))
}

/** A viem client on hexline, and its blocks in viem's own shape. */
function viemBulk(includeTransactions: boolean): Load {
  return async () => {
    const [{ createPublicClient }, { mainnet }, { bulkActions, hexline }] = await Promise.all([import('viem'), import('viem/chains'), import('hexline/viem')])
    const client = createPublicClient({ chain: mainnet, transport: hexline(url) }).extend(bulkActions())
    const job: Job = async (first, count) => {
      let seen = 0
      const range = { fromBlock: BigInt(first), toBlock: BigInt(first + count - 1), includeTransactions }
      for await (const block of client.getBlocks(range)) if (block.gasUsed >= 0n) seen++
      if (seen !== count) throw new Error(`${seen} blocks instead of ${count}`)
    }
    return { job, end: () => client.transport.client.close() }
  }
}

/** ethers' own provider, with a network that is known: else it asks for it again and again. */
async function ethersProvider(options: object = {}): Promise<import('ethers').JsonRpcProvider> {
  const { JsonRpcProvider } = await import('ethers')
  return new JsonRpcProvider(url, 1, { staticNetwork: true, cacheTimeout: -1, ...options })
}

/** With the batches that suit it: its queue is slow where they are long. */
function ethersBlocks(prefetchTxs: boolean, batch: number): Load {
  return async () => {
    const provider = await ethersProvider({ batchMaxCount: batch, batchStallTime: 0 })
    return { job: (first, count) => inRounds(20, first, count, (i) => provider.getBlock(i, prefetchTxs)), end: async () => provider.destroy() }
  }
}

/** An ethers provider on hexline, and its blocks. */
function ethersBulk(prefetchTxs: boolean): Load {
  return async () => {
    const { HexlineProvider } = await import('hexline/ethers')
    const provider = new HexlineProvider(url, 1, { staticNetwork: true })
    const job: Job = async (first, count) => {
      let seen = 0
      for await (const block of provider.getBlocks(first, first + count - 1, { prefetchTxs })) if (block.gasUsed >= 0n) seen++
      if (seen !== count) throw new Error(`${seen} blocks instead of ${count}`)
    }
    return { job, end: async () => provider.destroy() }
  }
}

type Repeat = (first: number, count: number, one: (i: number) => Promise<unknown>) => Promise<void>

function smallCalls(repeat: Repeat, isBatched: boolean): Record<string, Load> {
  return {
    undici: () => undici((send) => (first, count) => repeat(first, count, async (i) => parse(await send(balanceCall(i))))),
    hexline: () => hexline((client) => (first, count) => repeat(first, count, (i) => client.call('eth_getBalance', addressOf(i)))),
    viem: viem(isBatched, (client) => (first, count) => repeat(first, count, (i) => client.getBalance({ address: addressOf(i) }))),
    ethersOnHexline: async () => {
      const { HexlineProvider } = await import('hexline/ethers')
      const provider = new HexlineProvider(url, 1, { staticNetwork: true, cacheTimeout: -1 })
      return { job: (first, count) => repeat(first, count, (i) => provider.getBalance(addressOf(i))), end: async () => provider.destroy() }
    },
    ethers: async () => {
      const provider = await ethersProvider(isBatched ? { batchStallTime: 0 } : { batchMaxCount: 1 })
      return { job: (first, count) => repeat(first, count, (i) => provider.getBalance(addressOf(i))), end: async () => provider.destroy() }
    },
  }
}

const jobs: Record<string, Record<string, Load>> = {
  'full blocks': {
    undici: undiciBlocks(true, 5, parse),
    hexline: hexlineBlocks('full'),
    viemBulk: viemBulk(true),
    viem: viemBlocks(true, 20),
    ethersBulk: ethersBulk(true),
    ethers: ethersBlocks(true, 5),
  },
  'blocks with hashes': {
    undici: undiciBlocks(false, 50, parse),
    hexline: hexlineBlocks('hashes'),
    viemBulk: viemBulk(false),
    viem: viemBlocks(false, 100),
    ethersBulk: ethersBulk(false),
    ethers: ethersBlocks(false, 20),
  },
  'full blocks to a file': { undici: undiciBlocks(true, 5, () => {}), hexline: hexlineFile },
  'small calls, 64 in parallel': smallCalls((first, count, one) => inRounds(64, first, count, one), true),
  'small calls, one after another': smallCalls((first, count, one) => inParallel(1, first, count, one), false),
}

const load = jobs[workload]?.[client]
const amount = amounts[workload]
if (load === undefined || amount === undefined) throw new Error(`no client ${client} for ${workload}`)
// ethers' own takes thirty times as long for a block: a tenth of them tells as much.
const [warmUp, measured] = client === 'ethers' ? (amount.map((each) => Math.ceil(each / 10)) as [number, number]) : amount
const { job, end } = await load()
await job(1000, warmUp)
const cpuBefore = process.cpuUsage()
const wallBefore = performance.now()
await job(1_000_000, measured)
const wall = (performance.now() - wallBefore) * 1000
const cpu = process.cpuUsage(cpuBefore)
process.send?.({ cpu: (cpu.user + cpu.system) / measured, wall: wall / measured, peakMb: process.resourceUsage().maxRSS / 1024 })
await end()
process.disconnect?.()
