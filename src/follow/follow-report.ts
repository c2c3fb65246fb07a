import type { HexlineError } from '../errors.ts'
import type { HeldChain } from './held-chain.ts'
import type { FollowProgress } from './job.ts'

/** Counts what a stream delivers, and tells `onProgress`. */
export class FollowReport {
  readonly #onProgress: ((progress: FollowProgress) => void) | undefined
  readonly #chain: HeldChain
  #hasToldOfWaiting = false
  /** The newest block that may be delivered, as far as it is known. */
  head: number | undefined
  blocks = 0
  rollbacks = 0

  constructor(onProgress: ((progress: FollowProgress) => void) | undefined, chain: HeldChain) {
    this.#onProgress = onProgress
    this.#chain = chain
  }

  tell(failure?: HexlineError): void {
    if (this.#onProgress === undefined) return
    const { next, from } = this.#chain
    this.#onProgress({
      number: next > from ? BigInt(next - 1) : undefined,
      head: this.head === undefined ? undefined : BigInt(this.head),
      blocks: this.blocks,
      rollbacks: this.rollbacks,
      ...(failure && { failure }),
    })
  }

  /** The first block is not there yet: told once, since nothing else may be told for long. */
  tellOfWaiting(): void {
    if (this.#hasToldOfWaiting || this.blocks > 0 || this.#chain.tip !== undefined) return
    this.#hasToldOfWaiting = true
    this.tell()
  }
}
