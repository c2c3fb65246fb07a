import { type HexlineError, TimeoutError } from '../../errors.ts'
import type { Clock } from '../../wait/clock.ts'
import type { Outcome, Post } from '../call.ts'
import { routeEvents } from '../events.ts'
import { isFailure, isThrottled, saysOf } from '../failure-kinds.ts'
import { setBounded } from '../set-bounded.ts'

/** Weight of the newest POST in the error rate: after four that failed, one after the other, it is above one half. */
const NEWEST = 0.2
/** Error rate from which an endpoint is left out. */
const TOO_MANY = 0.5
/** Error rate of one that is back: another failure, and it is out again. */
const ON_PAROLE = 0.4
/** Error rate below which all is forgotten. */
const FORGIVEN = 0.1
/** How fast an endpoint's pace follows what is measured, in ms. */
const MEMORY_MS = 5_000
/** An endpoint that owes replies, and has sent none for so long, is slow already. */
const SILENT_MS = 1_000
/** Calls that cost an endpoint no more than one: they travel in one POST. */
const COMPANY = 100

/** How long an endpoint is left out, at first and at most, by what it did; each time in a row twice as long. In ms. */
const pauses = {
  /** It cannot be reached, breaks off, or answers nonsense. */
  fails: { first: 1_000, longest: 30_000 },
  /** It does not take this key, or the key has used up what it had. */
  refuses: { first: 5_000, longest: 600_000 },
}

/**
 * How one endpoint does: its error rate and its pace, and whether it is left out for now (the circuit is open). Learnt from POSTs and calls that
 * go by; all times are on the client's clock.
 */
export class Health {
  /** Calls that it has been given and that have not ended. */
  calls = 0
  /** It has given a good answer. */
  hasAnswered = false
  /** It is left out only because its first replies have not come yet: it may be slow, and right where all others fail. */
  mayBeSlow = false
  readonly #endpoint: string
  #errors = 0
  #slowness = 1
  #measuredAt = Number.NEGATIVE_INFINITY
  #failedAt = Number.NEGATIVE_INFINITY
  #posts = 0
  #progressAt = 0
  #out: keyof typeof pauses | undefined
  #inARow = 0
  #dueAt = 0

  /** `endpoint` names it in events. */
  constructor(endpoint: string) {
    this.#endpoint = endpoint
  }

  /** It is left out, until one call has been answered again. */
  get isOut(): boolean {
    return this.#out !== undefined
  }

  /** When one that is left out is to be asked whether it is back. */
  get dueAt(): number {
    return this.#dueAt
  }

  /** It has never answered, and owes its first replies for longer than a good endpoint would. */
  isMute(now: number): boolean {
    return !this.hasAnswered && this.#posts > 0 && now - this.#progressAt >= SILENT_MS
  }

  /** What a call costs here, in the time that such calls usually take: 1 for an idle endpoint of usual pace. */
  cost(priority: 'interactive' | 'bulk', now: number): number {
    const silentMs = this.#posts === 0 ? 0 : now - this.#progressAt
    const pace = silentMs > SILENT_MS ? this.#slowness + silentMs / SILENT_MS : this.#slowness
    // Bulk calls are spread, interactive ones kept together: they see the same head, and share POSTs.
    const crowd = priority === 'bulk' ? 1 + this.calls : 1 + Math.floor(this.calls / COMPANY)
    return pace * crowd * (1 + 4 * this.#errors)
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
        // One that was cut because nobody waited for it any more tells nothing.
        if (!signal.aborted) this.#judge(outcomes, started, clock.now())
      }
    }
  }

  /** A call took `times` as long as such calls usually take. */
  took(times: number, now: number): void {
    const weight = 1 - Math.exp((this.#measuredAt - now) / MEMORY_MS)
    this.#slowness += weight * (times - this.#slowness)
    this.#measuredAt = now
  }

  /** True when `took` has nothing to gain: the calls of one POST come back together. */
  hasMeasured(now: number): boolean {
    return now - this.#measuredAt < 1
  }

  /**
   * It gave no answer while somebody waited for it; `since` when, where that is why. One that has said nothing at all since then is left out at once.
   * What fails in one turn fails together, and counts once.
   */
  failed(now: number, since?: number): void {
    if (now - this.#failedAt < 1) return
    this.#failedAt = now
    this.#errors += NEWEST * (1 - this.#errors)
    const isTooMuch = this.#errors >= TOO_MANY || (since !== undefined && this.#progressAt <= since)
    if (this.#out === undefined ? isTooMuch : now >= this.#dueAt) this.#leaveOut('fails', now)
  }

  /** Its first replies are waited for no longer. */
  giveUp(now: number): void {
    this.failed(now, now)
    this.mayBeSlow = this.isOut
  }

  /** It was asked whether it is back, and gave no good answer. */
  missed(now: number): void {
    if (this.#out !== undefined && now >= this.#dueAt) this.#leaveOut(this.#out, now)
  }

  /** It has answered. */
  answered(): void {
    this.hasAnswered = true
    this.mayBeSlow = false
    this.#errors *= 1 - NEWEST
    if (this.#out !== undefined) {
      this.#out = undefined
      this.#errors = ON_PAROLE
      if (routeEvents.hasSubscribers) routeEvents.publish({ change: 'back', endpoint: this.#endpoint })
    } else if (this.#errors < FORGIVEN) {
      this.#inARow = 0
    }
  }

  #judge(outcomes: readonly Outcome[], started: number, now: number): void {
    const says = verdictOf(outcomes)
    if (says === 'alive') this.answered()
    else if (says === 'ill') this.failed(now, isSilence(outcomes[0]) ? started : undefined)
    else if (says !== undefined && (this.#out === undefined || now >= this.#dueAt)) this.#leaveOut('refuses', now, says.retryAfterMs)
    this.#progressAt = now
  }

  #leaveOut(why: keyof typeof pauses, now: number, atLeastMs = 0): void {
    const { first, longest } = pauses[why]
    this.#out = why
    this.mayBeSlow = false
    const forMs = Math.min(longest, Math.max(atLeastMs, first * 2 ** this.#inARow++))
    this.#dueAt = now + forMs
    if (routeEvents.hasSubscribers) routeEvents.publish({ change: 'left-out', endpoint: this.#endpoint, reason: why, forMs })
  }
}

/** Nothing came, where the reply to an earlier POST may have; a reply that stopped in its middle was not silent. */
function isSilence(outcome: Outcome | undefined): boolean {
  return outcome instanceof TimeoutError && !outcome.stalled
}

/** What a POST says of its endpoint: one good answer is enough. Undefined for one that only throttles: the queue pauses it. */
function verdictOf(outcomes: readonly Outcome[]): 'alive' | 'ill' | HexlineError | undefined {
  // A post function that keeps to no form; the queue says so.
  if (!Array.isArray(outcomes) || outcomes.length === 0) return 'ill'
  let verdict: 'ill' | HexlineError | undefined
  for (const outcome of outcomes as readonly Outcome[]) {
    if (!(outcome instanceof Error)) return 'alive'
    if (!isFailure(outcome)) return 'ill'
    const says = saysOf(outcome)
    if (says === 'closed to us') verdict = outcome
    else if (says === 'ill') verdict ??= 'ill'
    else if (!isThrottled(outcome)) return 'alive'
  }
  return verdict
}

/** How long calls of each method usually take, at whatever endpoint: paces of endpoints that get different calls can be compared. */
export class Usual {
  readonly #ms = new Map<string, number>()

  /** `ms` in multiples of what is usual for `method`. */
  times(method: string, ms: number): number {
    const usual = this.#ms.get(method)
    setBounded(this.#ms, method, usual === undefined ? ms : usual + 0.05 * (ms - usual))
    return usual === undefined ? 1 : (ms + 0.1) / (usual + 0.1)
  }
}
