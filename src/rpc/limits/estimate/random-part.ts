/** POSTs count for less the older they are: the last two hundred or so. */
const KEPT = 0.995
/**
 * Nothing is refused at random any more when this little is left of the refusals, or less than this
 * part of POSTs is refused.
 */
const LEAST_REFUSALS = 0.3
const LEAST_REFUSED = 0.005
/** Most of all calls that chance is believed to refuse. */
const MOST = 0.7

/**
 * The part p of all calls that is refused at random, over POSTs sent so slowly that the rate cannot
 * be the reason: in trials, and far below the level. The newest count most:
 *
 *     p = sum of the parts refused / number of POSTs,  each sum times 0.995 per POST
 */
export class RandomPart {
  #posts = 0
  #refused = 0
  #parts = 0

  /** POSTs, the number of those with refusals, and the sum of the parts that were refused. */
  add(posts: number, refused: number, parts: number): void {
    this.#posts = this.#posts * KEPT ** posts + posts
    this.#refused = this.#refused * KEPT ** posts + refused
    this.#parts = this.#parts * KEPT ** posts + parts
  }

  clear(): void {
    this.#posts = 0
    this.#refused = 0
    this.#parts = 0
  }

  /** p, between 0 and a largest value. */
  get value(): number {
    return this.#posts === 0 ? 0 : Math.min(MOST, this.#parts / this.#posts)
  }

  /** POSTs with refusals, by weight: a little less than their number. */
  get refused(): number {
    return this.#refused
  }

  /** POSTs for one with refusals. */
  get postsPerRefusal(): number {
    return this.#posts / this.#refused
  }

  /** Next to nothing is refused. */
  get isNone(): boolean {
    return this.#refused < LEAST_REFUSALS || this.#refused / this.#posts < LEAST_REFUSED
  }
}
