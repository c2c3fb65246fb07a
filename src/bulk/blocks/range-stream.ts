import type { Client } from '../../client/client.ts'
import { clockOf, connectionsOf } from '../../client/internals.ts'
import { scrubError } from '../../client/scrub-error.ts'
import { IntegrityError } from '../../errors.ts'
import { stopWith } from '../../wait/stop-with.ts'
import { learnHistory } from '../learn-history.ts'
import { Link, type Linked, type LinkedReceipt } from '../link.ts'
import { type Ask, ordered, type Review } from '../ordered/ordered.ts'
import type { Bounds } from '../ordered/read-ahead.ts'
import { type CheckedRange, resolveRange } from '../range.ts'
import { Arrivals, type Arrived, releaseArrived } from './arrivals.ts'
import type { TraceForm } from './block-traces.ts'
import { type Fetched, Fetcher } from './fetch.ts'
import type { Persistence } from './persistence.ts'
import type { BlockReader } from './read-block.ts'
import { Suspects } from './suspects.ts'
import { VerifiedBlocks } from './verified-blocks.ts'
import type { Proof, VerifyOptions, VerifyReport } from './verifying.ts'

/*
 * The stream of blocks that all jobs over a range share:
 *
 *     fetch ahead ──▶ put in order ──▶ read ──▶ verify, if asked ──▶ link to the parent ──▶ item
 *
 * What an item is, a decoded block or the node's own bytes, is up to its `BlockReader`.
 */

/** Which blocks to stream, and how. Already checked. */
export interface StreamOptions {
  readonly range: CheckedRange
  readonly full: boolean
  readonly receipts: boolean
  /** Absent: without traces. */
  readonly traces?: TraceForm | undefined
  /** Default: a late block is requested until the deadline, a wrong one as `WrongReplies` says. */
  readonly persistence?: Persistence | undefined
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined
  readonly bounds: Bounds
  /** Absent: only that blocks and receipts belong together. */
  readonly verify?: VerifyOptions | undefined
  /** Called with what was proven of each block, before it is delivered. */
  readonly onVerified?: ((proof: Proof) => void) | undefined
}

/** Progress of a bulk job. */
export interface Progress {
  /** Number of the last block delivered. */
  readonly number: bigint
  /** Number of blocks so far. */
  readonly done: number
  /** Number of blocks in total. */
  readonly total: number
  /** Size of all replies so far, in bytes. */
  readonly bytes: number
  /** What was proven of the blocks so far, with `verify: 'header'` or `'full'`. */
  readonly verified?: VerifyReport
}

/**
 * The items of a range of blocks, in order. Each block has the requested number, names the previous
 * one as its parent, and comes with one receipt for each of its transactions: receipts of another
 * block are requested again by hash. With `verify`, each is also verified; a wrong one is requested
 * again from another endpoint. Otherwise the iteration rejects with `IntegrityError`.
 */
export async function* rangeStream<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T>(
  client: Client,
  options: StreamOptions,
  reader: BlockReader<B, R, T>,
): AsyncGenerator<T, void, undefined> {
  const { signal, onProgress, onVerified, bounds, persistence } = options
  const asked = signal ? client.with({ signal }) : client
  const { from, to } = await resolveRange(asked, options.range)
  const total = Number(to - from) + 1
  const verifying = options.verify === undefined ? undefined : await (await import('./verifying.ts')).startVerifying(asked, options.full, options.verify)
  // Aborts the requests in flight when the consumer stops or anything fails.
  const { stop, end } = stopWith(signal)
  const fetcher = new Fetcher(client, options)
  const suspects = new Suspects(clockOf(client), connectionsOf(client)?.length ?? 1)
  const arrivals = new Arrivals(client, fetcher, reader, { suspects, persistence })
  let done = 0
  let bytes = 0
  try {
    signal?.throwIfAborted()
    await learnHistory(client, from, stop.signal)
    // Without verification, a block is linked as it is read. With it, only once it is verified: a
    // wrong one may be replaced before.
    const blocks =
      verifying === undefined
        ? readInOrder(new Link())
        : new VerifiedBlocks({ client, fetcher, arrivals, whole: reader.whole, suspects, persistence, verifying, stop: stop.signal }).of(readInOrder(undefined))
    for await (const block of blocks) {
      signal?.throwIfAborted()
      const { fetched, receiptsByHash: byHash, proof } = block
      const item = arrivals.item(block)
      bytes += fetched.bytes + (byHash?.bytes ?? 0)
      if (proof !== undefined) {
        verifying?.add(proof)
        onVerified?.(proof)
      }
      yield item
      // The consumer is done with the item, unless it was stopped in its middle.
      if (!stop.signal.aborted) releaseArrived(block)
      onProgress?.({ number: fetched.number, done: ++done, total, bytes, ...(verifying && { verified: verifying.report }) })
    }
  } catch (error) {
    // Receipts may be requested by the hashes that the node gave for its transactions.
    throw error instanceof IntegrityError ? scrubError(error, connectionsOf(client)) : error
  } finally {
    end()
    verifying?.end()
  }

  /** The blocks in order, as they were read. With `follow`, each follows the one before it. */
  async function* readInOrder(follow: Link | undefined): AsyncGenerator<Arrived<B, R>, void, undefined> {
    const ask: Ask<bigint, Fetched> = (number, asking, again) =>
      again ? fetcher.fetchUrgent(number, asking, suspects.names) : fetcher.fetch(number, asking, suspects.names)
    const review: Review<Fetched> = {
      get version() {
        return suspects.version
      },
      isUnwanted: ({ origins: { block, receipts, traces }, at }) => [block, receipts, traces].some((origin) => suspects.isDoubtful(origin?.endpoint, at)),
    }
    for await (const fetched of ordered(numbers(from, to), ask, { bounds, stop: stop.signal, clock: clockOf(client), review })) {
      signal?.throwIfAborted()
      yield await arrivals.arrive(fetched, stop.signal, follow)
    }
  }
}

function* numbers(from: bigint, to: bigint): Generator<bigint> {
  for (let number = from; number <= to; number++) yield number
}
