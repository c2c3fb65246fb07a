import type { Client as HexlineClient } from '../../../src/client/client.ts'
import { readHeader } from '../../block-header.ts'
import { RecentBlocks } from '../../recent-blocks.ts'
import { caughtUp } from './caught-up.ts'
import { type Head, headerAt, readHead } from './header-at.ts'

/** Missed blocks that are requested at a time. */
const AT_A_TIME = 32
/** Attempts to fetch missed blocks while the chain is replaced. The last one takes what comes. */
const ATTEMPTS = 4
/** Notifications that wait while missed blocks are fetched. More are fetched, too. */
const MOST_HELD = 1_000

/** Missed heads are being fetched. */
interface Fill {
  /** Notifications that have come since then. */
  readonly held: unknown[]
  /** More has been missed since then. */
  isOutdated: boolean
}

/**
 * The heads of a subscription, with those that it has missed: each once, in the order of the chain.
 * A head without its parent shows that others are missing, also where no socket was lost. After a
 * reorganisation, the heads of the new blocks follow from the first one that differs.
 */
export class HeadBackfill {
  readonly #client: HexlineClient
  readonly #deliver: (head: unknown) => void
  readonly #onError: (error: unknown) => void
  readonly #stopping = new AbortController()
  readonly #blocks = new RecentBlocks()
  /** Undefined while no missed heads are being fetched. */
  #fill: Fill | undefined
  /** A block that was announced: the chain goes on at least up to it. */
  #told = 0

  constructor(client: HexlineClient, deliver: (head: unknown) => void, onError: (error: unknown) => void) {
    this.#client = client.with({ signal: this.#stopping.signal })
    this.#deliver = deliver
    this.#onError = onError
  }

  /** Before the subscription, which covers the blocks after this one. */
  async start(): Promise<void> {
    const { number, hash } = await headerAt(this.#client, 'latest')
    this.#blocks.add(number, hash)
  }

  notified(raw: unknown): void {
    const fill = this.#fill
    if (fill === undefined) {
      if (!this.#place(raw)) void this.#run([raw])
    } else if (fill.held.length < MOST_HELD) fill.held.push(raw)
    else fill.isOutdated = true
  }

  /** Something may have been missed: it is delivered before what comes now. */
  fill(): void {
    const fill = this.#fill
    if (fill === undefined) return void this.#run([])
    fill.isOutdated = true
    // What was announced before is fetched, too, unless it was replaced.
    dropFirst(fill.held, fill.held.length)
  }

  stop(): void {
    this.#stopping.abort(new Error('unsubscribed'))
  }

  async #run(held: unknown[]): Promise<void> {
    const fill: Fill = { held, isOutdated: false }
    this.#fill = fill
    try {
      let attemptsLeft = ATTEMPTS
      do {
        fill.isOutdated = false
        if (!(await this.#fetch(attemptsLeft > 1))) {
          attemptsLeft--
          fill.isOutdated = true
        }
        this.#dropOld(held)
        while (held.length > 0 && !fill.isOutdated) {
          // One that still has no place was replaced, unless the chain has grown up to it.
          if (!this.#place(held[0]) && this.#told > (this.#blocks.last?.number ?? 0)) fill.isOutdated = true
          else held.shift()
        }
      } while (fill.isOutdated)
    } catch (error) {
      // The next notification shows that heads are missing.
      if (!this.#stopping.signal.aborted) this.#onError(error)
    } finally {
      this.#fill = undefined
      this.#told = 0
    }
  }

  /**
   * Delivers the heads of all blocks that are new. If `isChecked`, stops at a head whose parent is
   * not the block before it, and returns false: the chain was replaced meanwhile.
   */
  async #fetch(isChecked: boolean): Promise<boolean> {
    const latest = await caughtUp(
      this.#client,
      this.#blocks.last?.number ?? 0,
      async () => (await headerAt(this.#client, 'latest')).number,
      this.#stopping.signal,
    )
    const kept = await this.#blocks.newestKept(async (number) => (number > latest ? undefined : (await headerAt(this.#client, number)).hash))
    // Another endpoint may have more.
    const to = Math.max(latest, this.#told)
    for (let from = kept + 1; from <= to; from += AT_A_TIME) {
      const count = Math.min(AT_A_TIME, to - from + 1)
      for (const head of await Promise.all(Array.from({ length: count }, (_, i) => headerAt(this.#client, from + i)))) {
        if (isChecked && this.#blocks.hasOther(head.number - 1, head.parentHash)) return false
        this.#pass(head)
      }
    }
    return true
  }

  /**
   * Drops the heads that were announced before one that is known by now: those that are not known
   * were replaced since, and would come after what has replaced them.
   */
  #dropOld(held: unknown[]): void {
    const known = held.findLastIndex((raw) => {
      const head = readHeader(raw)
      return head !== undefined && this.#blocks.has(head.number, head.hash)
    })
    dropFirst(held, known + 1)
  }

  /** Delivers a head that is known or follows one that is. False for any other, which is not. */
  #place(raw: unknown): boolean {
    const head = readHead(raw)
    if (head === undefined) {
      this.#deliver(raw)
      return true
    }
    const { number, hash, parentHash } = head
    if (this.#blocks.has(number, hash)) return true
    if (this.#blocks.has(number - 1, parentHash)) {
      this.#pass(head)
      return true
    }
    this.#told = number
    return false
  }

  #pass({ number, hash, raw }: Head): void {
    if (this.#stopping.signal.aborted || this.#blocks.has(number, hash)) return
    this.#blocks.add(number, hash)
    this.#deliver(raw)
  }
}

/** Drops the first heads. What is no head is passed on as it is. */
function dropFirst(held: unknown[], count: number): void {
  held.unshift(...held.splice(0, count).filter((raw) => readHeader(raw) === undefined))
}
