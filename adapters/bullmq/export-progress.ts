import { ErrorCode, type Job, type Queue } from 'bullmq'
import type { RangeEntry } from '../../src/dataset/folder/manifest.ts'
import { checkQueue } from './connection.ts'
import { exportOf, isRangeJob, type RangeJob, type RangeQueue, recordsOf } from './export-jobs.ts'

/** Progress of one export in a queue, or of all of them. */
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
  /** Time left at this rate, in ms; undefined without one, or where only failed ranges are left. */
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
 * Reads the progress of the exports in a queue, from Redis alone; with the `id` that
 * `enqueueExport` has returned, of that one alone.
 */
export async function exportProgress(queue: Queue, id?: string): Promise<ExportProgress> {
  checkQueue(queue)
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
  /** The export that counts; undefined if all of the queue do. */
  readonly #id: string | undefined
  /** The ids of all exports that count. */
  #counted: ReadonlySet<string> = new Set()
  /** Jobs of the queue when all of them counted; while there are as many, no ids are read. */
  #jobs: number | undefined
  /** Jobs that are done: how many the queue had lately, and the ids of those that were read. */
  #completed = 0
  readonly #seen = new Set<string>()
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
    const exports = [...(await recordsOf(this.#queue))].filter(([id]) => this.#id === undefined || id === this.#id)
    this.#counted = new Set(this.#id === undefined ? exports.map(([id]) => id) : [this.#id])
    const counts = await this.#count()
    // Afterwards: where no range is left, the blocks of the last one count.
    await this.#readDone()
    const { completed: done = 0, active = 0, waiting = 0, prioritized = 0, delayed = 0, failed = 0 } = counts
    const total = exports.reduce((sum, [, { from, to }]) => sum + to - from + 1, 0)
    const blocksPerSecond = this.#rate()
    const toRun = active + waiting + prioritized + delayed
    return {
      ranges: { total: done + toRun + failed, done, active, waiting: waiting + prioritized, delayed, failed },
      blocks: { total, done: this.#blocks },
      rows: this.#rows,
      bytes: this.#bytes,
      blocksPerSecond,
      // Ranges that were set aside wait for somebody to put them back.
      msLeft: blocksPerSecond === 0 || (failed > 0 && toRun === 0) ? undefined : ((total - this.#blocks) / blocksPerSecond) * 1000,
      failures: failed === 0 ? [] : await this.#failures(),
    }
  }

  #isCounted(jobId: string): boolean {
    return this.#counted.has(exportOf(jobId))
  }

  /** BullMQ counts no part of a queue: the ids of one moment tell which jobs are of the exports. */
  async #count(): Promise<Counts> {
    const all = await this.#queue.getJobCounts(...STATES)
    this.#completed = all.completed ?? 0
    if (sumOf(all) === this.#jobs) return all
    const ids: readonly string[][] = await this.#queue.getBackend().getRanges([...STATES], 0, -1)
    const own: Counts = Object.fromEntries(STATES.map((state, i) => [state, ids[i]?.filter((id) => this.#isCounted(id)).length ?? 0]))
    this.#jobs = sumOf(own) === ids.flat().length ? sumOf(own) : undefined
    return own
  }

  async #failures(): Promise<RangeFailure[]> {
    const ids = (await this.#queue.getRanges(['failed'], 0, -1)).filter((id) => this.#isCounted(id))
    const jobs = await Promise.all(ids.slice(0, MOST_FAILURES).map((id) => this.#queue.getJob(id)))
    return jobs.filter(isRangeJob).map(failureOf)
  }

  async #readDone(): Promise<void> {
    for (let from = this.#seen.size; ; from += AT_A_TIME) {
      const jobs = await this.#queue.getJobs(['completed'], from, from + AT_A_TIME - 1, true)
      for (const job of jobs) this.#add(job)
      if (jobs.length < AT_A_TIME) break
    }
    if (this.#seen.size === this.#completed) return
    // Their order is that of the workers' clocks: one that is behind puts its ranges further up.
    // Others may have been put back.
    const unseen = (await this.#queue.getRanges(['completed'], 0, -1)).filter((id) => !this.#seen.has(id))
    for (let i = 0; i < unseen.length; i += AT_A_TIME)
      for (const job of await Promise.all(unseen.slice(i, i + AT_A_TIME).map((id) => this.#queue.getJob(id)))) if (job !== undefined) this.#add(job)
  }

  #add(job: RangeJob): void {
    const { id = '', data, returnvalue, finishedOn, processedOn } = job
    if (this.#seen.has(id)) return
    this.#seen.add(id)
    if (!isRangeJob(job) || !this.#isCounted(id)) return
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

  #rate(): number {
    if (this.#lately.length === 0) return 0
    const last = this.#lately.reduce((newest, { at }) => Math.max(newest, at), 0)
    this.#lately = this.#lately.filter(({ at }) => at > last - WINDOW_MS)
    const from = Math.max(last - WINDOW_MS, Math.min(...this.#lately.map(({ startedAt }) => startedAt)))
    const blocks = this.#lately.reduce((sum, each) => sum + each.blocks, 0)
    return (blocks / Math.max(1, last - from)) * 1000
  }
}

function sumOf(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function failureOf({ data: { range, export: wanted }, attemptsMade, failedReason }: RangeJob): RangeFailure {
  return { ...range, dir: wanted.dir, attempts: attemptsMade, cause: failedReason }
}

/**
 * Puts all ranges that were set aside back into the queue, each with as many attempts as at first.
 * Returns how many.
 */
export function retryFailed(queue: Queue): Promise<number> {
  return putBack(queue, 'failed')
}

/**
 * Puts all ranges that are done back into the queue: workers export again what their folder no
 * longer has, and find the others there. Returns how many.
 */
export function recheckDone(queue: Queue): Promise<number> {
  return putBack(queue, 'completed')
}

async function putBack(queue: Queue, state: 'failed' | 'completed'): Promise<number> {
  checkQueue(queue)
  const ranges = (await jobsIn(queue, state)).filter(isRangeJob)
  const client = await queue.getBackend().connection.client
  let count = 0
  for (let i = 0; i < ranges.length; i += AT_A_TIME)
    await Promise.all(
      ranges.slice(i, i + AT_A_TIME).map(async (job) => {
        // How many workers it has killed, which BullMQ's retry keeps.
        await client.hdel(queue.toKey(job.id as string), 'stc')
        if (await putBackOne(job, state)) count++
      }),
    )
  return count
}

/** False for a job that somebody else has put back or removed meanwhile. */
async function putBackOne(job: Job, state: 'failed' | 'completed'): Promise<boolean> {
  try {
    await job.retry(state, { resetAttemptsMade: true, resetAttemptsStarted: true })
    return true
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code === ErrorCode.JobNotInState || code === ErrorCode.JobNotExist) return false
    throw error
  }
}

/** A failed job of a queue that is no range of an export. */
export interface ForeignFailure {
  readonly id: string
  readonly cause: string
}

/** Failed jobs that are not hexline's, at most 100 of them. */
export async function foreignFailures(queue: Queue): Promise<ForeignFailure[]> {
  const jobs = (await jobsIn(queue, 'failed')).filter((job) => !isRangeJob(job))
  return jobs.slice(0, MOST_FAILURES).map(({ id = '', failedReason }) => ({ id, cause: failedReason }))
}

async function jobsIn(queue: Queue, state: 'failed' | 'completed'): Promise<Job[]> {
  const jobs: Job[] = []
  for (;;) {
    const page = await queue.getJobs([state], jobs.length, jobs.length + AT_A_TIME - 1)
    jobs.push(...page)
    if (page.length < AT_A_TIME) return jobs
  }
}
