/** After tries that failed, this many times as many successes are awaited, at most. */
const MOST = 64

/**
 * How many successes in a row are awaited before more is tried: `first` at first, and twice as many
 * after each try that failed, up to 64 times as many.
 */
export class Patience {
  readonly #first: number
  #factor = 1
  #inARow = 0

  constructor(first: number) {
    this.#first = first
  }

  /** A success. True where more is to be tried now; then counting begins again. */
  succeeded(): boolean {
    if (++this.#inARow < this.#first * this.#factor) return false
    this.#inARow = 0
    return true
  }

  /** Counting begins again. */
  startOver(): void {
    this.#inARow = 0
  }

  /** A try failed: counting begins again, and takes longer. */
  failed(): void {
    this.#inARow = 0
    this.#factor = Math.min(MOST, 2 * this.#factor)
  }

  /** As few as at first are awaited again. */
  reset(): void {
    this.#factor = 1
  }
}
