/**
 * Missed logs are fetched twice, those of the last blocks at least. The first time, a node may have
 * answered that lags behind the one with the subscription, or is on another branch.
 */
const FILLS = 2
/**
 * What cannot be fetched is given up where both this many blocks and this many logs have followed.
 * Until then, all logs after it are kept, so that none comes twice.
 */
const MOST_BLOCKS_AFTER = 256
const MOST_LOGS_AFTER = 10_000

/** What is missing: up to which block, how often it is still to be fetched, and until when. */
export class Gap {
  #fillsLeft = 0
  #least = 0
  /** The block at which it may be given up. */
  #giveUpAt = 0

  /** Whether nothing is missing, as far as is known. */
  get isClosed(): boolean {
    return this.#fillsLeft === 0
  }

  /** A block that a node has, up to which logs may be missing. */
  get least(): number {
    return this.#least
  }

  /** Logs up to the block `least` may be missing. */
  reach(least: number): void {
    this.#least = Math.max(this.#least, least)
  }

  /** Something is missing, where `newest` is the last block of which something is known. */
  open(newest: number, fills = FILLS): void {
    if (this.isClosed) this.#giveUpAt = newest + MOST_BLOCKS_AFTER
    this.#fillsLeft = Math.max(this.#fillsLeft, fills)
  }

  /** What is missing has been fetched once more. */
  filled(): void {
    if (this.#fillsLeft > 0) this.#fillsLeft--
    if (this.isClosed) this.#least = 0
  }

  /** Whether it is given up at this block, with this many logs after it. */
  isHopeless(number: number, logs: number): boolean {
    return number >= this.#giveUpAt && logs > MOST_LOGS_AFTER
  }

  /** What is missing will never come. */
  giveUp(): void {
    this.#fillsLeft = 0
  }
}
