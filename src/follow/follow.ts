import { decodersOf, type RangeBlock } from '../bulk/blocks/fields.ts'
import type { BlockReader } from '../bulk/blocks/read-block.ts'
import { decodedLogs } from '../bulk/logs/decoded-logs.ts'
import { checkFilter } from '../bulk/logs/log-filter.ts'
import * as check from '../check.ts'
import { type Client, checkClient } from '../client/client.ts'
import { OptionError } from '../errors.ts'
import type { Address, Hash } from '../eth/codec/hex.ts'
import { decodeQuantity, encodeQuantity, type Quantity } from '../eth/codec/quantity.ts'
import { createReader } from '../eth/codec/reader.ts'
import type { Block, Log, MinedLog, Receipt } from '../eth/objects.ts'
import { show } from '../text.ts'
import type { FollowReader, SourceBlock } from './block-source.ts'
import { checkCursor, type FollowCursor, isCursor } from './cursor.ts'
import { followStream, type StreamItem } from './follow-stream.ts'
import type { FollowJob, FollowProgress } from './job.ts'
import type { Confirmations } from './look.ts'

/** Which logs to deliver with each block. */
export interface FollowLogs {
  /** Logs of this address, or of any of several. Default: all addresses. */
  readonly address?: Address | readonly Address[] | undefined
  /** By position: one topic, any of several, or null for any. Default: any. */
  readonly topics?: readonly (Hash | readonly Hash[] | null)[] | undefined
}

/** Options of `follow`. */
export interface FollowOptions<
  T extends 'full' | 'hashes' = 'full' | 'hashes',
  R extends boolean = boolean,
  L extends FollowLogs | boolean = FollowLogs | boolean,
> {
  /**
   * The first block: a number; `latest` for the newest block that may be delivered; or a cursor,
   * to resume after the item that it came with.
   */
  readonly from: Quantity | 'latest' | FollowCursor
  /** Whether each block comes with its logs: all (true), or those of a filter. Default false. */
  readonly logs?: L
  /** Whether blocks hold whole transactions (`full`) or their hashes (`hashes`, the default). */
  readonly transactions?: T
  /**
   * Whether each block comes with its receipts, in the order of its transactions. Default false.
   */
  readonly receipts?: R
  /**
   * Holds blocks back: until this many blocks follow them (default 0), or until the node calls them
   * `safe` or `finalized`. A block that is replaced all the same is rolled back.
   */
  readonly confirmations?: number | 'safe' | 'finalized' | undefined
  /** Ends the iteration; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called after each item, with the `failure` of each attempt that fails, and once if the first
   * block is not there yet.
   */
  readonly onProgress?: ((progress: FollowProgress) => void) | undefined
}

/** A block that comes next. Its parent is the block before it in the stream. */
export type FollowBlock<T extends 'full' | 'hashes' = 'full' | 'hashes', R extends boolean = boolean, L extends FollowLogs | boolean = FollowLogs | boolean> = {
  readonly type: 'block'
  readonly block: RangeBlock<T, R>
  /** Where it resumes after this block: plain JSON. */
  readonly cursor: FollowCursor
} & ([L] extends [false] ? unknown : { readonly logs: MinedLog[] })

/**
 * Blocks that were delivered have been replaced: undo them. The blocks that replace them come next.
 */
export interface FollowRollback {
  readonly type: 'rollback'
  /** The last block that is still part of the chain; one before the first block, if none is. */
  readonly to: bigint
  /** The replaced blocks, newest first. */
  readonly blocks: readonly { readonly number: bigint; readonly hash: Hash }[]
  /** Where it resumes after they have been undone: plain JSON. */
  readonly cursor: FollowCursor
}

/** What `follow` brings. */
export type FollowItem<T extends 'full' | 'hashes' = 'full' | 'hashes', R extends boolean = boolean, L extends FollowLogs | boolean = FollowLogs | boolean> =
  | FollowBlock<T, R, L>
  | FollowRollback

/**
 * Streams blocks from history through the head, without a gap, as one chain:
 *
 *     for await (const item of follow(client, { from: saved ?? 21_000_000n, logs: { address } })) {
 *       if (item.type === 'block') await store(item.block, item.logs, item.cursor)
 *       else await undo(item.blocks, item.cursor)
 *     }
 *
 * History comes at the speed of `getBlocks` and `getLogs`; then each new block, as soon as the node
 * has it. A WebSocket endpoint of the client announces them; without one, the node is asked about
 * as often as it has new blocks. Each block names the one before it as its parent. When the chain
 * was reorganised, a rollback names the blocks that were replaced, newest first, and those that
 * replace them follow.
 *
 * A node that fails, lags or is down for a while does not end the stream: it is asked again, and
 * what it has missed is fetched at bulk speed. A slow consumer slows the stream down and never
 * makes it lose a block.
 *
 * Throws `OptionError` at once for invalid options. The iteration rejects with it for a cursor of
 * another chain, with `IntegrityError` when replies contradict each other again and again, or when
 * more blocks were replaced than can be traced, and otherwise with the errors of `client.call` that
 * waiting cannot cure. The first call to the node fails as `client.call` does.
 */
export function follow<T extends 'full' | 'hashes' = 'hashes', R extends boolean = false, const L extends FollowLogs | boolean = false>(
  client: Client,
  options: FollowOptions<T, R, L>,
): AsyncGenerator<FollowItem<T, R, L>, void, undefined> {
  checkClient(client)
  const job = checkFollowOptions(options)
  return followStream(client, job, decoding(job), itemOf) as AsyncGenerator<FollowItem> as AsyncGenerator<FollowItem<T, R, L>, void, undefined>
}

function itemOf(item: StreamItem<RangeBlock, Log>): FollowItem {
  if (item.type === 'rollback') return rollbackOf(item)
  const { type, block, logs, cursor } = item
  return (logs === undefined ? { type, block, cursor } : { type, block, logs, cursor }) as FollowItem
}

/** With block numbers as bigints. */
export function rollbackOf({ type, to, blocks, cursor }: Extract<StreamItem<unknown, unknown>, { readonly type: 'rollback' }>): FollowRollback {
  return { type, to: BigInt(to), blocks: blocks.map(({ number, hash }) => ({ number: BigInt(number), hash })), cursor }
}

interface DecodedBlock {
  readonly linked: Block & { receipts?: Receipt[] }
}

/** Decodes blocks, receipts and logs. */
function decoding(job: FollowJob): FollowReader<never, never, RangeBlock, Log> {
  const { filter } = job
  const decode = decodersOf(undefined, job)
  const readBlock = createReader(decode.block)
  const readReceipts = createReader(decode.receipts)
  const blocks: BlockReader<DecodedBlock, { linked: Receipt[] }, SourceBlock<Block, Log>> = {
    block: (bytes) => ({ linked: readBlock(bytes) }),
    receipts: (bytes) => ({ linked: readReceipts(bytes) }),
    item({ linked: block }, receipts) {
      if (receipts !== undefined) block.receipts = receipts.linked
      const { number, hash, parentHash, logsBloom, receiptsRoot, transactions } = block
      // Some nodes send null for none.
      const logs = filter && receipts?.linked.flatMap((receipt) => receipt.logs ?? []).filter((log) => filter.matches(log))
      return { number, hash, parentHash, logsBloom, receiptsRoot, transactions, item: block, logs }
    },
  }
  const reader: FollowReader<DecodedBlock, { linked: Receipt[] }, Block, Log> = {
    blocks,
    parsedBlock: (json) => blocks.item({ linked: decode.block(json) }, undefined),
    logs: decodedLogs(),
  }
  return reader as unknown as FollowReader<never, never, RangeBlock, Log>
}

const MiB = 1024 * 1024
const NAMES = ['from', 'logs', 'transactions', 'receipts', 'confirmations', 'signal', 'onProgress']

/** Checks the options and fills in the defaults. Throws `OptionError`. */
export function checkFollowOptions(options: FollowOptions): FollowJob {
  check.onlyKnown('options', options, NAMES, {
    refused: { to: 'it has no end; use getBlocks for a range', cursor: 'it is given as `from`' },
  })
  const { logs = false, transactions = 'hashes', receipts = false, confirmations = 0, signal, onProgress } = options
  check.oneOf('transactions', transactions, ['full', 'hashes'])
  check.flag('receipts', receipts)
  if (signal !== undefined) check.signal(signal)
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  return {
    from: fromOf(options.from),
    full: transactions === 'full',
    receipts,
    filter: filterOf(logs),
    confirmations: confirmationsOf(confirmations),
    signal,
    onProgress,
    maxBytes: 32 * MiB,
  }
}

function fromOf(from: unknown): FollowJob['from'] {
  if (from === 'latest') return from
  if (isCursor(from)) return checkCursor(from, 'from')
  let number: number
  try {
    number = Number(decodeQuantity(encodeQuantity(from as Quantity)))
  } catch {
    throw new OptionError('from', "a block number, 'latest', or a cursor", show(from))
  }
  if (Number.isSafeInteger(number)) return number
  throw new OptionError('from', 'a block number of at most 2^53 - 1', show(from))
}

function filterOf(logs: FollowLogs | boolean): FollowJob['filter'] {
  if (logs === false) return undefined
  if (logs === true) return checkFilter({})
  check.onlyKnown('logs', logs, ['address', 'topics'], { orElse: ', true or false' })
  return checkFilter(logs)
}

function confirmationsOf(confirmations: unknown): Confirmations {
  if (confirmations === 'safe' || confirmations === 'finalized') return confirmations
  if (typeof confirmations === 'number' && Number.isSafeInteger(confirmations) && confirmations >= 0) return confirmations
  throw new OptionError('confirmations', "a whole number of at least 0, 'safe' or 'finalized'", show(confirmations))
}
