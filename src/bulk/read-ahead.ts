import type { EventLoopUtilization } from 'node:perf_hooks'
import type { Clock } from '../wait/clock.ts'

/** How much may be asked for ahead of the consumer. */
export interface Bounds {
  /** Bytes in flight and held, together. */
  readonly maxBytes: number
  /** Items in flight and held, together. */
  readonly maxItems: number
  /** Size of an item until one has come, in bytes. */
  readonly assumedBytes: number
  /** Longest time that an item may wait in line at the endpoint, in ms, at the rate at which items arrive. */
  readonly maxWaitMs: number
}

/** Items that may be in flight at any rate. */
const AT_LEAST = 32
/** Items ahead at the start: each one that waits is work for the garbage collector. */
const AT_FIRST = 256
/** Utilization of the event loop above which more items ahead are of no use: it gets no faster by them. */
const BUSY = 0.8
/** Window over which the rate and the utilization are measured, in ms. */
const WINDOW_MS = 250
/** Weight of an item that is smaller than expected. A larger one counts at once. */
const DECAY = 0.05

/**
 * How many items may be asked for ahead of the consumer. Items ahead, held and in flight, double with each window until
 * the event loop is busy. Items in flight are at most those that arrive within `maxWaitMs`, since what is asked for far
 * ahead of a slow endpoint waits in line until its deadline. Both stay within `maxBytes`, by the size that is expected.
 */
export class ReadAhead {
  readonly #bounds: Bounds
  readonly #clock: Clock
  #maxAhead: number
  #maxInFlight: number
  #expectedBytes: number
  #hasSize = false
  /** Items that arrived in the present window, which began `since`. */
  #arrived = 0
  #since: number
  #utilization = eventLoopUtilization()
  /** Something was held back by `maxAhead` or `maxBytes`: the rate of this window says nothing about the endpoint. */
  #wasFull = false

  constructor(bounds: Bounds, clock: Clock) {
    this.#bounds = bounds
    this.#clock = clock
    this.#since = clock.now()
    this.#expectedBytes = bounds.assumedBytes
    this.#maxAhead = Math.min(AT_FIRST, bounds.maxItems)
    this.#maxInFlight = this.#maxAhead
  }

  /** Whether one more item may be asked for, beside `ahead` items, of which `inFlight` have not come. `ahead` is 0 for the item that the consumer waits for. */
  hasRoom(ahead: number, inFlight: number, heldBytes: number): boolean {
    if (inFlight >= this.#maxInFlight) return false
    const fits = ahead === 0 || heldBytes + (inFlight + 1) * this.#expectedBytes <= this.#bounds.maxBytes
    if (ahead < this.#maxAhead && fits) return true
    this.#wasFull = true
    return false
  }

  /** An item has arrived. */
  add(bytes: number): void {
    this.#arrived++
    if (!this.#hasSize || bytes > this.#expectedBytes) this.#expectedBytes = bytes
    else this.#expectedBytes += DECAY * (bytes - this.#expectedBytes)
    this.#hasSize = true
  }

  /** Ends the present window, if it is over, and learns from it. To be called before `hasRoom`. */
  update(): void {
    const now = this.#clock.now()
    const elapsed = now - this.#since
    if (elapsed <= WINDOW_MS) return
    const { maxItems, maxWaitMs } = this.#bounds
    if (eventLoopUtilization(this.#utilization).utilization < BUSY) this.#maxAhead = Math.min(maxItems, this.#maxAhead * 2)
    const most = Math.max(AT_LEAST, (this.#arrived * maxWaitMs) / elapsed)
    this.#maxInFlight = this.#wasFull ? Math.max(this.#maxInFlight, most) : most
    this.#wasFull = false
    this.#utilization = eventLoopUtilization()
    this.#arrived = 0
    this.#since = now
  }
}

/** Utilization of the event loop, since `since` where that is given. It is a load, not a time. */
function eventLoopUtilization(since?: EventLoopUtilization): EventLoopUtilization {
  // biome-ignore lint/style/noRestrictedGlobals: it is the machine that is measured here.
  return performance.eventLoopUtilization(since)
}
