import type { Address, LogTopic } from 'viem'
import { checkLogOptions } from '../../../src/bulk/get-logs.ts'
import { copiedLogs } from '../../../src/bulk/logs/log-lines.ts'
import { LogStream } from '../../../src/bulk/logs/log-stream.ts'
import type { Client as HexlineClient } from '../../../src/client/client.ts'
import { IntegrityError } from '../../../src/errors.ts'
import { keyOf, numberOf, type RawLog } from '../../raw-log.ts'
import { caughtUp } from './caught-up.ts'
import { DeliveredLogs } from './delivered-logs.ts'
import { headerAt } from './header-at.ts'

export interface RawFilter {
  readonly address?: Address | Address[] | undefined
  readonly topics?: LogTopic[] | undefined
}

/** The blocks whose logs were compared or fetched. */
export interface SyncedBlocks {
  readonly from: number
  readonly to: number
}

/** All logs of some blocks up to the block `to`, in order. */
interface Part {
  readonly logs: RawLog[]
  readonly to: number
}

/**
 * How many blocks the delivered logs are kept for. A notification that comes later than this is not
 * known to be a duplicate, and the logs of a deeper reorganisation are not removed.
 */
const KEPT_BLOCKS = 64
/** Most reorganisations replace fewer blocks than this. */
const FEW_BLOCKS = 8

/**
 * The logs that a subscriber has, and how they become those of the node: what the node no longer
 * has is delivered again with `removed: true`, newest first, and then what has not been delivered.
 */
export class SyncedLogs {
  readonly #client: HexlineClient
  readonly #filter: RawFilter
  readonly #deliver: (log: unknown) => void
  readonly #signal: AbortSignal
  readonly #delivered = new DeliveredLogs()
  /** The first block whose logs are to be delivered. */
  #first = 0
  /** The first block whose delivered logs are kept. */
  #kept = 0
  /** The first block whose logs may not all have been delivered. */
  #from = 0
  /** The delivered logs may be of several branches: all of them are compared the next time. */
  isMixed = false

  constructor(client: HexlineClient, filter: RawFilter, deliver: (log: unknown) => void, signal: AbortSignal) {
    this.#client = client
    this.#filter = filter
    this.#deliver = deliver
    this.#signal = signal
  }

  /** How many logs are kept. */
  get size(): number {
    return this.#delivered.size
  }

  /** The last block of which something is known. */
  get newest(): number {
    return this.#delivered.newest ?? this.#from
  }

  /** The first block whose logs are to be delivered. */
  startAt(number: number): void {
    this.#first = number
    this.#from = number
  }

  has(log: RawLog): boolean {
    return this.#delivered.has(log)
  }

  /** Delivers a log, unless it has been. */
  add(log: RawLog): void {
    if (this.#delivered.has(log)) return
    // Its block has replaced another, and the node did not say so. Or it comes late.
    if (this.#delivered.hasOther(log)) this.isMixed = true
    // A block that has replaced one from before the subscription may be replaced, too.
    this.#first = Math.min(this.#first, numberOf(log) as number)
    this.#delivered.add(log)
    this.#deliver(log)
  }

  /** Delivers a log as removed, if it has been delivered. */
  remove(log: RawLog): void {
    const number = numberOf(log) as number
    if (this.#delivered.delete(log)) {
      // The blocks that replace its block are still to come.
      this.recheckFrom(number)
      this.#deliver({ ...log, removed: true })
      // It may have been, if its block is no longer kept.
    } else if (number < Math.max(this.#first, this.#kept)) this.#deliver(log)
  }

  /** All logs of the blocks before this one have been delivered. */
  advance(number: number): void {
    if (number <= this.#from) return
    this.#from = number
    this.#kept = Math.max(this.#kept, number - KEPT_BLOCKS)
    this.#delivered.forgetBefore(this.#kept)
  }

  /** The logs of the blocks from this one on are compared the next time. */
  recheckFrom(number: number): void {
    this.#from = Math.max(this.#first, Math.min(this.#from, number))
  }

  /**
   * Delivers what makes the delivered logs those of the node, once it has the block `least`, or has
   * had time to catch up. Rejects with `IntegrityError` if the chain was replaced meanwhile, or
   * nodes disagree; if `isFinal`, not because the node has a block without its logs.
   */
  async sync(least: number, isFinal: boolean): Promise<SyncedBlocks> {
    let [from, ...deeper] = this.#starts()
    this.isMixed = true
    const head = async () => Number(await this.#client.call('eth_blockNumber'))
    const to = await caughtUp(this.#client, Math.max(this.#delivered.newest ?? 0, least), head, this.#signal)
    while (!(await this.#syncFrom(from, to, deeper.length === 0, isFinal))) from = deeper.shift() as number
    this.advance(to)
    // A chain that has become shorter goes on with blocks that are new.
    this.#kept = Math.min(this.#kept, to + 1)
    this.isMixed = false
    return { from, to }
  }

  /**
   * The blocks from which on logs may be compared. If the node has a delivered log, nothing before
   * its block has been replaced; if it has none from one of these blocks on, the next one is tried.
   */
  #starts(): [number, ...number[]] {
    const { oldest, newest } = this.#delivered
    const deepest = Math.max(this.#first, this.#kept, Math.min(this.#from - KEPT_BLOCKS, oldest ?? this.#from))
    if (this.isMixed || newest === undefined) return [deepest]
    const start = Math.min(this.#from, newest)
    return [start, start - FEW_BLOCKS, deepest].filter((each, i) => each > deepest || i === 2) as [number, ...number[]]
  }

  /**
   * Delivers the logs from block `from` on, after those that the node no longer has. Returns false,
   * and delivers nothing, if the node has none of those that were delivered, unless this is the
   * deepest block.
   */
  async #syncFrom(from: number, to: number, isDeepest: boolean, isFinal: boolean): Promise<boolean> {
    let isCompared = false
    for await (const part of this.#parts(from, to, Math.min(this.#delivered.newest ?? 0, to))) {
      if (!isCompared) {
        if (!isDeepest && !part.logs.some((log) => this.#delivered.has(log))) return false
        await this.#removeOthers(part.logs, from, to, isFinal)
        isCompared = true
      }
      for (const log of part.logs) this.add(log)
      this.advance(part.to)
    }
    return true
  }

  /** The first part has all logs up to the block `least`. */
  async *#parts(from: number, to: number, least: number): AsyncGenerator<Part, void, undefined> {
    if (from > to) return void (yield { logs: [], to })
    const { address, topics } = this.#filter
    const filter = { ...(address !== undefined && { address }), ...(topics !== undefined && { topics: topics as [] }) }
    const stream = new LogStream(this.#client, checkLogOptions({ from, to, audit: 'none', ...filter }), copiedLogs())
    let logs: RawLog[] = []
    for await (const page of stream.pages()) {
      for (const { json } of page.items) logs.push(JSON.parse(json.toString()) as RawLog)
      if (page.to < least) continue
      yield { logs, to: page.to }
      logs = []
    }
  }

  /**
   * Removes what is not among the logs of these blocks, and what is of later ones. Logs of a block
   * that the node has stay: it may give them another index, or not give them at all.
   */
  async #removeOthers(logs: readonly RawLog[], from: number, to: number, isFinal: boolean): Promise<void> {
    const keys = new Set(logs.map(keyOf))
    const there = new Set(logs.map(({ blockHash }) => blockHash))
    const others = this.#delivered.newestFirst(from).filter((log) => !keys.has(keyOf(log)) && !there.has(log.blockHash))
    const hashes = new Map(others.map((log) => [log.blockHash, numberOf(log) as number]))
    const isThere = async ([hash, number]: [unknown, number]) => number <= to && (await headerAt(this.#client, number)).hash === hash
    const areThere = await Promise.all([...hashes].map(isThere))
    // A node that lags behind gives no logs of a block that it does not have yet.
    if (!isFinal && areThere.includes(true)) throw new IntegrityError('logs are missing of blocks that the node has')
    const gone = new Set([...hashes.keys()].filter((_, i) => !areThere[i]))
    for (const log of others) if (gone.has(log.blockHash)) this.remove(log)
  }
}
