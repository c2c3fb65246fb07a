import type { Client as HexlineClient } from '../../../src/client/client.ts'
import { clockOf, napOf } from '../../../src/client/internals.ts'
import { IntegrityError } from '../../../src/errors.ts'
import { numberOf, type RawLog } from '../../raw-log.ts'
import { Gap } from './gap.ts'
import { RefillTimer } from './refill-timer.ts'
import { type RawFilter, type SyncedBlocks, SyncedLogs } from './synced-logs.ts'

/** Notifications that wait while missed logs are fetched. More are fetched, too. */
const MOST_HELD = 10_000
/** The blocks at the end whose logs are fetched again. */
const LAST_BLOCKS = 16
/** Attempts of a fill, while the chain is replaced or nodes disagree. */
const ATTEMPTS = 4
/** Failed ones in a row after which a node is believed that has a block without its logs. */
const MOST_DISAGREED = 20
/** How long after one of them the next one is made, in ms. */
const PAUSE_MS = 250

/**
 * What has missed logs fetched again: a timer; the next `poll`; or the owner, by `refill` until
 * `isSettled`. What an owner's fill held when it fails is fetched, too.
 */
export type RefillBy = 'timer' | 'poll' | 'owner'

/** A fill that is under way. */
interface Fill {
  /** Notifications that have come since it began. */
  readonly held: RawLog[]
  /** More has been missed since then. */
  isOutdated: boolean
}

/** The logs of a subscription, with those that it has missed: each once, unless it was removed. */
export class LogBackfill {
  readonly #client: HexlineClient
  readonly #logs: SyncedLogs
  readonly #deliver: (log: unknown) => void
  readonly #onError: (error: unknown) => void
  readonly #stopping = new AbortController()
  readonly #gap = new Gap()
  readonly #timer: RefillTimer
  #refillBy: RefillBy
  /** Undefined while nothing is being fetched. */
  #fill: Fill | undefined
  /** Settles when the last fill has ended. */
  #filling = Promise.resolve()
  /** How often in a row nodes have disagreed, or the chain was replaced. */
  #disagreed = 0

  constructor(
    client: HexlineClient,
    filter: RawFilter,
    deliver: (log: unknown) => void,
    onError: (error: unknown) => void,
    refillBy: Exclude<RefillBy, 'poll'> = 'timer',
  ) {
    const { signal } = this.#stopping
    this.#client = client.with({ signal })
    this.#deliver = (log) => {
      // The subscriber may stop it at one of several logs.
      if (!signal.aborted) deliver(log)
    }
    this.#logs = new SyncedLogs(this.#client, filter, this.#deliver, signal)
    this.#onError = onError
    this.#refillBy = refillBy
    this.#timer = new RefillTimer(this.#client, signal, () => {
      if (!this.isSettled) void this.refill()
    })
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
    if (this.#fill === undefined) this.#take(log as RawLog)
    else if (this.#fill.held.push(log as RawLog) > MOST_HELD) this.#fetchHeld(this.#fill)
  }

  /**
   * Logs may have been missed, at least up to the block `least`: they are delivered before what
   * comes now. Resolves once that is done, or has failed.
   */
  fill(least = 0): Promise<void> {
    if (this.#refillBy === 'poll') this.#refillBy = 'timer'
    this.missed(least)
    return this.refill()
  }

  /** The same where others follow soon: the next one fetches the logs of the last blocks again. */
  poll(): Promise<void> {
    const filling = this.fill()
    this.#refillBy = 'poll'
    return filling
  }

  /** The same, if they are fetched later. */
  missed(least = 0): void {
    this.#gap.reach(least)
    this.#gap.open(this.#logs.newest)
    if (this.#fill !== undefined) this.#fetchHeld(this.#fill)
  }

  /** Whether nothing is missing, as far as is known. */
  get isSettled(): boolean {
    return this.#gap.isClosed
  }

  /** Fetches what was missed, once more. */
  refill(): Promise<void> {
    if (this.#fill === undefined) this.#filling = this.#run()
    return this.#filling
  }

  /** What was missed will never come. */
  giveUp(): void {
    this.#gap.giveUp()
    this.#logs.isMixed = false
  }

  stop(): void {
    this.#stopping.abort(new Error('unsubscribed'))
  }

  async #run(): Promise<void> {
    const fill: Fill = { held: [], isOutdated: false }
    this.#fill = fill
    try {
      await this.#catchUp(fill)
      this.#timer.succeeded()
      this.#disagreed = 0
    } catch (error) {
      if (this.#refillBy === 'owner') fill.held.length = 0
      if (!this.#isStopped) this.#onError(error)
    } finally {
      this.#fill = undefined
      if (!this.#isStopped) {
        for (const log of fill.held) this.#take(log)
        // Another gap came before it failed. After failed polls, the next poll fills it.
        if (fill.isOutdated && this.#refillBy === 'timer') void this.refill()
        else this.#refillLater()
      }
    }
  }

  async #catchUp(fill: Fill): Promise<void> {
    for (let attemptsLeft = ATTEMPTS; attemptsLeft > 0; attemptsLeft--) {
      try {
        let blocks: SyncedBlocks
        do {
          fill.isOutdated = false
          blocks = await this.#logs.sync(this.#gap.least, this.#disagreed >= MOST_DISAGREED)
          // What came after another gap is not delivered before what was missed in it.
        } while (fill.isOutdated)
        if (this.#takeHeld(fill.held, blocks)) return this.#filled(blocks.to)
        this.#logs.isMixed = true
      } catch (error) {
        if (!(error instanceof IntegrityError)) throw error
        this.#disagreed++
        if (attemptsLeft === 1) throw error
      }
      await napOf(this.#client)('eth_getLogs', clockOf(this.#client).now() + PAUSE_MS, this.#stopping.signal).over
    }
  }

  /** The logs up to the block `to` are those that a node has. */
  #filled(to: number): void {
    if (!this.#logs.isMixed) this.#gap.filled()
    if (!this.isSettled) this.#logs.recheckFrom(to - LAST_BLOCKS + 1)
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
  #fetchHeld(fill: Fill): void {
    for (const log of fill.held.splice(0)) if (log.removed !== true) this.#gap.reach(numberOf(log) ?? 0)
    fill.isOutdated = true
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
      this.#gap.open(this.#logs.newest, 1)
      if (this.#fill === undefined) this.#refillLater()
    }
    if (this.#gap.isHopeless(number, this.#logs.size)) this.giveUp()
    if (this.isSettled) this.#logs.advance(number)
  }

  #refillLater(): void {
    if (!this.isSettled && this.#refillBy === 'timer') this.#timer.set()
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted
  }
}
