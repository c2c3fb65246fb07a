import type { JsonRpcProvider, Subscriber } from 'ethers'
import type { Bell } from './bell.ts'

/**
 * With a bell that rings, the block number is polled after this long without a ring, in ms: a node
 * may forget a subscription and keep the socket.
 */
export const QUIET_MS = 30_000

/** How often a node is asked for the next block until the chain counts as shorter. */
const ATTEMPTS = 4

/** The polls since a start. */
interface Run {
  isPolling: boolean
  /** Rung since the poll began. */
  isRung: boolean
  /** The bell rings at new blocks. */
  isTold: boolean
  /** The block of the last ring. */
  told: number
  /** The lowest block that has been rung for since the head was last compared. */
  lowest: number
}

/**
 * Polls the block number every `pollingInterval` ms, as ethers' own subscriber does; with a bell,
 * whenever it rings. Reports failures to the listeners of `error`.
 */
export class BlockSubscriber implements Subscriber {
  /** In ms. ethers sets it when the provider's own interval changes. */
  pollingInterval: number
  readonly #provider: JsonRpcProvider
  readonly #bell: Bell | undefined
  #stopBell: (() => void) | undefined
  /** The last block that was emitted; at first the head, after which new blocks are emitted. */
  #last: number | undefined
  /** Undefined while stopped. */
  #run: Run | undefined
  #timer = 0

  constructor(provider: JsonRpcProvider, bell?: Bell) {
    this.#provider = provider
    this.#bell = bell
    this.pollingInterval = provider.pollingInterval
  }

  start(): void {
    // A listener may be added in the turn in which the provider was destroyed.
    if (this.#run !== undefined || this.#provider.destroyed) return
    const run = { isPolling: false, isRung: false, isTold: false, told: 0, lowest: Number.POSITIVE_INFINITY }
    this.#run = run
    void this.#poll(run)
    this.#stopBell = this.#bell?.({
      rung: (number) => this.#ring(run, number),
      silent: () => this.#fallSilent(run),
    })
  }

  stop(): void {
    this.#run = undefined
    this.#provider._clearTimeout(this.#timer)
    this.#stopBell?.()
    this.#stopBell = undefined
  }

  pause(dropWhilePaused?: boolean): void {
    this.stop()
    if (dropWhilePaused) this.#last = undefined
  }

  resume(): void {
    this.start()
  }

  #ring(run: Run, number: number | undefined): void {
    run.isTold = true
    run.told = number ?? run.told
    run.lowest = Math.min(run.lowest, number ?? Number.POSITIVE_INFINITY)
    if (run.isPolling) run.isRung = true
    else if (run === this.#run) {
      this.#provider._clearTimeout(this.#timer)
      void this.#poll(run)
    }
  }

  #fallSilent(run: Run): void {
    run.isTold = false
    if (!run.isPolling) this.#schedule(run)
  }

  async #poll(run: Run): Promise<void> {
    run.isPolling = true
    do {
      run.isRung = false
      await this.#emitNew(run)
    } while (run.isRung && run === this.#run)
    run.isPolling = false
    this.#schedule(run)
  }

  async #emitNew(run: Run): Promise<void> {
    const provider = this.#provider
    try {
      const head = await provider.getBlockNumber()
      const isShorter = this.#last !== undefined && head < this.#last
      if (isShorter && (await this.#isBehind(head))) return
      // Of a chain that has become shorter, the blocks that it rang for are new.
      if (run === this.#run) this.#last = Math.min(this.#last ?? head, isShorter ? run.lowest - 1 : head, head)
      run.lowest = Number.POSITIVE_INFINITY
      while (run === this.#run && this.#last !== undefined && this.#last < head) await provider.emit('block', ++this.#last)
    } catch (error) {
      if (run === this.#run) void provider.emit('error', error)
    }
  }

  /**
   * Whether the chain goes on above this head: then a node that lags has named it. One of several
   * nodes behind a URL may lag each time that it is asked.
   */
  async #isBehind(head: number): Promise<boolean> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const next: unknown = await this.#provider.send('eth_getBlockByNumber', [`0x${(head + 1).toString(16)}`, false])
      if (next !== null) return true
    }
    return false
  }

  #schedule(run: Run): void {
    if (run !== this.#run) return
    // A block that was announced and is not there yet: another endpoint may have answered.
    const isQuiet = run.isTold && run.told <= (this.#last ?? 0)
    this.#provider._clearTimeout(this.#timer)
    this.#timer = this.#provider._setTimeout(() => void this.#poll(run), isQuiet ? QUIET_MS : this.pollingInterval)
  }
}
