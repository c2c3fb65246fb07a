import type { CallFailure } from './call-failure.ts'
import { isStall, isThrottled } from './failure-kinds.ts'
import type { RetryAt } from './retry-delay.ts'

/** The next attempt of a task. */
export interface Attempt {
  /** Counts the POSTs that the task was in, this one included. */
  readonly number: number
  /** When it starts, on the clock. */
  readonly at: number
  readonly isLast: boolean
  /** It waits for endpoints that were given up, since they may only be slow. */
  readonly isPatient: boolean
  /** Number of replies so far that began and then stopped. */
  readonly stalls: number
}

/** A task, as far as its attempts depend on it. */
export interface Attempted {
  /**
   * How often it may fail, the first attempt included. Throttled attempts do not count, unless this
   * is 1 and `waits` is not set.
   */
  readonly attempts: number
  readonly waits?: boolean
  /** A time on the clock. */
  readonly deadline: number
  /**
   * May it be tried again after this failure? False where it may have run and must not run twice.
   */
  mayRepeat(failure: CallFailure): boolean
}

/**
 * The last attempt is patient. If attempts have no limit, none is the last, and one in this many is
 * patient instead.
 */
const PATIENT_EVERY = 4

/** The failed attempts of a task, and when the next one is made. */
export class Attempts {
  readonly #task: Attempted
  readonly #retryAt: RetryAt
  /** POSTs that the task was in. */
  posts = 0
  #failed = 0
  #firstFailedAt: number | undefined
  #stalls = 0

  constructor(task: Attempted, retryAt: RetryAt) {
    this.#task = task
    this.#retryAt = retryAt
  }

  /** The attempt after this failure; undefined where none follows. */
  after(failure: CallFailure, now: number): Attempt | undefined {
    const { attempts, deadline } = this.#task
    this.#count(failure, now)
    const isLast = this.#failed === attempts - 1
    const at = this.#startOf(failure, now, isLast)
    if (!this.#task.mayRepeat(failure) || this.#failed >= attempts || at >= deadline) return undefined
    const isPatient = isLast || (attempts === Number.POSITIVE_INFINITY && this.#failed % PATIENT_EVERY === PATIENT_EVERY - 1)
    return { number: this.posts + 1, at, isLast, isPatient, stalls: this.#stalls }
  }

  #count(failure: CallFailure, now: number): void {
    this.posts += failure.posts
    if (isStall(failure.error)) this.#stalls++
    if (!this.#isCounted(failure)) return
    this.#failed++
    this.#firstFailedAt ??= now
  }

  /** A throttled attempt did not run: it is repeated until the deadline. */
  #isCounted({ error }: CallFailure): boolean {
    return !isThrottled(error) || (this.#task.attempts === 1 && this.#task.waits !== true)
  }

  /** A longer wait precedes the last attempt, unless it would outlast the deadline. */
  #startOf(failure: CallFailure, now: number, isLast: boolean): number {
    const failures = this.#isCounted(failure) ? this.#failed : 1
    const start = (firstFailedAt?: number) => Math.max(now, this.#retryAt(failure.error, failures, now, firstFailedAt))
    const afterFullWait = start(isLast ? this.#firstFailedAt : undefined)
    return afterFullWait < this.#task.deadline ? afterFullWait : start()
  }
}
