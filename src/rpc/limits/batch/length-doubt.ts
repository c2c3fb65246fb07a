/** Failures in a row that are hardly by chance. */
const IN_A_ROW = 2
/**
 * The same after the length was found not to be the reason; doubled each time, at most to the
 * second number, until a POST is answered.
 */
const AFTER_AN_ERROR = 8
const MOST_IN_A_ROW = 512

/** A POST that failed as a whole, for a reason that says nothing about its length. */
export interface UnexplainedFailure {
  readonly length: number
  /** As long a one was answered before, or it is a lone call. */
  readonly isProven: boolean
  readonly sentAt: number
}

/**
 * Whether POSTs fail because they are too long, where the endpoint does not say so: it ends the
 * connection or the reply, or answers HTTP 502.
 *
 *     two failed, one after the other:       they are too long. Half as many calls, and again at
 *                                            each failure until a POST is answered
 *     meanwhile, a lone call fails, or a     their length was not the reason, and POSTs are as long
 *     POST of a length that was answered:    as before. It is doubted again after 8, 16, 32 ...
 *                                            failures in a row, until a POST is answered
 */
export class LengthDoubt {
  /** Longest POST before the doubt; undefined without one. */
  #before: number | undefined
  #inARow = 0
  #enough = IN_A_ROW
  #lastAt = Number.NEGATIVE_INFINITY
  #shortest = Number.POSITIVE_INFINITY

  /** A POST was answered in full; `calls` is the longest one now. */
  answered(length: number, calls: number): void {
    this.#enough = IN_A_ROW
    if (length >= this.#shortest || length >= calls) this.#end()
  }

  /**
   * A POST has failed. `halve`: it was too long. `shorter`: it was, as is known from another one
   * that failed while it was in flight. A number: the length was not the reason, and
   * POSTs may be as long as that again.
   */
  failed({ length, isProven, sentAt }: UnexplainedFailure, calls: number, now: number): 'unknown' | 'halve' | 'shorter' | number {
    if (sentAt < this.#lastAt) return length > calls ? 'shorter' : 'unknown'
    if (isProven) return this.#before === undefined ? 'unknown' : this.#wasWrong(this.#before)
    this.#lastAt = now
    this.#shortest = Math.min(this.#shortest, length)
    if (++this.#inARow < this.#enough) return 'unknown'
    this.#before ??= calls
    return 'halve'
  }

  /** Longest POST before the doubt. */
  get before(): number | undefined {
    return this.#before
  }

  #wasWrong(before: number): number {
    this.#enough = this.#enough === IN_A_ROW ? AFTER_AN_ERROR : Math.min(MOST_IN_A_ROW, this.#enough * 2)
    this.#end()
    return before
  }

  #end(): void {
    this.#before = undefined
    this.#inARow = 0
    this.#shortest = Number.POSITIVE_INFINITY
  }
}
