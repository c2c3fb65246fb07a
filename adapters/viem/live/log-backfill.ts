import type { Client as HexlineClient } from '../../../src/client/client.ts'
import { clockOf, napOf } from '../../../src/client/internals.ts'
import { IntegrityError } from '../../../src/errors.ts'
import { numberOf, type RawLog } from './delivered-logs.ts'
import { type RawFilter, type SyncedBlocks, SyncedLogs } from './synced-logs.ts'

/** Notifications that wait while missed logs are fetched. More are fetched, too. */
const MOST_HELD = 10_000
/**
 * Missed logs are fetched twice, those of the last blocks at least. The first time, a node may have
 * answered that lags behind the one with the subscription, or is on another branch.
 */
const FILLS = 2
const LAST_BLOCKS = 16
/** Attempts each time, while the chain is replaced or nodes disagree. */
const ATTEMPTS = 4
/** Failed ones in a row after which a node is believed that has a block without its logs. */
const MOST_DISAGREED = 20
/** How long after one of them the next one is made, in ms. */
const PAUSE_MS = 250
/** How long after the first time the second one is, in ms. It doubles after each failure. */
const AGAIN_MS = 1000
const LONGEST_MS = 60_000
/**
 * What cannot be fetched is given up where both this many blocks and this many logs have followed.
 * Until then, all logs after it are kept, so that none comes twice.
 */
const MOST_BLOCKS_AFTER = 256
const MOST_LOGS_AFTER = 10_000

/** Who fetches missed logs again. */
export interface BackfillOptions {
  /** The owner: by `refill`, until `isSettled`. What was held is fetched, too. Default: false. */
  readonly refetches?: boolean
  /** How long after the first time, in ms. */
  readonly againMs?: number
}

/** The logs of a subscription, with those that it has missed: each once, unless it was removed. */
export class LogBackfill {
  readonly #client: HexlineClient
  readonly #logs: SyncedLogs
  readonly #deliver: (log: unknown) => void
  readonly #onError: (error: unknown) => void
  readonly #refetches: boolean
  readonly #stopping = new AbortController()
  /** How often missed logs are still to be fetched. */
  #fillsLeft = 0
  /** The block at which what is missing may be given up. */
  #giveUpAt = 0
  /** A block that a node has, up to which logs may be missing. */
  #least = 0
  /** Notifications that came while missed logs are being fetched; undefined while they are not. */
  #held: RawLog[] | undefined
  /** More has been missed since they are being fetched. */
  #isMissing = false
  #filling = Promise.resolve()
  /** How long until they are fetched again, in ms: after a success, and after a failure. */
  readonly #firstAgainMs: number
  #againMs: number
  #isAgainDue = false
  /** What is missing is fetched again by the next poll. */
  #isPolled = false
  /** How often in a row nodes have disagreed, or the chain was replaced. */
  #disagreed = 0

  constructor(
    client: HexlineClient,
    filter: RawFilter,
    deliver: (log: unknown) => void,
    onError: (error: unknown) => void,
    { refetches = false, againMs = AGAIN_MS }: BackfillOptions = {},
  ) {
    const { signal } = this.#stopping
    this.#client = client.with({ signal })
    this.#deliver = (log) => {
      // The subscriber may stop it at one of several logs.
      if (!signal.aborted) deliver(log)
    }
    this.#logs = new SyncedLogs(this.#client, filter, this.#deliver, signal)
    this.#onError = onError
    this.#refetches = refetches
    this.#firstAgainMs = againMs
    this.#againMs = againMs
  }

  /** Before the subscription, which covers the blocks from here on. */
  async start(): Promise<void> {
    this.startAt(Number(await this.#client.call('eth_blockNumber')) + 1)
  }

  /** The first block whose logs are to be delivered, where it is known. */
  startAt(number: number): void {
    this.#logs.startAt(number)
  }

  notified(log: unknown): void {
    if (this.#held === undefined) this.#take(log as RawLog)
    else if (this.#held.push(log as RawLog) > MOST_HELD) this.#fetchHeld(this.#held)
  }

  /**
   * Logs may have been missed, at least up to the block `least`: they are delivered before what
   * comes now. Resolves once that is done, or has failed.
   */
  fill(least = 0): Promise<void> {
    this.#isPolled = false
    this.missed(least)
    return this.refill()
  }

  /** The same where others follow soon: the next one fetches the logs of the last blocks again. */
  poll(): Promise<void> {
    const filling = this.fill()
    this.#isPolled = true
    return filling
  }

  /** The same, if they are fetched later. */
  missed(least = 0): void {
    this.#least = Math.max(this.#least, least)
    this.#unsettle(FILLS)
    if (this.#held !== undefined) this.#fetchHeld(this.#held)
  }

  /** Whether nothing is missing, as far as is known. */
  get isSettled(): boolean {
    return this.#fillsLeft === 0
  }

  /** Fetches what was missed, once more. */
  refill(): Promise<void> {
    if (this.#held === undefined) this.#filling = this.#fill()
    return this.#filling
  }

  /** What was missed will never come. */
  giveUp(): void {
    this.#fillsLeft = 0
    this.#logs.isMixed = false
  }

  stop(): void {
    this.#stopping.abort(new Error('unsubscribed'))
  }

  async #fill(): Promise<void> {
    const held: RawLog[] = []
    this.#held = held
    try {
      await this.#catchUp(held)
      this.#againMs = this.#firstAgainMs
      this.#disagreed = 0
    } catch (error) {
      if (this.#refetches) held.length = 0
      if (!this.#isStopped) this.#onError(error)
    } finally {
      this.#held = undefined
      if (!this.#isStopped) for (const log of held) this.#take(log)
      // Another gap came before it failed. After failed polls, the next poll fills it.
      if (this.#isMissing && !this.#refetches && !this.#isPolled && !this.#isStopped) void this.refill()
      else this.#fillLater()
    }
  }

  async #catchUp(held: RawLog[]): Promise<void> {
    for (let attemptsLeft = ATTEMPTS; attemptsLeft > 0; attemptsLeft--) {
      try {
        let blocks: SyncedBlocks
        do {
          this.#isMissing = false
          blocks = await this.#logs.sync(this.#least, this.#disagreed >= MOST_DISAGREED)
          // What came after another gap is not delivered before what was missed in it.
        } while (this.#isMissing)
        if (this.#takeHeld(held, blocks)) return this.#filled(blocks.to)
        this.#logs.isMixed = true
      } catch (error) {
        if (!(error instanceof IntegrityError)) throw error
        this.#disagreed++
        if (attemptsLeft === 1) throw error
      }
      await this.#pause(PAUSE_MS)
    }
  }

  /** The logs up to the block `to` are those that a node has. */
  #filled(to: number): void {
    if (!this.#logs.isMixed && !this.isSettled) this.#fillsLeft--
    if (this.isSettled) this.#least = 0
    else this.#logs.recheckFrom(to - LAST_BLOCKS + 1)
  }

  /**
   * Takes what was notified while the logs of these blocks were fetched. One of them that was not
   * fetched is of another branch. It is the new branch if a log that is known was removed before.
   * Otherwise the branch may be older or newer: the log is left out, and the result is false. The
   * blocks are to be fetched again then.
   */
  #takeHeld(held: RawLog[], { from, to }: SyncedBlocks): boolean {
    /** The last of the blocks that is not known to be replaced. */
    let last = to
    let isAgreed = true
    for (const log of held.splice(0)) {
      const number = numberOf(log) ?? Number.POSITIVE_INFINITY
      const isKnown = this.#logs.has(log)
      if (log.removed === true && isKnown) last = Math.min(last, number - 1)
      if (log.removed !== true && !isKnown && number >= from && number <= last) isAgreed = false
      else this.#take(log)
    }
    return isAgreed
  }

  /** Blocks may have been replaced since these were notified: their logs are fetched instead. */
  #fetchHeld(held: RawLog[]): void {
    for (const log of held.splice(0)) if (log.removed !== true) this.#least = Math.max(this.#least, numberOf(log) ?? 0)
    this.#isMissing = true
  }

  #take(log: RawLog): void {
    const number = numberOf(log)
    if (number === undefined) this.#deliver(log)
    else if (log.removed === true) this.#logs.remove(log)
    else this.#add(log, number)
  }

  #add(log: RawLog, number: number): void {
    this.#logs.add(log)
    if (this.#logs.isMixed && this.isSettled) {
      this.#unsettle(1)
      if (this.#held === undefined) this.#fillLater()
    }
    if (number >= this.#giveUpAt && this.#logs.size > MOST_LOGS_AFTER) this.giveUp()
    if (this.isSettled) this.#logs.advance(number)
  }

  #unsettle(fills: number): void {
    if (this.isSettled) this.#giveUpAt = this.#logs.newest + MOST_BLOCKS_AFTER
    this.#fillsLeft = Math.max(this.#fillsLeft, fills)
  }

  #fillLater(): void {
    if (this.isSettled || this.#refetches || this.#isPolled || this.#isAgainDue || this.#isStopped) return
    this.#isAgainDue = true
    const again = () => {
      this.#isAgainDue = false
      if (!this.isSettled) void this.refill()
    }
    // Rejects when it is stopped, or the client is closed.
    this.#pause(this.#againMs).then(again, () => {})
    this.#againMs = Math.min(LONGEST_MS, 2 * this.#againMs)
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }

  #pause(ms: number): Promise<void> {
    return napOf(this.#client)('eth_getLogs', clockOf(this.#client).now() + ms, this.#stopping.signal).over
  }
}
