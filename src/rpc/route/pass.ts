import type { HexlineError } from '../../errors.ts'
import { type Call, hasSubstitute } from '../call.ts'
import type { CallFailure } from '../call-failure.ts'
import { isGuessed, isThrottled, mayRepeat, saysOf } from '../failure-kinds.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * For how long an endpoint that throttles is waited for, in ms, where there is another way, or one
 * that is out.
 */
const WAITED_FOR_MS = 10_000

/** One pass of a call over the endpoints: which of them have failed it, and how. */
export class Pass {
  /** Endpoints that are not asked again in this pass. */
  readonly endpoints: Endpoint[] = []
  readonly failures: CallFailure[] = []
  /** POSTs that the call was in. */
  posts = 0
  /** How often an endpoint was given up while it had the call. */
  givenUp = 0
  /** An endpoint that is working has failed the call, and may answer another attempt. */
  hasIllOnes = false
  /** An endpoint that throttles will answer the call later on: those that cannot are not asked. */
  isWorthWaiting = false
  /**
   * A read got an error whose kind is a guess. It stands unless another endpoint answers, or says
   * what is wrong with the call.
   */
  guessed: CallFailure | undefined
  /** When that came. */
  guessedAt = 0
  /** It will do so soon, and the call is sent again then: those that are out are not asked. */
  isBackSoon = false
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** The endpoint has failed the call. */
  add(failure: CallFailure, endpoint: Endpoint, now: number): void {
    this.posts += failure.posts
    this.endpoints.push(endpoint)
    this.failures.push(failure)
    // An endpoint that throttles, and was asked before, is worth more than a guess.
    if (this.guessed === undefined && !this.isBackSoon && this.#call.safe && isGuessed(failure.error)) {
      this.guessed = failure
      this.guessedAt = now
    }
    this.hasIllOnes ||= saysOf(failure.error) === 'ill'
    if (!isThrottled(failure.error) || !this.#mayAnswerLater(endpoint, now)) return
    this.isWorthWaiting = true
    const isForLong = now - endpoint.health.throttledSince >= WAITED_FOR_MS
    this.isBackSoon ||= !isForLong && this.#isSentAgain(failure.error.retryAfterMs ?? 0, now)
  }

  /** One endpoint has given an error of which the kind is a guess: another one may know better. */
  isGuessing({ error }: CallFailure): boolean {
    return this.guessed !== undefined || (this.#call.safe && this.isBackSoon && isGuessed(error))
  }

  /**
   * The call waits for its endpoint no more, and is to be sent again; it was in a POST there if
   * `wasSent`. Endpoints that did not start it before may start it by now.
   */
  startOver(wasSent: boolean): void {
    if (wasSent) {
      this.posts++
      this.givenUp++
    }
    this.endpoints.length = 0
  }

  /** An endpoint that throttles may have the method. */
  #mayAnswerLater(endpoint: Endpoint, now: number): boolean {
    if (endpoint.lacks(this.#call.method, now)) return false
    return !hasSubstitute(this.#call) || now - endpoint.health.answeredAt < WAITED_FOR_MS
  }

  /** The retry layer repeats the call after throttling that lasts this long, which is not long. */
  #isSentAgain(pauseMs: number, now: number): boolean {
    const { attempts, deadline, whilePaused } = this.#call
    const isRepeated = whilePaused === 'wait' || (whilePaused === undefined && attempts > 1)
    return isRepeated && pauseMs < WAITED_FOR_MS && now + pauseMs < deadline
  }

  /**
   * The failure to report where no endpoint is left: the one after which the call may do better
   * soonest. Undefined where none has failed it.
   */
  mostHopeful(): CallFailure | undefined {
    let best: CallFailure | undefined
    for (const each of this.failures) if (best === undefined || hopeOf(each.error) < hopeOf(best.error)) best = each
    // An endpoint that could not be reached may be back long before another one's pause ends.
    const isUnreached = this.failures.some(({ error }) => error.kind === 'network')
    if (isUnreached && best?.error.retryAfterMs !== undefined) Object.assign(best.error, { retryAfterMs: 0 })
    return best
  }

  /**
   * The failure to report where the last endpoint lacks the method, as all others do, or fail: that
   * one has dropped the block says more, unless there is another way to get it.
   */
  get lacking(): CallFailure {
    const pruned = hasSubstitute(this.#call) ? undefined : this.failures.find(({ error }) => error.kind === 'pruned')
    return pruned ?? (this.failures.at(-1) as CallFailure)
  }
}

/** How long until the call may do better, in ms. Throttling passes on its own. */
function hopeOf(error: HexlineError): number {
  if (isThrottled(error)) return error.retryAfterMs ?? 0
  if (mayRepeat(error) === true) return 1e12
  return error.kind === 'pruned' ? 1e15 : Number.POSITIVE_INFINITY
}
