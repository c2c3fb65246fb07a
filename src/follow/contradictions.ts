/** Failures in a row until they are enough. */
const MOST = 8
/** How long they must last, too, in ms: announced heads may bring eight within a moment. */
const LEAST_MS = 15_000

/** Failures since the last progress that waiting may not cure, such as contradictions. */
export class Contradictions {
  #count = 0
  #since = 0

  /** Adds one. True if there are enough of them, for long enough. */
  add(now: number): boolean {
    if (this.#count++ === 0) this.#since = now
    return this.#count >= MOST && now - this.#since >= LEAST_MS
  }

  /** There is progress. */
  clear(): void {
    this.#count = 0
  }
}
