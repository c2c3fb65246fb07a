import * as timers from 'node:timers'

/**
 * The only source of time in the engine: deadlines, pauses, rates and delays are all on one clock,
 * which travels with the registry of what waits (waiting.ts). Tests put a virtual one in its place.
 */
export interface Clock {
  /** The time in ms, always above 0, which may stand for "never". It does not go back. */
  now(): number
  /**
   * Calls `wake` once, at `at` or soon after, never at once. What has arrived by then has been
   * read, also where the process has stood still since: a timeout never comes before its reply.
   */
  wakeAt(at: number, wake: () => void): Timer
  cancel(timer: Timer): void
}

/** A call of `wakeAt` that is still to come. It holds the process up unless it is `unref`ed. */
export interface Timer {
  ref(): unknown
  unref(): unknown
}

/** The longest that a timer of Node.js can be set to, in ms. A longer one fires at once. */
export const LONGEST_TIMER = 2 ** 31 - 1

/** Node.js's own, also where a test framework has replaced the global ones with its fake clock. */
const { setTimeout: ownTimeout, setImmediate: ownImmediate } = timers

/** Node.js reads its sockets after its timers, and before its immediates. */
class SystemTimer implements Timer {
  readonly #wake: () => void
  readonly #timeout: NodeJS.Timeout
  #isCancelled = false

  constructor(ms: number, wake: () => void) {
    this.#wake = wake
    // The time of a fake clock would have moved on by the next immediate.
    const isFake = setTimeout !== ownTimeout && setImmediate !== ownImmediate
    this.#timeout = setTimeout(isFake ? this.#ring : () => void ownImmediate(this.#ring), ms)
  }

  readonly #ring = (): void => {
    if (!this.#isCancelled) this.#wake()
  }

  cancel(): void {
    this.#isCancelled = true
    clearTimeout(this.#timeout)
  }

  ref(): void {
    this.#timeout.ref()
  }

  unref(): void {
    this.#timeout.unref()
  }
}

/**
 * `performance.now()` and `setTimeout`, looked up anew each time: frameworks for tests replace
 * them. A timer that would be longer than `LONGEST_TIMER` fires early.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  wakeAt: (at, wake) => new SystemTimer(Math.min(Math.max(Math.ceil(at - performance.now()), 1), LONGEST_TIMER), wake),
  cancel: (timer) => (timer as SystemTimer).cancel(),
}
