import { Cusum } from '../cusum.ts'

/** This many POSTs, of which half are refused if the trial was wrong. */
const POSTS = 40
const WRONG_PART = 1 / 2
/** How much likelier that must be, as a natural logarithm: 8,000 times. */
const LIKELIER = 9

/**
 * The first POSTs after a trial that found chance. They go at the rate from before it was cut for
 * that, which shows whether the trial was wrong.
 */
export class Probation {
  readonly since: number
  /** The level in the trial, to go back to. */
  readonly level: number
  readonly #test = new Cusum()
  #posts = 0

  constructor(level: number, now: number) {
    this.level = level
    this.since = now
  }

  /**
   * Of a POST, this part of its calls was refused: chance explains `byChance`, and the rate
   * `otherwise`.
   */
  add(refusedPart: number, byChance: number, otherwise: number): void {
    this.#posts++
    this.#test.add(refusedPart, byChance, Math.max(otherwise, WRONG_PART))
  }

  /** The rate is the reason after all. */
  get isFailed(): boolean {
    return this.#test.score >= LIKELIER
  }

  get isOver(): boolean {
    return this.#posts > POSTS
  }
}
