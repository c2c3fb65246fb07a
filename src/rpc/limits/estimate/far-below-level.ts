/**
 * The POSTs that are sent from the first answer after a cut until the rate is near the level again.
 * A rate limit refuses none of them.
 */
export class FarBelowLevel {
  /** How many of them have told something. */
  posts = 0
  /** When the first answer came after the cut. */
  #from = Number.POSITIVE_INFINITY
  /** When the last one was sent. */
  #until = Number.NEGATIVE_INFINITY

  /** The rate was cut, or set anew. */
  startOver(): void {
    this.posts = 0
    this.#from = Number.POSITIVE_INFINITY
    this.end()
  }

  /** What was sent so far says nothing any more. */
  end(): void {
    this.#until = Number.NEGATIVE_INFINITY
  }

  /** A POST starts. */
  started(now: number): void {
    this.#until = now
  }

  /** A POST that was sent after the cut was answered. */
  answered(now: number): void {
    if (!this.hasAnswer) this.#from = now
  }

  get hasAnswer(): boolean {
    return this.#from < Number.POSITIVE_INFINITY
  }

  /** Whether a POST that was sent then is one of them. */
  includes(sentAt: number): boolean {
    return sentAt >= this.#from && sentAt <= this.#until
  }
}
