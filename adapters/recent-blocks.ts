/** Most blocks that are remembered: a reorganisation that is deeper has to be guessed. */
const MOST = 256
/** How many blocks are looked up at a time: most reorganisations are short. */
const STEPS = [1, 8, 64, MOST]

/** Gives the hash that the node has now at a number; undefined where it has no block. */
export type HashAt = (number: number) => Promise<string | undefined>

/**
 * The last blocks of a chain by number and hash. Some numbers may be missing. They show whether the
 * node's chain is still the same, and down to where.
 */
export class RecentBlocks {
  /** In the order of their numbers. */
  #blocks: { readonly number: number; readonly hash: string }[] = []

  /** The newest block. */
  get last(): { readonly number: number; readonly hash: string } | undefined {
    return this.#blocks.at(-1)
  }

  has(number: number, hash: string): boolean {
    return this.#blocks.some((each) => each.number === number && each.hash === hash)
  }

  /** Adds a block, which replaces all from its number on, unless it is known. */
  add(number: number, hash: string): void {
    if (this.has(number, hash)) return
    this.#blocks = [...this.#blocks.filter((each) => each.number < number), { number, hash }].slice(-MOST)
  }

  /**
   * Forgets the blocks that the node has replaced. Gives the number of the newest block that it
   * still has; the number below all known blocks where it has none of them.
   */
  async dropReplaced(hashAt: HashAt): Promise<number> {
    const known = this.#blocks.toReversed()
    const lowest = known.at(-1)?.number ?? 0
    for (let i = 0, at = 0; at < known.length; i++) {
      const looked = known.slice(at, at + (STEPS[i] ?? MOST))
      at += looked.length
      const hashes = await Promise.all(looked.map(({ number }) => hashAt(number)))
      const kept = looked.find(({ hash }, place) => hash === hashes[place])
      if (kept === undefined) continue
      this.#blocks = this.#blocks.filter(({ number }) => number <= kept.number)
      return kept.number
    }
    this.#blocks = []
    return lowest - 1
  }
}
