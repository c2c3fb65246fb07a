import { availableParallelism } from 'node:os'
import { loadSenderOf, type SenderOf } from '../../verify/sender.ts'
import { workerFile } from '../../verify/worker-file.ts'
import type { DatasetHeader, RangeEntry } from '../folder/manifest.ts'
import type { CheckCounts } from './check-counts.ts'
import { RangeRun, startRangeWorker } from './range-workers.ts'
import { within } from './sample.ts'
import { type ChosenBlock, verifyRange } from './verify-range.ts'

export interface RangesJob {
  readonly dir: string
  readonly header: DatasetHeader
  readonly ranges: readonly RangeEntry[]
  readonly senders: boolean
  readonly signal: AbortSignal | undefined
  /** Numbers of the blocks to compare, in order. */
  readonly chosen: readonly number[]
  readonly compare: (block: ChosenBlock, range: RangeEntry) => Promise<void>
  /** Called with each block, in order. */
  readonly onBlock: (number: bigint) => void
  /** Called before the blocks of each range, in order. */
  readonly onRange: (range: RangeEntry) => void
}

/** Threads that verify ranges: how many, and the file that each runs. */
export interface Threads {
  readonly count: number
  readonly file: string | undefined
}

/** Most threads: each has up to 150 MB. */
const MOST_THREADS = 4
/**
 * A folder of less than this, in bytes, is verified before threads would be as fast as this one.
 */
const SMALL = 8 * 1024 * 1024

/** A thread for each core, where there is enough to do. */
function threadsFor(ranges: readonly RangeEntry[]): Threads {
  const bytes = ranges.reduce((sum, { files }) => sum + files.reduce((all, file) => all + file.bytes, 0), 0)
  const count = Math.min(MOST_THREADS, availableParallelism(), ranges.length)
  return count < 2 || bytes < SMALL ? { count: 0, file: undefined } : { count, file: workerFile('../dataset/verify/range-worker') }
}

/**
 * Verifies ranges, several at a time, and adds up what was proven in their order. Rejects with the
 * first falsehood, as one thread would find it: a range that a thread has not proven, for whatever
 * reason, is verified here.
 */
export async function verifyRanges(job: RangesJob, counts: CheckCounts, threads: Threads = threadsFor(job.ranges)): Promise<void> {
  const { ranges, signal, senders, onBlock, onRange, compare } = job
  const runs: RangeRun[] = []
  let next = 0
  const take = (): RangeRun | undefined => {
    const range = ranges[next]
    if (range === undefined || signal?.aborted) return undefined
    const run = new RangeRun({ range, chosen: within(job.chosen, range) })
    runs[next++] = run
    return run
  }
  let senderOf: SenderOf | undefined
  const ends = startThreads()
  const endAll = () => {
    for (const end of ends) end()
  }
  signal?.addEventListener('abort', endAll)
  try {
    for (const [i, range] of ranges.entries()) {
      const run = runs[i]
      if (run === undefined) next = i + 1
      onRange(range)
      const done = run === undefined ? 0 : await follow(run)
      if (done !== undefined) await verifyHere(range, done)
    }
  } finally {
    signal?.removeEventListener('abort', endAll)
    endAll()
  }

  function startThreads(): (() => void)[] {
    const { count, file } = threads
    const started: (() => void)[] = []
    try {
      for (let i = 0; i < count && file !== undefined; i++)
        started.push(startRangeWorker(file, { dir: job.dir, header: job.header, senders }, { take, compare }))
    } catch {
      // Threads are not permitted: this one does all.
    }
    return started
  }

  /**
   * Passes on what a thread reports. Resolves to the number of blocks before it failed; undefined
   * if it has not.
   */
  async function follow(run: RangeRun): Promise<number | undefined> {
    let number = BigInt(run.task.range.from)
    for (;;) {
      const event = await run.next()
      signal?.throwIfAborted()
      if ('failed' in event) return Number(number) - run.task.range.from
      if ('counts' in event) {
        counts.merge(event.counts)
        return undefined
      }
      if ('compared' in event) {
        const { fault } = await event.compared
        if (fault !== undefined) throw fault
      }
      const blocks = 'blocks' in event ? event.blocks : 1
      for (let i = 0; i < blocks; i++) onBlock(number++)
    }
  }

  /** Verifies a range in this thread. Its first blocks, `done` of them, have been reported. */
  async function verifyHere(range: RangeEntry, done: number): Promise<void> {
    signal?.throwIfAborted()
    if (senders) senderOf ??= await loadSenderOf()
    let before = done
    const onBlockHere = (number: bigint, block: ChosenBlock | undefined): Promise<void> | undefined => {
      if (before-- > 0) return undefined
      if (block === undefined) {
        onBlock(number)
        return undefined
      }
      return compare(block, range).then(() => onBlock(number))
    }
    const chosen = new Set(within(job.chosen, range))
    await verifyRange({ dir: job.dir, header: job.header, senderOf, signal, chosen, onBlock: onBlockHere }, range, counts)
  }
}
