import type { Client } from '../client.ts'
import { OptionError, show } from '../errors.ts'
import { under } from '../eth/fault.ts'
import type { Hash } from '../eth/hex.ts'
import { decodeResult } from '../eth/methods.ts'
import type { Block, Receipt } from '../eth/objects.ts'
import type { Quantity } from '../eth/quantity.ts'
import { checkSignal, onlyKnown } from '../options.ts'
import { type Fetched, Fetcher } from './fetch.ts'
import { Link } from './link.ts'
import { type Bounds, ordered } from './ordered.ts'
import { checkRange, type RangeEnd, resolveRange } from './range.ts'

export interface GetBlocksOptions<T extends 'full' | 'hashes' = 'full' | 'hashes', R extends boolean = boolean> {
  /** First block. */
  readonly from: Quantity
  /** Last block, included: a number, or a tag that is looked up once, at the start. */
  readonly to: RangeEnd
  /** Whole transactions, or their hashes. Default `hashes`. */
  readonly transactions?: T
  /** With each block its receipts, in the order of its transactions. Default false. */
  readonly receipts?: R
  /** Ends the iteration with its reason. */
  readonly signal?: AbortSignal
  /** Bytes of replies asked for ahead of the reader. Default 32 MiB. */
  readonly maxBytes?: number
  /** Told after each block. */
  readonly onProgress?: (progress: Progress) => void
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

/** A block of a range. It is mined, so that it has a hash. */
export type RangeBlock<T extends 'full' | 'hashes' = 'full' | 'hashes', R extends boolean = boolean> = Block<T extends 'full' ? true : false> & {
  hash: Hash
} & (R extends true ? { receipts: Receipt[] } : unknown)

/**
 * The blocks of a range, decoded, in order, without a hole:
 *
 *     for await (const block of getBlocks(client, { from: 0n, to: 'finalized', transactions: 'full' })) …
 *
 * Blocks are asked for ahead of the reader, as far as `maxBytes` allows, in the batches that the endpoint takes; who reads
 * slowly asks slowly. Each must have the number that was asked for, name the one before as its parent, and come with a
 * receipt for each of its transactions. A block that the node does not have although it is below the head is asked for
 * again until the client's `deadlineMs`; then the iteration ends with the failure. To go on after one, start again at the
 * number after the last block that came.
 *
 * Throws `OptionError` at once for options that cannot be meant. The iteration rejects with `IntegrityError` when replies
 * contradict each other, and with what `client.call` rejects with.
 */
export function getBlocks<T extends 'full' | 'hashes' = 'hashes', R extends boolean = false>(
  client: Client,
  options: GetBlocksOptions<T, R>,
): AsyncGenerator<RangeBlock<T, R>, void, undefined> {
  return decoded(client, checkOptions(options)) as AsyncGenerator<RangeBlock<T, R>, void, undefined>
}

async function* decoded(client: Client, options: Checked): AsyncGenerator<Block, void, undefined> {
  const params = [null, options.full]
  const link = new Link()
  for await (const fetched of fetchRange(client, options, 'value')) {
    const { number } = fetched
    const block = inBlock(number, () => decodeResult('eth_getBlockByNumber', fetched.block.take(), params)) as Block & { receipts?: Receipt[] }
    link.follow(number, block)
    const { receipts } = fetched
    if (receipts !== undefined) {
      block.receipts = inBlock(number, () => decodeResult('eth_getBlockReceipts', receipts.take(), params), 'receipts') as Receipt[]
      link.checkReceipts(block, block.receipts)
    }
    yield block
  }
}

/** What `decode` gives; where it throws a `CodecError`, the path says in which block: `blocks[42].gasUsed`. */
export function inBlock<T>(number: bigint, decode: () => T, field?: string): T {
  try {
    return decode()
  } catch (caught) {
    throw under(under(field === undefined ? caught : under(caught, field), Number(number)), 'blocks')
  }
}

/** Blocks of a range in order, as they came. Calls `onProgress` after the reader has dealt with each. */
export async function* fetchRange(client: Client, options: Checked, as: 'value' | 'bytes'): AsyncGenerator<Fetched, void, undefined> {
  const { from, to } = await resolveRange(client.with(options.signal ? { signal: options.signal } : {}), options.range)
  const total = Number(to - from) + 1
  // Ends what is on its way when the reader stops, or anything fails.
  const stop = new AbortController()
  const onAbort = () => stop.abort(options.signal?.reason)
  options.signal?.addEventListener('abort', onAbort)
  const fetcher = new Fetcher(client.with({ priority: 'bulk', signal: stop.signal }), { ...options, as })
  let done = 0
  let bytes = 0
  try {
    for await (const fetched of ordered(from, to, (number) => fetcher.fetch(number), options.bounds)) {
      options.signal?.throwIfAborted()
      const { number } = fetched
      bytes += fetched.bytes
      yield fetched
      options.onProgress?.({ number, done: ++done, total, bytes })
    }
  } finally {
    options.signal?.removeEventListener('abort', onAbort)
    stop.abort()
  }
}

/** Options that have been checked, with their defaults. */
export interface Checked {
  readonly range: ReturnType<typeof checkRange>
  readonly full: boolean
  readonly receipts: boolean
  readonly signal: AbortSignal | undefined
  readonly onProgress: GetBlocksOptions['onProgress']
  readonly bounds: Bounds
}

const MiB = 1024 * 1024

/** Throws `OptionError`. */
export function checkOptions(options: GetBlocksOptions): Checked {
  onlyKnown('options', options, ['from', 'to', 'transactions', 'receipts', 'signal', 'maxBytes', 'onProgress'])
  const { transactions = 'hashes', receipts = false, signal, maxBytes = 32 * MiB, onProgress } = options
  if (transactions !== 'full' && transactions !== 'hashes') throw new OptionError('transactions', "'full' or 'hashes'", show(transactions))
  if (typeof receipts !== 'boolean') throw new OptionError('receipts', 'true or false', show(receipts))
  if (signal !== undefined) checkSignal(signal)
  if (!(typeof maxBytes === 'number' && maxBytes > 0)) throw new OptionError('maxBytes', 'a number of bytes above 0', show(maxBytes))
  if (onProgress !== undefined && typeof onProgress !== 'function') throw new OptionError('onProgress', 'a function', show(onProgress))
  return {
    range: checkRange(options.from, options.to),
    full: transactions === 'full',
    receipts,
    signal,
    onProgress,
    bounds: { maxBytes, maxItems: 1000, assumedBytes: MiB, maxWaitMs: 15_000 },
  }
}
