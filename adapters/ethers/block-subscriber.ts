import type { JsonRpcProvider, Subscriber } from 'ethers'

/** Asks for the block number every `pollingInterval` ms, as ethers' own subscriber does. A failure is reported to the listeners of `error`. */
export class BlockSubscriber implements Subscriber {
  /** In ms. ethers sets it when the provider's changes. */
  pollingInterval: number
  readonly #provider: JsonRpcProvider
  /** The last block that was emitted; at first the head, from which new blocks are counted. */
  #last: number | undefined
  /** Marks the polls since the last start; undefined while stopped. */
  #run: object | undefined
  #timer = 0

  constructor(provider: JsonRpcProvider) {
    this.#provider = provider
    this.pollingInterval = provider.pollingInterval
  }

  start(): void {
    // Added in the turn in which the provider ended.
    if (this.#run !== undefined || this.#provider.destroyed) return
    this.#run = {}
    void this.#poll(this.#run)
  }

  stop(): void {
    this.#run = undefined
    this.#provider._clearTimeout(this.#timer)
  }

  pause(dropWhilePaused?: boolean): void {
    this.stop()
    if (dropWhilePaused) this.#last = undefined
  }

  resume(): void {
    this.start()
  }

  async #poll(run: object): Promise<void> {
    const provider = this.#provider
    try {
      const head = await provider.getBlockNumber()
      if (run === this.#run) this.#last = Math.min(this.#last ?? head, head)
      while (run === this.#run && this.#last !== undefined && this.#last < head) await provider.emit('block', ++this.#last)
    } catch (error) {
      if (run === this.#run) void provider.emit('error', error)
    }
    if (run === this.#run) this.#timer = provider._setTimeout(() => void this.#poll(run), this.pollingInterval)
  }
}
