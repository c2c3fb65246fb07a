/** Shortest time over which answers are a rate, in ms. */
const LEAST_MEASURED = 120

/**
 * Calls answered per second lately. Calls and time are counted alike, and both count for less the
 * longer ago they are, by `exp(-ms / memoryMs)`.
 */
export class Lately {
  #calls = 0
  #ms = 0
  #at: number | undefined

  add(calls: number, memoryMs: number, now: number): void {
    const kept = this.#kept(memoryMs, now)
    this.#calls = this.#calls * kept + calls
    this.#ms = this.#ms * kept + memoryMs * (1 - kept)
    this.#at = now
  }

  calls(memoryMs: number, now: number): number {
    return this.#calls * this.#kept(memoryMs, now)
  }

  /** Undefined while that is too little to tell. */
  perSecond(memoryMs: number, now: number): number | undefined {
    const kept = this.#kept(memoryMs, now)
    const ms = this.#ms * kept + memoryMs * (1 - kept)
    return ms < LEAST_MEASURED ? undefined : ((this.#calls * kept) / ms) * 1000
  }

  #kept(memoryMs: number, now: number): number {
    return Math.exp(((this.#at ?? now) - now) / memoryMs)
  }
}
