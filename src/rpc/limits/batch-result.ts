import { type HexlineError, HttpError, MalformedReplyError, NetworkError, RpcError } from '../../errors.ts'
import type { Call, Outcome } from '../call.ts'
import { isStall, isStrained, isThrottled, isTooLarge, isUnanswered } from '../failure-kinds.ts'
import { sizeFrom } from '../reply.ts'

/** A POST that has been sent. */
export interface BatchInFlight {
  readonly calls: readonly Call[]
  readonly sentAt: number
  /** It was the nth POST in flight when it started. */
  readonly nth: number
  /**
   * The same without the POSTs that were overdue then: a reply that hangs does not keep the
   * endpoint busy.
   */
  readonly nthBusy: number
  /** Expected size of its replies, in bytes. */
  readonly expectedBytes: number
  /** It shows whether POSTs of its length are taken, while the others wait. */
  readonly isProbe: boolean
  /** It could have taken more calls than were waiting for it. */
  readonly hadRoom: boolean
}

/**
 * What the outcomes of one POST say about the endpoint that gave them. A plain value, made by
 * `batchResult`.
 */
export interface BatchResult {
  readonly batch: BatchInFlight
  /**
   * What all outcomes have in common. `unexplained`: the POST as a whole failed, without a reason
   * that says anything about its size. `cut`: its connection ended, or its reply stalled.
   * `not-found`: the endpoint says that there is nothing at its URL, which may be wrong, or belong
   * to a server without batches.
   */
  readonly common: 'answered' | 'timed-out' | 'unexplained' | 'cut' | 'not-found' | 'mixed'
  /** Calls that have a result, and the size of these results together, in bytes. */
  readonly answered: readonly Call[]
  readonly bytes: number
  /**
   * Calls that have a result, or an error of their own, which proves as well that the endpoint took
   * them.
   */
  readonly taken: readonly Call[]
  /**
   * Calls at the beginning that have a reply, where all others have none: the endpoint may answer
   * only the first ones of a batch. 0 otherwise.
   */
  readonly answeredFirst: number
  /** Calls that failed as they do when an endpoint gets too much at a time. */
  readonly strained: number
  /** The batch, or a part of it, was refused for its size. */
  readonly refusal: HexlineError | undefined
  /** Of the calls that were throttled, the failure that asks for the longest pause. */
  readonly throttling: HexlineError | undefined
  /** Calls that were throttled. */
  readonly throttled: readonly Call[]
}

/** Counts the outcomes of `batch`, which are in the order of its calls. */
export function batchResult(batch: BatchInFlight, outcomes: readonly Outcome[]): BatchResult {
  const { calls } = batch
  let answered = 0
  let bytes = 0
  let rejected = 0
  let strained = 0
  let refusal: HexlineError | undefined
  let throttling: HexlineError | undefined
  let common: BatchResult['common'] | undefined
  let throttled: Call[] | undefined
  for (let i = 0; i < outcomes.length; i++) {
    const outcome = outcomes[i] as Outcome
    const what = categoryOf(outcome)
    common = common === undefined || common === what ? what : 'mixed'
    if (!(outcome instanceof Error)) {
      answered++
      bytes += sizeFrom(outcome.bytes)
      continue
    }
    if (isStrained(outcome)) strained++
    if (calls.length > 1 && isTooLarge(outcome)) refusal = outcome
    else if (isThrottled(outcome)) {
      throttled ??= []
      throttled.push(calls[i] as Call)
      throttling = throttling === undefined || pauseOf(outcome) > pauseOf(throttling) ? outcome : throttling
    } else if (isOwnError(outcome, calls.length)) rejected++
  }
  const hasResult = (outcome: Outcome) => !(outcome instanceof Error)
  return {
    batch,
    common: common ?? 'mixed',
    answeredFirst: answeredFirst(outcomes, answered + rejected),
    answered: callsWhere(hasResult, answered, calls, outcomes),
    bytes,
    taken: callsWhere((outcome) => hasResult(outcome) || isOwnError(outcome as Error, calls.length), answered + rejected, calls, outcomes),
    strained,
    refusal,
    throttling,
    throttled: throttled ?? NONE,
  }
}

/** The calls whose outcomes are like this, of which there are `count`. */
function callsWhere(isLike: (outcome: Outcome) => boolean, count: number, calls: readonly Call[], outcomes: readonly Outcome[]): readonly Call[] {
  if (count === calls.length) return calls
  return count === 0 ? NONE : calls.filter((_, i) => isLike(outcomes[i] as Outcome))
}

/** An error of one call of a batch of this length, which was taken. */
function isOwnError(error: Error, length: number): boolean {
  return error instanceof RpcError && !isThrottled(error) && !(length > 1 && isTooLarge(error))
}

const NONE: readonly Call[] = []

function categoryOf(outcome: Outcome): BatchResult['common'] {
  if (!(outcome instanceof Error)) return 'answered'
  if (outcome.kind === 'timeout') return isStall(outcome) ? 'cut' : 'timed-out'
  if (outcome instanceof NetworkError && !outcome.unsent) return 'cut'
  if (outcome instanceof MalformedReplyError || (outcome instanceof HttpError && outcome.kind === 'server')) return 'unexplained'
  if (outcome instanceof HttpError && outcome.status === 404 && outcome.kind === 'not-found') return 'not-found'
  return 'mixed'
}

function answeredFirst(outcomes: readonly Outcome[], replies: number): number {
  if (replies === 0 || replies === outcomes.length) return 0
  return outcomes.every((outcome, i) => (outcome instanceof Error && isUnanswered(outcome)) === i >= replies) ? replies : 0
}

function pauseOf({ retryAfterMs = 0 }: HexlineError): number {
  return retryAfterMs
}
