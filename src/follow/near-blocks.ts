import { Arrivals, releaseArrived } from '../bulk/blocks/arrivals.ts'
import { Fetcher } from '../bulk/blocks/fetch.ts'
import type { Persistence } from '../bulk/blocks/persistence.ts'
import { inBlock } from '../bulk/blocks/read-block.ts'
import { Link } from '../bulk/link.ts'
import type { CheckedFilter } from '../bulk/logs/log-filter.ts'
import type { Client, Request } from '../client/client.ts'
import { AT_ONCE, connectionsOf, RECORD, type RequestMarks, timeoutOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { IntegrityError } from '../errors.ts'
import { CallRecord } from '../rpc/call-record.ts'
import { stopWith } from '../wait/stop-with.ts'
import { blocksOf, type FollowReader, LOGS_AHEAD, type SourceBlock, type SourceOptions, type Span } from './block-source.ts'
import { LogsByHash } from './logs-by-hash.ts'
import { workAhead } from './work-ahead.ts'

/**
 * Attempts for a block near the head. It, or the head that announced it, may have been replaced:
 * then there is nothing to wait for.
 */
export const ATTEMPTS_NEAR_HEAD = 4
/** Nor is a wrong one waited for: the stream looks whether it was replaced. */
const NEAR_HEAD: Persistence = { attempts: ATTEMPTS_NEAR_HEAD, waits: 0 }

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
  /** Of the logs to request; undefined where there are none, or they come with the receipts. */
  readonly #filter: CheckedFilter | undefined
  readonly #reader: FollowReader<never, never, I, L>
  readonly #fetcher: Fetcher
  readonly #arrivals: Arrivals<never, never, SourceBlock<I, L>>

  constructor(client: Client, options: SourceOptions, reader: FollowReader<never, never, I, L>, chainId?: number) {
    this.#client = client
    this.#chainId = chainId
    this.#options = options
    this.#filter = options.receipts ? undefined : options.filter
    this.#reader = reader
    this.#fetcher = new Fetcher(client, { ...options, persistence: NEAR_HEAD })
    this.#arrivals = new Arrivals(client, this.#fetcher, reader.blocks, { persistence: NEAR_HEAD })
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
    return this.#filter === undefined ? block : this.#addLogs(block, this.#logsByHash(near, this.#filter, this.#options.signal))
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
    yield* this.#filter === undefined ? blocksOf(patient, span, this.#options, this.#reader, NEAR_HEAD) : this.#withLogs(patient, span, this.#filter)
  }

  async *#withLogs(near: Client, span: Span, filter: CheckedFilter): AsyncGenerator<SourceBlock<I, L>, void, undefined> {
    // A consumer that leaves waits for no logs, either.
    const { stop, end } = stopWith(this.#options.signal)
    const { signal } = stop
    const blocks = blocksOf(near, span, { ...this.#options, signal }, this.#reader, NEAR_HEAD)
    const byHash = this.#logsByHash(near.with({ signal }), filter, signal)
    yield* workAhead(blocks, LOGS_AHEAD, async (block) => ({ ...block, logs: await byHash.fetch(block) }), end)
  }

  #logsByHash(near: Client, filter: CheckedFilter, signal: AbortSignal | undefined): LogsByHash<L> {
    return new LogsByHash(near, filter, this.#reader.logs, { ...this.#options, signal, chainId: this.#chainId })
  }
}
