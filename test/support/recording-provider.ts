import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { onTestFinished } from 'vitest'

/**
 * A provider that records its events other than `network`, and calls no listeners. It polls without
 * delay.
 */
export class RecordingProvider extends HexlineProvider {
  readonly emitted: (readonly unknown[])[] = []
  readonly #awaited: { count: number; resolve: () => void }[] = []

  constructor(url: string, options: HexlineProviderOptions = {}) {
    super(url, 1, { staticNetwork: true, cacheTimeout: -1, pollingInterval: 1, ...options })
    onTestFinished(() => this.destroy())
  }

  override async emit(...event: Parameters<HexlineProvider['emit']>): Promise<boolean> {
    if (event[0] === 'network') return false
    this.emitted.push(event)
    for (const { count, resolve } of this.#awaited) if (this.emitted.length >= count) resolve()
    return true
  }

  /** From now on it makes no block events: the function that it returns makes them. */
  blocksByHand(): (block: number) => void {
    let announce = (_: number) => {}
    this.on = async (_, listener) => {
      announce = listener
      return this
    }
    this.off = async () => this
    return (block) => announce(block)
  }

  /** Resolves once this many events have been emitted in all. */
  hasEmitted(count: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.emitted.length >= count) resolve()
      else this.#awaited.push({ count, resolve })
    })
  }
}
