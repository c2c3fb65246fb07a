import { createClient } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { createPublicClient, fallback, http } from 'viem'

/** How far a client is with a range of blocks. */
export interface Runner {
  /** Blocks that have come. */
  done: number
  /** Blocks that were given up. */
  failed: number
  /** When its calls that have no answer yet began, on the clock of `performance.now()`. */
  readonly waiting: Set<number>
}

export const newRunner = (): Runner => ({ done: 0, failed: 0, waiting: new Set() })

/** Calls that have waited this long, in ms, wait for a reply that has stopped. */
const STUCK = 3000

/** How many of its calls are stuck. */
export function stuck({ waiting }: Runner): number {
  const before = performance.now() - STUCK
  return [...waiting].filter((since) => since < before).length
}

/** hexline with its default settings. Rejects with the reason of the signal. */
export async function runHexline(runner: Runner, urls: readonly [string, string], blocks: number, signal: AbortSignal): Promise<void> {
  const client = createClient(urls)
  try {
    for await (const _ of getBlocks(client, { from: 0, to: blocks - 1, transactions: 'full', signal })) runner.done++
  } finally {
    await client.close()
  }
}

/** Blocks that viem is asked for at a time: hexline's default for an endpoint. */
export const CALLERS = 8

/**
 * viem's `http()` and `fallback` with their default settings, and callers that take the next block
 * when they have the last one. Resolves when all blocks have come or failed. Nothing ends a call of
 * it that waits: when the signal ends the work, such a call is left as it is.
 */
export async function runViem(runner: Runner, [a, b]: readonly [string, string], blocks: number, signal: AbortSignal): Promise<void> {
  const client = createPublicClient({ transport: fallback([http(a), http(b)]) })
  let next = 0
  const work = async () => {
    while (next < blocks && !signal.aborted) {
      const blockNumber = BigInt(next++)
      const since = performance.now()
      runner.waiting.add(since)
      try {
        await client.getBlock({ blockNumber, includeTransactions: true })
        runner.done++
      } catch {
        if (!signal.aborted) runner.failed++
      }
      runner.waiting.delete(since)
    }
  }
  const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
  await Promise.race([aborted, Promise.all(Array.from({ length: CALLERS }, work))])
}
