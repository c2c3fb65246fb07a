import { Patience } from '../patience.ts'

/** Full POSTs in a row before a longer one is tried; more after tries that failed. */
const ENOUGH = 20
/** How much longer, as a part of the length. */
const MORE = 0.1

/**
 * A POST longer than `calls`: none is due, the next POST is to be one of this length, or it is in
 * flight and the others keep to `calls`.
 */
type LengthTrial = { readonly state: 'none' } | { readonly state: 'due'; readonly length: number } | { readonly state: 'in-flight'; readonly length: number }

const NO_TRIAL: LengthTrial = { state: 'none' }

/** The longest batch, in calls, and the trials by which it grows. */
export class BatchLength {
  /** Longest batch, but for a trial. */
  calls: number
  /** Length that is never passed. */
  #ceiling: number
  #trial: LengthTrial = NO_TRIAL
  /** Length of the next trial, where it is not a little more than `calls`: it has failed before. */
  #resume: number | undefined
  /** With POSTs of the most calls that are answered in full, before a trial. */
  readonly #patience = new Patience(ENOUGH)

  constructor(maxCalls: number) {
    this.calls = maxCalls
    this.#ceiling = maxCalls
  }

  /** Longest next POST. */
  get next(): number {
    return this.#trial.state === 'due' ? this.#trial.length : this.calls
  }

  /** No POST will ever have more than one call. */
  get isAlwaysOne(): boolean {
    return this.#ceiling === 1
  }

  /** Whether a POST of this length is the trial. */
  isTrial(length: number): boolean {
    return this.#trial.state === 'in-flight' && this.#trial.length === length
  }

  /** A POST of `length` calls starts. */
  start(length: number): void {
    if (length > this.calls) this.#trial = { state: 'in-flight', length }
  }

  /** A POST has ended, and all has been learnt from it. A trial without a result is made again. */
  end(length: number): void {
    if (this.isTrial(length)) this.#trial = { state: 'due', length: Math.min(this.#ceiling, length) }
  }

  /** A POST was answered in full. When enough of them were, a longer one is tried. */
  answered(length: number): void {
    if (this.isTrial(length)) {
      this.set(Math.min(this.#ceiling, Math.max(this.calls, length)))
      this.#patience.reset()
    } else if (length >= this.calls && this.calls < this.#ceiling && this.#trial.state === 'none' && this.#patience.succeeded()) {
      const step = Math.min(Math.ceil(this.calls * MORE), Math.ceil((this.#ceiling - this.calls) / 2))
      this.#trial = { state: 'due', length: Math.min(this.#ceiling, this.#resume ?? this.calls + step) }
      this.#resume = undefined
    }
  }

  /** The longest batch has this many calls from now on. */
  set(calls: number): void {
    this.calls = calls
    this.#resume = undefined
    this.#trial = NO_TRIAL
    this.#patience.startOver()
  }

  /** The trial failed. The next one waits for longer. */
  trialFailed(): void {
    this.#trial = NO_TRIAL
    this.#patience.failed()
  }

  /** This length is never reached again. */
  stayBelow(length: number): void {
    this.#ceiling = Math.max(1, Math.min(this.#ceiling, length - 1))
  }

  /** The next trial comes as soon as the first one. */
  tryAgainSoon(): void {
    this.#patience.reset()
  }

  /** The next trial has this length. */
  tryNext(length: number | undefined): void {
    this.#resume = length
  }

  /**
   * Calls go one by one, since a batch of `length` calls has failed. The next trial is as long as
   * batches were, or half as long as this one, where it was a trial.
   */
  goSingle(length: number): void {
    // It may have been too long, or its replies too large.
    const next = this.isTrial(length) ? Math.max(2, Math.floor(length / 2)) : Math.max(this.calls, length, this.#resume ?? 1)
    const resume = Math.min(this.#ceiling, next)
    this.set(1)
    this.#resume = resume
    this.trialFailed()
  }

  /** Batches are as long again as before calls went one by one. */
  goBack(): void {
    this.set(this.#resume ?? this.calls)
  }
}
