/** Weight of the newest POST in the part of POSTs that are throttled by chance. */
const NEWEST = 1 / 50
/** A part of POSTs that nothing needs to be made of; and one that may be the rate's doing for as many rates, one after the other, as are learnt with it. */
const NEGLIGIBLE = 0.01
const SMALL = 0.05
const TRIES = 3
/** Bounds of the part that is taken for chance, and so much more of POSTs is throttled where chance is not the reason. */
const LEAST_PART = 0.02
const MOST_PART = 0.7
const MORE = 0.1
/** So much likelier must another reason be than chance: a natural logarithm. */
const LIKELIER = 4.5
/** The rate is to blame no more often than this at rates that should have been taken: it is made smaller each time. */
const MOST_BLAMED = 3

/**
 * Tells throttling that comes whatever the rate is (other limits of a provider, its other customers, its bad days) from throttling that the rate brings:
 * a limit that is mistaken for chance costs a few refusals, but chance that is mistaken for a limit makes the rate smaller without end. At a rate
 * that was seen to be taken only chance is met, so its part is counted there. Whether more is throttled than chance explains
 * is a cumulative sum test (CUSUM; E. S. Page, Continuous Inspection Schemes, 1954) over POSTs.
 */
export class RandomThrottling {
  /** Part of POSTs throttled by chance; and what it was when the test was at nought. */
  #part = 0
  #partBefore = 0
  /** How much likelier the last POSTs are if there is another reason. */
  #score = 0
  /** Rates learnt one after the other with more than a negligible part. */
  #tries = 0
  /** How often the rate was blamed at rates that should have been taken, and the POSTs since then. */
  #blamed = 0
  #posts = 0
  #throttled = 0

  /** Too little is throttled by chance to wait for a test. */
  get isNegligible(): boolean {
    return this.#part < NEGLIGIBLE || (this.#part < SMALL && this.#tries < TRIES)
  }

  /** Nothing speaks for another reason now. */
  get isLikely(): boolean {
    return this.#score === 0
  }

  /** The rate has been blamed at a rate that should have been taken. */
  get isDoubtful(): boolean {
    return this.#blamed > 0
  }

  /** What became of a POST; `isTaken` at a rate that should be taken. True when chance no longer explains it. */
  add(isThrottled: boolean, isTaken: boolean): boolean {
    if (this.#score === 0) this.#partBefore = this.#part
    const chance = Math.min(MOST_PART, Math.max(LEAST_PART, this.#part))
    const other = chance + MORE
    this.#score = Math.max(0, this.#score + Math.log(isThrottled ? other / chance : (1 - other) / (1 - chance)))
    if (isTaken) this.#part += NEWEST * (Number(isThrottled) - this.#part)
    this.#posts++
    if (isThrottled) this.#throttled++
    return this.#score >= LIKELIER
  }

  /**
   * The rate is blamed; `isTaken` where it should have been taken, undefined where nobody knew; `weight` is less where that was decided without a test.
   * False when that was once too often: it is chance after all.
   */
  blame(isTaken?: boolean, weight = 1): boolean {
    this.#tries = this.#part < NEGLIGIBLE ? 0 : this.#tries + 1
    this.#score = 0
    // What the rate did is not chance.
    if (isTaken) this.#part = this.#partBefore
    if (isTaken === undefined) return true
    this.#blamed = Math.max(0, this.#blamed + (isTaken ? weight : -1))
    if (this.#blamed >= MOST_BLAMED) {
      if (this.#posts > 0) this.#part = this.#throttled / this.#posts
      this.#blamed = 0
      return false
    }
    if (this.#blamed <= 1) {
      this.#posts = 0
      this.#throttled = 0
    }
    return true
  }
}
