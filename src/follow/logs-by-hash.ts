import { lacksLogs } from '../bulk/block-logs.ts'
import { bytesOf } from '../bulk/fetch.ts'
import { logFault } from '../bulk/log-fault.ts'
import type { CheckedFilter, FilterParams } from '../bulk/log-filter.ts'
import { LogStream, type PageReader } from '../bulk/log-stream.ts'
import { isRound } from '../bulk/range-limits.ts'
import type { Client, Request } from '../client/client.ts'
import { type RequestMarks, UNREAD } from '../client/internals.ts'
import { CodecError, HexlineError, IntegrityError, OptionError } from '../errors.ts'
import { isBloom } from '../eth/bloom.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { BodyPool } from '../rpc/body-pool.ts'
import { releaseReply } from '../rpc/call.ts'
import { isFailure, mayRepeat } from '../rpc/failure-kinds.ts'
import { excerpt } from '../text.ts'

/** The block whose logs are asked for. */
export interface LoggedBlock {
  readonly number: bigint
  readonly hash: Hash
  readonly logsBloom: string
}

/** The logs of single blocks, by their hashes. */
export class LogsByHash<L> {
  readonly #client: Client
  readonly #filter: CheckedFilter
  readonly #reader: PageReader<L>
  readonly #options: { readonly signal: AbortSignal | undefined; readonly maxBytes: number }
  readonly #bodies = new BodyPool()

  constructor(client: Client, filter: CheckedFilter, reader: PageReader<L>, options: { readonly signal: AbortSignal | undefined; readonly maxBytes: number }) {
    this.#client = client
    this.#filter = filter
    this.#reader = reader
    this.#options = options
  }

  /**
   * By one `eth_getLogs` for each group of addresses; where the reply is odd, too long, or lacks
   * logs that the header's bloom may have, by the stream of `getLogs`, which knows what to do.
   * Throws `IntegrityError` where the block is no longer known.
   */
  async fetch(block: LoggedBlock): Promise<L[]> {
    const parts = await Promise.all(this.#filter.groups.map((group) => this.#ask(group, block)))
    const logs = parts.length === 1 ? parts[0] : this.#joined(parts)
    if (logs === undefined || this.#isDoubtful(logs, block.logsBloom)) return this.#fetchByStream(block)
    return logs
  }

  /** Undefined where the reply cannot be taken as it is. */
  async #ask(group: FilterParams, { number, hash }: LoggedBlock): Promise<L[] | undefined> {
    const request: Request & RequestMarks = {
      method: 'eth_getLogs',
      params: [{ ...group, blockHash: hash }],
      required: true,
      as: 'bytes',
      [UNREAD]: this.#bodies,
    }
    try {
      const reply = await this.#client.send(request)
      const items = this.#reader.logs(bytesOf(reply))
      if (!this.#reader.keepsBytes) releaseReply(reply)
      return this.#areRight(items, number, hash) ? items : undefined
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof CodecError) return undefined
      if (!isFailure(error)) throw error
      if (error.kind === 'lagging') throw unknown(number, hash, error)
      if (error.kind !== 'closed' && mayRepeat(error) === false) return undefined
      throw error
    }
  }

  #areRight(items: readonly L[], number: bigint, hash: string): boolean {
    let last = -1
    return items.every((item) => {
      const log = this.#reader.logOf(item)
      const isNext = (log.logIndex ?? -1) > last
      last = log.logIndex ?? -1
      return isNext && log.blockHash === hash && log.blockNumber === number && logFault(log) === undefined && this.#filter.matches(log)
    })
  }

  #joined(parts: readonly (readonly L[] | undefined)[]): L[] | undefined {
    if (parts.includes(undefined)) return undefined
    const indexOf = (item: L) => this.#reader.logOf(item).logIndex as number
    const logs = (parts as readonly (readonly L[])[]).flat().sort((a, b) => indexOf(a) - indexOf(b))
    // A node that ignores the addresses gives the same logs for each group.
    return logs.some((log, i) => i > 0 && indexOf(log) === indexOf(logs[i - 1] as L)) ? undefined : logs
  }

  #isDoubtful(logs: readonly L[], logsBloom: unknown): boolean {
    if (logs.length > 0) return isRound(logs.length) || lacksLogs(this.#filter, logs, this.#reader.logOf)
    return isBloom(logsBloom) && this.#filter.bloom.mayMatch(logsBloom)
  }

  async #fetchByStream({ number, hash }: LoggedBlock): Promise<L[]> {
    const stream = new LogStream(
      this.#client,
      { ...this.#options, filter: this.#filter, range: undefined, blockHash: hash, audit: 'bloom', onProgress: undefined },
      this.#reader,
    )
    try {
      const lists: L[][] = []
      for await (const { items } of stream.pages()) lists.push(items)
      return lists.flat()
    } catch (error) {
      // Replaced blocks are forgotten at any time, and nodes say so in many ways.
      const isForgotten = error instanceof OptionError || (error instanceof HexlineError && FORGOTTEN.includes(error.kind))
      if (!isForgotten) throw error
      throw new IntegrityError(`the logs of block ${number} (${hash}) cannot be fetched; it may have been replaced: ${excerpt((error as Error).message)}`)
    }
  }
}

/** What is wrong with a block that was there a moment ago is most often a reorganisation. */
function unknown(number: bigint, hash: Hash, { method, endpoint, message, attempts }: HexlineError): IntegrityError {
  const what = `the node does not know block ${number} (${hash}), whose logs were asked for: it lags behind, or the block was replaced`
  return Object.assign(new IntegrityError(`${what}: ${excerpt(message)}`, { kind: 'lagging', method, endpoint }), { attempts })
}

const FORGOTTEN = ['execution', 'invalid', 'not-found']
