import type { Client } from '../../client/client.ts'
import { CodecError } from '../../errors.ts'
import { BloomBuilder, isBloom, isEmptyBloom } from '../../eth/bloom.ts'
import { createReader } from '../../eth/codec/reader.ts'
import type { Block, Log } from '../../eth/objects.ts'
import { Arrivals, releaseArrived } from '../blocks/arrivals.ts'
import { Fetcher } from '../blocks/fetch.ts'
import { decodersOf } from '../blocks/fields.ts'
import { chainReplaced, Link, type LinkedRootedReceipt } from '../link.ts'
import type { CheckedFilter } from './log-filter.ts'

/** The fields of a header that an audit needs. */
export type Header = Pick<Block, 'number' | 'hash' | 'parentHash' | 'difficulty' | 'logsBloom' | 'receiptsRoot' | 'transactions'> & {
  /** Set where the header does not have the hash of its fields. */
  hasWrongHash?: true
}

/**
 * Reads the receipts of a block. The result must not refer to the bytes, which are reused. Throws
 * `SyntaxError` and `CodecError`.
 */
export type ReceiptsReader<T> = (bytes: Buffer) => { readonly linked: readonly LinkedRootedReceipt[]; readonly items: T[] }

/** The logs of a block, as its receipts have them. */
export interface BlockLogs<T> {
  readonly header: Header
  readonly items: T[]
  readonly receipts: readonly LinkedRootedReceipt[]
  /** The endpoint that gave the receipts, if it was one. */
  readonly endpoint: string | undefined
}

/** Reads headers with what an audit needs. */
export function headerReader(): (bytes: Buffer) => Header {
  return createReader(decodersOf(['difficulty', 'logsBloom', 'receiptsRoot', 'transactions'], { full: false, receipts: false }).block)
}

/** Fetches the logs of single blocks from their receipts. */
export class BlockLogsFetcher<T> {
  readonly #fetcher: Fetcher
  readonly #arrivals: Arrivals<{ readonly linked: Header }, ReturnType<ReceiptsReader<T>>, Omit<BlockLogs<T>, 'endpoint'>>

  constructor(client: Client, readReceipts: ReceiptsReader<T>) {
    const readHeader = headerReader()
    this.#fetcher = new Fetcher(client, { full: false, receipts: true })
    this.#arrivals = new Arrivals(client, this.#fetcher, {
      block: (bytes) => ({ linked: readHeader(bytes) }),
      receipts: readReceipts,
      item: ({ linked: header }, receipts) => ({ header, items: receipts?.items ?? [], receipts: receipts?.linked ?? [] }),
    })
  }

  /**
   * Throws `IntegrityError` for receipts that are not those of the block's transactions, whatever
   * was requested again. `avoid` names endpoints to be used only if there is no other.
   */
  async fetch(number: number, signal: AbortSignal, avoid: readonly string[] = []): Promise<BlockLogs<T>> {
    const fetched = await this.#fetcher.fetchUrgent(BigInt(number), signal, avoid)
    const arrived = await this.#arrivals.arrive(fetched, signal, new Link(), avoid)
    const logs = this.#arrivals.item(arrived)
    releaseArrived(arrived)
    return { ...logs, endpoint: arrived.fetched.origins.receipts?.endpoint }
  }
}

/**
 * Whether logs of a block, in their order, are not all that the filter selects: without addresses
 * and topics, their indexes are 0, 1, 2 and so on.
 */
export function lacksLogs<T>({ isSelective }: CheckedFilter, logs: readonly T[], logOf: (item: T) => Log): boolean {
  const last = logs.at(-1)
  return !isSelective && last !== undefined && logOf(last).logIndex !== logs.length - 1
}

/** Compares blooms of headers with those of logs. */
export class BloomChecker {
  readonly #builder = new BloomBuilder()

  /**
   * Whether the header's bloom is the one of these logs. Undefined if the header has none, or an
   * empty one though there are logs, as on some chains.
   */
  fits({ logsBloom }: Header, logs: readonly Log[]): boolean | undefined {
    if (!isBloom(logsBloom) || (logs.length > 0 && isEmptyBloom(logsBloom))) return undefined
    try {
      return this.#builder.of(logs) === logsBloom.toLowerCase()
    } catch (error) {
      // An address or a topic that is not hex has no bloom at all.
      if (!(error instanceof CodecError)) throw error
      return false
    }
  }
}

/** Throws `IntegrityError` for a log of another block of the same height. */
export function checkSameBlock(log: Log, { number, hash }: Pick<Header, 'number' | 'hash'>): void {
  if (log.blockHash === hash) return
  throw chainReplaced(`block ${number} came as ${hash}, but its logs as those of ${log.blockHash}`)
}
