import { isError, type JsonRpcProvider, type LogParams } from 'ethers'
import { type Events, eventsOf, LogSubscriber, logsOf } from './log-subscriber.ts'
import { OnBlockSubscriber } from './on-block-subscriber.ts'

/** What to subscribe to, and how to emit it. */
interface Filter {
  /** The method that installs the filter, and its params. */
  readonly make: readonly [method: string, params: unknown[]]
  emit(change: unknown): void
  /** For logs: how to request them without a filter. */
  readonly events?: Events
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
  /** The last block whose changes were read. */
  #done: number | undefined
  /** The first block whose logs were lost with the filter, or with the reply to a poll. */
  #missedFrom: number | undefined
  /** Logs that were requested in place of lost ones: the filter may have them, too. */
  #recovered: readonly LogParams[] = []
  /** Logs of blocks after `#done`: if the filter is lost, these blocks are requested again. */
  #ahead: readonly unknown[] = []

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
    this.#done = undefined
    this.#missedFrom = undefined
    this.#recovered = []
    this.#ahead = []
    const id = this.#id
    this.#id = undefined
    id?.then((known) => this.provider.destroyed || this.provider.send('eth_uninstallFilter', [known])).catch(() => {})
  }

  protected override async poll(block: number | undefined): Promise<void> {
    const { provider } = this
    const { make, events } = this.#filter
    this.#id ??= Promise.all([provider.send(...make), provider.getNetwork()]).then(([made]) => made)
    const id = this.#id
    let isMade = false
    let newest = block
    try {
      // Block events count from a head requested in this turn. The filter is read after that head
      // is known, so that no block falls in between.
      const [known, head] = await Promise.all([id, block ?? provider.getBlockNumber().catch(() => undefined)])
      isMade = true
      newest = head
      if (this.#missedFrom !== undefined && block !== undefined && events !== undefined) {
        const missed = await this.#logsUntilNow(events, Math.min(this.#missedFrom, block), block)
        if (this.#id !== id) return
        // The filter may still have those of an earlier recovery, if it has not been read since.
        this.#recovered = [...this.#recovered, ...missed]
        this.#missedFrom = undefined
        // Before the filter is read: it may be lost again.
        this.#came(without(missed, this.#ahead), newest)
      }
      const changes = (await provider.send('eth_getFilterChanges', [known])) as unknown[]
      // Stopped in the meantime. A new start polls its own filter.
      if (this.#id !== id) return
      this.#came(without(changes, this.#recovered), newest)
      const done = this.#done ?? -1
      this.#recovered = this.#recovered.filter(({ blockNumber }) => Number(blockNumber) >= done)
    } catch (error) {
      if (provider.destroyed || this.#id !== id) return
      if (events !== undefined && isError(error, 'UNSUPPORTED_OPERATION') && error.operation === make[0]) {
        provider._recoverSubscriber(this, new LogSubscriber(provider, events))
        return
      }
      if (!isMade || isFilterGone(error)) this.#id = undefined
      // The node may have sent changes that never came.
      if (isMade) this.#missedFrom = this.#firstMissed(newest)
      void provider.emit('error', error)
    }
    if (!this.isRunning) return
    for (const change of this.#unread.splice(0)) this.#filter.emit(change)
  }

  /** These changes came at a head of `newest`, or of blocks after it. */
  #came(changes: readonly unknown[], newest: number | undefined): void {
    this.#unread = [...this.#unread, ...changes]
    this.#done = newest ?? this.#done
    const done = this.#done ?? -1
    this.#ahead = [...this.#ahead, ...changes].filter((change) => Number((change as { blockNumber?: unknown }).blockNumber) > done)
  }

  /**
   * The first block whose logs have not been read, at a head of `newest`. A node that comes back
   * with a shorter chain has new blocks from there on.
   */
  #firstMissed(newest: number | undefined): number | undefined {
    const done = this.#done ?? newest
    const next = this.#missedFrom ?? (done === undefined ? undefined : done + 1)
    return next !== undefined && newest !== undefined && newest + 1 < next ? newest : next
  }

  /**
   * The logs up to a head that is requested now, when the new filter is installed: it tells of none
   * before that, and its first block may be later than the one that was announced.
   */
  async #logsUntilNow({ filter }: Events, from: number, block: number): Promise<LogParams[]> {
    const head = Number(await this.provider.send('eth_blockNumber', []))
    return await logsOf(this.provider, filter, from, Math.max(block, head))
  }
}

/** These changes without the logs that are known, added or removed as they are here. */
function without<T>(changes: readonly T[], known: readonly unknown[]): T[] {
  if (known.length === 0) return [...changes]
  const keys = new Set(known.map(keyOf))
  return changes.filter((change) => !keys.has(keyOf(change)))
}

function keyOf(change: unknown): string {
  const { blockHash, logIndex, removed = false } = change as RawLog
  return `${blockHash}:${logIndex}:${removed}`
}

interface RawLog {
  readonly blockHash?: string
  readonly logIndex?: string
  readonly removed?: boolean
}

/** Such as "filter not found" or "filter with id: 0x1 does not exist". */
function isFilterGone(error: unknown): boolean {
  return isError(error, 'UNKNOWN_ERROR') && /filter/i.test(String((error.error as { message?: string } | undefined)?.message))
}
