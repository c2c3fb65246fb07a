import { Patience } from '../patience.ts'

/**
 * Refused POSTs, each longer than any that was answered since the first refusal, before shorter
 * ones are sent.
 */
const ENOUGH_REFUSED = 3
/** Full POSTs before a longer one is tried; more after tries that failed. */
const ENOUGH = 8

/**
 * How long a POST may be where an endpoint refuses whole POSTs at a rate that it takes: one with
 * more calls than its token bucket can hold is never answered.
 *
 *     3 POSTs refused, longer than any answered:  most = max(longest answered, floor(length / 2))
 *     8 POSTs of `most` calls answered:           most = min(2 * most, (most + length refused) / 2)
 *
 * An endpoint that answers a part of a POST has no such limit.
 */
export class LongestPost {
  /** In calls. */
  most = Number.POSITIVE_INFINITY
  #answered = 1
  #refused = Number.POSITIVE_INFINITY
  #refusals = 0
  readonly #patience = new Patience(ENOUGH)
  /** `most` has grown since it was last made less. */
  #hasGrown = false
  #isByCall = false

  /** All calls of a POST were answered. */
  answered(calls: number): void {
    if (calls < this.most && calls <= this.#answered) return
    this.#answered = Math.max(this.#answered, calls)
    this.#refusals = 0
    if (calls < this.most || !this.#patience.succeeded()) return
    // What was refused may be answered by now.
    if (this.most + 1 >= this.#refused) this.#refused = Number.POSITIVE_INFINITY
    this.#hasGrown = true
    this.most = Math.max(this.most + 1, Math.floor(Math.min(2 * this.most, (this.most + this.#refused) / 2)))
  }

  /** This part of the calls of a POST was throttled. */
  throttled(calls: number, part: number): void {
    if (part < 1) {
      this.#isByCall = true
      this.most = Number.POSITIVE_INFINITY
    }
    if (this.#isByCall || calls <= this.#answered || calls > this.most || ++this.#refusals < ENOUGH_REFUSED) return
    if (this.#hasGrown) this.#patience.failed()
    else this.#patience.startOver()
    this.#hasGrown = false
    this.#refused = calls
    this.#refusals = 0
    this.most = Math.max(this.#answered, Math.floor(calls / 2))
  }
}
