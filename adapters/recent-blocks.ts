/** Most blocks that are remembered: a reorganisation that is deeper has to be guessed. */
const MOST = 256
/** How many blocks are looked up at a time: most reorganisations are short. */
const STEPS = [1, 8, 64, MOST]

/** Gives the hash that the node has now at a number; undefined where it has no block. */
export type HashAt = (number: number) => Promise<string | undefined>

interface Block {
  readonly number: number
  readonly hash: string
}

/**
 * The last blocks of a chain by number and hash. Some numbers may be missing. They show whether the
 * node's chain is still the same, and down to where.
 */
export class RecentBlocks {
  /** Hashes by number, in the order of the numbers. */
  #hashes = new Map<number, string>()
  #last: Block | undefined

  /** The newest block. */
  get last(): Block | undefined {
    return this.#last
  }

  /** The oldest block. */
  get lowest(): Block | undefined {
    const [first] = this.#hashes
    return first && { number: first[0], hash: first[1] }
  }

  has(number: number, hash: string | undefined): boolean {
    return hash !== undefined && this.#hashes.get(number) === hash
  }

  /** Whether another block is known at this number. */
  hasOther(number: number, hash: string | undefined): boolean {
    const known = this.#hashes.get(number)
    return known !== undefined && known !== hash
  }

  /** Adds a block, which replaces all from its number on, unless it is known. */
  add(number: number, hash: string): void {
    if (this.has(number, hash)) return
    if (this.#last !== undefined && this.#last.number >= number) this.#dropFrom(number)
    this.#hashes.set(number, hash)
    this.#last = { number, hash }
    if (this.#hashes.size > MOST) this.#hashes.delete(this.#hashes.keys().next().value as number)
  }

  /** Adds the parent of the oldest block. */
  addBelow(number: number, hash: string): void {
    this.#hashes = new Map([[number, hash], ...this.#hashes])
  }

  /** Forgets the blocks that the node has replaced. Gives what `newestKept` does. */
  async dropReplaced(hashAt: HashAt): Promise<number> {
    const number = await this.newestKept(hashAt)
    const hash = this.#hashes.get(number)
    this.#dropFrom(number + 1)
    this.#last = hash === undefined ? undefined : { number, hash }
    return number
  }

  /**
   * The number of the newest block that the node still has; the number below all known blocks where
   * it has none of them.
   */
  async newestKept(hashAt: HashAt): Promise<number> {
    const known = [...this.#hashes].reverse()
    for (let i = 0, at = 0; at < known.length; i++) {
      const looked = known.slice(at, at + (STEPS[i] ?? MOST))
      at += looked.length
      const hashes = await Promise.all(looked.map(([number]) => hashAt(number)))
      const kept = looked.find(([, hash], place) => hash === hashes[place])
      if (kept !== undefined) return kept[0]
    }
    return (known.at(-1)?.[0] ?? 0) - 1
  }

  #dropFrom(number: number): void {
    for (const each of this.#hashes.keys()) if (each >= number) this.#hashes.delete(each)
  }
}
