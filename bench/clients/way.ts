import { MOST_BLOCKS } from '../logs.ts'
import type { WorkloadName } from '../workloads.ts'

/** How a client runs a workload. */
export interface Way {
  /** Its settings, for the report. */
  readonly settings: string
  /** Loads only what the client needs, since everything loaded adds to garbage collection. */
  readonly load: (url: string) => Promise<Job> | Job
}

/** A client's workloads. The ones that it cannot run are absent. */
export type Ways = { readonly [Name in WorkloadName]?: Way }

/** A client that is ready to run. */
export interface Job {
  /** Runs the items `first` to `first + count - 1`: blocks, accounts or replies. */
  run(first: number, count: number): Promise<Seen>
  end(): unknown
}

/** Sums over the replies, which are checked to prove that the client has done the work. */
export interface Seen {
  /** Number of blocks, balances or replies. */
  readonly items: number
  /** Sum of the block numbers, or of the balances. */
  readonly numbers?: number
  /** Number of transactions, receipts and logs. */
  readonly parts?: number
  /** Number of bytes, if nothing is parsed. */
  readonly bytes?: number
  /** Number of calls that failed in spite of all retries. */
  readonly failures?: number
}

/** Sums up the replies of a job. */
export class Tally implements Seen {
  items = 0
  numbers = 0
  parts = 0

  add(number: number | bigint | string, parts: number): void {
    this.items++
    this.numbers += Number(number)
    this.parts += parts
  }
}

/** Runs `one` for each number from `first` on, `width` of them at a time. */
export async function inParallel(width: number, first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  let next = first
  const end = first + count
  const worker = async () => {
    while (next < end) await one(next++)
  }
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker))
}

/** Runs rounds of `width` calls that start together, like a program that fills a page. */
export async function inRounds(width: number, first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  for (let at = first; at < first + count; at += width) {
    await Promise.all(Array.from({ length: Math.min(width, first + count - at) }, (_, i) => one(at + i)))
  }
}

/**
 * Sums up the logs of a range as a careful user would fetch them: ranges of the most blocks that
 * the node takes, as it documents them, `width` at a time; a refused range in halves, both at once.
 */
export async function logsByHand<L>(
  width: number,
  first: number,
  count: number,
  ask: (from: number, to: number) => Promise<readonly L[]>,
  blockOf: (log: L) => bigint | string,
): Promise<Seen> {
  const sums = { items: count, numbers: 0, parts: 0 }
  const fetchRange = async (from: number, to: number): Promise<void> => {
    let logs: readonly L[]
    try {
      logs = await ask(from, to)
    } catch (error) {
      if (from === to || !/more than \d+ results/.test(String((error as Error).message))) throw error
      const middle = Math.floor((from + to) / 2)
      await Promise.all([fetchRange(from, middle), fetchRange(middle + 1, to)])
      return
    }
    for (const log of logs) sums.numbers += Number(blockOf(log))
    sums.parts += logs.length
  }
  const end = first + count - 1
  await inParallel(width, 0, Math.ceil(count / MOST_BLOCKS), (i) => {
    const from = first + i * MOST_BLOCKS
    return fetchRange(from, Math.min(end, from + MOST_BLOCKS - 1))
  })
  return sums
}

/** A different address for each `i`, since identical calls would be joined. */
export function addressOf(i: number): `0x${string}` {
  return `0x${(i + 1).toString(16).padStart(40, '0')}`
}

export function hex(i: number): `0x${string}` {
  return `0x${i.toString(16)}`
}

/** Number of small calls in parallel. */
export const PARALLEL = 64

/** How to make small calls: in rounds of 64, or one after another. */
export const calls: Readonly<Record<'small calls, 64 in parallel' | 'small calls, gzip' | 'small calls, in sequence', typeof inTurn>> = {
  'small calls, 64 in parallel': inRoundsOf64,
  'small calls, gzip': inRoundsOf64,
  'small calls, in sequence': inTurn,
}

function inRoundsOf64(first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  return inRounds(PARALLEL, first, count, one)
}

async function inTurn(first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = first; i < first + count; i++) await one(i)
}

/** The job of requesting balances in the given way. */
export function balances(repeat: typeof inTurn, balanceOf: (address: `0x${string}`) => Promise<bigint | string>, end: () => unknown = () => {}): Job {
  return {
    async run(first, count) {
      const tally = new Tally()
      await repeat(first, count, async (i) => tally.add(await balanceOf(addressOf(i)), 0))
      return tally
    },
    end,
  }
}

/**
 * The job of requesting balances from a throttled node with 64 workers. Calls that fail in the end
 * are counted.
 */
export function throttledBalances(balanceOf: (address: `0x${string}`) => Promise<bigint | string>, end: () => unknown = () => {}, width = PARALLEL): Job {
  return {
    async run(first, count) {
      let [items, failures] = [0, 0]
      await inParallel(width, first, count, async (i) => {
        try {
          if (Number(await balanceOf(addressOf(i))) === i + 1) items++
        } catch {
          failures++
        }
      })
      return { items: items + failures, failures }
    },
    end,
  }
}
