import * as check from '../check.ts'
import { type BlockRange, rangeFrom } from './aligned-range.ts'

/**
 * A share of an export: of the aligned ranges of `blocksPerFile` blocks, counted from block 0,
 * every `of`th one. `{ index: 3, of: 8 }` is the third of eight.
 */
export interface Shard {
  /** From 1 to `of`. */
  readonly index: number
  /** How many shards share the work; at most 100,000. */
  readonly of: number
}

export const MOST_SHARDS = 100_000

/** Throws `OptionError`. */
export function checkShard(shard: unknown): Shard {
  check.onlyKnown('shard', shard, ['index', 'of'])
  const { index, of } = shard as Shard
  check.whole('shard.of', of, 1, MOST_SHARDS)
  return { index: check.whole('shard.index', index, 1, of), of }
}

/** Which of `of` shards has the range of a block. */
export function shardOf(block: number, blocksPerFile: number, of: number): Shard {
  return { index: (Math.floor(block / blocksPerFile) % of) + 1, of }
}

/** The aligned ranges of a shard from block `from` to `to`, in order. */
export function* rangesOf({ from, to }: BlockRange, blocksPerFile: number, { index, of }: Shard): Generator<BlockRange> {
  const first = Math.floor(from / blocksPerFile)
  const skipped = (((index - 1 - first) % of) + of) % of
  for (let number = first + skipped; number * blocksPerFile <= to; number += of) yield rangeFrom(Math.max(from, number * blocksPerFile), to, blocksPerFile)
}
