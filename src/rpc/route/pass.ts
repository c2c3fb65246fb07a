import type { HexlineError } from '../../errors.ts'
import { type Call, hasSubstitute } from '../call.ts'
import type { CallFailure } from '../call-failure.ts'
import { endpointState, isGuessed, isThrottled, mayRepeat } from '../failure-kinds.ts'
import type { Endpoint } from './endpoint.ts'
import type { Trait } from './protocol.ts'

/**
 * How long, in ms, a call waits for an endpoint that throttles rather than use a substitute for its
 * method, or ask an endpoint that is out.
 */
const WAITED_FOR_MS = 10_000

/** One pass of a call over the endpoints: which of them have failed it, and how. */
export class Pass {
  readonly call: Call
  readonly trait: Trait | undefined
  /** The only endpoint that may get the call, where there is one. */
  readonly holder: Endpoint | undefined
  /** Endpoints that are not asked again in this pass. */
  readonly endpoints: Endpoint[] = []
  readonly failures: CallFailure[] = []
  /** POSTs that the call was in. */
  posts = 0
  /** How often an endpoint was given up while it had the call. */
  givenUp = 0
  /** An endpoint failed in a way that may pass, so it may answer another attempt. */
  hasPassingFailure = false
  /**
   * An endpoint throttles and may answer the call later, so endpoints that are known to lack the
   * method or the block are not asked.
   */
  isWorthWaiting = false
  /**
   * That endpoint may answer soon, and the retry layer will send the call again: endpoints that are
   * out are not asked.
   */
  isBackSoon = false
  /**
   * The error of a read whose kind is a guess. The call fails with it unless another endpoint
   * answers, or says what is wrong with the call.
   */
  guessed: CallFailure | undefined
  /** When `guessed` came. */
  guessedAt = 0

  constructor(call: Call, trait: Trait | undefined, holder: Endpoint | undefined) {
    this.call = call
    this.trait = trait
    this.holder = holder
  }

  /** The endpoint has failed the call. */
  add(failure: CallFailure, endpoint: Endpoint, now: number): void {
    this.posts += failure.posts
    this.endpoints.push(endpoint)
    this.failures.push(failure)
    // If an endpoint that throttles will be asked again soon, its answer is better than a guess.
    if (this.guessed === undefined && !this.isBackSoon && this.call.safe && isGuessed(failure.error)) {
      this.guessed = failure
      this.guessedAt = now
    }
    this.hasPassingFailure ||= endpointState(failure.error) === 'fails'
    if (!isThrottled(failure.error) || !this.#mayAnswerLater(endpoint, now)) return
    this.isWorthWaiting = true
    const isForLong = now - endpoint.health.throttledSince >= WAITED_FOR_MS
    this.isBackSoon ||= !isForLong && this.#isSentAgain(failure.error.retryAfterMs ?? 0, now)
  }

  /** All that is known about the call is a guess at what is wrong: another endpoint may know. */
  isGuessing({ error }: CallFailure): boolean {
    return this.guessed !== undefined || (this.call.safe && this.isBackSoon && isGuessed(error))
  }

  /**
   * The call was taken back from its endpoint, and is to be sent again; it was in a POST there if
   * `wasSent`. All endpoints may be asked again: one that did not start the call may start it now.
   */
  startOver(wasSent: boolean): void {
    if (wasSent) {
      this.posts++
      this.givenUp++
    }
    this.endpoints.length = 0
  }

  /**
   * An endpoint that throttles may answer the call later. If the caller has a substitute for the
   * method, only an endpoint that has answered recently is worth the wait.
   */
  #mayAnswerLater(endpoint: Endpoint, now: number): boolean {
    if (endpoint.lacks(this.call.method, now)) return false
    return !hasSubstitute(this.call) || now - endpoint.health.answeredAt < WAITED_FOR_MS
  }

  /** The pause is short, and the retry layer will send the call again after it. */
  #isSentAgain(pauseMs: number, now: number): boolean {
    const { attempts, deadline, whilePaused } = this.call
    const isRepeated = whilePaused === 'wait' || (whilePaused === undefined && attempts > 1)
    return isRepeated && pauseMs < WAITED_FOR_MS && now + pauseMs < deadline
  }

  /**
   * The failure to report when no endpoint is left: the one that may pass soonest. Undefined if no
   * endpoint has failed the call.
   */
  soonestToPass(): CallFailure | undefined {
    let best: CallFailure | undefined
    for (const each of this.failures) if (best === undefined || msToPass(each.error) < msToPass(best.error)) best = each
    // An endpoint that could not be reached may be back long before another one's pause ends.
    const isUnreached = this.failures.some(({ error }) => error.kind === 'network')
    if (isUnreached && best?.error.retryAfterMs !== undefined) Object.assign(best.error, { retryAfterMs: 0 })
    return best
  }

  /**
   * The failure to report when the last endpoint lacks the method, and all others lack it too or
   * have failed. If one of them has the method but has dropped the block, that explains more,
   * unless the caller has a substitute for the method.
   */
  get lacking(): CallFailure {
    const pruned = hasSubstitute(this.call) ? undefined : this.failures.find(({ error }) => error.kind === 'pruned')
    return pruned ?? (this.failures.at(-1) as CallFailure)
  }
}

/** How long until the failure may pass, in ms; huge figures only rank the kinds. */
function msToPass(error: HexlineError): number {
  if (isThrottled(error)) return error.retryAfterMs ?? 0
  if (mayRepeat(error) === true) return 1e12
  return error.kind === 'pruned' ? 1e15 : Number.POSITIVE_INFINITY
}
