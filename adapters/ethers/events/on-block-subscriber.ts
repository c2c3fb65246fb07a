import type { JsonRpcProvider, Subscriber } from 'ethers'
import { oneAtATime } from './one-at-a-time.ts'
import { report } from './report.ts'

/**
 * A subscriber that polls at each new block while it runs, one poll at a time. A poll that fails is
 * reported to the listeners of `error`. `First` is what a poll gets in place of a block's number
 * when it begins without one.
 */
export abstract class OnBlockSubscriber<First = never> implements Subscriber {
  protected readonly provider: JsonRpcProvider
  /** Started, and not paused. */
  protected isRunning = false
  /** Incremented whenever everything is dropped. */
  protected round = 0
  /** The timer of `repeatLater`. */
  #repetition = 0
  /** Polls now, or once the current poll has ended. */
  protected readonly pollAt = oneAtATime((block: number | First) => this.#poll(block))
  readonly #onBlock = (block: number) => this.pollAt(block)

  constructor(provider: JsonRpcProvider) {
    this.provider = provider
  }

  /** Called at the start, and when a pause ends. */
  protected abstract begin(): void
  /** Forgets how far it is, and what it has not emitted. */
  protected abstract drop(): void
  protected abstract poll(block: number | First): Promise<void>

  start(): void {
    // Before the first poll, so that no block falls between the two.
    void this.provider.on('block', this.#onBlock)
    this.resume()
  }

  stop(): void {
    void this.provider.off('block', this.#onBlock)
    this.pause(true)
  }

  pause(dropWhilePaused?: boolean): void {
    this.isRunning = false
    this.provider._clearTimeout(this.#repetition)
    if (!dropWhilePaused) return
    this.round++
    this.drop()
  }

  resume(): void {
    if (this.isRunning) return
    this.isRunning = true
    this.begin()
  }

  async #poll(block: number | First): Promise<void> {
    if (!this.isRunning) return
    this.provider._clearTimeout(this.#repetition)
    try {
      await this.poll(block)
    } catch (error) {
      report(this.provider, error)
    }
  }

  /** Polls again after the polling interval, unless a new block comes first. */
  protected repeatLater(block: number | First): void {
    if (!this.isRunning) return
    this.provider._clearTimeout(this.#repetition)
    this.#repetition = this.provider._setTimeout(() => this.pollAt(block), this.provider.pollingInterval)
  }
}
