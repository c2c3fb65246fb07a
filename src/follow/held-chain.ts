import type { Hash } from '../eth/codec/hex.ts'

/** A block by its number and hash. */
export interface BlockRef {
  readonly number: number
  readonly hash: Hash
}

/** Where a stream has come to: the last block that was delivered, and the ones before it. */
export interface Position {
  /** The first block of the stream. */
  readonly from: number
  /** The last block that was delivered; `from - 1` before the first one. */
  readonly number: number
  /** Hashes of that block and of those before it, newest first; at most `HELD`. */
  readonly hashes: readonly Hash[]
}

/** Blocks whose hashes are held: a reorganisation that is not deeper needs no search by hash. */
export const HELD = 256

/** What a node says about held blocks, compared with what is held. */
export type Comparison =
  /** The newest held block that is part of the node's chain, below one that is not. */
  | { readonly type: 'ancestor'; readonly number: number }
  /** Nothing that is held contradicts the node, which may lack the newest blocks. */
  | { readonly type: 'same' }
  /** All that were asked for are replaced, or unknown to the node: ask for older ones. */
  | { readonly type: 'deeper'; readonly isReplaced: boolean }

/**
 * The last blocks that a stream has delivered, as a chain: each is the child of the one before it.
 * It makes no request and knows no time.
 */
export class HeldChain {
  #from: number
  /** Oldest first. */
  #hashes: Hash[]
  #next: number

  constructor({ from, number, hashes }: Position) {
    this.#from = from
    this.#hashes = [...hashes].reverse()
    this.#next = number + 1
  }

  /** The first block of the stream. */
  get from(): number {
    return this.#from
  }

  /** The number of the block to deliver next. */
  get next(): number {
    return this.#next
  }

  /** The last block that was delivered; undefined where none is held. */
  get tip(): BlockRef | undefined {
    return this.#at(this.#hashes.length - 1)
  }

  /** The oldest block that is held. */
  get oldest(): BlockRef | undefined {
    return this.#at(0)
  }

  /** Undefined for a block that is not held. */
  hashAt(number: number): Hash | undefined {
    return this.#hashes[number - this.#next + this.#hashes.length]
  }

  /** Begins with another block. Only before anything was added. */
  beginAt(from: number): void {
    this.#from = from
    this.#next = from
  }

  /** Whether a block with this parent may come next. */
  fits(parentHash: string): boolean {
    const { tip } = this
    return tip === undefined || tip.hash === parentHash
  }

  /** Adds the next block, whose parent fits. */
  add(hash: Hash): void {
    this.#hashes.push(hash)
    this.#next++
    // Cut now and then, not at each block.
    if (this.#hashes.length >= 2 * HELD) this.#hashes = this.#hashes.slice(-HELD)
  }

  /**
   * Removes the blocks above `number`, newest first. `hash` is that of block `number`, where it is
   * not held.
   */
  rollBackTo(number: number, hash?: Hash): BlockRef[] {
    const removed: BlockRef[] = []
    for (let { tip } = this; tip !== undefined && tip.number > number; { tip } = this) {
      removed.push(tip)
      this.#hashes.pop()
      this.#next--
    }
    this.#next = number + 1
    if (hash !== undefined && this.#hashes.length === 0) this.#hashes.push(hash)
    return removed
  }

  /**
   * Compares held blocks with those of a node: null where it has no block of that number. `asked`
   * goes from the tip down without a gap. The node does not contradict what is held just by being
   * shorter.
   */
  compare(asked: ReadonlyMap<number, string | null>): Comparison {
    let isReplaced = false
    for (let number = this.#next - 1; asked.has(number); number--) {
      const hash = asked.get(number)
      if (hash === null) continue
      if (hash === this.hashAt(number)) return isReplaced ? { type: 'ancestor', number } : { type: 'same' }
      isReplaced = true
    }
    return { type: 'deeper', isReplaced }
  }

  get position(): Position {
    return { from: this.#from, number: this.#next - 1, hashes: this.#hashes.slice(-HELD).reverse() }
  }

  #at(index: number): BlockRef | undefined {
    const hash = this.#hashes[index]
    return hash === undefined ? undefined : { number: this.#next - this.#hashes.length + index, hash }
  }
}
