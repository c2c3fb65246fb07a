import type { HexlineError } from '../errors.ts'
import type { FailureCount } from './failure-count.ts'
import type { Messages } from './output/messages.ts'
import { Trouble } from './trouble.ts'

/** How long nothing may arrive before it counts as a standstill, in ms. */
const STILL = 5000
/**
 * Shortest time between two reasons, in ms. Failures may differ by no more than the block they
 * name.
 */
const REASON_EVERY = 5000

/**
 * Notices that nothing arrives, and says why, as far as calls have failed. Its times are those of
 * `performance.now()`.
 */
export class Standstill {
  readonly #failures: FailureCount
  readonly #trouble: Trouble
  /** Since when the next block is waited for. */
  #waitingSince = 0
  /** The output is taking what has arrived: its reader may hold the job up. */
  #isWriting = false
  #explainedAt = Number.NEGATIVE_INFINITY

  constructor(messages: Pick<Messages, 'tell' | 'explain'>, failures: FailureCount) {
    this.#failures = failures
    this.#trouble = new Trouble(messages)
  }

  /** Nothing arrives, because calls fail. */
  get isOn(): boolean {
    const hasFailed = this.#failures.failure !== undefined || this.#trouble.isTold
    return hasFailed && !this.#isWriting && performance.now() - this.#waitingSince >= STILL
  }

  start(): void {
    this.#isWriting = false
    this.#waitingSince = performance.now()
  }

  /** A block has come. */
  moved(): void {
    this.#waitingSince = performance.now()
    // What was fetched before may arrive while the node is down.
    if (this.#failures.failure === undefined) this.#trouble.tell(undefined)
  }

  /** What has arrived is written now: until `written`, the job waits for nothing else. */
  writing(): void {
    this.#isWriting = true
  }

  written(): void {
    this.#isWriting = false
    this.#waitingSince = performance.now()
  }

  /** Says why, if it is on, and nothing was said a moment ago. */
  explain(): void {
    const now = performance.now()
    const { failure } = this.#failures
    if (failure === undefined || !this.isOn || now - this.#explainedAt < REASON_EVERY) return
    this.#explainedAt = now
    this.#trouble.tell(failure)
  }

  /** Says at once what went wrong; undefined once it no longer does. */
  tell(failure: HexlineError | undefined): void {
    this.#trouble.tell(failure)
  }
}
