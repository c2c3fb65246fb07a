import type { EventFilter, JsonRpcProvider, LogParams } from 'ethers'
import { isRound } from '../../../src/bulk/logs/range-limits.ts'
import { isTooLong } from '../format/ethers-error.ts'
import { OnBlockSubscriber } from './on-block-subscriber.ts'

/**
 * A subscription to logs: ethers' filter as it was at the time of subscribing, and how to emit a
 * log.
 */
export interface Events {
  readonly filter: EventFilter
  emit(log: LogParams): void
}

export function eventsOf(provider: JsonRpcProvider, event: EventFilter): Events {
  const filter = JSON.parse(JSON.stringify(event)) as EventFilter
  return {
    filter,
    emit(log) {
      void provider.emit(filter as never, provider._wrapLog(log, provider._network))
    },
  }
}

/**
 * Requests the logs of a range of blocks with `eth_getLogs`. A range that is too long for the node,
 * as after an outage, is halved; so is one whose logs the node may have cut without saying so.
 */
export async function logsOf(provider: JsonRpcProvider, filter: EventFilter, from: number, to: number): Promise<LogParams[]> {
  if (from > to) return []
  try {
    const [logs] = await Promise.all([
      provider.send('eth_getLogs', [{ ...filter, fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }]),
      // The network must be known before a log is wrapped.
      provider.getNetwork(),
    ])
    if (from === to || !isRound(logs.length)) return logs
  } catch (error) {
    if (from === to || !isTooLong(error)) throw error
  }
  const middle = Math.floor((from + to) / 2)
  const first = await logsOf(provider, filter, from, middle)
  return first.concat(await logsOf(provider, filter, middle + 1, to))
}

/**
 * The last block that has any of these logs; -1 if there are none. They may be too many for
 * arguments.
 */
export function lastBlockOf(logs: readonly LogParams[]): number {
  return logs.reduce((last, { blockNumber }) => Math.max(last, Number(blockNumber)), -1)
}

/**
 * Nodes of fast chains may know a block before its logs. While there are none, this many recent
 * blocks are requested again.
 */
export const WINDOW = 60

/**
 * Requests the logs of new blocks. Those of a block for which that fails are requested again with
 * the next one.
 */
export class LogSubscriber extends OnBlockSubscriber {
  readonly #events: Events
  /** The last block whose logs were emitted; undefined before the first. */
  #done: number | undefined
  /** Settles when the first block is known, or its request has failed. */
  #begun: Promise<void> | undefined

  constructor(provider: JsonRpcProvider, events: Events) {
    super(provider)
    this.#events = events
  }

  protected override begin(): void {
    const { round } = this
    this.#begun = this.provider.getBlockNumber().then(
      (head) => {
        if (round !== this.round) return
        if (this.#done === undefined) this.#done = head
        // A reply that came during the pause was dropped, and no further event announces its
        // blocks.
        else this.pollAt(head)
      },
      // The block subscriber makes the same request and reports the failure.
      () => {},
    )
  }

  protected override drop(): void {
    this.#done = undefined
  }

  protected override async poll(block: number): Promise<void> {
    const { round } = this
    // Blocks from before the subscription may be announced late.
    await this.#begun
    if (!this.isRunning || round !== this.round) return
    this.#done ??= block - 1
    const done = this.#done
    const logs = await logsOf(this.provider, this.#events.filter, done + 1, block)
    // Paused or stopped in the meantime.
    if (!this.isRunning || round !== this.round) return
    this.#done = Math.max(done, block - WINDOW, lastBlockOf(logs))
    for (const log of logs) this.#events.emit(log)
  }
}
