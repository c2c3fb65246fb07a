import { lacksLogs } from '../bulk/logs/block-logs.ts'
import { logFault } from '../bulk/logs/log-fault.ts'
import type { CheckedFilter, FilterParams } from '../bulk/logs/log-filter.ts'
import type { PageReader } from '../bulk/logs/log-stream.ts'
import { isRound } from '../bulk/logs/range-limits.ts'
import type { Client, Request } from '../client/client.ts'
import { type RequestMarks, UNREAD } from '../client/internals.ts'
import { CodecError, HexlineError, IntegrityError } from '../errors.ts'
import { isBloom } from '../eth/bloom.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { BodyPool } from '../rpc/body-pool.ts'
import { isFailure, mayRepeat } from '../rpc/failure-kinds.ts'
import { releaseReply, takeBytes } from '../rpc/reply.ts'
import { excerpt } from '../text.ts'
import { type HashedHeader, RangeLogs } from './range-logs.ts'

/** How to fetch them. */
export interface LogsByHashOptions {
  readonly signal: AbortSignal | undefined
  readonly maxBytes: number
  /** Undefined where the node does not tell it. */
  readonly chainId: number | undefined
}

/** The logs of single blocks, by their hashes. */
export class LogsByHash<L> {
  readonly #client: Client
  readonly #filter: CheckedFilter
  readonly #reader: PageReader<L>
  readonly #options: LogsByHashOptions
  readonly #bodies = new BodyPool()

  constructor(client: Client, filter: CheckedFilter, reader: PageReader<L>, options: LogsByHashOptions) {
    this.#client = client
    this.#filter = filter
    this.#reader = reader
    this.#options = options
  }

  /**
   * By one `eth_getLogs` for each group of addresses. If the node does not take a hash, the logs
   * are fetched by the number of the block, as those of a range are. So they are if the reply is
   * odd, too long, or lacks logs that the header's bloom may have. Throws `IntegrityError` where
   * the block is no longer known.
   */
  async fetch(block: HashedHeader): Promise<L[]> {
    const parts = await Promise.all(this.#filter.groups.map((group) => this.#ask(group, block)))
    const logs = parts.length === 1 ? parts[0] : this.#joined(parts)
    if (logs === undefined || this.#isDoubtful(logs, block.logsBloom)) return this.#fetchByNumber(block)
    return logs
  }

  /** Undefined where the reply cannot be taken as it is. */
  async #ask(group: FilterParams, { number, hash }: HashedHeader): Promise<L[] | undefined> {
    const request: Request & RequestMarks = {
      method: 'eth_getLogs',
      params: [{ ...group, blockHash: hash }],
      required: true,
      as: 'bytes',
      [UNREAD]: this.#bodies,
    }
    try {
      const reply = await this.#client.send(request)
      const items = this.#reader.logs(takeBytes(reply))
      if (!this.#reader.keepsBytes) releaseReply(reply)
      return this.#areRight(items, number, hash) ? items : undefined
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof CodecError) return undefined
      if (!isFailure(error)) throw error
      if (error.kind === 'lagging') throw unknown(number, hash, error)
      // A gateway may refuse the hash by a status alone; others have been asked by now.
      if (error.kind === 'invalid' || error.kind === 'not-found') return undefined
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

  async #fetchByNumber(block: HashedHeader): Promise<L[]> {
    const { number, hash } = block
    const span = { from: Number(number), to: Number(number), toHash: hash }
    const range = new RangeLogs(this.#client, { ...this.#options, ...span, filter: this.#filter }, this.#reader)
    try {
      return await range.complete(block, await range.next(block))
    } catch (error) {
      if (!(error instanceof HexlineError)) throw error
      if (error.kind === 'integrity' && !(await this.#isThere(block))) throw replaced(block)
      // Replaced blocks are forgotten at any time, and nodes say so in many ways.
      if (!FORGOTTEN.includes(error.kind)) throw error
      throw new IntegrityError(`the logs of block ${number} (${hash}) cannot be fetched; it may have been replaced: ${excerpt(error.message)}`)
    } finally {
      await range.end()
    }
  }

  async #isThere({ number, hash }: HashedHeader): Promise<boolean> {
    return (await this.#client.call('eth_getBlockByNumber', number, false))?.hash === hash
  }
}

/** Two backends of one URL may disagree about the block. */
function replaced({ number, hash }: HashedHeader): IntegrityError {
  const what = `the logs of block ${number} (${hash}) cannot be fetched, since the node has another block of this number`
  return new IntegrityError(`${what}: it lags behind, or the block was replaced`, { kind: 'lagging' })
}

/** What is wrong with a block that was there a moment ago is most often a reorganisation. */
function unknown(number: bigint, hash: Hash, { method, endpoint, message, attempts }: HexlineError): IntegrityError {
  const what = `the node does not know block ${number} (${hash}), whose logs were asked for: it lags behind, or the block was replaced`
  return Object.assign(new IntegrityError(`${what}: ${excerpt(message)}`, { kind: 'lagging', method, endpoint }), { attempts })
}

const FORGOTTEN = ['execution', 'invalid', 'not-found', 'range-too-large']
