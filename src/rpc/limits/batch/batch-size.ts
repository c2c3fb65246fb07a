import { Patience } from '../patience.ts'
import { BodySize, type WholeFailure, type WholeReply } from './body-size.ts'
import { LengthDoubt } from './length-doubt.ts'

/** Full POSTs in a row before a longer one is tried; more after tries that failed. */
const ENOUGH = 20
/** How much longer, as a part of the length. */
const MORE = 0.1
/** What is left of a length with replies that were too large. */
const FEWER = 3 / 4

/**
 * Whether the endpoint takes batches at all:
 * - `unknown`: no batch has been answered, and none has failed without a reason;
 * - `doubted`: one has, so calls go one by one, to see whether these are answered;
 * - `singles`: they are, so calls keep going one by one, and batches are tried again ever more
 *   rarely;
 * - `failing`: they are not, so batches were not the reason, and calls travel together again;
 * - `batches`: a batch has been answered.
 */
type Support = 'unknown' | 'doubted' | 'singles' | 'failing' | 'batches'

/**
 * A POST longer than `calls`: none is due, the next POST is to be one of this length, or it is in
 * flight and the others keep to `calls`.
 */
type LengthTrial = { readonly state: 'none' } | { readonly state: 'due'; readonly length: number } | { readonly state: 'in-flight'; readonly length: number }

const NO_TRIAL: LengthTrial = { state: 'none' }

/**
 * How long batches may be, in calls; `body` is about the bytes of their replies.
 *
 *     refused for its length:    calls = floor(length / 2), and `length` is never reached again
 *     timed out:                 calls = floor(length / 2), unless `body` became smaller
 *     throttled in its middle:   calls = max(answered, ceil(calls / 2))
 *     replies too large:         calls = floor(length / 2), where bytes are not the reason
 *     only the first answered:   calls = as many, after twice the same number
 *     failed without a reason:   see `LengthDoubt`
 *     after 20 full POSTs:       one tries 10 % more, while the others keep to `calls`; 20
 *                                becomes 40, 80 .. 1280 with each try that fails, and 20 again
 *                                with one that works
 *
 * Where batches fail without a reason, `Support` is about whether there can be any, `body` about
 * those that have grown, and `LengthDoubt` about the length of the others.
 */
export class BatchSize {
  /** Longest batch, in calls. */
  calls: number
  /**
   * Longest batch that was taken, as far as that still holds: POSTs of this length need no probe.
   */
  taken = 1
  /** How large replies may be together. */
  readonly body = new BodySize()
  /**
   * No POST of `calls` calls has been taken since they were made fewer: one is sent while the
   * others wait.
   */
  #isUnproven = false
  /** Length that is never passed. */
  #ceiling: number
  #trial: LengthTrial = NO_TRIAL
  #support: Support = 'unknown'
  /** Length to try next, where it is not a little more than `calls`: it failed without a reason. */
  #resume: number | undefined
  /** With POSTs of the most calls that are answered in full, before a longer one. */
  readonly #patience = new Patience(ENOUGH)
  /** Whether POSTs that fail without a reason are too long. */
  readonly #doubt = new LengthDoubt()
  /** How many calls were answered of a POST whose other calls have no reply. */
  #answeredOnly = 0

  constructor(maxCalls: number) {
    this.calls = maxCalls
    this.#ceiling = maxCalls
  }

  /** How many calls the next POST may have. */
  get most(): number {
    return this.#trial.state === 'due' ? this.#trial.length : this.calls
  }

  /** Each call is a POST, because the endpoint takes no batches or the user wants none. */
  get isSingle(): boolean {
    return this.calls === 1 && (this.#ceiling === 1 || this.#support === 'singles')
  }

  /** A POST of this length shows whether such POSTs are taken. */
  isProbe(length: number): boolean {
    return this.#isUnproven && length > this.taken
  }

  /** A POST of `length` calls starts. */
  start(length: number): void {
    if (length > this.calls) this.#trial = { state: 'in-flight', length }
  }

  /** A POST has ended, and all has been learnt from it. A trial without a result is made again. */
  end(length: number): void {
    if (this.#isTrial(length)) this.#trial = { state: 'due', length: Math.min(this.#ceiling, length) }
  }

  /**
   * A POST of `length` calls was not refused for its size. It could have been longer where it
   * `hadRoom`.
   */
  took(length: number, hadRoom: boolean): void {
    if (length > this.taken) this.taken = length
    if (length >= this.calls || !hadRoom) this.#isUnproven = false
  }

  /** A POST was answered in full. When enough of them were, a longer one is tried. */
  answered(reply: WholeReply): void {
    const { length } = reply
    this.body.answered(reply)
    this.#doubt.answered(length, this.calls)
    if (length > 1) this.#support = 'batches'
    else if (this.#support === 'failing') this.#support = 'unknown'
    else if (this.#support === 'doubted') this.#support = 'singles'
    if (this.#isTrial(length)) {
      this.#setCalls(Math.min(this.#ceiling, Math.max(this.calls, length)))
      this.#patience.reset()
    } else if (length >= this.calls && this.calls < this.#ceiling && this.#trial.state === 'none' && this.#patience.succeeded()) {
      const step = Math.min(Math.ceil(this.calls * MORE), Math.ceil((this.#ceiling - this.calls) / 2))
      this.#trial = { state: 'due', length: Math.min(this.#ceiling, this.#resume ?? this.calls + step) }
      this.#resume = undefined
    }
  }

  /** A POST of `length` calls was refused for their number, which is never reached again. */
  refused(length: number): void {
    this.#ceiling = Math.max(1, Math.min(this.#ceiling, length - 1))
    this.halve(length)
    // Trials come to an end: what lies between the ceiling and what works is halved by each.
    this.#patience.reset()
  }

  /**
   * The replies to `length` calls were too large for the endpoint: `bytes` together, as expected or
   * as they turned out to be. Fewer bytes from now on, or fewer calls where bytes are not the
   * reason.
   */
  tooLarge(length: number, bytes: number): void {
    if (!this.body.refused(bytes)) {
      this.halve(length)
      return
    }
    this.taken = Math.min(this.taken, Math.max(1, Math.floor(length * FEWER)))
    this.#isUnproven = true
    this.#trialFailed()
  }

  /**
   * A POST was throttled after this many of its calls had been answered. Halved at most, since it
   * may have been a short one.
   */
  throttled(answered: number): void {
    if (answered > 0) this.#setCalls(Math.min(this.calls, Math.max(answered, Math.ceil(this.calls / 2))))
  }

  /** A POST timed out. */
  timedOut(failure: WholeFailure): void {
    if (!this.body.failed(failure)) this.halve(failure.length)
  }

  /** A POST of `length` calls timed out, or had replies that were too large. */
  halve(length: number): void {
    // A trial says nothing about POSTs of the usual length.
    if (this.#isTrial(length)) {
      this.#trialFailed()
      return
    }
    const half = Math.max(1, Math.min(this.calls, Math.floor(length / 2)))
    if (half < this.calls) this.#isUnproven = true
    this.taken = Math.min(this.taken, half)
    this.#setCalls(half)
  }

  /**
   * Only the first `answered` of `length` calls have a reply. Twice the same number is the most
   * the endpoint answers. A lone call without one may be at the end by chance.
   */
  answeredOnly(answered: number, length: number): void {
    if (this.#isTrial(length)) this.#trialFailed()
    else if (length > this.taken && length - answered > 1) {
      const isAgain = answered === this.#answeredOnly
      this.#answeredOnly = answered
      if (isAgain && answered < this.calls) this.#setCalls(answered)
    }
  }

  /**
   * A POST of `length` calls failed as a whole, for a reason that says nothing about its length,
   * and nothing is known of batches. True when its calls may do better one by one.
   */
  failed(length: number): boolean {
    if (this.#support === 'batches' || this.#support === 'failing') return false
    if (length === 1) {
      if (this.#support === 'doubted' && this.#resume !== undefined) {
        this.#setCalls(this.#resume)
        this.#support = 'failing'
      }
      return false
    }
    // A batch that is tried among single calls may have been too long, or its replies too large.
    const next = this.#isTrial(length) ? Math.max(2, Math.floor(length / 2)) : Math.max(this.calls, length, this.#resume ?? 1)
    const resume = Math.min(this.#ceiling, next)
    this.#setCalls(1)
    this.#resume = resume
    if (this.#support === 'unknown') this.#support = 'doubted'
    this.#trialFailed()
    return true
  }

  /**
   * A POST failed as a whole, by chance or because it was too long. True when its calls may do
   * better in shorter ones.
   */
  failedUnexplained(failure: WholeFailure): boolean {
    const { length, bytes, sentAt, now } = failure
    if (this.#isTrial(length)) {
      this.#trialFailed()
      return true
    }
    if (length > 1 && this.body.failed(failure)) return true
    const isProven = length === 1 || (length <= this.taken && this.body.isProven(bytes))
    const verdict = this.#doubt.failed({ length, isProven, sentAt }, this.calls, now)
    if (typeof verdict === 'number') {
      this.#setCalls(verdict)
      this.#isUnproven = false
    } else if (verdict === 'halve') {
      this.halve(length)
      // Tried again once shorter ones have been answered for a while.
      this.#resume = this.#doubt.before
    }
    return verdict === 'halve' || verdict === 'shorter'
  }

  #isTrial(length: number): boolean {
    return this.#trial.state === 'in-flight' && this.#trial.length === length
  }

  #setCalls(calls: number): void {
    this.calls = calls
    if (this.#support === 'doubted') this.#support = 'unknown'
    this.#resume = undefined
    this.#trial = NO_TRIAL
    this.#patience.startOver()
  }

  /** The next trial waits for longer. */
  #trialFailed(): void {
    this.#trial = NO_TRIAL
    this.#patience.failed()
  }
}
