import type { Queue } from 'bullmq'
import type { RangeEntry } from '../../src/dataset/manifest.ts'
import { exportOf, type RangeJob, type RangeQueue, recordsOf } from './export-jobs.ts'

/** How far one export of a queue is, or all of them. */
export interface ExportProgress {
  /** Ranges by state. `failed` ones were set aside after their last attempt. */
  readonly ranges: {
    readonly total: number
    readonly done: number
    readonly active: number
    readonly waiting: number
    /** Failed, and waiting for their next attempt. */
    readonly delayed: number
    readonly failed: number
  }
  readonly blocks: { readonly total: number; readonly done: number }
  /** Rows in all files. */
  readonly rows: number
  /** Size of all files, in bytes. */
  readonly bytes: number
  /** Blocks per second, over the last minute in which ranges were done; 0 before the first one. */
  readonly blocksPerSecond: number
  /** Time left at this rate, in ms; undefined without one. */
  readonly msLeft: number | undefined
  /** Ranges that were set aside; at most 100 of them are listed. */
  readonly failures: readonly RangeFailure[]
}

/** A range that was set aside. */
export interface RangeFailure {
  /** First block of the range. */
  readonly from: number
  /** Last block, included. */
  readonly to: number
  /** The folder of the export. */
  readonly dir: string
  /** Attempts that were made. */
  readonly attempts: number
  /** The message of the last error. */
  readonly cause: string
}

/**
 * Reads how far the exports of a queue are, from Redis alone; with the `id` that `enqueueExport`
 * has returned, that one alone.
 */
export function exportProgress(queue: Queue, id?: string): Promise<ExportProgress> {
  return new ProgressReader(queue, id).read()
}

/** Window of the rate, in ms. */
const WINDOW_MS = 60_000
/** Jobs that are read at a time. */
const AT_A_TIME = 500
const MOST_FAILURES = 100

const STATES = ['completed', 'active', 'waiting', 'prioritized', 'delayed', 'failed'] as const

type Counts = Readonly<Partial<Record<(typeof STATES)[number], number>>>

/** Reads it again and again: each time only the ranges that were done in between. */
export class ProgressReader {
  readonly #queue: RangeQueue
  /** The export that counts; undefined if all do. */
  readonly #id: string | undefined
  #seen = 0
  #blocks = 0
  #rows = 0
  #bytes = 0
  /** The last block that is done of each range that was, by export and first block. */
  readonly #last = new Map<string, number>()
  /** When ranges were done, and their blocks. */
  #lately: { readonly at: number; readonly startedAt: number; readonly blocks: number }[] = []

  constructor(queue: Queue, id?: string) {
    this.#queue = queue as RangeQueue
    this.#id = id
  }

  async read(): Promise<ExportProgress> {
    const all = await recordsOf(this.#queue)
    const exports = [...all].filter(([id]) => this.#isCounted(id))
    const counts = exports.length === all.size ? await this.#countAll() : await this.#countOwn()
    // Afterwards: where no range is left, the blocks of the last one count.
    await this.#readDone()
    const { completed: done = 0, active = 0, waiting = 0, prioritized = 0, delayed = 0, failed = 0 } = counts
    const total = exports.reduce((sum, [, { from, to }]) => sum + to - from + 1, 0)
    const blocksPerSecond = this.#rate()
    return {
      ranges: { total: done + active + waiting + prioritized + delayed + failed, done, active, waiting: waiting + prioritized, delayed, failed },
      blocks: { total, done: this.#blocks },
      rows: this.#rows,
      bytes: this.#bytes,
      blocksPerSecond,
      msLeft: blocksPerSecond === 0 ? undefined : ((total - this.#blocks) / blocksPerSecond) * 1000,
      failures: failed === 0 ? [] : await this.#failures(),
    }
  }

  #isCounted(id: string): boolean {
    return this.#id === undefined || id === this.#id
  }

  #countAll(): Promise<Counts> {
    return this.#queue.getJobCounts(...STATES)
  }

  /** All ids, of one moment: BullMQ counts no part of a queue. */
  async #countOwn(): Promise<Counts> {
    const ids: readonly string[][] = await this.#queue.getBackend().getRanges([...STATES], 0, -1)
    return Object.fromEntries(STATES.map((state, i) => [state, ids[i]?.filter((id) => this.#isCounted(exportOf(id))).length ?? 0]))
  }

  async #failures(): Promise<RangeFailure[]> {
    const ids = (await this.#queue.getRanges(['failed'], 0, -1)).filter((id) => this.#isCounted(exportOf(id)))
    const jobs = await Promise.all(ids.slice(0, MOST_FAILURES).map((id) => this.#queue.getJob(id)))
    return jobs.filter((job) => job !== undefined).map(failureOf)
  }

  async #readDone(): Promise<void> {
    for (;;) {
      const jobs = await this.#queue.getJobs(['completed'], this.#seen, this.#seen + AT_A_TIME - 1, true)
      for (const { id = '', data, returnvalue, finishedOn, processedOn } of jobs) {
        if (!this.#isCounted(exportOf(id))) continue
        const { from, to } = data.range
        // An export that was extended has its last range twice: in part, and as a whole.
        const place = id.slice(0, id.lastIndexOf('-'))
        const last = this.#last.get(place) ?? from - 1
        this.#last.set(place, Math.max(last, to))
        const { files } = returnvalue ?? ({ files: [] } as Pick<RangeEntry, 'files'>)
        const blocks = Math.max(0, to - last)
        this.#blocks += blocks
        this.#rows += files.reduce((sum, file) => sum + file.rows, 0)
        this.#bytes += files.reduce((sum, file) => sum + file.bytes, 0)
        if (finishedOn !== undefined) this.#lately.push({ at: finishedOn, startedAt: processedOn ?? finishedOn, blocks })
      }
      this.#seen += jobs.length
      if (jobs.length < AT_A_TIME) return
    }
  }

  #rate(): number {
    const last = this.#lately.at(-1)
    if (last === undefined) return 0
    this.#lately = this.#lately.filter(({ at }) => at > last.at - WINDOW_MS)
    const from = Math.max(last.at - WINDOW_MS, Math.min(...this.#lately.map(({ startedAt }) => startedAt)))
    const blocks = this.#lately.reduce((sum, each) => sum + each.blocks, 0)
    return (blocks / Math.max(1, last.at - from)) * 1000
  }
}

function failureOf({ data: { range, export: wanted }, attemptsMade, failedReason }: RangeJob): RangeFailure {
  return { ...range, dir: wanted.dir, attempts: attemptsMade, cause: failedReason }
}

/** Puts all ranges that were set aside back into the queue. Returns how many. */
export async function retryFailed(queue: Queue): Promise<number> {
  const { failed = 0 } = await queue.getJobCounts('failed')
  if (failed > 0) await queue.retryJobs({ state: 'failed' })
  return failed
}
