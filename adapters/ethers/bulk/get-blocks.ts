import type { Block, BlockParams, BlockTag } from 'ethers'
import { type Progress, rangeStream, type StreamOptions } from '../../../src/bulk/blocks/range-stream.ts'
import { checkBlockOptions } from '../../../src/bulk/get-blocks.ts'
import { linkedFields } from '../../../src/bulk/link.ts'
import type { RangeEnd } from '../../../src/bulk/range.ts'
import * as check from '../../../src/check.ts'
import type { Client } from '../../../src/client/client.ts'
import { parseResult } from '../../../src/eth/codec/reader.ts'

/** Options of `HexlineProvider.getBlocks`. */
export interface GetBlocksOptions {
  /** Whether blocks come with `prefetchedTransactions`. Default false. */
  readonly prefetchTxs?: boolean | undefined
  /** Ends the iteration; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Limit for replies requested ahead of the consumer, in bytes. Default 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Called after each block. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** Checks the options. Throws `OptionError`. */
export function checkRangeOptions(from: number | bigint, to: BlockTag, options: GetBlocksOptions): StreamOptions {
  check.onlyKnown('options', options, ['prefetchTxs', 'signal', 'maxBytes', 'onProgress'])
  const { prefetchTxs = false, signal, maxBytes, onProgress } = options
  check.flag('prefetchTxs', prefetchTxs)
  return checkBlockOptions({
    from,
    to: to as RangeEnd,
    transactions: prefetchTxs ? 'full' : 'hashes',
    ...(signal !== undefined && { signal }),
    ...(maxBytes !== undefined && { maxBytes }),
    ...(onProgress !== undefined && { onProgress }),
  })
}

/** Streams the blocks of a range, each converted by `wrap`. Rejects with hexline's errors. */
export function wrappedBlocks(client: Client, options: StreamOptions, wrap: (raw: BlockParams) => Block): AsyncGenerator<Block, void, undefined> {
  return rangeStream(client, options, {
    block(bytes) {
      const raw = parseResult(bytes)
      return { linked: linkedFields(raw), raw: raw as BlockParams }
    },
    receipts() {
      throw new Error('no receipts were asked for')
    },
    item: ({ raw }) => wrap(raw),
  })
}
