import { BlockAuditor } from '../bulk/logs/block-auditor.ts'
import { BlockLogsFetcher, checkSameBlock, type Header } from '../bulk/logs/block-logs.ts'
import type { CheckedFilter } from '../bulk/logs/log-filter.ts'
import { LogStream, type PageReader } from '../bulk/logs/log-stream.ts'
import { Verdicts } from '../bulk/logs/verdicts.ts'
import type { Client } from '../client/client.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { stopWith } from '../wait/stop-with.ts'

/** Which logs to fetch. */
export interface RangeLogsOptions {
  readonly from: number
  readonly to: number
  /** Hash of block `to`, which it must still have at the end. Default: the one at the beginning. */
  readonly toHash?: Hash
  readonly filter: CheckedFilter
  readonly maxBytes: number
  readonly signal: AbortSignal | undefined
  /** Undefined where the node does not tell it. */
  readonly chainId: number | undefined
}

/** Logs of the blocks up to one. */
interface Page<L> {
  readonly to: number
  readonly items: readonly L[]
}

/** The header of a block whose logs are asked for. */
export type HashedHeader = Header & { readonly hash: Hash }

/**
 * The logs of a range of blocks, block by block: by `eth_getLogs` of many blocks at a time. The
 * blocks are given, so no header is requested once more to audit them: where the bloom of a block
 * says that logs may be missing, they come from its receipts.
 */
export class RangeLogs<L> {
  readonly #reader: PageReader<L>
  readonly #pages: AsyncGenerator<Page<L>, void, undefined>
  readonly #auditor: BlockAuditor<L>
  readonly #end: () => void
  #page: Page<L>
  #taken = 0

  constructor(client: Client, { from, to, toHash, filter, maxBytes, signal, chainId }: RangeLogsOptions, reader: PageReader<L>) {
    this.#reader = reader
    const range = { from: BigInt(from), to: BigInt(to), isKnown: true }
    const options = { filter, range, toHash, blockHash: undefined, audit: 'none', isProvenLater: true, signal, maxBytes, onProgress: undefined } as const
    this.#pages = new LogStream(client, options, reader).pages()
    this.#page = { to: from - 1, items: [] }
    const { stop, end } = stopWith(signal)
    this.#end = end
    const asked = client.with({ signal: stop.signal })
    const { logOf } = reader
    const verdicts = new Verdicts({ filter, logOf })
    verdicts.setChain(chainId)
    const blocks = new BlockLogsFetcher(asked, reader.receipts)
    this.#auditor = new BlockAuditor({ client: asked, filter, logOf, blocks, blockHash: undefined, stop: stop.signal }, verdicts)
  }

  /** The logs of the next block, as the node gave them for the range. */
  async next(block: HashedHeader): Promise<L[]> {
    const { number } = block
    while (this.#page.to < number) {
      this.#page = (await this.#pages.next()).value as Page<L>
      this.#taken = 0
    }
    const { items } = this.#page
    const logs: L[] = []
    for (; this.#taken < items.length; this.#taken++) {
      const item = items[this.#taken] as L
      const log = this.#reader.logOf(item)
      if (log.blockNumber !== number) break
      checkSameBlock(log, block)
      logs.push(item)
    }
    return logs
  }

  /** Those logs, with what is missing. */
  complete(block: HashedHeader, logs: L[]): Promise<L[]> {
    return this.#auditor.complete(block, logs)
  }

  async end(): Promise<void> {
    this.#end()
    await this.#pages.return()
  }
}
