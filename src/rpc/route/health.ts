import { type HexlineError, TimeoutError } from '../../errors.ts'
import type { Clock } from '../../wait/clock.ts'
import type { Call, Outcome, Post } from '../call.ts'
import { routeEvents } from '../events.ts'
import { endpointState, isFailure, isNoEndpoint } from '../failure-kinds.ts'
import { setBounded } from '../set-bounded.ts'

/**
 * Weight of the newest POST in the error rate: after four that failed, one after the other, it is
 * above one half.
 */
const NEWEST = 0.2
/** Error rate from which an endpoint is out. */
const TOO_MANY = 0.5
/** Error rate of one that is back: one more failure, and it is out again. */
const AFTER_RETURN = 0.4
/** Error rate below which past outages no longer make the next one longer. */
const RECOVERED = 0.1
/** Time constant of the moving average of an endpoint's speed, in ms. */
const MEMORY_MS = 5_000
/** An endpoint that owes replies and has sent none for this long, in ms, counts as slow. */
const SILENT_MS = 1_000
/**
 * "Not found", for a method that an endpoint has never answered, is about the method where it has
 * answered others within this time, in ms: its gateway may have no route for it.
 */
const ANSWERED_MS = 10_000
/** Methods that are remembered as answered, at most: they are named by the user. */
const MOST_METHODS = 100
/** This many calls cost an endpoint no more than one: they travel in one POST. */
const ONE_POST = 100

/** How long an endpoint is out, at first and at most, in ms; twice as long each time in a row. */
const pauses = {
  /** It cannot be reached, breaks off, or answers nonsense. */
  fails: { first: 1_000, longest: 30_000 },
  /** It does not take this key, or the key has used up what it had, or nothing is at its URL. */
  refuses: { first: 5_000, longest: 600_000 },
}

/**
 * How well one endpoint works: its error rate, its speed, and whether it is out for now (the
 * circuit is open). Measured from real POSTs and calls. All times are on the client's clock.
 */
export class Health {
  /** Calls that the endpoint has been given and that have not ended. */
  calls = 0
  /** When it gave the last good answer. */
  answeredAt = Number.NEGATIVE_INFINITY
  /**
   * It is out only because its replies have not come yet. It may be slow, and still answer where
   * all others fail.
   */
  mayBeSlow = false
  /** Since when it has throttled every call; infinite while it answers. */
  throttledSince = Number.POSITIVE_INFINITY
  readonly #endpoint: string
  #errors = 0
  #slowness = 1
  #measuredAt = Number.NEGATIVE_INFINITY
  #failedAt = Number.NEGATIVE_INFINITY
  /** Methods that it has answered, and the last one of them. */
  readonly #methods = new Set<string>()
  #lastMethod = ''
  #posts = 0
  #progressAt = 0
  #out: keyof typeof pauses | undefined
  #inARow = 0
  #outSince = 0
  #dueAt = 0

  /** `endpoint` names it in events. */
  constructor(endpoint: string) {
    this.#endpoint = endpoint
  }

  /** It has given a good answer. */
  get hasAnswered(): boolean {
    return this.answeredAt > Number.NEGATIVE_INFINITY
  }

  /** It is out until it has answered a call again. */
  get isOut(): boolean {
    return this.#out !== undefined
  }

  /** Since when an endpoint that is out has been so. */
  get outSince(): number {
    return this.#outSince
  }

  /** When to ask an endpoint that is out whether it is back. */
  get dueAt(): number {
    return this.#dueAt
  }

  /** It owes replies, and has sent none for a while. */
  isSilent(now: number): boolean {
    return this.#posts > 0 && now - this.#progressAt >= SILENT_MS
  }

  /** A POST has ended since then. */
  hasProgressedSince(at: number): boolean {
    return this.#progressAt > at
  }

  /**
   * What a call costs here, relative to what such calls usually take: 1 for an idle endpoint of
   * usual speed.
   */
  cost(priority: 'interactive' | 'bulk', now: number): number {
    const silentMs = this.#posts === 0 ? 0 : now - this.#progressAt
    const slowness = silentMs > SILENT_MS ? this.#slowness + silentMs / SILENT_MS : this.#slowness
    // Bulk calls are spread. Interactive calls stay together: so they see the same head, and share
    // POSTs.
    const crowd = priority === 'bulk' ? 1 + this.calls : 1 + Math.floor(this.calls / ONE_POST)
    return slowness * crowd * (1 + 4 * this.#errors)
  }

  /** The endpoint's `post`, watched. */
  watch(post: Post, clock: Clock): Post {
    return async (calls, signal) => {
      const started = clock.now()
      if (this.#posts++ === 0) this.#progressAt = started
      let outcomes: readonly Outcome[] = []
      try {
        outcomes = await post(calls, signal)
        return outcomes
      } finally {
        this.#posts--
        // A POST that was cut because no caller waited for it any more says nothing.
        if (!signal.aborted) this.#judge(calls, outcomes, started, clock.now())
      }
    }
  }

  /** A call took `times` as long as such calls usually do. */
  took(times: number, now: number): void {
    const weight = 1 - Math.exp((this.#measuredAt - now) / MEMORY_MS)
    this.#slowness += weight * (times - this.#slowness)
    this.#measuredAt = now
  }

  /**
   * Another measurement in the same millisecond adds nothing: the calls of one POST come back
   * together.
   */
  hasMeasured(now: number): boolean {
    return now - this.#measuredAt < 1
  }

  /**
   * It did not answer a call that waited for it. `since`: when that call was sent, if it timed out;
   * an endpoint that has said nothing at all since then is out at once. Failures of one turn count
   * as one.
   */
  failed(now: number, since?: number): void {
    if (now - this.#failedAt < 1) return
    this.#failedAt = now
    this.#errors += NEWEST * (1 - this.#errors)
    const isTooMuch = this.#errors >= TOO_MANY || (since !== undefined && this.#progressAt <= since)
    if (this.#out === undefined ? isTooMuch : now >= this.#dueAt) this.#leaveOut('fails', now)
  }

  /** Routing no longer waits for its replies. If it is out already, nothing changes. */
  giveUp(now: number): void {
    if (this.isOut) return
    this.failed(now, now)
    // A failure of the same turn has counted already.
    if (this.#out === undefined) this.#leaveOut('fails', now)
    this.mayBeSlow = true
  }

  /** It was asked whether it is back, and did not answer. */
  missed(now: number): void {
    if (this.#out !== undefined && now >= this.#dueAt) this.#leaveOut(this.#out, now)
  }

  /** It has answered. */
  answered(now: number): void {
    this.answeredAt = now
    this.mayBeSlow = false
    this.throttledSince = Number.POSITIVE_INFINITY
    this.#errors *= 1 - NEWEST
    if (this.#out !== undefined) {
      this.#out = undefined
      this.#errors = AFTER_RETURN
      if (routeEvents.hasSubscribers) routeEvents.publish({ change: 'back', endpoint: this.#endpoint })
    } else if (this.#errors < RECOVERED) {
      this.#inARow = 0
    }
  }

  #noteMethods(calls: readonly Call[]): void {
    for (const { method } of calls) {
      if (method === this.#lastMethod) continue
      this.#lastMethod = method
      if (this.#methods.size < MOST_METHODS) this.#methods.add(method)
    }
  }

  /** The refusal is about a method of these calls, and not about the endpoint. */
  #isOfMethod(refusal: HexlineError, calls: readonly Call[], now: number): boolean {
    return isNoEndpoint(refusal) && now - this.answeredAt < ANSWERED_MS && !calls.every(({ method }) => this.#methods.has(method))
  }

  #judge(calls: readonly Call[], outcomes: readonly Outcome[], started: number, now: number): void {
    const verdict = verdictOf(outcomes)
    if (verdict === 'throttles') this.throttledSince = Math.min(this.throttledSince, now)
    else if (verdict === 'alive') {
      this.answered(now)
      this.#noteMethods(calls)
    } else if (verdict === 'fails') this.failed(now, isSilence(outcomes[0]) ? started : undefined)
    else if (!this.#isOfMethod(verdict, calls, now) && (this.#out === undefined || now >= this.#dueAt)) this.#leaveOut('refuses', now, verdict.retryAfterMs)
    this.#progressAt = now
  }

  #leaveOut(why: keyof typeof pauses, now: number, atLeastMs = 0): void {
    const { first, longest } = pauses[why]
    if (this.#out === undefined) this.#outSince = now
    this.#out = why
    this.mayBeSlow = false
    const forMs = Math.min(longest, Math.max(atLeastMs, first * 2 ** this.#inARow++))
    this.#dueAt = now + forMs
    if (routeEvents.hasSubscribers) routeEvents.publish({ change: 'left-out', endpoint: this.#endpoint, reason: why, forMs })
  }
}

/** No reply began in time. A reply that stops halfway is not silence. */
function isSilence(outcome: Outcome | undefined): boolean {
  return outcome instanceof TimeoutError && !outcome.stalled
}

/**
 * What a POST shows about its endpoint: `alive` if one call got a good answer, else the error of a
 * call that was refused for this key, else `fails`. `throttles` if there is nothing else: the queue
 * pauses the endpoint.
 */
function verdictOf(outcomes: readonly Outcome[]): 'alive' | 'fails' | 'throttles' | HexlineError {
  // From a post function that breaks its contract; the queue reports it.
  if (!Array.isArray(outcomes) || outcomes.length === 0) return 'fails'
  let verdict: 'fails' | HexlineError | undefined
  for (const outcome of outcomes as readonly Outcome[]) {
    if (!(outcome instanceof Error)) return 'alive'
    if (!isFailure(outcome)) return 'fails'
    const state = endpointState(outcome)
    if (state === 'refuses') verdict = outcome
    else if (state === 'fails') verdict ??= 'fails'
    else if (state === 'alive') return 'alive'
  }
  return verdict ?? 'throttles'
}

/**
 * How long calls of each method usually take, at whichever endpoint: it makes endpoints comparable
 * that get different calls.
 */
export class Usual {
  readonly #ms = new Map<string, number>()

  /** `ms` as a multiple of what is usual for `method`. */
  times(method: string, ms: number): number {
    const usual = this.#ms.get(method)
    setBounded(this.#ms, method, usual === undefined ? ms : usual + 0.05 * (ms - usual))
    return usual === undefined ? 1 : (ms + 0.1) / (usual + 0.1)
  }
}
