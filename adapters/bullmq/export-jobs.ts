import { createHash } from 'node:crypto'
import type { Job, Queue } from 'bullmq'
import * as check from '../../src/check.ts'
import { type BlockRange, rangeFrom } from '../../src/dataset/aligned-range.ts'
import { checkExportOptions, type ExportDatasetOptions, type ExportJob } from '../../src/dataset/export/export-options.ts'
import type { DatasetHeader, RangeEntry } from '../../src/dataset/folder/manifest.ts'
import { OptionError } from '../../src/errors.ts'
import type { Quantity } from '../../src/eth/codec/quantity.ts'
import { show } from '../../src/text.ts'
import { checkQueue } from './connection.ts'

/** An export for workers: options of `exportDataset`, with the id of the chain. */
export interface QueuedExport extends Pick<ExportDatasetOptions, 'dir' | 'format' | 'tables' | 'columns' | 'blocksPerFile' | 'verify'> {
  /** First block. */
  readonly from: Quantity
  /** Last block, included. */
  readonly to: Quantity
  /** Id of the chain: a worker whose node is of another chain refuses the job. */
  readonly chainId: number
}

/** How ranges that fail are repeated. */
export interface EnqueueOptions {
  /** Attempts for each range before it is set aside with its error. Default 5. */
  readonly attempts?: number | undefined
  /** Wait before the second attempt, in ms, doubled with each further one. Default 1,000. */
  readonly backoffMs?: number | undefined
}

/** What was enqueued. */
export interface Enqueued {
  /** Tells the exports of a queue apart, for `exportProgress`; the same wherever an export ends. */
  readonly id: string
  /** Ranges of the export, with those that were in the queue before. */
  readonly ranges: number
  /** Ranges that were not in the queue yet. */
  readonly added: number
}

/** The data of a job: plain JSON, without the address of a node. */
export interface RangeJobData {
  readonly export: PlainExport
  readonly range: BlockRange
}

/** A job of the queue: its result is what the manifest says of the range; null if it was there. */
export type RangeJob = Job<RangeJobData, RangeEntry | null>

export type RangeQueue = Queue<RangeJobData, RangeEntry | null>

interface PlainExport extends Omit<QueuedExport, 'from' | 'to'> {
  readonly from: number
  readonly to: number
}

/** An export as `exports` of the queue keeps it, for the sum of its blocks. */
export type ExportRecord = Pick<PlainExport, 'dir' | 'from' | 'to' | 'chainId'>

/** Jobs that are added at a time. */
const AT_A_TIME = 1000

const JOB_NAME = 'range'

/**
 * Adds the ranges of an export to a queue of BullMQ, a job for each file's range. The ids of jobs
 * follow from the export, so that enqueuing it twice adds nothing, and with a larger `to` only what
 * is missing; `exportWorker` runs them. `dir` is where workers write: a folder that all of them
 * share, or each one's own.
 *
 * Throws `OptionError` for an invalid export.
 */
export async function enqueueExport(queue: Queue, plan: QueuedExport, options: EnqueueOptions = {}): Promise<Enqueued> {
  check.onlyKnown('options', options, ['attempts', 'backoffMs'])
  const { attempts: given = 5, backoffMs = 1000 } = options
  const attempts = check.attempts('attempts', given)
  const delay = check.ms('backoffMs', backoffMs)
  const data = plainExport(plan)
  const id = idOf(data)
  checkQueue(queue)
  await keepRecord(queue, id, data)
  const before = await countOf(queue)
  let ranges = 0
  let jobs: Parameters<Queue['addBulk']>[0] = []
  const flush = async () => {
    await queue.addBulk(jobs)
    jobs = []
  }
  for (let from = data.from; from <= data.to; ) {
    const range = rangeFrom(from, data.to, blocksPerFileOf(data))
    // The same for every process that adds it, wherever the export ends.
    const jobId = `${id}-${range.from}-${range.to}`
    const opts = { jobId, attempts, backoff: { type: 'exponential', delay }, stackTraceLimit: 0, removeOnComplete: false, removeOnFail: false }
    jobs.push({ name: JOB_NAME, data: { export: data, range } satisfies RangeJobData, opts })
    ranges++
    from = range.to + 1
    if (jobs.length === AT_A_TIME) await flush()
  }
  if (jobs.length > 0) await flush()
  return { id, ranges, added: (await countOf(queue)) - before }
}

/** The options with which a worker exports a range of it, checked. */
export function exportJobOf({ chainId: _, ...options }: PlainExport, dir?: string): ExportJob {
  const job = checkExportOptions({ ...options, ...(dir !== undefined && { dir }) })
  // The process that added the export has seen its end, which the worker's node may not have yet.
  return { ...job, stream: { ...job.stream, range: { ...job.stream.range, isKnown: true } } }
}

/** The same for all jobs of an export, wherever it ends. */
export function idOf({ to: _, ...rest }: PlainExport): string {
  return createHash('sha256').update(JSON.stringify(rest)).digest('hex').slice(0, 16)
}

/** The exports that were ever added to a queue, by their ids. */
export async function recordsOf(queue: Queue): Promise<Map<string, ExportRecord>> {
  const client = await queue.getBackend().connection.client
  const texts = Object.entries(await client.hgetall(queue.toKey('exports')))
  return new Map(texts.map(([id, text]) => [id, JSON.parse(text) as ExportRecord]))
}

/** Whether a job is a range of an export: others may add jobs of their own to a queue. */
export function isRangeJob(job: { readonly data: unknown } | undefined): job is RangeJob {
  const { range, export: wanted } = (job?.data ?? {}) as Partial<RangeJobData>
  return Number.isSafeInteger(range?.from) && Number.isSafeInteger(range?.to) && typeof wanted?.dir === 'string' && Number.isSafeInteger(wanted.chainId)
}

/** The id of the export that a job belongs to. */
export function exportOf(jobId: string): string {
  return jobId.slice(0, jobId.indexOf('-'))
}

async function keepRecord(queue: Queue, id: string, { dir, from, to, chainId }: PlainExport): Promise<void> {
  const last = Math.max(to, (await recordsOf(queue)).get(id)?.to ?? to)
  const client = await queue.getBackend().connection.client
  await client.hset(queue.toKey('exports'), { [id]: JSON.stringify({ dir, from, to: last, chainId } satisfies ExportRecord) })
}

async function countOf(queue: Queue): Promise<number> {
  return Object.values(await queue.getJobCounts()).reduce((sum, count) => sum + count, 0)
}

function blocksPerFileOf({ blocksPerFile = 1000 }: PlainExport): number {
  return blocksPerFile
}

const known = ['dir', 'from', 'to', 'chainId', 'format', 'tables', 'columns', 'blocksPerFile', 'verify']

/** Checks an export, and makes it plain JSON whose text is the same for the same export. */
function plainExport(plan: QueuedExport): PlainExport {
  check.onlyKnown('plan', plan, known)
  const { dir: _, from: __, to: ___, chainId, format, tables, columns, blocksPerFile, verify } = plan
  if (typeof plan.to === 'string' && !/^(?:0x[0-9a-f]+|\d+)$/i.test(plan.to))
    throw new OptionError('to', 'a block number: ask a node what a tag stands for', show(plan.to))
  const { dir, stream, header } = checkExportOptions({
    dir: plan.dir,
    from: plan.from,
    to: plan.to,
    ...(format !== undefined && { format }),
    ...(tables !== undefined && { tables }),
    ...(columns !== undefined && { columns }),
    ...(blocksPerFile !== undefined && { blocksPerFile }),
    ...(verify !== undefined && { verify }),
  })
  return {
    dir,
    chainId: check.whole('chainId', chainId, 1),
    from: header.from,
    to: Number(stream.range.to),
    format: header.format,
    tables: header.tables,
    ...(columns !== undefined && { columns: inTheirOrder(columns, header) }),
    blocksPerFile: header.blocksPerFile,
    verify: verify ?? 'link',
  }
}

/** Columns in the order of the tables, each once: the order of their names means nothing. */
function inTheirOrder(columns: readonly string[], { columns: stored }: Pick<DatasetHeader, 'columns'>): string[] {
  const all = Object.entries(stored ?? {}).flatMap(([table, names]) => names.map((name) => `${table}.${name}`))
  return all.filter((column) => columns.includes(column))
}
