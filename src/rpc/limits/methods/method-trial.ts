import type { BatchInFlight } from '../batch-result.ts'

/** How long other methods are silent before the POST of a trial, in ms. */
export const SILENT_MS = 1000
/** How much later that POST may start, and how long others wait for its reply at most, in ms. */
const LATE_MS = 100
const REPLY_MS = 1000

/**
 * Tells a limit of one method from a limit that all methods share: the others are silent before one
 * POST of the method, and until its reply is there.
 *
 *       others silent       the POST starts     reply, or at most
 *     |---- 1000 ms ----|---- by 100 ms ----|---- 1000 ms ----|
 *                       at                sentAt
 *
 * If that POST is answered, calls of the others had used up what the method was refused for. It
 * must be at least as long as the one refused before: a shorter one may be answered for its length.
 */
export class MethodTrial {
  readonly method: string
  /** Calls of the POST that was refused last. */
  readonly calls: number
  /** When the POST may start, and when it did. */
  readonly #at: number
  #sentAt: number | undefined

  constructor(method: string, calls: number, at: number) {
    this.method = method
    this.calls = calls
    this.#at = at
  }

  /** How long calls of this method are to wait for the trial, in ms. */
  msToWait(method: string, now: number): number {
    if (method === this.method || now < this.#at - SILENT_MS) return 0
    const end = this.#sentAt === undefined ? this.#at : this.#sentAt + REPLY_MS
    return Math.max(0, end - now)
  }

  /** A POST that starts now is so late that others were not silent before it. */
  isSpoiltBy(method: string, now: number): boolean {
    return method === this.method && now > this.#at + LATE_MS
  }

  started(method: string, now: number): void {
    if (method === this.method && now >= this.#at) this.#sentAt ??= now
  }

  /** Is this its POST? */
  isOf({ calls, sentAt }: BatchInFlight): boolean {
    return sentAt === this.#sentAt && calls[0]?.method === this.method
  }
}
