/** How a bucket fills: tokens per second, up to `most`. */
export interface Fill {
  readonly perSecond: number
  readonly most: number
}

/**
 * A hair below what is wanted is enough: the fractions of many small steps do not add up exactly.
 */
const HAIR = 1e-6

/**
 * A token bucket: `tokens(now) = min(most, tokens(then) + (now - then) * perSecond / 1000)`.
 * Only `take` and `empty` change it. How it fills is said with each question, because rates change.
 */
export class TokenBucket {
  #tokens: number
  #at: number

  constructor(tokens: number, now: number) {
    this.#tokens = tokens
    this.#at = now
  }

  /** Tokens in it; below 0 while calls that cost more than it holds are paid for. */
  tokens(now: number, { perSecond, most }: Fill): number {
    return Math.min(most, this.#tokens + ((now - this.#at) * perSecond) / 1000) + HAIR
  }

  /** How long until it holds this many, which must be no more than `most`, in ms. */
  msUntil(tokens: number, now: number, fill: Fill): number {
    const missing = tokens - this.tokens(now, fill)
    return missing <= 0 ? 0 : ((missing + HAIR) / fill.perSecond) * 1000
  }

  take(tokens: number, now: number, fill: Fill): void {
    this.#tokens = this.tokens(now, fill) - HAIR - tokens
    this.#at = now
  }

  /** Takes whatever is in it, and leaves this much to be paid for. */
  empty(owed: number, now: number): void {
    this.#tokens = Math.min(-owed, this.#tokens)
    this.#at = now
  }
}
