import type { Persistence } from '../bulk/blocks/persistence.ts'
import { rangeStream } from '../bulk/blocks/range-stream.ts'
import type { BlockReader } from '../bulk/blocks/read-block.ts'
import type { Linked, LinkedReceipt } from '../bulk/link.ts'
import type { CheckedFilter } from '../bulk/logs/log-filter.ts'
import type { PageReader } from '../bulk/logs/log-stream.ts'
import { boundsWithin } from '../bulk/ordered/read-ahead.ts'
import type { Client } from '../client/client.ts'
import type { HashedHeader } from './range-logs.ts'

/** A block of a range, as a reader makes it. It owns its memory. */
export type SourceBlock<I, L> = HashedHeader & {
  readonly item: I
  /** Its logs, where they came with its receipts. */
  readonly logs: L[] | undefined
}

/** Makes the items of a stream, from bytes. */
export interface FollowReader<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, I, L> {
  readonly blocks: BlockReader<B, R, SourceBlock<I, L>>
  /**
   * The same for a single block with the hashes of its transactions, from its parsed JSON. Throws
   * `CodecError`. Default: by `blocks`.
   */
  readonly parsedBlock?: (json: unknown) => SourceBlock<I, L>
  readonly logs: PageReader<L>
}

/** Which blocks to fetch, and what with them. */
export interface SourceOptions {
  readonly full: boolean
  readonly receipts: boolean
  /** Undefined for blocks without logs. */
  readonly filter: CheckedFilter | undefined
  readonly maxBytes: number
  readonly signal: AbortSignal | undefined
}

/** The blocks `from` to `to`, both included. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Blocks whose logs are requested at the same time. */
export const LOGS_AHEAD = 16

/** Blocks, each linked to the one before it, without logs but those of their receipts. */
export function blocksOf<I, L>(
  client: Client,
  { from, to }: Span,
  options: SourceOptions,
  reader: FollowReader<never, never, I, L>,
  persistence?: Persistence,
): AsyncGenerator<SourceBlock<I, L>, void, undefined> {
  const { full, receipts, signal, maxBytes } = options
  const range = { from: BigInt(from), to: BigInt(to), isKnown: true }
  const bounds = boundsWithin(maxBytes)
  return rangeStream(client, { range, full, receipts, persistence, signal, onProgress: undefined, bounds }, reader.blocks)
}
