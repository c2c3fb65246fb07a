import type { JsonRpcProvider, Subscriber } from 'ethers'

/**
 * Polls the block number every `pollingInterval` ms, as ethers' own subscriber does. Reports
 * failures to the listeners of `error`.
 */
export class BlockSubscriber implements Subscriber {
  /** In ms. ethers sets it when the provider's own interval changes. */
  pollingInterval: number
  readonly #provider: JsonRpcProvider
  /** The last block that was emitted; at first the head, after which new blocks are emitted. */
  #last: number | undefined
  /** Identifies the polls since the last start; undefined while stopped. */
  #run: object | undefined
  #timer = 0

  constructor(provider: JsonRpcProvider) {
    this.#provider = provider
    this.pollingInterval = provider.pollingInterval
  }

  start(): void {
    // A listener may be added in the turn in which the provider was destroyed.
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
