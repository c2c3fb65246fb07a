/** How far back "lately" reaches at least, in ms. */
export const LATELY_MS = 250
/** Replies, and calls, over which it reaches, too: over fewer, each would weigh too much. */
const LEAST_REPLIES = 2
const LEAST_CALLS = 16

/** How far back "lately" reaches, in ms, where replies take this long and calls go at this rate. */
export function latelyMs(meanReplyMs: number, perSecond: number): number {
  return Math.max(LATELY_MS, LEAST_REPLIES * meanReplyMs, (LEAST_CALLS / perSecond) * 1000)
}

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
