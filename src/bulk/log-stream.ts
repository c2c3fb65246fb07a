import type { Client } from '../client/client.ts'
import { clockOf, connectionsOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { IntegrityError, OptionError } from '../errors.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { type AuditLevel, Auditor, type AuditReport } from './audit.ts'
import { BlockLogsFetcher, checkSameBlock, type ReadReceipts } from './block-logs.ts'
import { type FetchedLogs, LogFetcher, type LogReader, type LogSpan } from './log-fetch.ts'
import type { CheckedFilter } from './log-filter.ts'
import { EndpointLimits, LogRange } from './log-range.ts'
import { ordered } from './ordered.ts'
import { type CheckedRange, isFinal, resolveRange } from './range.ts'
import type { Progress } from './range-stream.ts'

/** Reads logs from results of `eth_getLogs` and from receipts. */
export interface PageReader<T> extends LogReader<T> {
  readonly receipts: ReadReceipts<T>
}

/** Which logs to stream, and how. Already checked. */
export interface LogStreamOptions {
  readonly filter: CheckedFilter
  /** Undefined for the logs of one block by its hash. */
  readonly range: CheckedRange | undefined
  readonly blockHash: Hash | undefined
  /** Default: `bloom` if the range is final. */
  readonly audit: AuditLevel | undefined
  readonly signal: AbortSignal | undefined
  readonly maxBytes: number
  readonly onProgress: ((progress: LogProgress) => void) | undefined
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

/** Spans to request ahead of the consumer. */
const MOST_AHEAD = 64
const ASSUMED_BYTES = 512 * 1024
const MAX_WAIT_MS = 15_000

/** What endpoints take is learnt once for all streams of a client. */
const limitsOfClients = new WeakMap<object, EndpointLimits>()

/** The logs of a range in pages, proven as far as asked. */
export class LogStream<T> {
  readonly #client: Client
  readonly #options: LogStreamOptions
  readonly #reader: PageReader<T>
  #auditor: Auditor<T> | undefined

  constructor(client: Client, options: LogStreamOptions, reader: PageReader<T>) {
    this.#client = client
    this.#options = options
    this.#reader = reader
  }

  get audit(): AuditReport {
    return this.#auditor?.report ?? NOTHING_AUDITED
  }

  /** Pages tile the range. */
  async *pages(): AsyncGenerator<FetchedLogs<T>, void, undefined> {
    const { signal, filter, maxBytes, onProgress } = this.#options
    const client = this.#client
    const stop = new AbortController()
    const onAbort = () => stop.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort)
    try {
      signal?.throwIfAborted()
      const target = await this.#target(client.with({ signal: stop.signal }))
      const { span, tail } = target
      const blocks = new BlockLogsFetcher(client, this.#reader.receipts, this.#reader.logOf)
      const range = new LogRange(filter.isSelective, endpointLimitsOf(client))
      const fetcher = new LogFetcher(
        client,
        filter,
        this.#reader,
        range,
        endpointLimitsOf(client),
        async (number, each) => (await blocks.fetch(number, each)).items,
        this.#options.blockHash,
      )
      const ask = async (each: LogSpan, given: AbortSignal, urgent: boolean) => fetcher.fetch(each, { signal: given, urgent, avoid: [] })
      const auditor = new Auditor({
        client,
        level: this.#options.audit ?? (target.isFinal ? 'bloom' : 'none'),
        span,
        filter,
        logOf: this.#reader.logOf,
        readReceipts: this.#reader.receipts,
        blocks,
        blockHash: this.#options.blockHash,
        stop: stop.signal,
        again: (page, given) => fetcher.again(page, given),
      })
      this.#auditor = auditor
      await auditor.start()
      const total = span.to - span.from + 1
      const counts = { done: 0, bytes: 0, logs: 0 }
      const bounds = { maxBytes, maxItems: MOST_AHEAD, assumedBytes: ASSUMED_BYTES, maxWaitMs: MAX_WAIT_MS }
      // The first span shows what the node accepts before others are requested.
      const first = { from: span.from, to: Math.min(span.to, span.from + range.blocks - 1) }
      const source = this.#joined(
        await ask(first, stop.signal, false),
        ordered(spansOf(first.to + 1, span.to, range), ask, bounds, stop.signal, clockOf(client)),
      )
      for await (const fetched of source) {
        signal?.throwIfAborted()
        const items = await auditor.check(fetched)
        if (fetched.to === span.to) await this.#checkTail(client.with({ signal: stop.signal }), items, span, tail)
        counts.done += fetched.to - fetched.from + 1
        counts.bytes += fetched.bytes
        counts.logs += items.length
        yield { ...fetched, items }
        onProgress?.({ number: BigInt(fetched.to), ...counts, total, calls: fetcher.calls, splits: fetcher.splits, audit: auditor.report })
      }
      await auditor.end()
    } catch (error) {
      throw error instanceof IntegrityError ? scrubError(error, connectionsOf(client)) : error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      stop.abort()
    }
  }

  async *#joined(first: FetchedLogs<T>, others: AsyncIterable<FetchedLogs<T>>): AsyncGenerator<FetchedLogs<T>, void, undefined> {
    yield first
    yield* others
  }

  /** The blocks of the job, and the hash of the last one. */
  async #target(client: Client): Promise<{ readonly span: LogSpan; readonly tail: Hash; readonly isFinal: boolean }> {
    const { range, blockHash } = this.#options
    if (blockHash !== undefined) {
      const block = await client.call('eth_getBlockByHash', blockHash, false)
      if (block === null) throw new OptionError('blockHash', 'the hash of a block that the node has', blockHash)
      return { span: { from: Number(block.number), to: Number(block.number) }, tail: blockHash, isFinal: await this.#isFinal(client, block.number) }
    }
    const { from, to } = await resolveRange(client, range as CheckedRange)
    const last = await client.send({ method: 'eth_getBlockByNumber', params: [hexOf(to), false], required: true })
    const tail = (last.take() as { hash?: unknown } | undefined)?.hash
    if (typeof tail !== 'string') throw new IntegrityError(`block ${to} has no hash: the node takes it for pending`)
    return { span: { from: Number(from), to: Number(to) }, tail: tail as Hash, isFinal: await this.#isFinal(client, to) }
  }

  /** Where no audit was asked for, whether one is possible. */
  async #isFinal(client: Client, number: bigint): Promise<boolean> {
    if (this.#options.audit !== undefined) return false
    return this.#options.range?.to === 'finalized' || (await isFinal(client, number))
  }

  /** The chain still ends in the block that the job began with, and so do the logs. */
  async #checkTail(client: Client, items: readonly T[], { to }: LogSpan, tail: Hash): Promise<void> {
    for (let i = items.length - 1; i >= 0; i--) {
      const log = this.#reader.logOf(items[i] as T)
      if (Number(log.blockNumber) !== to) break
      checkSameBlock(log, { number: BigInt(to), hash: tail })
    }
    if (this.#options.blockHash !== undefined) return
    const again = await client.call('eth_getBlockByNumber', BigInt(to), false)
    if (again?.hash === tail) return
    throw new IntegrityError(
      `block ${to} came as ${tail}, and at the end as ${again?.hash ?? 'null'}: the chain was reorganised in between, or nodes disagree; ` +
        "start again some blocks before, or end at 'finalized'",
    )
  }
}

const NOTHING_AUDITED: AuditReport = {
  level: 'none',
  blocks: 0,
  suspects: 0,
  fetched: 0,
  recovered: 0,
  unproven: 0,
  reasons: {},
  estimate: { headers: 0, receipts: 0, isAskedTwice: false },
}

function* spansOf(from: number, to: number, range: LogRange): Generator<LogSpan> {
  for (let start = from; start <= to; ) {
    const end = Math.min(to, start + range.blocks - 1)
    yield { from: start, to: end }
    start = end + 1
  }
}

/** What the endpoints of a client take, as learnt by all its streams. */
export function endpointLimitsOf(client: Client): EndpointLimits {
  const key = connectionsOf(client) ?? client
  let limits = limitsOfClients.get(key)
  if (limits === undefined) {
    limits = new EndpointLimits()
    limitsOfClients.set(key, limits)
  }
  return limits
}

function hexOf(number: bigint): string {
  return `0x${number.toString(16)}`
}
