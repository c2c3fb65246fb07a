import * as timers from 'node:timers'
import type { Client } from '../../client/client.ts'
import { clockOf, connectionsOf } from '../../client/internals.ts'
import { scrubError } from '../../client/scrub-error.ts'
import { IntegrityError } from '../../errors.ts'
import type { Log } from '../../eth/objects.ts'
import { ReceiptsRoot } from '../../verify/receipts-root.ts'
import { stopWith } from '../../wait/stop-with.ts'
import type { Progress } from '../blocks/range-stream.ts'
import { chainIdOf } from '../chain.ts'
import { learnHistory } from '../learn-history.ts'
import type { LinkedRootedReceipt } from '../link.ts'
import { ordered } from '../ordered/ordered.ts'
import type { Bounds } from '../ordered/read-ahead.ts'
import { PatientCalls } from '../patient-calls.ts'
import type { CheckedRange } from '../range.ts'
import { type AuditLevel, Auditor, type AuditReport } from './audit.ts'
import { BlockLogsFetcher, BloomChecker, type Header, type ReceiptsReader } from './block-logs.ts'
import { receiptLogsFault } from './log-fault.ts'
import { type FetchedLogs, LogFetcher, type PartedSpan, type ReadLogs } from './log-fetch.ts'
import type { CheckedFilter } from './log-filter.ts'
import { LogGivers } from './log-givers.ts'
import type { LogReader } from './log-reply.ts'
import { blocksIn, type LogSpan } from './log-span.ts'
import { findTarget, type LogTargetOptions, type Tail } from './log-target.ts'
import { rangeLimitsOf } from './range-limits.ts'
import { firstRangeSize, type RangeSize } from './range-size.ts'

/** Reads logs from results of `eth_getLogs` and from receipts. */
export interface PageReader<T> extends LogReader<T> {
  readonly receipts: ReceiptsReader<T>
}

/** Which logs to stream, and how. Already checked. */
export interface LogStreamOptions extends LogTargetOptions {
  readonly filter: CheckedFilter
  /** The caller proves the logs of the pages: endpoints are not asked at the end. Default false. */
  readonly isProvenLater?: boolean | undefined
  readonly signal: AbortSignal | undefined
  readonly maxBytes: number
  readonly onProgress: ((progress: LogProgress) => void) | undefined
  /** Called once the cost of the audit is estimated, before it starts. */
  readonly onAudit?: (report: AuditReport) => void
}

/** Progress of `getLogs`. Its blocks are counted as in `getBlocks`. */
export interface LogProgress extends Progress {
  /** Number of logs so far. */
  readonly logs: number
  /** Number of `eth_getLogs` calls so far. */
  readonly calls: number
  /** Number of ranges that had to be split. */
  readonly splits: number
  /** What has been proven so far. */
  readonly audit: AuditReport
}

/** A stream that has begun: its range is resolved, and the first logs are there. */
interface Job<T> {
  readonly stop: AbortSignal
  readonly fetcher: LogFetcher<T>
  readonly size: RangeSize
  readonly ask: (span: LogSpan, signal: AbortSignal, urgent: boolean) => Promise<FetchedLogs<T>>
  readonly auditor: Auditor<T>
  readonly level: AuditLevel
  readonly span: LogSpan
  readonly tail: Tail
  readonly first: FetchedLogs<T>
}

/** Spans in flight: any of them may turn out to be much larger than those before. */
const MOST_IN_FLIGHT = 64
/** The same where they come quickly, until many have turned out to be large. */
const MOST_SMALL_IN_FLIGHT = 192
/** Spans in flight and held. Those without logs take next to no memory. */
const MOST_AHEAD = 1000
/** Size of a reply until the first ones of its kind have arrived, at least, in bytes. */
const LEAST_ASSUMED_BYTES = 512 * 1024
const MAX_WAIT_MS = 15_000
/** Far more blocks than a chain has ever replaced at once. */
const DEEPEST_REORGANISATION = 1000
/** Where many logs are followed by few, pages become small from one to the next. */
const DECAY = 0.5
/** A page with many logs takes long without being late. Its parts are retried one by one. */
const LEAST_LATE_MS = 10_000

/** Node.js's own: test frameworks replace the global one with a fake clock that stands still. */
const { setImmediate } = timers

/**
 * The logs of a range in pages, proven as far as asked:
 * 1. The end of the range is resolved, and the hash of its last block is noted. Where the range is
 *    long, its first logs are requested meanwhile.
 * 2. The audit is estimated.
 * 3. With the first reply, which shows what the node accepts and how large its replies are, others
 *    are requested ahead of the consumer, and put in order.
 * 4. Each reply is decoded in pages, each page is audited and delivered.
 * 5. Before the last page, the last block must still have its hash. Unless an audit has read all
 *    headers, each endpoint that gave logs must still have their blocks.
 */
export class LogStream<T> {
  readonly #client: Client
  readonly #options: LogStreamOptions
  readonly #reader: PageReader<T>
  readonly #givers: LogGivers
  #auditor: Auditor<T> | undefined

  constructor(client: Client, options: LogStreamOptions, reader: PageReader<T>) {
    this.#client = PatientCalls.jobOf(client)
    this.#givers = new LogGivers(this.#client)
    this.#options = options
    this.#reader = reader
  }

  get audit(): AuditReport {
    return this.#auditor?.report ?? { ...NOTHING_AUDITED, level: this.#options.audit ?? 'none' }
  }

  /** Pages tile the range. */
  async *pages(): AsyncGenerator<ReadLogs<T>, void, undefined> {
    const { signal } = this.#options
    const { stop, end } = stopWith(signal)
    try {
      signal?.throwIfAborted()
      yield* this.#pages(await this.#start(stop.signal))
    } catch (error) {
      throw error instanceof IntegrityError ? scrubError(error, connectionsOf(this.#client)) : error
    } finally {
      end()
    }
  }

  /** Resolves the range, starts the audit, and waits for the first reply. */
  async #start(stop: AbortSignal): Promise<Job<T>> {
    const { range, filter, audit } = this.#options
    const client = this.#client
    const stoppable = client.with({ signal: stop })
    const blocks = new BlockLogsFetcher(client, this.#reader.receipts)
    const size = firstRangeSize(client, filter)
    const fetchBlock = (number: number, each: AbortSignal, isRefused: boolean) => this.#logsOfBlock(blocks, number, each, isRefused)
    const fetcher = new LogFetcher(client, filter, this.#reader, size, rangeLimitsOf(client), fetchBlock, this.#options.blockHash)
    const sources = audit === 'peer' ? sourcesOf(client) : () => []
    const ask = async (each: LogSpan, signal: AbortSignal, urgent: boolean) => fetcher.fetch(each, { signal, urgent, avoid: sources() })
    // The first span shows what the node accepts, and how large its replies are, before others
    // are requested.
    const askFirst = async (each: LogSpan) => {
      await learnHistory(client, BigInt(each.from), stop)
      return ask(cutAfter(each, size.blocks)[0], stop, false)
    }
    const given = firstSpan(range, size.blocks)
    const earlyFirst = given && askFirst(given)
    earlyFirst?.catch(() => {})
    const { span, tail, isFinal } = await findTarget(stoppable, { ...this.#options, signal: stop })
    const level = audit ?? (isFinal ? 'bloom' : 'none')
    const auditor = this.#auditorOf(fetcher, blocks, span, level, stop)
    this.#auditor = auditor
    await auditor.start()
    this.#options.onAudit?.(auditor.report)
    const first = await (earlyFirst ?? askFirst(span))
    return { stop, fetcher, size, ask, auditor, level, span, tail, first }
  }

  async *#pages(job: Job<T>): AsyncGenerator<ReadLogs<T>, void, undefined> {
    const { signal, onProgress } = this.#options
    const { stop, fetcher, auditor, level, span, tail } = job
    const total = blocksIn(span)
    const counts = { done: 0, bytes: 0, logs: 0 }
    for await (const fetched of this.#fetched(job)) {
      // A second endpoint is asked for the same ranges.
      const pages = level === 'peer' ? [await fetcher.read(fetched, stop)] : fetcher.pages(fetched, stop)
      // All logs have arrived: the last block is asked for while the last pages are decoded. Not
      // where an audit has yet to ask for headers or receipts: it comes after these, too.
      const early = level === 'none' && fetched.to === span.to ? tail.hashNow() : undefined
      early?.catch(() => {})
      const { calls } = fetcher
      for await (const page of pages) {
        signal?.throwIfAborted()
        const items = await auditor.check(page)
        if (this.#areGiversAsked(level)) this.#givers.gave(page)
        if (page.to === span.to) {
          // Anew, if logs had to be requested again since.
          const hash = early !== undefined && fetcher.calls === calls ? early : tail.hashNow()
          await tail.check(hash, items, this.#reader.logOf)
          await this.#givers.check(span.to, tail.hash, stop)
        }
        counts.done += page.to - page.from + 1
        counts.bytes += page.received
        counts.logs += items.length
        yield { ...page, items }
        onProgress?.({ number: BigInt(page.to), ...counts, total, calls: fetcher.calls, splits: fetcher.splits, audit: auditor.report })
        // Pages that have arrived follow each other without a turn of the event loop: meanwhile
        // nothing would be sent or received.
        await turnEnd()
      }
    }
    await auditor.end()
  }

  /** The replies in order, requested ahead of their reader. */
  async *#fetched({ stop, size, ask, span, first }: Job<T>): AsyncGenerator<FetchedLogs<T>, void, undefined> {
    yield first
    const others = first.to < span.to ? [{ from: first.to + 1, to: span.to }] : []
    const bounds = boundsAfter(first, size.blocks, this.#options.maxBytes)
    const cut = (each: PartedSpan) => cutAfter(each, size.blocks)
    yield* ordered(others, ask, { bounds, stop, clock: clockOf(this.#client), cut })
  }

  /**
   * Whether endpoints are asked at the end if they still have what they gave, and are on one
   * branch: not where an audit reads the headers of all blocks, nor by the hash of a block, which a
   * node without the block refuses.
   */
  #areGiversAsked(level: AuditLevel): boolean {
    const { isProvenLater = false, blockHash } = this.#options
    return (level === 'none' || level === 'peer') && !isProvenLater && blockHash === undefined
  }

  #auditorOf(fetcher: LogFetcher<T>, blocks: BlockLogsFetcher<T>, span: LogSpan, level: AuditLevel, stop: AbortSignal): Auditor<T> {
    return new Auditor({
      client: this.#client,
      level,
      span,
      filter: this.#options.filter,
      logOf: this.#reader.logOf,
      readReceipts: this.#reader.receipts,
      blocks,
      blockHash: this.#options.blockHash,
      stop,
      again: async (page, signal) => {
        const other = await fetcher.again(page, signal)
        if (other !== undefined && this.#areGiversAsked(level)) this.#givers.gave(other)
        return other
      },
    })
  }

  /** All logs of a block, as its receipts have them. */
  async #logsOfBlock(blocks: BlockLogsFetcher<T>, number: number, signal: AbortSignal, isRefused: boolean): Promise<T[]> {
    const { header, items, receipts } = await blocks.fetch(number, signal)
    const { blockHash } = this.#options
    if (blockHash !== undefined && header.hash !== blockHash)
      throw new IntegrityError(`block ${number} is now ${header.hash}: ${blockHash} is no longer part of the chain`)
    const logs = items.map(this.#reader.logOf)
    const fault = receiptLogsFault(header, logs)
    if (fault !== undefined) throw fault
    if (isRefused && !(await this.#haveAll(header, receipts, logs))) throw new IntegrityError("they match neither the header's receipts root nor its bloom")
    return items
  }

  /** As far as the header tells. Without an audit, nothing else would. */
  async #haveAll(header: Header, receipts: readonly LinkedRootedReceipt[], logs: readonly Log[]): Promise<boolean> {
    const fitsRoot = new ReceiptsRoot().fits(header, receipts, await chainIdOf(this.#client))
    return fitsRoot !== false || new BloomChecker().fits(header, logs) === true
  }
}

const NOTHING_AUDITED: AuditReport = {
  level: 'none',
  blocks: 0,
  suspects: 0,
  fetched: 0,
  recovered: 0,
  discarded: 0,
  unproven: 0,
  reasons: {},
  estimate: { headers: 0, receipts: 0, isAskedTwice: false },
}

/**
 * The first blocks of a range that may be requested together with the hash of its last one: a
 * reorganisation in between must not reach them, since the hash would not show it.
 */
function firstSpan(range: CheckedRange | undefined, blocks: number): LogSpan | undefined {
  if (typeof range?.to !== 'bigint') return undefined
  const from = Number(range.from)
  const to = from + blocks - 1
  return to + DEEPEST_REORGANISATION < Number(range.to) ? { from, to } : undefined
}

/** The first blocks of a span, at most this many, and those after them. */
function cutAfter(span: PartedSpan, blocks: number): [LogSpan, PartedSpan | undefined] {
  const { from, to, most = blocks } = span
  const end = Math.min(to, from + Math.min(blocks, most) - 1)
  return [{ from, to: end }, end < to ? { ...span, from: end + 1 } : undefined]
}

/** How far ahead to request ranges of this many blocks, by the first reply. */
function boundsAfter({ from, to, received }: FetchedLogs<unknown>, blocks: number, maxBytes: number): Bounds {
  return {
    maxBytes,
    maxItems: MOST_AHEAD,
    maxInFlight: MOST_IN_FLIGHT,
    maxSmallInFlight: MOST_SMALL_IN_FLIGHT,
    assumedBytes: Math.max(LEAST_ASSUMED_BYTES, (received / (to - from + 1)) * blocks),
    maxWaitMs: MAX_WAIT_MS,
    growth: 1,
    decay: DECAY,
    leastLateMs: LEAST_LATE_MS,
  }
}

/**
 * The endpoints to avoid for the next span: all but one, in turn. Its logs then come from a single
 * endpoint where possible, so that another one is left to compare them with.
 */
function sourcesOf(client: Client): () => readonly string[] {
  const names = connectionsOf(client)?.map(({ name }) => name) ?? []
  let turn = 0
  return () => names.toSpliced(turn++ % names.length, 1)
}

function turnEnd(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
