import type { Call } from './call.ts'

/** Replies of one POST together, in bytes, beyond which another POST is better: parsing stays off one long turn. */
const GOOD_BODY_BYTES = 1.5 * 1024 * 1024
/** Weight of the newest POST in the mean size of a method's replies. */
const NEWEST = 0.3
/** Of methods never seen: small enough not to shorten a first batch. */
const UNKNOWN_BYTES = 1024

/** Full POSTs in a row before longer ones are tried. */
const ENOUGH = 20

/** What an endpoint takes in one POST, as far as it has shown. */
export class Limits {
  /** Longest batch. */
  calls: number
  /** No POST of `calls` calls has been taken yet, since they were halved. */
  isUnproven = false
  #bytesOf = new Map<string, number>()
  /** Length that is never passed. */
  #ceiling: number
  /** POSTs of the longest length that were answered in full, one after the other. */
  #inARow = 0

  constructor(maxCalls: number) {
    this.calls = maxCalls
    this.#ceiling = maxCalls
  }

  /** A POST of `length` calls was refused for their number: no longer one than half of it is tried again. */
  refused(length: number): void {
    this.halve(length)
    this.#ceiling = Math.min(this.#ceiling, this.calls)
  }

  /** A POST was throttled in its middle: so many calls of it were answered. Halved at most, since the POST may have been a short one. */
  throttled(answered: number): void {
    if (answered > 0) this.calls = Math.min(this.calls, Math.max(answered, Math.ceil(this.calls / 2)))
    this.#inARow = 0
  }

  /** A POST of `length` calls was answered in full. When enough of them were, longer ones are tried again. */
  worked(length: number): void {
    if (length < this.calls || this.calls >= this.#ceiling || ++this.#inARow < ENOUGH) return
    this.#inARow = 0
    this.calls = Math.min(this.#ceiling, this.calls + Math.ceil(this.calls / 10))
  }

  /** A POST of `length` calls timed out, or had a reply that was too large. */
  halve(length: number): void {
    const half = Math.max(1, Math.min(this.calls, Math.floor(length / 2)))
    if (half < this.calls) this.isUnproven = true
    this.#inARow = 0
    this.calls = half
  }

  /** Expected size of a reply to `method`, in bytes. */
  bytesOf(method: string): number {
    return this.#bytesOf.get(method) ?? UNKNOWN_BYTES
  }

  /** True when a POST with `bytes` expected already should take no more. */
  isFull(bytes: number): boolean {
    return bytes >= GOOD_BODY_BYTES
  }

  /**
   * Learns from the replies to `calls`, `bytes` together. What each method's share was is not known, and need not be:
   * every expectation is corrected by the same factor.
   */
  learn(calls: readonly Call[], bytes: number): void {
    let expected = 0
    for (const call of calls) expected += this.bytesOf(call.method)
    if (expected === 0) return
    const factor = bytes / expected
    // Methods are named by the user: a program that makes names up must not fill memory.
    if (this.#bytesOf.size > 1000) this.#bytesOf = new Map()
    for (const method of new Set(calls.map((call) => call.method))) {
      const before = this.#bytesOf.get(method)
      this.#bytesOf.set(method, before === undefined ? UNKNOWN_BYTES * factor : before + NEWEST * (before * factor - before))
    }
  }
}
