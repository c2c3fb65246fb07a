import { readNumber } from '../../block-header.ts'

/** Numbers to remember: far more blocks than a watcher is behind. */
const MOST = 256

/**
 * The numbers of the blocks that a node has announced last. viem's `watchBlocks` requests each by
 * its number, and hands out `undefined` if that fails: at a URL with several backends, one of them
 * may announce a block that another one does not have yet. So a null for such a block means that
 * the node lags.
 */
export class AnnouncedBlocks {
  readonly #numbers = new Set<number>()

  /** Takes a head, as the node sent it. */
  add(head: unknown): void {
    const number = readNumber(head)
    if (number === undefined) return
    this.#numbers.delete(number)
    this.#numbers.add(number)
    for (const oldest of this.#numbers) {
      if (this.#numbers.size <= MOST) return
      this.#numbers.delete(oldest)
    }
  }

  /** Whether a call is one for such a block. */
  isAskedFor(method: string, params: unknown): boolean {
    if (method !== 'eth_getBlockByNumber' || this.#numbers.size === 0 || !Array.isArray(params)) return false
    return typeof params[0] === 'string' && this.#numbers.has(Number(params[0]))
  }
}
