/** A trial ends after `length` POSTs, or after 12 of them and this many ms. */
const ENOUGH_POSTS = 12
const LONGEST_MS = 2500
/** Refusals before the first answer in a trial that still belong to the throttling before it. */
const IGNORED = 2
/** Too many are refused for chance at this part of at least eight POSTs, and at four or more. */
const TOO_MANY = 1 / 4
const LEAST_TOO_MANY = 4
const TOO_MANY_FROM = 8

/** POSTs at half of the rate: what is refused of them is not refused for the rate. */
export class ThrottlingTrial {
  readonly since: number
  readonly #length: number
  #hasAnswers = false
  #ignored = 0
  /** POSTs, those of them with refusals, and the sum of the parts of their calls refused. */
  posts = 0
  refused = 0
  parts = 0

  constructor(length: number, now: number) {
    this.#length = length
    this.since = now
  }

  /** Of a POST, this part of its calls was refused. False if it tells nothing. */
  add(refusedPart: number): boolean {
    if (!this.#hasAnswers && refusedPart > 0 && ++this.#ignored <= IGNORED) return false
    this.#hasAnswers = true
    this.posts++
    this.refused += Number(refusedPart > 0)
    this.parts += refusedPart
    return true
  }

  /** The rate is still too high: the limit fell further. */
  get isTooFast(): boolean {
    return this.posts >= TOO_MANY_FROM && this.parts >= Math.max(LEAST_TOO_MANY, TOO_MANY * this.posts)
  }

  isOver(now: number): boolean {
    return this.posts >= this.#length || (this.posts >= ENOUGH_POSTS && now - this.since > LONGEST_MS)
  }

  /** Some were refused, but not all, which would not be chance. */
  get showsChance(): boolean {
    return this.refused > 0 && this.parts < this.posts
  }
}
