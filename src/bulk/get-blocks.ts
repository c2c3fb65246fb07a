import * as check from '../check.ts'
import { type Client, checkClient } from '../client/client.ts'
import { OptionError } from '../errors.ts'
import type { Quantity } from '../eth/codec/quantity.ts'
import { createReader } from '../eth/codec/reader.ts'
import type { Block, Receipt } from '../eth/objects.ts'
import { show } from '../text.ts'
import type { WholeBlock } from '../verify/bytes-verifier.ts'
import { type TraceForm, tracesDecoder } from './blocks/block-traces.ts'
import { type BlockField, decodersOf, type RangeBlock } from './blocks/fields.ts'
import { type Progress, rangeStream, type StreamOptions } from './blocks/range-stream.ts'
import type { ReadTraces } from './blocks/read-block.ts'
import { boundsWithin } from './ordered/read-ahead.ts'
import { checkRange, type RangeEnd } from './range.ts'

/** Options of `getBlocks`. */
export interface GetBlocksOptions<
  T extends 'full' | 'hashes' = 'full' | 'hashes',
  R extends boolean = boolean,
  F extends readonly BlockField[] | undefined = readonly BlockField[] | undefined,
  X extends TraceForm | undefined = TraceForm | undefined,
> {
  /** First block. */
  readonly from: Quantity
  /** Last block, included: a number, or a tag that is resolved once, at the start. */
  readonly to: RangeEnd
  /** Whether blocks hold whole transactions (`full`) or their hashes (`hashes`, the default). */
  readonly transactions?: T
  /**
   * Whether each block comes with its receipts, in the order of its transactions. Default false.
   */
  readonly receipts?: R
  /**
   * Whether each block comes with the traces of its transactions: `callTracer` with a call frame of
   * each (`debug_traceBlockByNumber`), `parity` with a list of all calls (`trace_block`). Default:
   * without.
   */
  readonly traces?: X
  /**
   * The fields to decode, such as `['timestamp', 'transactions.from', 'receipts.status']`; skipping
   * the others saves time. The fields that link a block to others are always decoded: its `number`,
   * `hash` and `parentHash`, and with receipts also `transactions.hash`, `receipts.transactionHash`
   * and `receipts.blockHash`. Default: all fields.
   */
  readonly fields?: F
  /** Ends the iteration; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /**
   * What is checked of each block. `link` (the default): numbers and parents, and that receipts are
   * those of the block. `header`: also that the header has the block's hash, and withdrawals their
   * root. `full`: also the transactions root with `transactions: 'full'`, and the receipts root and
   * blooms with `receipts: true`. A wrong block is requested again from another endpoint. What
   * hexline cannot encode is skipped, and counted in `Progress.verified`. `fields` limits what is
   * delivered, not what is verified.
   */
  readonly verify?: 'link' | 'header' | 'full' | undefined
  /**
   * With `verify: 'full'` and `transactions: 'full'`: whether senders are recovered from
   * signatures, which takes about a hundred times as long as all the rest. Default false.
   */
  readonly senders?: boolean | undefined
  /** Limit for replies requested ahead of the consumer, in bytes. Default 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Called after each block. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/**
 * Streams the decoded blocks of a range in order and without gaps:
 *
 *     for await (const block of getBlocks(client, { from: 0n, to: 'finalized', transactions: 'full' })) …
 *
 * Blocks are requested ahead of the consumer within `maxBytes`, in batches of a size that the
 * endpoint accepts. A slow consumer slows the requests down.
 *
 * Each block must have the number that was requested, name the previous one as its parent, and come
 * with one receipt and one trace for each of its transactions, if asked for. A block below the head
 * that the node does not have is requested again until the client's `deadlineMs`; then the
 * iteration rejects with that failure. To resume after a failure, start at the number after the
 * last block received.
 *
 * Throws `OptionError` at once for invalid options. The iteration rejects with `IntegrityError`
 * when replies contradict each other, and otherwise with the same errors as `client.call`.
 */
export function getBlocks<
  T extends 'full' | 'hashes' = 'hashes',
  R extends boolean = false,
  const F extends readonly BlockField[] | undefined = undefined,
  X extends TraceForm | undefined = undefined,
>(client: Client, options: GetBlocksOptions<T, R, F, X>): AsyncGenerator<RangeBlock<T, R, F, X>, void, undefined> {
  checkClient(client)
  const checked = checkBlockOptions(options)
  return rangeStream(client, checked, decoding(options.fields, checked)) as AsyncGenerator<unknown> as AsyncGenerator<RangeBlock<T, R, F, X>, void, undefined>
}

/** What is joined to a block. */
interface Joined {
  receipts?: Receipt[]
  traces?: readonly unknown[]
}

function linked<V>(read: (bytes: Buffer) => V): (bytes: Buffer) => { readonly linked: V } {
  return (bytes) => ({ linked: read(bytes) })
}

/** Readers for blocks and receipts with these fields. */
function decoding(fields: readonly BlockField[] | undefined, options: StreamOptions) {
  const decode = decodersOf(fields, options)
  const readBlock = createReader(decode.block)
  const readReceipts = createReader(decode.receipts)
  return {
    block: (bytes: Buffer) => ({ linked: readBlock(bytes) as Block & Joined }),
    receipts: (bytes: Buffer) => ({ linked: readReceipts(bytes) }),
    traces: options.traces && { form: options.traces, read: linked(createReader(tracesDecoder(options.traces))) },
    item({ linked: block }: { linked: Block & Joined }, receipts: { linked: Receipt[] } | undefined, traces?: ReadTraces): Block {
      if (receipts !== undefined) block.receipts = receipts.linked
      if (traces !== undefined) block.traces = traces.linked
      return block
    },
    whole: fields === undefined ? whole : undefined,
  }
}

function whole({ linked: block }: { linked: Block }, receipts: { linked: Receipt[] } | undefined): WholeBlock {
  return { block, receipts: receipts?.linked }
}

const MiB = 1024 * 1024

/** Checks the options and fills in the defaults. Throws `OptionError`. */
export function checkBlockOptions(options: GetBlocksOptions): StreamOptions {
  check.onlyKnown('options', options, ['from', 'to', 'transactions', 'receipts', 'traces', 'fields', 'verify', 'senders', 'signal', 'maxBytes', 'onProgress'])
  const { transactions = 'hashes', receipts = false, traces, verify = 'link', senders = false, signal, maxBytes = 32 * MiB, onProgress } = options
  check.oneOf('transactions', transactions, ['full', 'hashes'])
  check.flag('receipts', receipts)
  if (traces !== undefined) check.oneOf('traces', traces, ['callTracer', 'parity'])
  check.oneOf('verify', verify, ['link', 'header', 'full'])
  // It would prove no more than `header` does.
  if (verify === 'full' && transactions !== 'full' && !receipts)
    throw new OptionError('verify', "transactions: 'full' or receipts: true with 'full'", `${show(verify)} without them`)
  check.flag('senders', senders)
  if (senders && (verify !== 'full' || transactions !== 'full'))
    throw new OptionError('senders', "verify: 'full' and transactions: 'full' with it", 'true without them')
  if (signal !== undefined) check.signal(signal)
  check.bytes('maxBytes', maxBytes)
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  if (options.fields !== undefined) decodersOf(options.fields, { full: transactions === 'full', receipts })
  return {
    range: checkRange(options.from, options.to),
    full: transactions === 'full',
    receipts,
    traces,
    signal,
    onProgress,
    verify: verify === 'link' ? undefined : { level: verify, senders },
    bounds: boundsWithin(maxBytes),
  }
}
