import { copyError, type HexlineError } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { Backoff } from '../retry-delay.ts'

/** What an endpoint asks for beyond this is asked of it again then, in ms: it may have meant something else. */
const LONGEST = 600_000

/** The time for which an endpoint that throttles is left alone. */
export class Pause {
  /** When it ends; in the past when there is none. */
  until = 0
  readonly #backoff: Backoff
  #failure: HexlineError | undefined
  #inARow = 0

  constructor(backoff: Backoff) {
    this.#backoff = backoff
  }

  /** For what the endpoint asked, or else for longer each time. */
  begin(failure: HexlineError, now: number): void {
    // The POSTs that were in flight together tell of one and the same throttling.
    if (now >= this.until) this.#inARow++
    const { baseDelayMs, maxDelayMs } = this.#backoff
    const wait = Math.min(LONGEST, failure.retryAfterMs ?? 0) || Math.min(maxDelayMs, baseDelayMs * 2 ** (this.#inARow - 1)) / 2
    if (now + wait <= this.until) return
    this.until = now + wait
    this.#failure = failure
  }

  /** It answers again. */
  recovered(): void {
    this.#inARow = 0
  }

  /** The call will not wait for the end of the pause, or could only wait past its deadline. */
  outlasts(call: Call): boolean {
    return this.until !== 0 && this.until > performance.now() && (call.whilePaused === 'fail' || this.until >= call.deadline)
  }

  /** What such a call is told: the words of the endpoint. */
  failureFor(call: Call): HexlineError {
    return copyError(this.#failure as HexlineError, call.method)
  }
}
