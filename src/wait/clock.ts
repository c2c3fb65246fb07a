/**
 * The only source of time in the engine: deadlines, pauses, rates and delays are all on one clock,
 * which travels with the registry of what waits (waiting.ts). Tests put a virtual one in its place.
 */
export interface Clock {
  /** The time in ms, always above 0, which may stand for "never". It does not go back. */
  now(): number
  /** Calls `wake` once, at `at` or soon after, never at once. */
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

/**
 * `performance.now()` and `setTimeout`, looked up anew each time: frameworks for tests replace
 * them. A timer that would be longer than `LONGEST_TIMER` fires early.
 */
export const systemClock: Clock = {
  now: () => performance.now(),
  wakeAt: (at, wake) => setTimeout(wake, Math.min(Math.max(Math.ceil(at - performance.now()), 1), LONGEST_TIMER)),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout),
}
