import { type EventFilter, isError, type LogParams, type Subscriber } from 'ethers'
import type { HexlineProvider } from './provider.ts'

/** What a subscriber to a filter asks for, and what it does with it. */
interface Filter {
  /** Method that makes the filter, and its params. */
  readonly make: readonly [method: string, params: unknown[]]
  emit(change: unknown): void
  /** In place of this one, for nodes without filters. */
  polling?(): Subscriber
}

/**
 * Listens by a filter of the node, which is asked for changes at each block, as ethers' own subscriber does. A failure is told to
 * the listeners of `error` and tried again at the next block; a filter that the node has forgotten is made again.
 */
export class FilterSubscriber implements Subscriber {
  readonly #provider: HexlineProvider
  readonly #filter: Filter
  #id: Promise<unknown> | undefined
  #isRunning = false
  readonly #onBlock = () => void this.#poll()

  static ofEvent(provider: HexlineProvider, event: EventFilter, polling: () => Subscriber): FilterSubscriber {
    // As it was when it was subscribed to.
    const filter = JSON.parse(JSON.stringify(event)) as EventFilter
    return new FilterSubscriber(provider, {
      make: ['eth_newFilter', [filter]],
      emit: (log) => void provider.emit(filter as never, provider._wrapLog(log as LogParams, provider._network)),
      polling,
    })
  }

  static ofPending(provider: HexlineProvider): FilterSubscriber {
    return new FilterSubscriber(provider, { make: ['eth_newPendingTransactionFilter', []], emit: (hash) => void provider.emit('pending', hash) })
  }

  constructor(provider: HexlineProvider, filter: Filter) {
    this.#provider = provider
    this.#filter = filter
  }

  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    void this.#poll()
  }

  stop(): void {
    this.pause(true)
  }

  pause(dropWhilePaused?: boolean): void {
    this.#isRunning = false
    void this.#provider.off('block', this.#onBlock)
    if (dropWhilePaused) this.#forget()
  }

  resume(): void {
    this.start()
  }

  async #poll(): Promise<void> {
    const provider = this.#provider
    const { make, emit, polling } = this.#filter
    try {
      this.#id ??= Promise.all([provider.send(...make), provider.getNetwork()]).then(([id]) => id)
      const changes = (await provider.send('eth_getFilterChanges', [await this.#id])) as unknown[]
      // Stopped in the meantime: nobody listens any more.
      if (this.#isRunning) for (const change of changes) emit(change)
    } catch (error) {
      if (provider.destroyed) return
      if (polling !== undefined && isError(error, 'UNSUPPORTED_OPERATION') && error.operation === make[0]) {
        provider._recoverSubscriber(this, polling())
        return
      }
      this.#id = undefined
      void provider.emit('error', error)
    }
    if (this.#isRunning) void provider.once('block', this.#onBlock)
  }

  #forget(): void {
    const id = this.#id
    this.#id = undefined
    id?.then((known) => this.#provider.destroyed || this.#provider.send('eth_uninstallFilter', [known])).catch(() => {})
  }
}
