import type { Client } from '../client/client.ts'
import { clockOf, connectionsOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { CodecError, IntegrityError, MalformedReplyError } from '../errors.ts'
import { moved, under } from '../eth/codec/codec-path.ts'
import { type Reply, releaseReply } from '../rpc/call.ts'
import type { Tally } from '../rpc/tally.ts'
import { bytesOf, type Fetched, Fetcher, release } from './fetch.ts'
import { learnHistory } from './learn-history.ts'
import { Link, type Linked, type LinkedReceipt, receiptsFault } from './link.ts'
import { ordered } from './ordered.ts'
import { type CheckedRange, resolveRange } from './range.ts'
import type { Bounds } from './read-ahead.ts'
import { receiptsByHash } from './receipts-by-hash.ts'

/** Which blocks to stream, and how. Already checked. */
export interface StreamOptions {
  readonly range: CheckedRange
  readonly full: boolean
  readonly receipts: boolean
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined
  readonly bounds: Bounds
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
}

/**
 * Makes the items of a stream. `block` and `receipts` get the bytes of a whole result, and read
 * them with `readUnread`, as `createReader`, `createCopier` and `parseResult` do: they throw
 * `SyntaxError` for invalid JSON, and `CodecError` for an invalid block.
 */
export interface BlockReader<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T> {
  block(bytes: Buffer): B
  receipts(bytes: Buffer): R
  /**
   * Makes the item of a block that follows the previous one, with its own receipts. The item may
   * refer to the bytes of both, which stay valid until the next item is requested.
   */
  item(block: B, receipts: R | undefined): T
}

/** Number of attempts for a block whose bytes are invalid JSON. */
const ATTEMPTS = 4

/**
 * The items of a range of blocks, in order. Each block has the requested number, names the previous
 * one as its parent, and comes with one receipt for each of its transactions: receipts of another
 * block are requested again by hash. Otherwise the iteration rejects with `IntegrityError`.
 */
export async function* rangeStream<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T>(
  client: Client,
  options: StreamOptions,
  reader: BlockReader<B, R, T>,
): AsyncGenerator<T, void, undefined> {
  const { signal, onProgress, bounds } = options
  const { from, to } = await resolveRange(client.with(signal ? { signal } : {}), options.range)
  const total = Number(to - from) + 1
  // Aborts the requests in flight when the consumer stops or anything fails.
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort)
  const fetcher = new Fetcher(client, options)
  const link = new Link()
  let done = 0
  let bytes = 0
  try {
    await learnHistory(client, from, stop.signal)
    for await (const first of ordered(numbers(from, to), (...asked) => fetcher.fetch(...asked), bounds, stop.signal, clockOf(client))) {
      signal?.throwIfAborted()
      let fetched = first
      let made = itemOf(fetched)
      for (let attempt = 1; made === undefined; attempt++) {
        if (attempt === ATTEMPTS) throw noJson(fetched)
        fetched = await fetcher.fetch(first.number, stop.signal, true)
        made = itemOf(fetched)
      }
      const { item, receipts } = 'fault' in made ? await withRightReceipts(fetched, made) : made
      bytes += fetched.bytes + (receipts?.bytes ?? 0)
      yield item
      // The consumer is done with the item, unless it was stopped in its middle.
      if (!stop.signal.aborted) {
        release(fetched)
        if (receipts !== undefined) releaseReply(receipts)
      }
      onProgress?.({ number: first.number, done: ++done, total, bytes })
    }
  } catch (error) {
    // Receipts may be requested by the hashes that the node gave for its transactions.
    throw error instanceof IntegrityError ? scrubError(error, connectionsOf(client)) : error
  } finally {
    signal?.removeEventListener('abort', onAbort)
    stop.abort()
  }

  /** Undefined if the bytes are invalid JSON. */
  function itemOf(fetched: Fetched): Made<T> | Misfit<B> | undefined {
    try {
      const read = readBlock(fetched, reader)
      if (read === undefined) return undefined
      const { block, receipts } = read
      link.follow(fetched.number, block.linked)
      const fault = receipts && receiptsFault(block.linked, receipts.linked)
      if (fault === undefined) return { item: reader.item(block, receipts), receipts: undefined }
      return { block, fault: scrubError(fault, connectionsOf(client), fetched.origins.block) as IntegrityError }
    } catch (error) {
      throw scrubError(error, connectionsOf(client), originOf(error, fetched))
    }
  }

  async function withRightReceipts({ origins }: Fetched, { block, fault }: Misfit<B>): Promise<Made<T>> {
    const wrong = { block: block.linked, fault, origin: origins.receipts }
    const { reply, receipts } = await receiptsByHash(fetcher, wrong, (bytes) => reader.receipts(bytes), stop.signal)
    return { item: reader.item(block, receipts), receipts: reply }
  }
}

/** An item, and its receipts if they are not those of `Fetched`. */
interface Made<T> {
  readonly item: T
  readonly receipts: Reply | undefined
}

/** A block whose receipts are not its own. */
interface Misfit<B> {
  readonly block: B
  readonly fault: IntegrityError
}

function* numbers(from: bigint, to: bigint): Generator<bigint> {
  for (let number = from; number <= to; number++) yield number
}

/** Undefined if the bytes are invalid JSON. */
function readBlock<B, R>({ number, block, receipts }: Fetched, reader: { block(bytes: Buffer): B; receipts(bytes: Buffer): R }) {
  try {
    return {
      block: inBlock(number, 'eth_getBlockByNumber', () => reader.block(bytesOf(block))),
      receipts: receipts && inBlock(number, 'eth_getBlockReceipts', () => reader.receipts(bytesOf(receipts)), 'receipts'),
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/**
 * Adds the method and the block to a `CodecError` of `read`, as in the path `blocks[42].gasUsed`.
 */
function inBlock<T>(number: bigint, method: string, read: () => T, field?: string): T {
  try {
    return read()
  } catch (caught) {
    if (!(caught instanceof CodecError)) throw caught
    const malformed = moved(caught, caught.path, { method, kind: 'malformed' })
    throw under(under(field === undefined ? malformed : under(malformed, field), Number(number)), 'blocks')
  }
}

/** The origin of the value that could not be read. */
function originOf(error: unknown, { origins }: Fetched): Tally | undefined {
  return error instanceof CodecError && error.method === 'eth_getBlockReceipts' ? origins.receipts : origins.block
}

/**
 * Has no cause, since the message of a `SyntaxError` quotes the text, which may hold part of a key.
 */
function noJson({ number, origins }: Fetched): MalformedReplyError {
  return new MalformedReplyError(`block ${number}: received invalid JSON ${ATTEMPTS} times`, { endpoint: origins.block.endpoint })
}
