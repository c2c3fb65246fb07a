import type { Call } from '../call.ts'

/** Replies of one POST together, in bytes, beyond which another POST is better: parsing stays off one long turn. */
const GOOD_BODY_BYTES = 1.5 * 1024 * 1024
/** Weight of the newest POST in the mean size of a method's replies. */
const NEWEST = 0.3
/** Of methods never seen: small enough not to shorten a first batch. */
const UNKNOWN_BYTES = 1024

/** An expectation of fewer bytes than these cannot be what made replies too large. */
const LEAST_BYTES = 64 * 1024

/** Full POSTs in a row before more is tried; twice as many after each try that failed, up to so many times. */
const ENOUGH = 20
const MOST_PATIENCE = 64
/** How much more. */
const MORE = 0.1
/** What is left of bytes that were too many. */
const FEWER = 3 / 4

/** What an endpoint takes in one POST, as far as it has shown: calls, and bytes of replies. */
export class Limits {
  /** Longest batch. */
  calls: number
  /** No POST of `calls` calls has been taken yet, since they were made fewer: one tries while the others wait. */
  isUnproven = false
  /** Longest batch that was taken, as far as that still holds: as many may go without trying. */
  taken = 1
  /** Expected bytes of the replies to a POST, at most. */
  bytes = GOOD_BODY_BYTES
  #bytesOf = new Map<string, number>()
  /** Length that is never passed. */
  #ceiling: number
  /** A longer batch that one POST may try, while the others keep to `calls`; and the length of the POST that does. */
  #longer: number | undefined
  #trying = 0
  /** Length to try next, where it is not a little more than `calls`. */
  #resume: number | undefined
  /** POSTs of the longest length, and of the most bytes, that were answered in full one after the other. */
  #inARow = 0
  #fullInARow = 0
  #patience = 1
  #takesBatches = false
  /** A single call failed as the batch before it did, so that it was not for being one. */
  #failsAlone = false
  /** A single call was answered after the batches before it had failed. */
  #worksAlone = false
  /** The most replies that were answered, in bytes as they were expected. */
  #provenBytes = 0

  constructor(maxCalls: number) {
    this.calls = maxCalls
    this.#ceiling = maxCalls
  }

  /** Calls that the next POST may have. */
  get most(): number {
    return this.#trying > 0 ? this.calls : (this.#longer ?? this.calls)
  }

  /** Each call is a POST, since the endpoint takes no batches, or the user wants none. */
  get isSingle(): boolean {
    return this.calls === 1 && (this.#ceiling === 1 || this.#worksAlone)
  }

  /** A POST of `length` calls starts. Until it has ended no other is longer than `calls`. */
  start(length: number): void {
    if (length > this.calls) this.#trying = length
  }

  /** It has ended, and what is to be learnt from it has been. */
  end(length: number): void {
    if (length === this.#trying) this.#trying = 0
  }

  /** A POST of `length` calls was not refused for its size. It could not have been longer, or could where `isShort`. */
  took(length: number, isShort: boolean): void {
    if (length > this.taken) this.taken = length
    if (length >= this.calls || !isShort) this.isUnproven = false
  }

  /** A POST of `length` calls, with so many `bytes` expected, was answered in full. When enough of them were, more is tried again. */
  worked(length: number, bytes = 0): void {
    if (length > 1) this.#takesBatches = true
    else if (this.#resume !== undefined) this.#worksAlone = true
    this.#failsAlone = false
    if (bytes > this.#provenBytes) this.#provenBytes = bytes
    if (this.bytes < GOOD_BODY_BYTES && bytes >= this.bytes * FEWER && ++this.#fullInARow >= ENOUGH * this.#patience) {
      this.#fullInARow = 0
      this.bytes = Math.min(GOOD_BODY_BYTES, this.bytes * (1 + MORE))
    }
    if (length === this.#trying) {
      this.calls = Math.max(this.calls, length)
      this.#shorten(this.calls)
      this.#patience = 1
    } else if (length >= this.calls && this.calls < this.#ceiling && this.#longer === undefined && ++this.#inARow >= ENOUGH * this.#patience) {
      this.#inARow = 0
      const step = Math.min(Math.ceil(this.calls * MORE), Math.ceil((this.#ceiling - this.calls) / 2))
      this.#longer = Math.min(this.#ceiling, this.#resume ?? this.calls + step)
      this.#resume = undefined
    }
  }

  /** A POST of `length` calls was refused for their number: as many are never tried again. */
  refused(length: number): void {
    this.#ceiling = Math.max(1, Math.min(this.#ceiling, length - 1))
    this.halve(length)
    // There is an end to it: what is left between this and what works is halved each time.
    this.#patience = 1
  }

  /**
   * The replies to `length` calls were too large: `bytes` together, as expected or as they turned out to be, of which `limit` are allowed. Fewer bytes from
   * now on, or fewer calls where bytes are not the reason.
   */
  tooLarge(length: number, bytes: number, limit = bytes): void {
    if (bytes <= this.#provenBytes || bytes < LEAST_BYTES) {
      this.halve(length)
      return
    }
    this.bytes = Math.min(this.bytes, Math.max(this.#provenBytes, limit * FEWER))
    this.#fullInARow = 0
    this.taken = Math.min(this.taken, Math.max(1, Math.floor(length * FEWER)))
    this.isUnproven = true
    this.#failed()
  }

  /** A POST was throttled in its middle: so many calls of it were answered. Halved at most, since the POST may have been a short one. */
  throttled(answered: number): void {
    if (answered > 0) this.#shorten(Math.min(this.calls, Math.max(answered, Math.ceil(this.calls / 2))))
  }

  /** A POST of `length` calls timed out, or had replies that were too large. */
  halve(length: number): void {
    // One that tried to be longer says nothing of those that are as long as ever.
    if (length === this.#trying) {
      this.#failed()
      return
    }
    const half = Math.max(1, Math.min(this.calls, Math.floor(length / 2)))
    if (half < this.calls) this.isUnproven = true
    this.taken = Math.min(this.taken, half)
    this.#shorten(half)
  }

  /**
   * A POST of `length` calls failed as a whole, and said nothing of its length. Where no batch was ever answered the endpoint may know none: calls go one by
   * one, and a batch is tried again after a while, or at once when single calls fail, too. True when its calls may do better one by one.
   */
  failed(length: number): boolean {
    if (this.#takesBatches || this.#failsAlone) return false
    if (length === 1) {
      if (this.#resume === undefined) return false
      this.#failsAlone = true
      this.#shorten(this.#resume)
      return false
    }
    const resume = Math.max(this.calls, length, this.#resume ?? 1)
    this.#shorten(1)
    this.#resume = resume
    this.#failed()
    return true
  }

  #shorten(calls: number): void {
    this.calls = calls
    if (calls > 1) this.#worksAlone = false
    this.#longer = undefined
    this.#resume = undefined
    this.#inARow = 0
  }

  /** What was tried did not work: the next try waits for longer. */
  #failed(): void {
    this.#longer = undefined
    this.#inARow = 0
    this.#patience = Math.min(MOST_PATIENCE, this.#patience * 2)
  }

  /** Expected size of a reply to `method`, in bytes. */
  bytesOf(method: string): number {
    return this.#bytesOf.get(method) ?? UNKNOWN_BYTES
  }

  /** True when a POST with `bytes` expected already should not take a call with `more`. A limit of the endpoint is not passed, a good size may be. */
  isFull(bytes: number, more: number): boolean {
    return bytes >= GOOD_BODY_BYTES || (this.bytes < GOOD_BODY_BYTES && bytes > 0 && bytes + more > this.bytes)
  }

  /** Expected size of the replies to these calls together, in bytes. */
  expected(calls: readonly Call[]): number {
    let bytes = 0
    for (const call of calls) bytes += this.bytesOf(call.method)
    return bytes
  }

  /**
   * Learns from the replies to `calls`, `bytes` together where so many were expected. What each method's share was is not known, and need not be:
   * every expectation is corrected by the same factor.
   */
  learn(calls: readonly Call[], bytes: number, expected: number): void {
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
