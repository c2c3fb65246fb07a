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
import { WrongReplies } from '../wrong-replies.ts'
import { Arrivals, type Arrived, releaseArrived } from './arrivals.ts'
import type { TraceForm } from './block-traces.ts'
import { type Fetched, Fetcher } from './fetch.ts'
import type { BlockReader } from './read-block.ts'
import { Suspects } from './suspects.ts'
import { verifiedAhead } from './verify-ahead.ts'
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
  /** Attempts for a block that is late or wrong. Default: until the deadline. */
  readonly urgentAttempts?: number | undefined
  /** Of `WrongReplies`, for a wrong block. */
  readonly mostWaits?: number | undefined
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

/** Nobody sees it: requests in flight that nobody waits for any more end with it. */
const ENDED: unique symbol = Symbol('the stream has ended')

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
  const { signal, onProgress, onVerified, bounds } = options
  const asked = signal ? client.with({ signal }) : client
  const { from, to } = await resolveRange(asked, options.range)
  const total = Number(to - from) + 1
  const verifying = options.verify === undefined ? undefined : await (await import('./verifying.ts')).startVerifying(asked, options.full, options.verify)
  // Aborts the requests in flight when the consumer stops or anything fails.
  const { stop, release } = stopWith(signal)
  const fetcher = new Fetcher(client, options)
  const link = new Link()
  const suspects = new Suspects(clockOf(client), connectionsOf(client)?.length ?? 1)
  const arrivals = new Arrivals(client, fetcher, reader, { suspects, mostWaits: options.mostWaits })
  let done = 0
  let bytes = 0
  try {
    signal?.throwIfAborted()
    await learnHistory(client, from, stop.signal)
    // Without verification, a block is linked as it is read. With it, only once it is verified: a
    // wrong one may be replaced before.
    const blocks =
      verifying === undefined
        ? readInOrder(link)
        : verifiedAhead(readInOrder(undefined), {
            verify,
            replace,
            get most() {
              return verifying.most
            },
          })
    for await (const block of blocks) {
      signal?.throwIfAborted()
      const linked = verifying === undefined ? block : await linkVerified(block)
      const { fetched, receiptsByHash: byHash, proof } = linked
      const item = arrivals.item(linked)
      bytes += fetched.bytes + (byHash?.bytes ?? 0)
      if (proof !== undefined) {
        verifying?.add(proof)
        onVerified?.(proof)
      }
      yield item
      // The consumer is done with the item, unless it was stopped in its middle.
      if (!stop.signal.aborted) releaseArrived(linked)
      onProgress?.({ number: fetched.number, done: ++done, total, bytes, ...(verifying && { verified: verifying.report }) })
    }
  } catch (error) {
    // Receipts may be requested by the hashes that the node gave for its transactions.
    throw error instanceof IntegrityError ? scrubError(error, connectionsOf(client)) : error
  } finally {
    release()
    // A reason that is given costs less than one that the signal makes.
    stop.abort(ENDED)
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

  /**
   * The verified block, or another one in its place that follows the previous block. That can be
   * checked only now: where the previous block was replaced, its hash was not known before.
   */
  async function linkVerified(verified: Arrived<B, R>): Promise<Arrived<B, R>> {
    const { number, origins } = verified.fetched
    const fault = link.faultOf(number, verified.block.linked)
    const linked = fault === undefined ? verified : await replace(verified, scrubError(fault, connectionsOf(client), origins.block) as IntegrityError, link)
    link.follow(number, linked.block.linked)
    if (!linked.isReplacement) suspects.right(origins.block.endpoint)
    return linked
  }

  /** Throws, or rejects with, `IntegrityError` for a wrong block. It must follow `previous`. */
  function verify(arrived: Arrived<B, R>, previous?: Link): Promise<void> | void {
    const { fetched, block, receipts, json, fault } = arrived
    return arrivals.withOrigin(fetched, () => {
      // A new link has no previous block: it only checks that this is the requested one.
      const wrong = (previous ?? new Link()).faultOf(fetched.number, block.linked) ?? fault
      if (wrong !== undefined) throw wrong
      const proof = verifying?.verify(json, reader.whole?.(block, receipts))
      if (proof instanceof Promise) return proof.then((proven) => void Object.assign(arrived, { proof: proven }))
      arrived.proof = proof
    })
  }

  /** The same block, from another endpoint if there is one. */
  async function replace(wrong: Arrived<B, R>, fault: IntegrityError, previous?: Link): Promise<Arrived<B, R>> {
    const wrongReplies = new WrongReplies(client, options.mostWaits)
    let last = { arrived: wrong, fault }
    while (await wrongReplies.mayAskAgain('eth_getBlockByNumber', suspectOf(last.arrived.fetched, last.fault), stop.signal)) {
      releaseArrived(last.arrived)
      const fetched = await fetcher.fetchUrgent(wrong.fetched.number, stop.signal, wrongReplies.endpoints)
      const arrived = await arrivals.arrive(fetched, stop.signal, undefined, undefined, wrongReplies)
      try {
        await verify(arrived, previous)
        arrivals.replaced(arrived, wrongReplies)
        return arrived
      } catch (error) {
        if (!(error instanceof IntegrityError)) throw error
        last = { arrived, fault: error }
      }
    }
    throw fault
  }
}

/** The endpoint that gave what is wrong. Receipts requested one by one have no single origin. */
function suspectOf({ origins }: Fetched, { field = '' }: IntegrityError): string | undefined {
  const isOfReceipts = field.startsWith('receipts') || field === 'logsBloom'
  return (isOfReceipts && origins.receipts?.endpoint) || origins.block.endpoint
}

function* numbers(from: bigint, to: bigint): Generator<bigint> {
  for (let number = from; number <= to; number++) yield number
}
