/*
 * Fixed work in one process: hexline, and undici with JSON.parse by hand, get the same replies in
 * turn. Sends the lowest CPU time of each over the rounds, in microseconds per unit. Argument: the
 * URL of the benchmark's server.
 */
import { Pool } from 'undici'
import { FIRST_BLOCK } from '../../bench/blocks.ts'
import { addressOf, hex, inRounds, PARALLEL } from '../../bench/clients/way.ts'
import { createClient } from '../../src/index.ts'
import { getBlocks } from '../../src/index-bulk.ts'

const ROUNDS = 6
const url = process.argv[2] as string
const client = createClient(url)
const pool = new Pool(url, { connections: 8 })

interface Work {
  readonly units: number
  readonly hexline: (first: number) => Promise<void>
  readonly byHand: (first: number) => Promise<void>
}

const BLOCKS = 150
const CALLS = 80 * PARALLEL

const works: Readonly<Record<string, Work>> = {
  'full blocks': {
    units: BLOCKS,
    async hexline(first) {
      let seen = 0
      for await (const block of getBlocks(client, { from: first, to: first + BLOCKS - 1, transactions: 'full' })) seen += Number(block.gasUsed > 0n)
      if (seen !== BLOCKS) throw new Error(`${seen} blocks instead of ${BLOCKS}`)
    },
    byHand: (first) => inRounds(8, 0, BLOCKS / 10, (k) => post(10, (i) => ['eth_getBlockByNumber', hex(first + k * 10 + i), true])),
  },
  'small calls, 64 in parallel': {
    units: CALLS,
    hexline: (first) => inRounds(PARALLEL, first, CALLS, (i) => client.call('eth_getBalance', addressOf(i))),
    byHand: (first) => inRounds(1, 0, CALLS / PARALLEL, (k) => post(PARALLEL, (i) => ['eth_getBalance', addressOf(first + k * PARALLEL + i), 'latest'])),
  },
}

async function post(count: number, callOf: (i: number) => readonly [string, ...unknown[]]): Promise<void> {
  const batch = Array.from({ length: count }, (_, id) => {
    const [method, ...params] = callOf(id)
    return { jsonrpc: '2.0', id, method, params }
  })
  const { body } = await pool.request({ path: '/', method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(batch) })
  const replies = JSON.parse(Buffer.from(await body.arrayBuffer()).toString('latin1')) as unknown[]
  if (replies.length !== count) throw new Error(`${replies.length} replies instead of ${count}`)
}

async function cpuOf(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

const least: Record<string, { hexline: number; byHand: number }> = {}
for (const [name, { units, hexline, byHand }] of Object.entries(works)) {
  const best = { hexline: Number.POSITIVE_INFINITY, byHand: Number.POSITIVE_INFINITY }
  for (let round = 0; round <= ROUNDS; round++) {
    const first = FIRST_BLOCK + round * units
    const took = { byHand: await cpuOf(() => byHand(first)), hexline: await cpuOf(() => hexline(first)) }
    // The first round is a warm-up.
    if (round === 0) continue
    best.hexline = Math.min(best.hexline, took.hexline / units)
    best.byHand = Math.min(best.byHand, took.byHand / units)
  }
  least[name] = best
}
process.send?.(least)
await Promise.all([client.close(), pool.close()])
process.disconnect?.()
