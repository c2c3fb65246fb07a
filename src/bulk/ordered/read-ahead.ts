import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import type { Clock } from '../../wait/clock.ts'

/** How far to request ahead of the consumer. */
export interface Bounds {
  /** Bytes in flight and held, together. */
  readonly maxBytes: number
  /** Items in flight and held, together. */
  readonly maxItems: number
  /** Items in flight, where their sizes may differ much. Default: `maxItems`. */
  readonly maxInFlight?: number
  /**
   * The same where they come quickly, until too many of them turn out to be large (`isOverfull`).
   * Default: `maxInFlight`.
   */
  readonly maxSmallInFlight?: number
  /** Assumed size of an item until one has arrived, in bytes. */
  readonly assumedBytes: number
  /**
   * Longest time that an item may wait in the endpoint's queue, in ms, at the rate at which items
   * arrive.
   */
  readonly maxWaitMs: number
  /**
   * Weights of an item that is larger than expected, and of one that is smaller. Default 0.1 and
   * 0.05, for items of much the same size; the first ones count alike.
   */
  readonly growth?: number
  readonly decay?: number
  /**
   * Least time that an item holds up the consumer before it is requested again, in ms. Default
   * 1000.
   */
  readonly leastLateMs?: number
}

const MiB = 1024 * 1024
/** Items in flight and held, however small they are. */
const MOST_ITEMS = 1000
/** So that calls do not spend their deadline in the queue: an eighth of the default. */
const MOST_WAIT_MS = 15_000

/** The usual bounds, for `Bounds.assumedBytes` of 1 MiB unless something is known. */
export function boundsWithin(maxBytes: number, assumedBytes = MiB): Bounds {
  return { maxBytes, maxItems: MOST_ITEMS, assumedBytes, maxWaitMs: MOST_WAIT_MS }
}

/** Number of items that may always be in flight. */
const AT_LEAST = 32
/** Number of items ahead at the start. Each one that waits is work for the garbage collector. */
const AT_FIRST = 256
/** Part of `maxBytes` for items that come before others that have arrived. */
const BETWEEN = 1 / 4
/** Event loop utilization above which requesting further ahead does not help. */
const BUSY = 0.8
/** Window over which the rate and the utilization are measured, in ms. */
const WINDOW_MS = 250
const GROWTH = 0.1
const DECAY = 0.05

/**
 * Decides how many items to request ahead of the consumer. The limit on items ahead, held or in
 * flight, doubles with each window until the event loop is busy. Items in flight are limited to
 * those that arrive within `maxWaitMs`, since requests far ahead of a slow endpoint would wait in
 * the queue until their deadline. Both limits stay within `maxBytes` by the expected item size.
 */
export class ReadAhead {
  readonly #bounds: Bounds
  readonly #clock: Clock
  #maxAhead: number
  #maxInFlight: number
  #expectedBytes: number
  /** Items that have arrived. */
  #items = 0
  #largestBytes = 0
  /** Too many items were large: some had to be dropped. */
  #areLarge = false
  /** Items that arrived in the current window, which began at `since`. */
  #arrived = 0
  #since: number
  #isFirstWindow = true
  #utilization = eventLoopUtilization()
  /**
   * Whether `maxAhead` or `maxBytes` held requests back, so that the rate of this window is not the
   * endpoint's.
   */
  #wasFull = false

  constructor(bounds: Bounds, clock: Clock) {
    this.#bounds = bounds
    this.#clock = clock
    this.#since = clock.now()
    this.#expectedBytes = bounds.assumedBytes
    this.#maxAhead = Math.min(AT_FIRST, bounds.maxItems)
    this.#maxInFlight = Math.min(this.#maxAhead, bounds.maxInFlight ?? Number.POSITIVE_INFINITY)
  }

  /**
   * Whether one more item may be requested, in addition to `ahead` items, of which `inFlight` have
   * not arrived. `ahead` is 0 for the item that the consumer waits for.
   */
  hasRoom(ahead: number, inFlight: number, heldBytes: number): boolean {
    if (inFlight >= this.#maxInFlight) return false
    const fits = ahead === 0 || heldBytes + (inFlight + 1) * this.#expectedBytes <= this.#bounds.maxBytes
    if (ahead < this.#maxAhead && fits) return true
    this.#wasFull = true
    return false
  }

  /**
   * Whether an item may be requested although there is no room ahead: the consumer needs it before
   * others that have arrived, and would wait for each such item in turn. `heldBefore` is the size
   * of the items held before it.
   */
  hasRoomBetween(inFlight: number, heldBefore: number): boolean {
    return inFlight < this.#maxInFlight && heldBefore + (inFlight + 1) * this.#expectedBytes <= BETWEEN * this.#bounds.maxBytes
  }

  /**
   * Whether items have to be dropped: those held take more memory than `maxInFlight` large ones add
   * to `maxBytes`. From then on, no more than that many are in flight.
   */
  isOverfull(heldBytes: number): boolean {
    const { maxBytes, maxInFlight } = this.#bounds
    if (maxInFlight === undefined || heldBytes <= maxBytes + maxInFlight * this.#largestBytes) return false
    this.#areLarge = true
    this.#maxInFlight = Math.min(this.#maxInFlight, maxInFlight)
    return true
  }

  /** An item has arrived. */
  add(bytes: number): void {
    this.#arrived++
    this.#largestBytes = Math.max(bytes, this.#largestBytes)
    const { growth = GROWTH, decay = DECAY } = this.#bounds
    const weight = bytes > this.#expectedBytes ? growth : decay
    this.#expectedBytes += Math.max(weight, 1 / ++this.#items) * (bytes - this.#expectedBytes)
  }

  /** Ends the current window, if it is over, and adjusts the limits. Call it before `hasRoom`. */
  update(): void {
    const now = this.#clock.now()
    const elapsed = now - this.#since
    const { maxItems, maxInFlight = maxItems, maxSmallInFlight, maxWaitMs } = this.#bounds
    const mostInFlight = this.#areLarge ? maxInFlight : (maxSmallInFlight ?? maxInFlight)
    if (elapsed <= WINDOW_MS) {
      // As many in less than a window come quickly.
      if (maxSmallInFlight !== undefined && this.#isFirstWindow && this.#arrived >= AT_LEAST) this.#maxInFlight = mostInFlight
      return
    }
    if (eventLoopUtilization(this.#utilization).utilization < BUSY) this.#maxAhead = Math.min(maxItems, this.#maxAhead * 2)
    const most = Math.max(AT_LEAST, (this.#arrived * maxWaitMs) / elapsed)
    this.#maxInFlight = Math.min(mostInFlight, this.#wasFull ? Math.max(this.#maxInFlight, most) : most)
    this.#wasFull = false
    this.#isFirstWindow = false
    this.#utilization = eventLoopUtilization()
    this.#arrived = 0
    this.#since = now
  }
}

/** Utilization of the event loop, from `since` on if given. It is a load, not a time. */
function eventLoopUtilization(since?: EventLoopUtilization): EventLoopUtilization {
  return performance.eventLoopUtilization(since)
}
