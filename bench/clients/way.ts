import type { WorkloadName } from '../workloads.ts'

/** How a client does a workload. */
export interface Way {
  /** Its settings, as the report says them. */
  readonly settings: string
  /** Loads what the client needs and no more: what is loaded besides is collected again and again. */
  readonly load: (url: string) => Promise<Job> | Job
}

/** The workloads of a client; one that it cannot do is not there. */
export type Ways = { readonly [Name in WorkloadName]?: Way }

/** A client that is ready. */
export interface Job {
  /** Does the work for the items `first` to `first + count - 1`: blocks, accounts, replies. */
  run(first: number, count: number): Promise<Seen>
  end(): unknown
}

/** What has come, so that it can be told from less: each figure that a client gives is checked. */
export interface Seen {
  /** Blocks, balances, replies. */
  readonly items: number
  /** Sum of the blocks' numbers, or of the balances. */
  readonly numbers?: number
  /** Transactions, receipts or logs, all together. */
  readonly parts?: number
  /** Bytes, where nothing is parsed. */
  readonly bytes?: number
  /** Calls that failed in spite of all retries. */
  readonly failures?: number
}

/** What a job sees, summed up. */
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

/** Runs `one` for each number from `first` on, `width` of them at any time. */
export async function inParallel(width: number, first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  let next = first
  const end = first + count
  const worker = async () => {
    while (next < end) await one(next++)
  }
  await Promise.all(Array.from({ length: Math.min(width, count) }, worker))
}

/** Rounds of `width` that start together, as a program does that fills a page. */
export async function inRounds(width: number, first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  for (let at = first; at < first + count; at += width) {
    await Promise.all(Array.from({ length: Math.min(width, first + count - at) }, (_, i) => one(at + i)))
  }
}

/** Distinct ones, since equal calls would be joined. */
export function addressOf(i: number): `0x${string}` {
  return `0x${(i + 1).toString(16).padStart(40, '0')}`
}

export function hex(i: number): `0x${string}` {
  return `0x${i.toString(16)}`
}

/** Width of the small calls in parallel. */
export const PARALLEL = 64

/** How small calls come: in rounds of 64, or one after another. */
export const calls: Readonly<Record<'small calls, 64 in parallel' | 'small calls, in sequence', typeof inTurn>> = {
  'small calls, 64 in parallel': (first, count, one) => inRounds(PARALLEL, first, count, one),
  'small calls, in sequence': inTurn,
}

async function inTurn(first: number, count: number, one: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = first; i < first + count; i++) await one(i)
}

/** The job of asking for balances, in the way in which they come. */
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

/** The job of asking a throttled node for balances, 64 workers at a time; what fails in the end is counted. */
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
