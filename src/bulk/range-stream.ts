import type { Client } from '../client/client.ts'
import { clockOf, connectionsOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { CodecError, IntegrityError, MalformedReplyError } from '../errors.ts'
import { moved, under } from '../eth/codec/codec-path.ts'
import type { Tally } from '../rpc/tally.ts'
import { bytesOf, type Fetched, Fetcher, release } from './fetch.ts'
import { Link, type Linked, type LinkedReceipt } from './link.ts'
import { ordered } from './ordered.ts'
import { type CheckedRange, resolveRange } from './range.ts'
import type { Bounds } from './read-ahead.ts'

/** Which blocks to stream, and how. Checked already. */
export interface StreamOptions {
  readonly range: CheckedRange
  readonly full: boolean
  readonly receipts: boolean
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined
  readonly bounds: Bounds
}

/** How far a bulk job is. */
export interface Progress {
  /** Number of the block that came last. */
  readonly number: bigint
  /** Blocks so far. */
  readonly done: number
  /** Blocks in all. */
  readonly total: number
  /** Size of the replies so far, in bytes. */
  readonly bytes: number
}

/**
 * Makes the items of a stream. `block` and `receipts` get the bytes of a whole result and go through `readUnread`, as
 * `createReader`, `createCopier` and `parseResult` do: they throw `SyntaxError` for what is no JSON, and `CodecError` for
 * what is no block.
 */
export interface BlockReader<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T> {
  block(bytes: Buffer): B
  receipts(bytes: Buffer): R
  /**
   * The item for a block that follows the one before, with receipts that belong to it. It may refer
   * to the bytes of both, which stay valid until the next item is asked for.
   */
  item(block: B, receipts: R | undefined): T
}

/** How often a block is asked for whose bytes are no JSON. */
const ATTEMPTS = 4

/**
 * The items of a range of blocks, in order. Each block has the number that was asked for, names the one before as its
 * parent, and comes with a receipt for each of its transactions. Otherwise the iteration rejects with `IntegrityError`.
 */
export async function* rangeStream<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T>(
  client: Client,
  options: StreamOptions,
  reader: BlockReader<B, R, T>,
): AsyncGenerator<T, void, undefined> {
  const { signal, onProgress, bounds } = options
  const { from, to } = await resolveRange(client.with(signal ? { signal } : {}), options.range)
  const total = Number(to - from) + 1
  // Ends what is on its way when the consumer stops, or anything fails.
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort)
  const fetcher = new Fetcher(client, options)
  const link = new Link()
  let done = 0
  let bytes = 0
  try {
    for await (const first of ordered(from, to, (...asked) => fetcher.fetch(...asked), bounds, stop.signal, clockOf(client))) {
      signal?.throwIfAborted()
      let fetched = first
      let made = itemOf(fetched)
      for (let attempt = 1; made === undefined; attempt++) {
        if (attempt === ATTEMPTS) throw noJson(fetched)
        fetched = await fetcher.fetch(first.number, stop.signal, true)
        made = itemOf(fetched)
      }
      bytes += fetched.bytes
      yield made.item
      // The consumer is done with the item, unless it was stopped in its middle.
      if (!stop.signal.aborted) release(fetched)
      onProgress?.({ number: first.number, done: ++done, total, bytes })
    }
  } catch (error) {
    // A receipt may be asked for by what the node gave as the hash of its transaction.
    throw error instanceof IntegrityError ? scrubError(error, connectionsOf(client)) : error
  } finally {
    signal?.removeEventListener('abort', onAbort)
    stop.abort()
  }

  /** Undefined where the bytes are no JSON. */
  function itemOf(fetched: Fetched): { readonly item: T } | undefined {
    try {
      const read = readBlock(fetched, reader)
      if (read === undefined) return undefined
      const { block, receipts } = read
      link.follow(fetched.number, block.linked)
      if (receipts !== undefined) link.checkReceipts(block.linked, receipts.linked)
      return { item: reader.item(block, receipts) }
    } catch (error) {
      throw scrubError(error, connectionsOf(client), originOf(error, fetched))
    }
  }
}

/** Undefined where the bytes are no JSON. */
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

/** What `read` gives. A `CodecError` of it names the method, and its path says in which block: `blocks[42].gasUsed`. */
function inBlock<T>(number: bigint, method: string, read: () => T, field?: string): T {
  try {
    return read()
  } catch (caught) {
    if (!(caught instanceof CodecError)) throw caught
    const malformed = moved(caught, caught.path, { method, kind: 'malformed' })
    throw under(under(field === undefined ? malformed : under(malformed, field), Number(number)), 'blocks')
  }
}

/** Where the value came from that could not be read. */
function originOf(error: unknown, { origins }: Fetched): Tally | undefined {
  return error instanceof CodecError && error.method === 'eth_getBlockReceipts' ? origins.receipts : origins.block
}

/** Without its cause: the words of a `SyntaxError` hold part of the text, and so perhaps part of a key. */
function noJson({ number, origins }: Fetched): MalformedReplyError {
  return new MalformedReplyError(`block ${number} came ${ATTEMPTS} times as something that is no JSON`, { endpoint: origins.block.endpoint })
}
