import { Arrivals, releaseArrived } from '../bulk/blocks/arrivals.ts'
import { Fetcher } from '../bulk/blocks/fetch.ts'
import { rangeStream } from '../bulk/blocks/range-stream.ts'
import { type BlockReader, inBlock } from '../bulk/blocks/read-block.ts'
import { Link, type Linked, type LinkedReceipt } from '../bulk/link.ts'
import type { CheckedFilter } from '../bulk/logs/log-filter.ts'
import type { PageReader } from '../bulk/logs/log-stream.ts'
import { boundsWithin } from '../bulk/ordered/read-ahead.ts'
import type { Client, Request } from '../client/client.ts'
import { AT_ONCE, connectionsOf, RECORD, type RequestMarks, timeoutOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { IntegrityError } from '../errors.ts'
import { CallRecord } from '../rpc/call-record.ts'
import { stopWith } from '../wait/stop-with.ts'
import { LogsByHash } from './logs-by-hash.ts'
import { type HashedHeader, RangeLogs } from './range-logs.ts'
import { workAhead } from './work-ahead.ts'

/** A block of a range, as a reader makes it. It owns its memory. */
export type SourceBlock<I, L> = HashedHeader & {
  readonly item: I
  /** Its logs, where they came with its receipts. */
  readonly logs: L[] | undefined
}

/** Makes the items of a stream, from bytes. */
export interface FollowReader<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, I, L> {
  readonly blocks: BlockReader<B, R, SourceBlock<I, L>>
  /**
   * The same for a single block with the hashes of its transactions, from its parsed JSON. Throws
   * `CodecError`. Default: by `blocks`.
   */
  readonly parsedBlock?: (json: unknown) => SourceBlock<I, L>
  readonly logs: PageReader<L>
}

/** Which blocks to fetch, and what with them. */
export interface SourceOptions {
  readonly full: boolean
  readonly receipts: boolean
  /** Undefined for blocks without logs. */
  readonly filter: CheckedFilter | undefined
  readonly maxBytes: number
  readonly signal: AbortSignal | undefined
  /** Attempts for a block that is late or wrong. Default: until the deadline. */
  readonly urgentAttempts?: number | undefined
  /** Of `WrongReplies`, for a wrong block. */
  readonly mostWaits?: number | undefined
}

/** The blocks `from` to `to`, both included. */
interface Span {
  readonly from: number
  readonly to: number
}

/** Blocks whose logs are requested at the same time. */
const LOGS_AHEAD = 16
/**
 * Attempts for a block near the head. It, or the head that announced it, may have been replaced:
 * then there is nothing to wait for.
 */
export const ATTEMPTS_NEAR_HEAD = 4
/** Nor is a wrong one waited for: the stream looks whether it was replaced. */
const WAITS_NEAR_HEAD = 0

/** Blocks far below the head, each linked to the one before it, with their logs, at bulk speed. */
export function deepBlocks<I, L>(
  client: Client,
  span: Span,
  options: SourceOptions,
  reader: FollowReader<never, never, I, L>,
  chainId?: number,
): AsyncGenerator<SourceBlock<I, L>, void, undefined> {
  const { filter, receipts } = options
  return filter === undefined || receipts ? blocksOf(client, span, options, reader) : withLogsOfRange(client, span, { ...options, filter, chainId }, reader)
}

async function* withLogsOfRange<I, L>(
  client: Client,
  span: Span,
  given: SourceOptions & { readonly filter: CheckedFilter; readonly chainId: number | undefined },
  reader: FollowReader<never, never, I, L>,
): AsyncGenerator<SourceBlock<I, L>, void, undefined> {
  const { from, to } = span
  const { options, end } = endable(given)
  const logs = new RangeLogs(client, { ...options, from, to }, reader.logs)
  const blocks = async function* () {
    for await (const block of blocksOf(client, span, options, reader)) yield { ...block, logs: await logs.next(block) }
  }
  try {
    yield* workAhead(blocks(), LOGS_AHEAD, async (block) => ({ ...block, logs: await logs.complete(block, block.logs) }), end)
  } finally {
    await logs.end()
  }
}

/** The same options, with a signal that `end` aborts, too. */
function endable<O extends SourceOptions>(given: O): { readonly options: O; end(): void } {
  const { stop, release } = stopWith(given.signal)
  return {
    options: { ...given, signal: stop.signal },
    end() {
      release()
      stop.abort(ENDED)
    },
  }
}

/** Nobody sees it: requests that nobody waits for any more end with it. */
const ENDED: unique symbol = Symbol('the blocks are not needed any more')

/**
 * Blocks near the head, each linked to the one before it. Their logs are requested by their hashes,
 * so that they cannot be those of a block that has been replaced.
 *
 * It lives as long as the stream. A single block, which is what comes at the head, costs its calls
 * and little else: consumers wait for it.
 */
export class NearBlocks<I, L> {
  readonly #client: Client
  readonly #chainId: number | undefined
  readonly #options: SourceOptions
  readonly #reader: FollowReader<never, never, I, L>
  readonly #fetcher: Fetcher
  readonly #arrivals: Arrivals<never, never, SourceBlock<I, L>>

  constructor(client: Client, options: SourceOptions, reader: FollowReader<never, never, I, L>, chainId?: number) {
    this.#client = client
    this.#chainId = chainId
    this.#options = { ...options, urgentAttempts: ATTEMPTS_NEAR_HEAD, mostWaits: WAITS_NEAR_HEAD }
    this.#reader = reader
    this.#fetcher = new Fetcher(client, this.#options)
    this.#arrivals = new Arrivals(client, this.#fetcher, reader.blocks, { mostWaits: WAITS_NEAR_HEAD })
  }

  /**
   * A single block, requested at once, by calls of `near`.
   *
   * One of a few kB is parsed as any result: what reads and releases its bytes is quick only while
   * it is in constant use.
   */
  single(near: Client, number: number): Promise<SourceBlock<I, L>> {
    const { full, receipts } = this.#options
    const { parsedBlock } = this.#reader
    const block = full || receipts || parsedBlock === undefined ? this.#read(near, number) : this.#parsed(near, number, parsedBlock)
    const byHash = this.#logsByHash(near)
    return byHash === undefined ? block : this.#addLogs(block, byHash)
  }

  async #read(near: Client, number: number): Promise<SourceBlock<I, L>> {
    const fetched = await this.#fetcher.fetchBy(near, BigInt(number))
    try {
      const arrived = await this.#arrivals.arrive(fetched, this.#options.signal, new Link())
      const block = this.#arrivals.item(arrived)
      releaseArrived(arrived)
      return block
    } catch (error) {
      throw this.#scrubbed(error)
    }
  }

  #parsed(near: Client, number: number, parsedBlock: (json: unknown) => SourceBlock<I, L>): Promise<SourceBlock<I, L>> {
    const method = 'eth_getBlockByNumber'
    const origin = new CallRecord()
    const request: Request & RequestMarks = { method, params: [`0x${number.toString(16)}`, false], required: true, [RECORD]: origin, [AT_ONCE]: true }
    return near.send(request).then((reply) => {
      const json = reply.take()
      try {
        const block = inBlock(number, method, () => parsedBlock(json))
        new Link().follow(BigInt(number), block)
        return block
      } catch (error) {
        throw scrubError(error, connectionsOf(this.#client), origin)
      }
    })
  }

  async #addLogs(asked: Promise<SourceBlock<I, L>>, byHash: LogsByHash<L>): Promise<SourceBlock<I, L>> {
    const block = await asked
    try {
      return { ...block, logs: await byHash.fetch(block) }
    } catch (error) {
      throw this.#scrubbed(error)
    }
  }

  #scrubbed(error: unknown): unknown {
    return error instanceof IntegrityError ? scrubError(error, connectionsOf(this.#client)) : error
  }

  /** By calls of `near`: what belongs together comes from one endpoint. */
  async *fetch(near: Client, span: Span): AsyncGenerator<SourceBlock<I, L>, void, undefined> {
    if (span.from === span.to) {
      yield await this.single(near, span.from)
      return
    }
    // Replies for several blocks may be large.
    const patient = near.with({ timeoutMs: timeoutOf(this.#client) })
    const byHash = this.#logsByHash(patient)
    yield* byHash === undefined ? blocksOf(patient, span, this.#options, this.#reader) : this.#withLogs(patient, span, byHash)
  }

  #logsByHash(near: Client): LogsByHash<L> | undefined {
    const { filter, receipts } = this.#options
    return filter === undefined || receipts ? undefined : new LogsByHash(near, filter, this.#reader.logs, { ...this.#options, chainId: this.#chainId })
  }

  async *#withLogs(near: Client, span: Span, byHash: LogsByHash<L>): AsyncGenerator<SourceBlock<I, L>, void, undefined> {
    const { options, end } = endable(this.#options)
    const blocks = blocksOf(near, span, options, this.#reader)
    yield* workAhead(blocks, LOGS_AHEAD, async (block) => ({ ...block, logs: await byHash.fetch(block) }), end)
  }
}

function blocksOf<I, L>(client: Client, { from, to }: Span, options: SourceOptions, reader: FollowReader<never, never, I, L>) {
  const { full, receipts, signal, maxBytes, urgentAttempts, mostWaits } = options
  const range = { from: BigInt(from), to: BigInt(to), isKnown: true }
  const bounds = boundsWithin(maxBytes)
  return rangeStream(client, { range, full, receipts, urgentAttempts, mostWaits, signal, onProgress: undefined, bounds }, reader.blocks)
}
