import * as check from '../check.ts'
import { type Client, CONNECTIONS, clockOf } from '../client/client.ts'
import { scrubError } from '../client/scrub-error.ts'
import { CodecError, IntegrityError, MalformedReplyError, OptionError } from '../errors.ts'
import { under } from '../eth/codec/codec-path.ts'
import type { Quantity } from '../eth/codec/quantity.ts'
import { createReader } from '../eth/codec/reader.ts'
import { asResult } from '../eth/methods.ts'
import type { Block, Receipt } from '../eth/objects.ts'
import type { Tally } from '../rpc/call-events.ts'
import { show } from '../text.ts'
import { bytesOf, type Fetched, Fetcher } from './fetch.ts'
import { type BlockField, decodersOf, type RangeBlock } from './fields.ts'
import { Link } from './link.ts'
import { type Bounds, ordered } from './ordered.ts'
import { checkRange, type RangeEnd, resolveRange } from './range.ts'

export interface GetBlocksOptions<
  T extends 'full' | 'hashes' = 'full' | 'hashes',
  R extends boolean = boolean,
  F extends readonly BlockField[] | undefined = readonly BlockField[] | undefined,
> {
  /** First block. */
  readonly from: Quantity
  /** Last block, included: a number, or a tag that is looked up once, at the start. */
  readonly to: RangeEnd
  /** Whole transactions, or their hashes. Default `hashes`. */
  readonly transactions?: T
  /** With each block its receipts, in the order of its transactions. Default false. */
  readonly receipts?: R
  /**
   * The only fields that are wanted, such as `['timestamp', 'transactions.from', 'receipts.status']`: the others are passed over and
   * cost little. What links a block to others always comes with them: its `number`, `hash` and `parentHash`, and with receipts
   * `transactions.hash`, `receipts.transactionHash` and `receipts.blockHash`. Default: all.
   */
  readonly fields?: F
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
 * Throws `OptionError` at once for invalid options. The iteration rejects with `IntegrityError` when replies
 * contradict each other, and with what `client.call` rejects with.
 */
export function getBlocks<T extends 'full' | 'hashes' = 'hashes', R extends boolean = false, const F extends readonly BlockField[] | undefined = undefined>(
  client: Client,
  options: GetBlocksOptions<T, R, F>,
): AsyncGenerator<RangeBlock<T, R, F>, void, undefined> {
  return decoded(client, checkOptions(options), options.fields) as AsyncGenerator<unknown> as AsyncGenerator<RangeBlock<T, R, F>, void, undefined>
}

function decoded(client: Client, options: Checked, fields: readonly BlockField[] | undefined): AsyncGenerator<Block, void, undefined> {
  const decode = decodersOf(fields, options)
  const readBlock = createReader(decode.block)
  const readReceipts = createReader(decode.receipts)
  const link = new Link()
  return fetchRange(client, options, (number, bytes, receiptBytes) => {
    const block: Block & { receipts?: Receipt[] } = inBlock(number, () => asResult('eth_getBlockByNumber', () => readBlock(bytes)))
    const receipts = receiptBytes && inBlock(number, () => asResult('eth_getBlockReceipts', () => readReceipts(receiptBytes)), 'receipts')
    link.follow(number, block)
    if (receipts !== undefined) {
      link.checkReceipts(block, receipts)
      block.receipts = receipts
    }
    return block
  })
}

/** What `read` gives; where it throws a `CodecError`, the path says in which block: `blocks[42].gasUsed`. */
export function inBlock<T>(number: bigint, read: () => T, field?: string): T {
  try {
    return read()
  } catch (caught) {
    throw under(under(field === undefined ? caught : under(caught, field), Number(number)), 'blocks')
  }
}

/** Makes something of the bytes of a block and of its receipts, by `readUnread`. Throws `SyntaxError` when they are no JSON. */
export type ReadBlock<T> = (number: bigint, block: Buffer, receipts: Buffer | undefined) => T

/** How often a block is asked for whose bytes are no JSON. */
const ATTEMPTS = 4

/** What `read` makes of the blocks of a range, in order. Calls `onProgress` after whoever iterates has dealt with each. */
export async function* fetchRange<T>(client: Client, options: Checked, read: ReadBlock<T>): AsyncGenerator<T, void, undefined> {
  const { from, to } = await resolveRange(client.with(options.signal ? { signal: options.signal } : {}), options.range)
  const total = Number(to - from) + 1
  // Ends what is on its way when the reader stops, or anything fails.
  const stop = new AbortController()
  const onAbort = () => stop.abort(options.signal?.reason)
  options.signal?.addEventListener('abort', onAbort)
  const fetcher = new Fetcher(client, options)
  let done = 0
  let bytes = 0
  try {
    for await (const first of ordered(from, to, (...asked) => fetcher.fetch(...asked), options.bounds, stop.signal, clockOf(client))) {
      options.signal?.throwIfAborted()
      const { number } = first
      let fetched = first
      let value: T
      for (let attempt = 1; ; attempt++) {
        try {
          value = read(number, bytesOf(fetched.block), fetched.receipts && bytesOf(fetched.receipts))
          break
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw scrubError(error, client[CONNECTIONS], originOf(error, fetched))
          // Without its cause: the words of a SyntaxError hold part of the text, and so perhaps part of a key.
          if (attempt === ATTEMPTS) {
            const { endpoint } = fetched.origins.block
            throw new MalformedReplyError(`block ${number} came ${ATTEMPTS} times as something that is no JSON`, { endpoint })
          }
          fetched = await fetcher.fetch(number, stop.signal, true)
        }
      }
      bytes += fetched.bytes
      yield value
      options.onProgress?.({ number, done: ++done, total, bytes })
    }
  } catch (error) {
    // A receipt may be asked for by what the node gave as the hash of its transaction.
    throw error instanceof IntegrityError ? scrubError(error, client[CONNECTIONS]) : error
  } finally {
    options.signal?.removeEventListener('abort', onAbort)
    stop.abort()
  }
}

/** Where the value came from that could not be read. */
function originOf(error: unknown, { origins }: Fetched): Tally | undefined {
  return error instanceof CodecError && error.method === 'eth_getBlockReceipts' ? origins.receipts : origins.block
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
  check.onlyKnown('options', options, ['from', 'to', 'transactions', 'receipts', 'fields', 'signal', 'maxBytes', 'onProgress'])
  const { transactions = 'hashes', receipts = false, signal, maxBytes = 32 * MiB, onProgress } = options
  check.oneOf('transactions', transactions, ['full', 'hashes'])
  check.flag('receipts', receipts)
  if (signal !== undefined) check.signal(signal)
  if (!(typeof maxBytes === 'number' && maxBytes > 0)) throw new OptionError('maxBytes', 'a number of bytes above 0', show(maxBytes))
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  if (options.fields !== undefined) decodersOf(options.fields, { full: transactions === 'full', receipts })
  return {
    range: checkRange(options.from, options.to),
    full: transactions === 'full',
    receipts,
    signal,
    onProgress,
    bounds: { maxBytes, maxItems: 1000, assumedBytes: MiB, maxWaitMs: 15_000 },
  }
}
