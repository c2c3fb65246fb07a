import type { HexlineError } from '../../errors.ts'
import type { Call } from '../call.ts'
import { copyError } from '../copy-error.ts'
import { type Backoff, LONGEST_PAUSE_MS } from '../retry-delay.ts'

/**
 * The time for which an endpoint that throttles gets no calls: what it asks for, or else half of
 * `baseDelayMs`, doubled for each pause in a row, up to half of `maxDelayMs`.
 */
export class Pause {
  /** When it ends; in the past when there is none. */
  until = 0
  readonly #backoff: Backoff
  #failure: HexlineError | undefined
  #inARow = 0

  constructor(backoff: Backoff) {
    this.#backoff = backoff
  }

  begin(failure: HexlineError, now: number): void {
    // POSTs that were in flight together report the same throttling.
    if (now >= this.until) this.#inARow++
    const { baseDelayMs, maxDelayMs } = this.#backoff
    const wait = Math.min(LONGEST_PAUSE_MS, failure.retryAfterMs ?? 0) || Math.min(maxDelayMs, baseDelayMs * 2 ** (this.#inARow - 1)) / 2
    if (now + wait <= this.until) return
    this.until = now + wait
    this.#failure = failure
  }

  /** It was a mistake. */
  end(now: number): void {
    this.until = Math.min(this.until, now)
    this.#inARow = 0
  }

  /** The endpoint answers again. */
  recovered(): void {
    this.#inARow = 0
  }

  /**
   * The failure of a call that does not wait for the end of the pause, or whose deadline comes
   * first, with the endpoint's message.
   */
  failureFor(call: Call, now: number): HexlineError | undefined {
    if (this.until <= now || (call.whilePaused !== 'fail' && this.until < call.deadline)) return undefined
    return copyError(this.#failure as HexlineError, call.method)
  }
}
