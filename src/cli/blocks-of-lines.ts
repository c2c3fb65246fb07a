/**
 * Which block each line of logs belongs to, to say where to resume. Only of the lines that are not
 * written yet, since a job may have more blocks with logs than the memory has room for.
 */
export class BlocksOfLines {
  readonly #blocks: number[] = []
  readonly #firstLines: number[] = []
  #lines = 0
  #complete = -1

  add(block: number): void {
    if (this.#blocks.at(-1) !== block) {
      this.#blocks.push(block)
      this.#firstLines.push(this.#lines)
    }
    this.#lines++
  }

  /** All lines of blocks up to this one were added, and this many lines are written. */
  pageEnds(block: number, written: number): void {
    this.#complete = block
    const at = this.#lastFrom(written)
    if (at <= 0) return
    this.#blocks.splice(0, at)
    this.#firstLines.splice(0, at)
  }

  /** Blocks that are remembered. */
  get size(): number {
    return this.#blocks.length
  }

  /**
   * The first block that is not complete after this many lines, and how many of its lines are among
   * them.
   */
  after(lines: number, from: number): { readonly next: number; readonly before: number } {
    const isWhole = lines >= this.#lines && (this.#blocks.at(-1) ?? -1) <= this.#complete
    if (isWhole) return { next: Math.max(from, this.#complete + 1), before: 0 }
    const at = this.#lastFrom(lines)
    return { next: this.#blocks[at] as number, before: lines - (this.#firstLines[at] as number) }
  }

  /** The last block whose first line comes after no more lines than these. */
  #lastFrom(lines: number): number {
    return this.#firstLines.findLastIndex((first) => first <= lines)
  }
}
