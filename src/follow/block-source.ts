import { Arrivals, type BlockReader, releaseArrived } from '../bulk/arrivals.ts'
import { Fetcher } from '../bulk/fetch.ts'
import { Link, type Linked, type LinkedReceipt } from '../bulk/link.ts'
import type { CheckedFilter } from '../bulk/log-filter.ts'
import { LogStream, type PageReader } from '../bulk/log-stream.ts'
import { rangeStream } from '../bulk/range-stream.ts'
import type { Client } from '../client/client.ts'
import { connectionsOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { IntegrityError } from '../errors.ts'
import { type LoggedBlock, LogsByHash } from './logs-by-hash.ts'

/** A block of a range, as a reader makes it. It owns its memory. */
export interface ReadBlock<I, L> extends LoggedBlock {
  readonly parentHash: string
  readonly item: I
  /** Its logs, where they came with its receipts. */
  readonly logs: L[] | undefined
}

/** Makes the items of a stream, from bytes. */
export interface FollowReader<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, I, L> {
  readonly blocks: BlockReader<B, R, ReadBlock<I, L>>
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
}

/** The blocks `from` to `to`, both included. */
interface Span {
  readonly from: number
  readonly to: number
}

const MiB = 1024 * 1024
/** Blocks whose logs are requested at the same time. */
const LOGS_AHEAD = 16
/**
 * Attempts for what is near the head. A block may have been replaced, or the head that told of it:
 * then there is nothing to wait for.
 */
export const ATTEMPTS_NEAR_HEAD = 4

/** Blocks far below the head, each linked to the one before it, with their logs, at bulk speed. */
export function deepBlocks<I, L>(
  client: Client,
  span: Span,
  options: SourceOptions,
  reader: FollowReader<never, never, I, L>,
): AsyncGenerator<ReadBlock<I, L>, void, undefined> {
  const { filter, receipts } = options
  const blocks = blocksOf(client, span, options, reader)
  return filter === undefined || receipts ? blocks : withLogsOfRange(client, span, { ...options, filter }, reader, blocks)
}

async function* withLogsOfRange<I, L>(
  client: Client,
  span: Span,
  { filter, signal, maxBytes }: SourceOptions & { readonly filter: CheckedFilter },
  reader: FollowReader<never, never, I, L>,
  blocks: AsyncGenerator<ReadBlock<I, L>, void, undefined>,
): AsyncGenerator<ReadBlock<I, L>, void, undefined> {
  const range = { from: BigInt(span.from), to: BigInt(span.to), isKnown: true }
  const stream = new LogStream(client, { filter, range, blockHash: undefined, audit: 'bloom', signal, maxBytes, onProgress: undefined }, reader.logs)
  const pages = stream.pages()
  try {
    let page: { readonly to: number; readonly items: readonly L[] } = { to: span.from - 1, items: [] }
    let taken = 0
    for await (const block of blocks) {
      const number = Number(block.number)
      while (page.to < number) {
        page = (await pages.next()).value as typeof page
        taken = 0
      }
      const logs: L[] = []
      for (; taken < page.items.length; taken++) {
        const item = page.items[taken] as L
        const log = reader.logs.logOf(item)
        if (Number(log.blockNumber) !== number) break
        if (log.blockHash !== block.hash) throw otherBlock(block, log.blockHash)
        logs.push(item)
      }
      yield { ...block, logs }
    }
  } finally {
    await pages.return()
  }
}

/**
 * Blocks near the head, each linked to the one before it. Their logs are requested by their hashes,
 * so that they cannot be those of a block that has been replaced.
 *
 * It lives as long as the stream. A single block, which is what comes at the head, costs its calls
 * and little else: consumers wait for it.
 */
export class NearBlocks<I, L> {
  readonly #client: Client
  readonly #options: SourceOptions
  readonly #reader: FollowReader<never, never, I, L>
  readonly #fetcher: Fetcher
  readonly #arrivals: Arrivals<never, never, ReadBlock<I, L>>

  constructor(client: Client, options: SourceOptions, reader: FollowReader<never, never, I, L>) {
    this.#client = client
    this.#options = options
    this.#reader = reader
    this.#fetcher = new Fetcher(client, options)
    this.#arrivals = new Arrivals(client, this.#fetcher, reader.blocks)
  }

  /** By calls of `near`: what belongs together comes from one endpoint. */
  fetch(near: Client, span: Span): AsyncGenerator<ReadBlock<I, L>, void, undefined> {
    const { filter, receipts } = this.#options
    const blocks = span.from === span.to ? this.#single(near, span.from) : blocksOf(near, span, this.#options, this.#reader)
    return filter === undefined || receipts ? blocks : withLogsByHash(blocks, new LogsByHash(near, filter, this.#reader.logs, this.#options))
  }

  async *#single(near: Client, number: number): AsyncGenerator<ReadBlock<I, L>, void, undefined> {
    try {
      const arrived = await this.#arrivals.arrive(await this.#fetcher.fetchBy(near, BigInt(number)), this.#options.signal, new Link())
      const block = this.#arrivals.item(arrived)
      releaseArrived(arrived)
      yield block
    } catch (error) {
      throw error instanceof IntegrityError ? scrubError(error, connectionsOf(this.#client)) : error
    }
  }
}

async function* withLogsByHash<I, L>(
  blocks: AsyncGenerator<ReadBlock<I, L>, void, undefined>,
  byHash: LogsByHash<L>,
): AsyncGenerator<ReadBlock<I, L>, void, undefined> {
  try {
    for (;;) {
      const { chunk, failure, isLast } = await take(blocks, LOGS_AHEAD)
      const logs = await Promise.all(chunk.map((block) => byHash.fetch(block)))
      for (const [i, block] of chunk.entries()) yield { ...block, logs: logs[i] as L[] }
      if (failure !== undefined) throw failure.error
      if (isLast) return
    }
  } finally {
    await blocks.return()
  }
}

/** The next items, and the failure after them, if there is one. */
async function take<T>(
  source: AsyncGenerator<T, void, undefined>,
  most: number,
): Promise<{ chunk: T[]; failure?: { readonly error: unknown }; isLast: boolean }> {
  const chunk: T[] = []
  try {
    while (chunk.length < most) {
      const next = await source.next()
      if (next.done) return { chunk, isLast: true }
      chunk.push(next.value)
    }
  } catch (error) {
    return { chunk, failure: { error }, isLast: true }
  }
  return { chunk, isLast: false }
}

function blocksOf<I, L>(client: Client, { from, to }: Span, { full, receipts, signal, maxBytes }: SourceOptions, reader: FollowReader<never, never, I, L>) {
  const range = { from: BigInt(from), to: BigInt(to), isKnown: true }
  const bounds = { maxBytes, maxItems: 1000, assumedBytes: MiB, maxWaitMs: 15_000 }
  return rangeStream(client, { range, full, receipts, signal, onProgress: undefined, bounds }, reader.blocks)
}

function otherBlock({ number, hash }: LoggedBlock, other: string | null): IntegrityError {
  return new IntegrityError(`block ${number} came as ${hash}, but its logs as those of ${other}: the chain was reorganised in between, or nodes disagree`)
}
