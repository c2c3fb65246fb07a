/**
 * The POST that shows whether POSTs of its length are taken, since longer ones were not. Those that
 * are longer than any that was taken wait for its end.
 */
export class LengthProbe {
  /** Longest POST that was taken, as far as that still holds: one of this length needs no probe. */
  taken = 1
  /** No POST of the most calls has been taken since they were made fewer. */
  #isDue = false
  #isInFlight = false

  /** POSTs of this many calls wait for the probe. */
  holdsBack(calls: number): boolean {
    return this.#isInFlight && calls > this.taken
  }

  /** A POST of `length` calls starts. True where it is the probe. */
  start(length: number): boolean {
    if (!this.#isDue || length <= this.taken) return false
    this.#isInFlight = true
    return true
  }

  /** The probe has ended. */
  end(): void {
    this.#isInFlight = false
  }

  /**
   * A POST of `length` calls was not refused for its size. `isLongest`: no longer one is sent now.
   */
  took(length: number, isLongest: boolean): void {
    if (length > this.taken) this.taken = length
    if (isLongest) this.#isDue = false
  }

  /** Longer POSTs than this are not known to be taken any more. */
  forgetBeyond(length: number): void {
    this.taken = Math.min(this.taken, length)
  }

  /** The next POST that is longer than any that was taken is a probe. */
  require(): void {
    this.#isDue = true
  }

  /** The length was not the reason. */
  cancel(): void {
    this.#isDue = false
  }
}
