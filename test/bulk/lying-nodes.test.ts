import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/index.ts'
import { getLogs } from '../../src/index-bulk.ts'
import { type LogChain, startLogChain, TRANSFER, tokens, type WireLog } from '../support/log-chain.ts'
import { runs } from '../support/runs.ts'

/** Ways to word a limit on blocks; some name a range that is too long, too. */
const wordings: readonly ((from: number, to: number, most: number) => { code?: number; message: string })[] = [
  (_from, _to, most) => ({ message: `query exceeds max block range ${most}` }),
  (_from, _to, most) => ({ message: `eth_getLogs is limited to a ${most * 3} blocks range` }),
  (from, _to, most) => ({ message: `this block range should work: [0x${from.toString(16)}, 0x${(from + most - 1).toString(16)}]` }),
  (from, to) => ({ message: `retry with the range ${from}-${to}` }),
  (from, to) => ({ message: `retry with the range ${to}-${from}` }),
  () => ({ message: 'retry with the range 7-7' }),
  () => ({ code: -32005, message: 'limit exceeded' }),
  () => ({ message: 'block range is too wide' }),
]

const node = fc.record({
  seed: fc.nat(),
  /** Out of 100 logs, how many are left out; the same of blocks. */
  drops: fc.constantFrom(0, 0, 5, 50),
  empties: fc.constantFrom(0, 5, 100),
  order: fc.constantFrom('right', 'reversed', 'doubled'),
  cap: fc.constantFrom(Number.POSITIVE_INFINITY, 500, 1000),
  most: fc.constantFrom(1, 7, 100, 1000, Number.POSITIVE_INFINITY),
  wording: fc.nat(wordings.length - 1),
  /** Out of 100 calls, how many fail, and in how many `eth_getLogs` gives nothing. */
  fails: fc.constantFrom(0, 0, 10),
  gaps: fc.constantFrom(0, 0, 30),
})

type Faults = typeof node extends fc.Arbitrary<infer F> ? F : never

/** 0 to 99, always the same for the same input. */
const chance = (...input: number[]) => input.reduce((hash, each) => (Math.imul(hash ^ each, 0x9e3779b1) ^ (hash >>> 13)) >>> 0, 0x811c9dc5) % 100

async function start(head: number, density: number, faults: Faults): Promise<LogChain> {
  const { seed, drops, empties, order, cap, most, wording, fails, gaps } = faults
  const isEmptied = (block: number) => chance(seed, block, 1) < empties
  let calls = 0
  const chain = await startLogChain({
    head,
    cap,
    logs: (block) => (chance(block, 7) < 50 ? 0 : density),
    drops: ({ blockNumber, logIndex }) => isEmptied(Number(blockNumber)) || chance(seed, Number(blockNumber), Number(logIndex), 2) < drops,
    gives: (log) => (order === 'doubled' ? [log, log] : [log]),
    range: { most, says: (from, to) => (wordings[wording] as (typeof wordings)[number])(from, to, most) },
    answer: (method, [given]) => {
      calls++
      if (chance(seed, calls, 3) < fails) return { error: { code: -32603, message: 'internal error' } }
      if (method !== 'eth_getLogs') return undefined
      if (chance(seed, calls, 4) < gaps) return { result: [] }
      const { fromBlock, toBlock } = given as { fromBlock: string; toBlock: string }
      if (order !== 'reversed' || Number(toBlock) - Number(fromBlock) >= most) return undefined
      const logs = chain.logs(Number(fromBlock), Number(toBlock), given as object).filter((log) => !isEmptied(Number(log.blockNumber)))
      return { result: logs.slice(0, cap).reverse() }
    },
  })
  return chain
}

const keyOf = ({ blockNumber, logIndex, data }: WireLog) => `${Number(blockNumber)}/${Number(logIndex)}/${data}`
const filter = { address: tokens.slice(0, 5) as `0x${string}`[], topics: [TRANSFER] as `0x${string}`[] }

describe('whatever a node does to eth_getLogs', () => {
  it('an audit by receipts gives each log once, one by blooms at least some of each block', async () => {
    await fc.assert(
      fc.asyncProperty(
        node,
        fc.integer({ min: 1, max: 400 }),
        fc.constantFrom(1, 5, 60),
        fc.constantFrom('receipts', 'bloom'),
        async (faults, head, density, audit) => {
          const chain = await start(head, density, faults)
          const client = createClient(chain.url, { deadlineMs: 600_000 })
          onTestFinished(() => client.close())
          const logs = getLogs(client, { ...filter, from: 0n, to: 'latest', audit })
          const keys: string[] = []
          let next = 0n
          for await (const page of logs.pages()) {
            expect(page.from).toBe(next)
            next = page.to + 1n
            for (const { blockNumber, logIndex, data } of page.logs) {
              expect(blockNumber >= page.from && blockNumber <= page.to).toBe(true)
              keys.push(`${blockNumber}/${logIndex}/${data}`)
            }
          }
          expect(next).toBe(BigInt(head) + 1n)
          expect(logs.audit).toMatchObject({ blocks: head + 1, unproven: 0 })
          const right = chain.logs(0, head, filter).map(keyOf)
          expect(keys).toEqual(audit === 'receipts' ? right : right.filter((key) => keys.includes(key)))
          const blocksOf = (all: readonly string[]) => [...new Set(all.map((key) => key.split('/')[0]))]
          expect(blocksOf(keys)).toEqual(blocksOf(right))
        },
      ),
      runs(6),
    )
  })
})
