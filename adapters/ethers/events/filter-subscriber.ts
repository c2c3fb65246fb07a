import { isError, type JsonRpcProvider, type LogParams } from 'ethers'
import { RpcError } from '../../../src/errors.ts'
import { isFilterGone, namesFilter } from '../../filter-gone.ts'
import { keyOf, type RawLog } from '../../raw-log.ts'
import { type Events, eventsOf, LogSubscriber, logsOf, WINDOW } from './log-subscriber.ts'
import { OnBlockSubscriber } from './on-block-subscriber.ts'
import { report } from './report.ts'

/**
 * Lost logs are requested again until the chain is this many blocks longer: the node that answered
 * first may have been behind the one that has the filter.
 */
const MOST_LAG = 3

/** What to subscribe to, and how to emit it. */
interface Filter {
  /** The method that installs the filter, and its params. */
  readonly make: readonly [method: string, params: unknown[]]
  emit(change: unknown): void
  /** For logs: how to request them without a filter. */
  readonly events?: Events
}

/** Logs that were lost with the filter, or with the reply to a poll. */
interface Missed {
  /** Their first block. */
  readonly from: number
  /** The block at which they are requested for the last time; undefined before the first time. */
  readonly until: number | undefined
}

/**
 * Subscribes through a filter of the node, polled at each block, as ethers' own subscriber does.
 * After a failure, the next block tries again, and requests the logs since the last poll. If the
 * node has dropped the filter, it is installed again.
 */
export class FilterSubscriber extends OnBlockSubscriber<undefined> {
  readonly #filter: Filter
  /** The id of the filter, while it is installed or being installed. */
  #id: Promise<unknown> | undefined
  /** Changes that arrived while paused. */
  #unread: unknown[] = []
  /** The first block of the subscription; undefined while the node's head is not known. */
  #first: number | undefined
  /** The last block whose changes were read. */
  #done: number | undefined
  /** Undefined while no logs are missing. */
  #missed: Missed | undefined
  /**
   * The blocks of logs that came, by key, for recent blocks. Logs that were requested in place of
   * lost ones may come again from the filter, and the other way round.
   */
  readonly #came = new Map<string, { readonly number: number; readonly isRemoved: boolean }>()

  static ofEvent(provider: JsonRpcProvider, event: Events['filter']): FilterSubscriber {
    const events = eventsOf(provider, event)
    return new FilterSubscriber(provider, { make: ['eth_newFilter', [events.filter]], emit: (log) => events.emit(log as LogParams), events })
  }

  static ofPending(provider: JsonRpcProvider): FilterSubscriber {
    return new FilterSubscriber(provider, { make: ['eth_newPendingTransactionFilter', []], emit: (hash) => void provider.emit('pending', hash) })
  }

  constructor(provider: JsonRpcProvider, filter: Filter) {
    super(provider)
    this.#filter = filter
  }

  protected override begin(): void {
    this.pollAt(undefined)
  }

  protected override drop(): void {
    this.#unread = []
    this.#first = undefined
    this.#done = undefined
    this.#missed = undefined
    this.#came.clear()
    const id = this.#id
    this.#id = undefined
    id?.then((known) => this.provider.destroyed || this.provider.send('eth_uninstallFilter', [known])).catch(() => {})
  }

  protected override async poll(block: number | undefined): Promise<void> {
    const { provider } = this
    const { make, events } = this.#filter
    // The filter that is made now has no logs of this block.
    if (this.#id === undefined && block !== undefined) {
      this.#done ??= block - 1
      this.#miss(block)
    }
    this.#id ??= Promise.all([provider.send(...make), provider.getNetwork()]).then(([made]) => made)
    const id = this.#id
    const asked = block === undefined ? provider.getBlockNumber().catch(() => undefined) : Promise.resolve(block)
    let isMade = false
    let newest = block
    try {
      // Block events count from a head requested in this turn. The filter is read after that head
      // is known, so that no block falls in between.
      const [known, head] = await Promise.all([id, asked])
      isMade = true
      // At the end of a pause, a node that is behind may name the head.
      newest = block ?? (head === undefined ? undefined : Math.max(head, this.#done ?? head))
      if (newest !== undefined) this.#first ??= block ?? newest + 1
      if (this.#missed !== undefined && events !== undefined) {
        // The next block tries again.
        if (newest === undefined) return
        // Before the filter is read: it may be lost again.
        await this.#takeMissed(events, this.#missed, newest)
        if (this.#id !== id) return
      }
      const changes = (await provider.send('eth_getFilterChanges', [known])) as unknown[]
      // Stopped in the meantime. A new start polls its own filter.
      if (this.#id !== id) return
      this.#take(changes, newest)
    } catch (error) {
      const head = await asked
      if (provider.destroyed || this.#id !== id) return
      // Where no filter could be made, the logs of all blocks after this one are missing.
      if (block === undefined) this.#done ??= head
      if (events !== undefined && isError(error, 'UNSUPPORTED_OPERATION') && error.operation === make[0]) {
        provider._recoverSubscriber(this, new LogSubscriber(provider, events))
        return
      }
      if (!isMade || isLost(error)) this.#id = undefined
      // The node may have sent changes that never came.
      if (isMade) this.#miss(newest)
      report(provider, error)
    }
    if (!this.isRunning) return
    for (const change of this.#unread.splice(0)) this.#filter.emit(change)
  }

  /** Requests the logs that were lost, at a head of `newest`, and takes them. */
  async #takeMissed({ filter }: Events, { from, until }: Missed, newest: number): Promise<void> {
    const { provider } = this
    const id = this.#id
    // The head once the filter is installed: its first block may be later than the one that was
    // announced.
    const last = Math.max(newest, Number(await provider.send('eth_blockNumber', [])))
    const missed = await logsOf(provider, filter, this.#lookBack(from), last)
    if (this.#id !== id) return
    const end = until ?? last + MOST_LAG
    this.#missed = newest < end ? { from: Math.max(from, last + 1 - WINDOW), until: end } : undefined
    this.#take(missed, newest, true)
  }

  /** Takes the new ones of changes that came at a head of `newest`, or of blocks after it. */
  #take(changes: readonly unknown[], newest: number | undefined, areRequested = false): void {
    const fresh = this.#filter.events === undefined ? changes : changes.filter((change) => this.#isNew(change as RawLog, areRequested))
    this.#unread = [...this.#unread, ...fresh]
    this.#done = newest ?? this.#done
    // Lost logs are requested from two windows below the head at most, except after an outage.
    const oldest = (this.#done ?? 0) - 3 * WINDOW
    for (const [key, { number }] of this.#came) {
      if (number >= oldest) break
      this.#came.delete(key)
    }
  }

  /** Only the filter can tell that a block has come back which it said was removed. */
  #isNew(log: RawLog, isRequested: boolean): boolean {
    const { blockNumber, removed } = log
    const key = keyOf(log)
    const known = this.#came.get(key)
    const isRemoved = removed === true
    if (!isRemoved && known !== undefined && (isRequested || !known.isRemoved)) return false
    this.#came.set(key, { number: Number(blockNumber), isRemoved })
    return true
  }

  /**
   * Where to request lost logs from. Blocks whose logs came may have been replaced meanwhile, so
   * they are requested, too, but none from before the subscription.
   */
  #lookBack(missedFrom: number): number {
    return Math.min(missedFrom, Math.max(this.#first ?? missedFrom, missedFrom - WINDOW))
  }

  /**
   * Notes that logs were lost, at a head of `newest`. A node that comes back with a shorter chain
   * has new blocks from there on.
   */
  #miss(newest: number | undefined): void {
    const done = this.#done ?? newest
    const next = this.#missed?.from ?? (done === undefined ? undefined : done + 1)
    const from = next !== undefined && newest !== undefined && newest + 1 < next ? newest : next
    this.#missed = from === undefined ? undefined : { from, until: undefined }
  }
}

function isLost(error: unknown): boolean {
  const { cause } = error as Error
  if (cause instanceof RpcError) return isFilterGone(cause)
  // A subclass may send calls itself.
  return isError(error, 'UNKNOWN_ERROR') && namesFilter(String((error.error as { message?: string } | undefined)?.message))
}
