import { type Job, UnrecoverableError, WaitingError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import * as check from '../../src/check.ts'
import { type Client, checkClient } from '../../src/client/client.ts'
import type { BlockRange } from '../../src/dataset/aligned-range.ts'
import { MOST_RANGES } from '../../src/dataset/export/open-parts.ts'
import type { RangeEntry } from '../../src/dataset/folder/manifest.ts'
import { readPart } from '../../src/dataset/folder/parts.ts'
import { OptionError } from '../../src/errors.ts'
import { show } from '../../src/text.ts'
import { LONGEST_TIMER } from '../../src/wait/clock.ts'
import { checkRedis, isWrongDatabase, withoutPassword } from './connection.ts'
import { isRangeJob, type RangeJobData } from './export-jobs.ts'
import { OpenFolders } from './open-folders.ts'
import { shareBudget } from './share-budget.ts'

/** Options of `exportWorker`. */
export interface ExportWorkerOptions {
  /** An ioredis connection. The worker makes its own connections with the same settings. */
  readonly redis: Redis
  /** Name of the queue. Default `hexline`. */
  readonly queue?: string | undefined
  /** Prefix of all keys in Redis. Default `hexline`. */
  readonly prefix?: string | undefined
  /** Ranges to export at a time, at most 100. Default 2. */
  readonly concurrency?: number | undefined
  /** Where it writes, for a machine that has the folder of the export elsewhere. */
  readonly dir?: string | undefined
  /**
   * Whether calls count towards one budget with those of all other workers, as `shareBudget` says.
   * Default true.
   */
  readonly budget?: boolean | undefined
  /**
   * How long a range is locked for this worker, in ms. Default 30,000. The lock is renewed after
   * half of that time; a worker that is held up for longer loses its ranges to others.
   */
  readonly lockMs?: number | undefined
  /**
   * How long `close` waits for ranges to be finished before it gives them back, in ms. Default
   * 5,000.
   */
  readonly closeMs?: number | undefined
  /** Called after each range that this worker has exported. */
  readonly onRange?: ((range: RangeEntry) => void) | undefined
  /** Called with each failure: of a range, which BullMQ repeats, and of Redis. */
  readonly onFailure?: ((error: Error, range?: { readonly from: number; readonly to: number }) => void) | undefined
}

/** A worker that exports ranges of a queue. */
export interface ExportWorker {
  /** The worker of BullMQ, for its events. */
  readonly worker: Worker<RangeJobData, RangeEntry | null>
  /**
   * Settles when it has ended: rejects if it ended by itself, because its node is on another chain
   * than the export, or because Redis refuses the database of its connection.
   */
  readonly ended: Promise<void>
  /**
   * Takes no more ranges, finishes those that it has within `closeMs`, and gives the others back,
   * as if it had never taken them.
   */
  close(): Promise<void>
}

/** Redis is the reason why a worker ended. */
class WorkerEndedError extends Error {
  override readonly name = 'WorkerEndedError'
}

/** Why ranges were given up. */
const GIVEN_BACK = new Error('the worker is closed: the range goes back to the queue')
const LOST = new Error('the range belongs to another worker by now')
const LOCK_LOST = 'its lock has expired, or Redis has lost it: another worker takes the range, or finds it done'

/** A range whose worker was killed this many times is set aside: it may be what kills them. */
const MOST_STALLED = 20

/**
 * A connection is made anew when Redis has been silent for this long, in ms: longer than the 10 s
 * for which BullMQ asks it to wait for a job.
 */
const SILENT_MS = 20_000

/**
 * Runs ranges that `enqueueExport` has added, until it is closed. A range is committed whole or not
 * at all, and only once: if a worker was taken for dead and both finish it, the second commit
 * changes nothing. Its result is what the manifest says of it. Failures are repeated by BullMQ,
 * with its back-off, and set aside with their error after the last attempt.
 *
 *     const worker = exportWorker(createClient(url), { redis: new Redis('redis://queue.example.com') })
 *     process.once('SIGTERM', () => worker.close())
 *
 * Throws `OptionError` for invalid options.
 */
export function exportWorker(client: Client, options: ExportWorkerOptions): ExportWorker {
  checkClient(client)
  const { redis, queue, prefix, concurrency, dir, budget: isShared, lockMs, closeMs, onRange, onFailure } = checkOptions(options)
  const budget = isShared ? shareBudget(client, redis, prefix) : undefined
  const folders = new OpenFolders(client, dir)
  const running = new Map<string, AbortController>()

  const run = async (job: Job<RangeJobData, RangeEntry | null>, token?: string): Promise<RangeEntry | null> => {
    if (!isRangeJob(job)) throw new UnrecoverableError(`job ${(job as Job).id} is not one of hexline's: it is set aside`)
    const { export: wanted, range } = job.data
    const id = job.id as string
    const stop = new AbortController()
    running.set(id, stop)
    try {
      if (closing !== undefined) throw GIVEN_BACK
      const chainId = await client.with({ signal: stop.signal }).call('eth_chainId')
      if (chainId !== wanted.chainId) {
        void end(new OptionError('client', `a node of chain id ${wanted.chainId}, which is that of the export`, `one of chain id ${chainId}`))
        throw GIVEN_BACK
      }
      const parts = await folders.open(job.data)
      const { added } = await parts.exportRange(range, { signal: stop.signal })
      if (added !== null) onRange?.(added)
      return added ?? (await lastPartOf(dir ?? wanted.dir, range))
    } catch (error) {
      if (error !== GIVEN_BACK || token === undefined) throw error
      await job.moveToWait(token)
      throw new WaitingError()
    } finally {
      // A run that lost its range may end after the next one of the same range has begun here.
      if (running.get(id) === stop) running.delete(id)
    }
  }

  // BullMQ does not close a connection that it was given.
  const connection = redis.duplicate({ maxRetriesPerRequest: null, socketTimeout: SILENT_MS })
  const worker = new RangeWorker(queue, run, {
    connection,
    prefix,
    concurrency,
    lockDuration: lockMs,
    stalledInterval: lockMs,
    maxStalledCount: MOST_STALLED,
    // An error that Redis has for a moment: until the next try.
    runRetryDelay: 1000,
  })
  worker.on('lockRenewalFailed', (ids) => {
    for (const id of ids) running.get(id)?.abort(LOST)
  })
  worker.on('failed', (job, error) => {
    if (error !== LOST) onFailure?.(error, isRangeJob(job) ? job.data.range : undefined)
  })
  /** Ranges whose loss was told, of which BullMQ may tell several times. */
  const toldLost = new Set<string>()
  worker.on('active', (job) => void toldLost.delete(job.id as string))
  worker.on('error', (error) => {
    withoutPassword(error)
    const lost = lostRange(error)
    if (lost !== undefined) {
      if (!toldLost.has(lost.id)) onFailure?.(lost.error, lost.range)
      toldLost.add(lost.id)
    } else if (isWrongDatabase(error)) void end(new WorkerEndedError(`Redis refuses the database of the connection: ${error.message}`))
    else onFailure?.(error)
  })

  let closing: Promise<void> | undefined
  let settle: (outcome: Promise<void>) => void
  const ended = new Promise<void>((resolve) => {
    settle = resolve
  })
  const end = (reason?: Error): Promise<void> => {
    if (closing !== undefined) return closing
    closing = finish()
    settle(reason === undefined ? closing : closing.then(() => Promise.reject(reason)))
    return closing
  }
  const finish = async () => {
    const ending = worker.close()
    const giveBack = setTimeout(() => {
      for (const stop of running.values()) stop.abort(GIVEN_BACK)
    }, closeMs)
    // Without Redis, ranges cannot be given back: their locks run out. BullMQ would wait for ever.
    let giveUp: NodeJS.Timeout | undefined
    const givenUp = new Promise<void>((resolve) => {
      giveUp = setTimeout(resolve, Math.min(closeMs + REDIS_MS, LONGEST_TIMER))
    })
    await Promise.race([ending, givenUp.then(() => worker.abandon())])
    clearTimeout(giveBack)
    clearTimeout(giveUp)
    await folders.close()
    await budget?.close()
    connection.disconnect()
  }
  // BullMQ asks for the version of Redis once. A worker whose connection breaks meanwhile never
  // takes a job, though its connection comes back.
  worker
    .waitUntilReady()
    .catch(
      (error: Error) =>
        void end(new WorkerEndedError(`the worker cannot start: its connection to Redis broke (${error.message})`, { cause: withoutPassword(error) })),
    )
  // Callers that do not wait for `ended` learn of it from `onFailure`.
  ended.catch((error) => onFailure?.(error))
  return { worker, ended, close: () => end() }
}

/**
 * What BullMQ says, in several ways, of a job whose lock has run out, or that Redis has lost.
 * Undefined for any other error.
 */
function lostRange({ message }: Error): { readonly id: string; readonly range: BlockRange; readonly error: Error } | undefined {
  const [, id, from, to] =
    /^(?:could not renew lock|Missing lock|Missing key|Lock mismatch|Job) (?:for job )?(\w+-(\d+)-(\d+))(?:$|\. | is not in the active)/.exec(message) ?? []
  if (id === undefined) return undefined
  return { id, range: { from: Number(from), to: Number(to) }, error: new Error(LOCK_LOST, { cause: message }) }
}

/** The part that holds the end of a range which was committed before; null once it was merged. */
async function lastPartOf(dir: string, { from, to }: BlockRange): Promise<RangeEntry | null> {
  let last: RangeEntry | null = null
  for (let next = from; next <= to; next = last.to + 1) {
    const part = await readPart(dir, next)
    if (part === undefined) break
    last = part.range
  }
  return last
}

/** A worker that can be left without Redis, for which BullMQ's own `close` waits for ever. */
class RangeWorker extends Worker<RangeJobData, RangeEntry | null> {
  /** Ends its timers, and with them the renewal of its locks. */
  async abandon(): Promise<void> {
    await this.lockManager.close()
    await this.pause(true)
    this.disconnect().catch(() => {})
  }
}

/** How long Redis may take for what is left at the end, in ms. */
const REDIS_MS = 3000

const known = ['redis', 'queue', 'prefix', 'concurrency', 'dir', 'budget', 'lockMs', 'closeMs', 'onRange', 'onFailure']

function checkOptions(options: ExportWorkerOptions) {
  check.onlyKnown('options', options, known)
  const { concurrency = 2, dir, budget = true, lockMs = 30_000, closeMs = 5000, onRange, onFailure } = options
  if (dir !== undefined && (typeof dir !== 'string' || dir === '')) throw new OptionError('dir', 'the path of a folder', show(dir))
  if (onRange !== undefined) check.callback('onRange', onRange)
  if (onFailure !== undefined) check.callback('onFailure', onFailure)
  return {
    redis: checkRedis(options.redis),
    queue: nameFrom('queue', options.queue),
    prefix: nameFrom('prefix', options.prefix),
    concurrency: check.whole('concurrency', concurrency, 1, MOST_RANGES),
    dir,
    budget: check.flag('budget', budget),
    lockMs: check.ms('lockMs', lockMs),
    closeMs: check.ms('closeMs', closeMs),
    onRange,
    onFailure,
  }
}

function nameFrom(option: string, name = 'hexline'): string {
  if (typeof name === 'string' && /^[\w.-]+$/.test(name)) return name
  throw new OptionError(option, 'a name of letters, digits, dots, hyphens and underscores', typeof name)
}
