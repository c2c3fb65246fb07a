import { BatchLength } from './batch-length.ts'
import { BatchSupport } from './batch-support.ts'
import { BodySize, type WholeFailure, type WholeReply } from './body-size.ts'
import { LengthDoubt } from './length-doubt.ts'
import { LengthProbe } from './length-probe.ts'

/** What is left of a length with replies that were too large. */
const FEWER = 3 / 4

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
 * Where batches fail without a reason, `BatchSupport` is about whether there can be any, `body`
 * about those that have grown, and `LengthDoubt` about the length of the others.
 */
export class BatchSize {
  /** How large replies may be together. */
  readonly body = new BodySize()
  readonly #length: BatchLength
  readonly #support = new BatchSupport()
  readonly #probe = new LengthProbe()
  /** Whether POSTs that fail without a reason are too long. */
  readonly #doubt = new LengthDoubt()
  /** How many calls were answered of a POST whose other calls have no reply. */
  #answeredOnly = 0

  constructor(maxCalls: number) {
    this.#length = new BatchLength(maxCalls)
  }

  /** Longest batch, in calls. */
  get calls(): number {
    return this.#length.calls
  }

  /** How many calls the next POST may have: a few more where that is tried. */
  get next(): number {
    return this.#length.next
  }

  /** Each call is a POST, because the endpoint takes no batches or the user wants none. */
  get isSingle(): boolean {
    return this.calls === 1 && (this.#length.isAlwaysOne || this.#support.isNone)
  }

  /** A POST of this many calls waits for the probe that is in flight. */
  holdsBack(calls: number): boolean {
    return this.#probe.holdsBack(calls)
  }

  /** A POST of `length` calls starts. True where it is a probe. */
  start(length: number): boolean {
    this.#length.start(length)
    return this.#probe.start(length)
  }

  /** A POST has ended, and all has been learnt from it. */
  end(length: number, isProbe: boolean): void {
    this.#length.end(length)
    if (isProbe) this.#probe.end()
  }

  /**
   * A POST of `length` calls was not refused for its size. It could have been longer where it
   * `hadRoom`.
   */
  took(length: number, hadRoom: boolean): void {
    this.#probe.took(length, length >= this.calls || !hadRoom)
  }

  /** A POST was answered in full. When enough of them were, a longer one is tried. */
  answered(reply: WholeReply): void {
    const { length } = reply
    this.body.answered(reply)
    this.#doubt.answered(length, this.calls)
    this.#support.answered(length)
    this.#length.answered(length)
  }

  /** A POST of `length` calls was refused for their number, which is never reached again. */
  refused(length: number): void {
    this.#length.stayBelow(length)
    this.#halve(length)
    // Trials come to an end: what lies between this length and what works is halved by each.
    this.#length.tryAgainSoon()
  }

  /**
   * The replies to `length` calls were too large for the endpoint: `bytes` together, as expected or
   * as they turned out to be. Fewer bytes from now on, or fewer calls where bytes are not the
   * reason.
   */
  tooLarge(length: number, bytes: number): void {
    if (!this.body.refused(bytes)) {
      this.#halve(length)
      return
    }
    this.#probe.forgetBeyond(Math.max(1, Math.floor(length * FEWER)))
    this.#probe.require()
    this.#length.trialFailed()
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
    if (!this.body.failed(failure)) this.#halve(failure.length)
  }

  /**
   * Only the first `answered` of `length` calls have a reply. Twice the same number is the most
   * the endpoint answers. A lone call without one may be at the end by chance.
   */
  answeredOnly(answered: number, length: number): void {
    if (this.#length.isTrial(length)) this.#length.trialFailed()
    else if (length > this.#probe.taken && length - answered > 1) {
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
    if (!this.#support.mayBeNone) return false
    if (length === 1) {
      if (this.#support.loneCallFailed()) this.#length.goBack()
      return false
    }
    this.#length.goSingle(length)
    this.#support.batchFailed()
    return true
  }

  /**
   * A POST failed as a whole, by chance or because it was too long. True when its calls may do
   * better in shorter ones.
   */
  failedUnexplained(failure: WholeFailure): boolean {
    const { length, bytes, sentAt, now } = failure
    if (this.#length.isTrial(length)) {
      this.#length.trialFailed()
      return true
    }
    if (length > 1 && this.body.failed(failure)) return true
    const isProven = length === 1 || (length <= this.#probe.taken && this.body.isProven(bytes))
    const verdict = this.#doubt.failed({ length, isProven, sentAt }, this.calls, now)
    if (typeof verdict === 'number') {
      this.#setCalls(verdict)
      this.#probe.cancel()
    } else if (verdict === 'halve') {
      this.#halve(length)
      // Tried again once shorter ones have been answered for a while.
      this.#length.tryNext(this.#doubt.before)
    }
    return verdict === 'halve' || verdict === 'shorter'
  }

  #halve(length: number): void {
    // A trial says nothing about POSTs of the usual length.
    if (this.#length.isTrial(length)) {
      this.#length.trialFailed()
      return
    }
    const half = Math.max(1, Math.min(this.calls, Math.floor(length / 2)))
    if (half < this.calls) this.#probe.require()
    this.#probe.forgetBeyond(half)
    this.#setCalls(half)
  }

  #setCalls(calls: number): void {
    this.#length.set(calls)
    this.#support.lengthChanged()
  }
}
