import type { EventFilter, LogParams, Subscriber } from 'ethers'
import type { HexlineProvider } from './provider.ts'

/** What a subscription of events is for: ethers' filter, as it was when it was subscribed to. */
export interface Events {
  readonly filter: EventFilter
  emit(log: LogParams): void
}

export function eventsOf(provider: HexlineProvider, event: EventFilter): Events {
  const filter = JSON.parse(JSON.stringify(event)) as EventFilter
  return {
    filter,
    emit(log) {
      void provider.emit(filter as never, provider._wrapLog(log, provider._network))
    },
  }
}

/** The logs of blocks, by `eth_getLogs`. */
export async function logsOf(provider: HexlineProvider, filter: EventFilter, from: number, to: number): Promise<LogParams[]> {
  if (from > to) return []
  const [logs] = await Promise.all([
    provider.send('eth_getLogs', [{ ...filter, fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }]),
    // An event is wrapped for its network.
    provider.getNetwork(),
  ])
  return logs
}

/** Nodes of fast chains may know a block before its logs: as many blocks are asked for again and again while there are none. */
const WINDOW = 60

/** Listens by asking for the logs of new blocks. What failed is told to the listeners of `error`, and asked for again with the next block. */
export class LogSubscriber implements Subscriber {
  readonly #provider: HexlineProvider
  readonly #events: Events
  #isRunning = false
  #isPolling = false
  /** The last block whose logs are out; undefined before the first. */
  #done: number | undefined
  readonly #onBlock = (block: number) => void this.#poll(block)

  constructor(provider: HexlineProvider, events: Events) {
    this.#provider = provider
    this.#events = events
  }

  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    if (this.#done === undefined) {
      this.#provider.getBlockNumber().then(
        (head) => {
          this.#done ??= head
        },
        (error) => this.#tell(error),
      )
    }
    void this.#provider.on('block', this.#onBlock)
  }

  stop(): void {
    this.pause(true)
  }

  pause(dropWhilePaused?: boolean): void {
    this.#isRunning = false
    void this.#provider.off('block', this.#onBlock)
    if (dropWhilePaused) this.#done = undefined
  }

  resume(): void {
    this.start()
  }

  async #poll(block: number): Promise<void> {
    if (this.#isPolling || !this.#isRunning) return
    this.#isPolling = true
    this.#done ??= block - 1
    const from = this.#done + 1
    try {
      const logs = await logsOf(this.#provider, this.#events.filter, from, block)
      // Stopped, or begun anew, in the meantime.
      if (!this.#isRunning || this.#done !== from - 1) return
      this.#done = Math.max(this.#done, block - WINDOW, ...logs.map(({ blockNumber }) => Number(blockNumber)))
      for (const log of logs) this.#events.emit(log)
    } catch (error) {
      this.#tell(error)
    } finally {
      this.#isPolling = false
    }
  }

  #tell(error: unknown): void {
    if (!this.#provider.destroyed) void this.#provider.emit('error', error)
  }
}
