import { type HexlineError, HttpError, MalformedReplyError, RpcError } from '../../errors.ts'
import type { Call, Outcome } from '../call.ts'
import { isStall, isStrained, isThrottled, isTooLarge } from '../failure-kinds.ts'

/** A POST on its way. */
export interface Flight<C extends Call = Call> {
  readonly entries: readonly C[]
  readonly sentAt: number
  /** It was the nth in flight when it started. */
  readonly nth: number
  /** The same without those that were overdue then: a reply that hangs does not keep the endpoint busy. */
  readonly nthBusy: number
  /** Expected size of its replies. */
  readonly bytes: number
  /** It shows whether POSTs of its length are taken, while the others wait. */
  readonly isProbe: boolean
  /** It took all that waited, and could have taken more. */
  readonly isShort: boolean
}

/** What the outcomes of a POST say of the endpoint that gave them. */
export class Landing {
  readonly flight: Flight
  /** Calls that have a result, and its size together. */
  answers = 0
  bytes = 0
  /** The POST was refused for its size, as a whole or in part. */
  refusal: HexlineError | undefined
  /** Of the calls that were throttled, the failure that asks for the longest pause. */
  throttling: HexlineError | undefined
  /** The POST may have been turned away for being a batch: its calls go again, one by one. */
  goesAgain = false
  readonly #outcomes: readonly Outcome[]
  /** Calls with an error of their own. */
  #errors = 0
  #timedOut = 0
  #strained = 0
  /** Calls that failed without a reason, as all do when the POST itself did. */
  #unexplained = 0
  /** Calls of a POST to which the endpoint answered that there is nothing at its URL. */
  #notFound = 0

  constructor(flight: Flight, outcomes: readonly Outcome[]) {
    this.flight = flight
    this.#outcomes = outcomes
    for (const outcome of outcomes) {
      if (outcome instanceof Error) {
        this.#fail(outcome)
      } else {
        this.answers++
        this.bytes += outcome.bytes
      }
    }
  }

  /** Calls that have a result. */
  get answered(): readonly Call[] {
    const { entries } = this.flight
    return this.isWhole ? entries : entries.filter((_, i) => !(this.#outcomes[i] instanceof Error))
  }

  /** True of a call that may pass in smaller company. */
  isRefused(outcome: Outcome): boolean {
    return this.goesAgain || (this.refusal !== undefined && outcome instanceof Error && isTooLarge(outcome))
  }

  get isBatch(): boolean {
    return this.flight.entries.length > 1
  }

  /** Every call has a result. */
  get isWhole(): boolean {
    return this.answers === this.flight.entries.length
  }

  /** The endpoint took a POST of this length: an error of a call itself proves that as well as a result does. */
  get isTaken(): boolean {
    return this.answers + this.#errors > 0 && this.refusal === undefined
  }

  get isTimedOut(): boolean {
    return this.#timedOut === this.flight.entries.length
  }

  /** The POST as a whole shows signs of too many at a time. */
  get isStrained(): boolean {
    return this.#strained === this.flight.entries.length
  }

  /** The POST as a whole failed, and nobody knows why. */
  get isUnexplained(): boolean {
    return this.#unexplained === this.flight.entries.length
  }

  /** The endpoint found nothing at its URL: a wrong one, or a server that knows no batches. */
  get isNotFound(): boolean {
    return this.#notFound === this.flight.entries.length
  }

  #fail(outcome: HexlineError): void {
    if (this.isBatch && isTooLarge(outcome)) {
      this.refusal = outcome
    } else if (isThrottled(outcome)) {
      if (this.throttling === undefined || (outcome.retryAfterMs ?? 0) > (this.throttling.retryAfterMs ?? 0)) this.throttling = outcome
    } else if (outcome instanceof RpcError) this.#errors++
    // That a reply stopped says nothing of its size: one that is too large goes on to the end of the timeout.
    if (outcome.kind === 'timeout' && !isStall(outcome)) this.#timedOut++
    if (isStrained(outcome)) this.#strained++
    if (outcome instanceof HttpError && outcome.status === 404 && outcome.kind === 'not-found') this.#notFound++
    if (outcome instanceof MalformedReplyError || (outcome instanceof HttpError && outcome.kind === 'server')) this.#unexplained++
  }
}
