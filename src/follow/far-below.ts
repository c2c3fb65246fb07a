import { IntegrityError } from '../errors.ts'
import type { HeldChain } from './held-chain.ts'
import { NEAR, type Target } from './next-step.ts'

/**
 * Looks in a row that count: a single one may have met a node that is not synchronised yet.
 */
const ENOUGH_LOOKS = 4

/**
 * Notices a head that stays far below where the stream is. A head that goes back by a few blocks
 * means nothing. Each look is reported, and counts.
 */
export class FarBelow {
  readonly #chain: HeldChain
  /** Looks in a row that found the head far below the start. */
  #belowStart = 0
  /** Looks in a row that found the head far below the last block that was delivered. */
  #belowTip = 0

  constructor(chain: HeldChain) {
    this.#chain = chain
  }

  /** A look before the first block was delivered. True if the start lies far above the chain. */
  lookedBeforeStart(head: number): boolean {
    this.#belowStart = head + NEAR < this.#chain.from ? this.#belowStart + 1 : 0
    return this.#belowStart >= ENOUGH_LOOKS
  }

  /**
   * A look that found nothing to do. Gives an error, once, if the node has lost its blocks, or is
   * another one than before.
   */
  lookedInVain(target: Target | undefined): IntegrityError | undefined {
    const { tip } = this.#chain
    const isFarBelow = target !== undefined && tip !== undefined && target.number + NEAR < tip.number
    this.#belowTip = isFarBelow ? this.#belowTip + 1 : 0
    if (!isFarBelow || this.#belowTip !== ENOUGH_LOOKS) return undefined
    return new IntegrityError(`the node is at block ${target.number}, far behind block ${tip.number}, the last one that it gave`, { kind: 'lagging' })
  }
}
