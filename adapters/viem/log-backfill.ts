import type { Address, LogTopic } from 'viem'
import { checkLogOptions } from '../../src/bulk/get-logs.ts'
import { copiedLogs } from '../../src/bulk/log-lines.ts'
import { LogStream } from '../../src/bulk/log-stream.ts'
import type { Client as HexlineClient } from '../../src/client/client.ts'
import { clockOf, napOf } from '../../src/client/internals.ts'
import { RecentBlocks } from '../recent-blocks.ts'
import { caughtUp } from './caught-up.ts'

/** A log as the node sent it. */
interface RawLog {
  readonly blockNumber?: string | null
  readonly blockHash?: string | null
  readonly logIndex?: string | null
  readonly removed?: boolean
}

export interface RawFilter {
  readonly address?: Address | Address[] | undefined
  readonly topics?: LogTopic[] | undefined
}

/** Notifications that wait while missed logs are fetched. More are fetched, too. */
const MOST_HELD = 10_000
/** A notification may come this many blocks after its log was fetched, and is known by then. */
const KEPT_BLOCKS = 64n
/** Logs that could not be fetched are fetched again after this long, in ms, which doubles. */
const AGAIN_MS = 1000
const LONGEST_MS = 60_000
/**
 * They are given up where both this many blocks and this many logs have followed: until then, all
 * logs after them are kept, so that none comes twice.
 */
const MOST_BLOCKS_AFTER = 256n
const MOST_LOGS_AFTER = 10_000
/**
 * Attempts to fetch missed logs while the chain is replaced. What the last one leaves is fetched at
 * the next gap.
 */
const ATTEMPTS = 4

/** Who fetches again what could not be fetched. */
export interface BackfillOptions {
  /** The owner does, by another `fill`, and with it what was held. Default: false. */
  readonly refetches?: boolean
  /** How long after the first failure it is fetched again, in ms. */
  readonly againMs?: number
}

/**
 * The logs of a subscription, with those that it has missed. What is known is the first block whose
 * logs may not all have been delivered, and which logs from that block on have been: so a range can
 * be fetched again, and no log comes twice.
 *
 * Blocks may have been replaced while the socket was not open. Their logs are delivered again with
 * `removed: true`, newest first, and then those of the new blocks.
 */
export class LogBackfill {
  readonly #client: HexlineClient
  readonly #filter: RawFilter
  readonly #deliver: (log: unknown) => void
  readonly #onError: (error: unknown) => void
  readonly #stopping = new AbortController()
  readonly #refetches: boolean
  /** Logs that were delivered as removed, in case the node tells of that, too. */
  readonly #dropped = new Map<string, bigint>()
  /** The first block whose logs are to be delivered. */
  #first = 0n
  /** The first block whose logs may not all have been delivered. */
  #from = 0n
  /** Logs of the last blocks that have been delivered, with their blocks, in their order. */
  readonly #delivered = new Map<string, { readonly number: bigint; readonly log: RawLog }>()
  /** The blocks of these logs. */
  readonly #blocks = new RecentBlocks()
  /** They may be of different branches: if the node still has one, older ones may be replaced. */
  #areMixed = false
  #prunedAt = 0n
  /** Notifications that came while missed logs are being fetched; undefined while they are not. */
  #held: unknown[] | undefined
  #isMissing = false
  #filling = Promise.resolve()
  /** A block that a node has, up to which something may be missing. */
  #least = 0n
  /** Blocks from `#from` on could not be fetched. */
  #hasHole = false
  /** The block at which they may be given up. */
  #giveUpAt = 0n
  /** How long after a failure they are fetched again, in ms: at first, and the next time. */
  readonly #firstAgainMs: number
  #againMs: number
  #isAgainDue = false

  constructor(
    client: HexlineClient,
    filter: RawFilter,
    deliver: (log: unknown) => void,
    onError: (error: unknown) => void,
    { refetches = false, againMs = AGAIN_MS }: BackfillOptions = {},
  ) {
    this.#refetches = refetches
    this.#firstAgainMs = againMs
    this.#againMs = againMs
    this.#client = client.with({ signal: this.#stopping.signal })
    this.#filter = filter
    this.#deliver = deliver
    this.#onError = onError
  }

  /** Before the subscription, which covers the blocks from here on. */
  async start(): Promise<void> {
    this.startAt((await this.#client.call('eth_blockNumber')) + 1n)
  }

  /** The first block whose logs are to be delivered, where it is known. */
  startAt(number: bigint): void {
    this.#first = number
    this.#from = number
  }

  notified(log: unknown): void {
    if (this.#held === undefined) this.#take(log as RawLog)
    else if (this.#held.length < MOST_HELD) this.#held.push(log)
    else this.#isMissing = true
  }

  /**
   * Something may have been missed, at least up to the block `least`: it is delivered before what
   * comes now. Resolves once that is done, or has failed.
   */
  fill(least = 0n): Promise<void> {
    this.#isMissing = true
    if (least > 0n) this.#least = least
    if (this.#held === undefined) this.#filling = this.#fill()
    return this.#filling
  }

  stop(): void {
    this.#stopping.abort(new Error('unsubscribed'))
  }

  async #fill(): Promise<void> {
    const held: unknown[] = []
    this.#held = held
    try {
      for (let attemptsLeft = ATTEMPTS; this.#isMissing; ) {
        this.#isMissing = false
        await this.#dropReplaced()
        const { last } = this.#blocks
        const head = await this.#client.call('eth_blockNumber')
        // Another node may have answered, which lags behind.
        const to = later(head, this.#least)
        if (to < this.#from) continue
        await this.#fetch(to)
        if (to > this.#from) this.#advance(to)
        // If the newest known block was replaced during the fetch, others may have been, too.
        this.#areMixed = last !== undefined && (await this.#hashAt(last.number)) !== last.hash
        // What came after another gap is not delivered before what was missed in it.
        if (this.#isMissing) continue
        const isLast = --attemptsLeft === 0
        const isAgreed = this.#takeHeld(held, isLast ? -1n : to) && !this.#areMixed
        this.#isMissing = !isAgreed && !isLast
      }
      this.#hasHole = false
      this.#againMs = this.#firstAgainMs
      this.#least = 0n
    } catch (error) {
      this.#areMixed = true
      if (this.#refetches) held.length = 0
      else this.#noteHole()
      if (!this.#stopping.signal.aborted) this.#onError(error)
    } finally {
      this.#held = undefined
      if (!this.#stopping.signal.aborted) for (const log of held) this.#take(log as RawLog)
      // Another gap came before it failed. After failed polls, the next poll fills it.
      if (this.#isMissing && !this.#refetches && !this.#stopping.signal.aborted) void this.fill()
    }
  }

  /**
   * Delivers what was notified while the blocks up to `fetched` were fetched. A log of these blocks
   * that was not fetched is of another branch. It is the new branch if a log that is known was
   * removed before. Otherwise the branch may be older or newer: the log is left out, and the result
   * is false. The blocks from there on are fetched again then.
   */
  #takeHeld(held: unknown[], fetched: bigint): boolean {
    /** The last fetched block that is not known to be replaced. */
    let last = fetched
    let again: bigint | undefined
    for (const log of held.splice(0) as RawLog[]) {
      const number = typeof log.blockNumber === 'string' ? BigInt(log.blockNumber) : undefined
      const isKnown = number === undefined || this.#delivered.has(keyOf(log))
      if (log.removed !== true && !isKnown && number <= last) {
        again = earlier(again ?? number, number)
        continue
      }
      if (log.removed === true && number !== undefined && isKnown) last = earlier(last, number - 1n)
      this.#take(log)
    }
    // Not before: each log that is delivered moves `#from` on.
    if (again !== undefined) this.#from = earlier(this.#from, again)
    return again === undefined
  }

  async #dropReplaced(): Promise<void> {
    const { last } = this.#blocks
    // Only blocks with logs are known. Others may have been replaced, but not deeply.
    const shallow = later(this.#first, this.#from - KEPT_BLOCKS)
    if (last === undefined) {
      this.#from = earlier(this.#from, shallow)
      return
    }
    const { number: newest } = last
    const head = await caughtUp(this.#client, last.number, async () => Number(await this.#client.call('eth_blockNumber')), this.#stopping.signal)
    const oldest = this.#blocks.oldest ?? 0
    const hashAt = async (number: number) => (number > head ? undefined : this.#hashAt(number))
    const kept = await (this.#areMixed ? this.#blocks.dropEachReplaced(hashAt) : this.#blocks.dropReplaced(hashAt))
    this.#areMixed = false
    const above = BigInt(kept + 1)
    const next = kept === newest ? later(above, shallow) : this.#blocks.knows(kept) ? above : earlier(above, shallow)
    this.#from = earlier(this.#from, next)
    for (const [key, { number, log }] of [...this.#delivered].reverse()) {
      // Blocks before the oldest known one were not looked up.
      if (number < oldest || this.#blocks.has(Number(number), String(log.blockHash))) continue
      this.#delivered.delete(key)
      this.#dropped.set(key, number)
      this.#deliver({ ...log, removed: true })
    }
  }

  async #hashAt(number: number): Promise<string | undefined> {
    const reply = await this.#client.send({ method: 'eth_getBlockByNumber', params: [`0x${number.toString(16)}`, false], required: true })
    return (reply.take() as { hash?: string } | null)?.hash
  }

  async #fetch(to: bigint): Promise<void> {
    const { address, topics } = this.#filter
    const options = {
      from: this.#from,
      to,
      audit: 'none' as const,
      ...(address !== undefined && { address }),
      ...(topics !== undefined && { topics: topics as [] }),
    }
    const stream = new LogStream(this.#client, checkLogOptions(options), copiedLogs())
    for await (const { items } of stream.pages()) for (const { json } of items) this.#take(JSON.parse(json.toString()) as RawLog)
  }

  /** Delivers a log that has not been delivered. */
  #take(log: RawLog): void {
    const { blockNumber, blockHash, removed } = log
    if (typeof blockNumber !== 'string') return void this.#deliver(log)
    const number = BigInt(blockNumber)
    const key = keyOf(log)
    if (removed === true) {
      if (this.#dropped.delete(key)) return
      // The blocks that replace it are still to come.
      this.#from = earlier(this.#from, number)
      // It came and went while nobody listened: there is nothing to undo.
      const isKnown = number >= later(this.#first, this.#prunedAt - KEPT_BLOCKS)
      if (!this.#delivered.delete(key) && isKnown) return
    } else {
      // Also for a known log: one of an older block may have come after it, and replaced its block.
      this.#blocks.add(Number(number), String(blockHash))
      if (this.#delivered.has(key)) return
      this.#dropped.delete(key)
      this.#delivered.set(key, { number, log })
      if (number > this.#from && (this.#held !== undefined || !this.#hasHole)) this.#advance(number)
      else if (this.#hasHole) this.#giveUpHole(number)
    }
    this.#deliver(log)
  }

  /** What is missing is fetched with the next gap, or after some time. */
  #noteHole(): void {
    if (!this.#hasHole) this.#giveUpAt = BigInt(this.#blocks.last?.number ?? this.#from) + MOST_BLOCKS_AFTER
    this.#hasHole = true
    if (this.#isAgainDue || this.#stopping.signal.aborted) return
    this.#isAgainDue = true
    const nap = napOf(this.#client)('eth_getLogs', clockOf(this.#client).now() + this.#againMs, this.#stopping.signal)
    this.#againMs = Math.min(LONGEST_MS, 2 * this.#againMs)
    const again = () => {
      this.#isAgainDue = false
      if (this.#hasHole && this.#held === undefined) void this.fill()
    }
    // Rejects when it is stopped, or the client is closed.
    nap.over.then(again, () => {})
  }

  /** What is still missing is given up, if enough has come since: a log of this block, at last. */
  #giveUpHole(number: bigint): void {
    if (number < this.#giveUpAt || this.#delivered.size <= MOST_LOGS_AFTER) return
    this.#hasHole = false
    this.#advance(number)
  }

  /** All logs of the blocks before this one have been delivered. */
  #advance(number: bigint): void {
    this.#from = number
    if (number - this.#prunedAt < KEPT_BLOCKS) return
    this.#prunedAt = number
    for (const [key, { number: block }] of this.#delivered) if (block < number - KEPT_BLOCKS) this.#delivered.delete(key)
    for (const [key, block] of this.#dropped) if (block < number - KEPT_BLOCKS) this.#dropped.delete(key)
  }
}

function keyOf({ blockHash, logIndex }: RawLog): string {
  return `${blockHash}:${logIndex}`
}

function later(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

function earlier(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}
