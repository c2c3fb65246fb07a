import { type Context, context, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api'
import { type Fill, TokenBucket } from '../../src/wait/token-bucket.ts'

/** Which calls the tracer is asked for. */
export interface TraceOptions {
  /** Share of the calls without an active span. */
  readonly sample: number | undefined
  /**
   * Calls per second, at most; of interactive ones within a sampled span, `WITHIN` times as many.
   */
  readonly perSecond: number
}

/** A trace that somebody chose to record is to be complete, unless such calls are too many. */
const WITHIN = 5

/**
 * Times as many calls per second, at most, have their context looked up for the span around them.
 * A loop of nothing but small calls makes ten times as many as that by default.
 */
const LOOK_UPS = 100

/**
 * Lets a limited number of calls per second through, which bounds what traces cost. Interactive
 * calls within a sampled span belong to a trace that somebody chose: they have an allowance of
 * their own, in addition to the one for all calls. Calls within a span that is not sampled never
 * pass. Where nothing is limited, all pass.
 */
export class Gate {
  readonly #sample: number | undefined
  readonly #within: Allowance
  readonly #all: Allowance
  readonly #lookUps: Allowance

  constructor({ sample, perSecond }: TraceOptions) {
    this.#sample = sample
    this.#within = new Allowance(WITHIN * perSecond)
    this.#all = new Allowance(perSecond)
    this.#lookUps = new Allowance(LOOK_UPS * perSecond)
  }

  /** The context of the span of a call that begins now; undefined for a call without a span. */
  parentOf(priority: 'interactive' | 'bulk', now: number): Context | undefined {
    // First, and apart: in a loop of small calls, most of them go no further.
    return this.#lookUps.isLeft(now) ? this.#lookUp(priority, now) : undefined
  }

  #lookUp(priority: 'interactive' | 'bulk', now: number): Context | undefined {
    const isLeft = this.#all.isLeft(now)
    const isLeftWithin = priority === 'interactive' && this.#within.isLeft(now)
    if (!isLeft && !isLeftWithin) return undefined
    this.#lookUps.take(now)
    const parent = context.active()
    if (parent === ROOT_CONTEXT && !isLeft) return undefined
    const active = parent === ROOT_CONTEXT ? undefined : trace.getSpanContext(parent)
    const isSampled = active !== undefined && (active.traceFlags & TraceFlags.SAMPLED) !== 0
    if (isSampled && isLeftWithin) {
      this.#within.take(now)
      return parent
    }
    if (this.#letsAll) return parent
    if (!isLeft || (active === undefined ? !this.#isChosen : !isSampled)) return undefined
    this.#all.take(now)
    return parent
  }

  /** May a POST of hexline's own have a span? Such a POST has no context. */
  letsOwn(now: number): boolean {
    if (!this.#isChosen || !this.#all.isLeft(now)) return false
    this.#all.take(now)
    return true
  }

  /** Is there something left for calls of all kinds? */
  isLeft(now: number): boolean {
    return this.#all.isLeft(now)
  }

  get #letsAll(): boolean {
    return this.#all.isUnlimited && this.#sample === undefined
  }

  /** By `sample`. */
  get #isChosen(): boolean {
    return this.#sample === undefined || Math.random() < this.#sample
  }
}

/** How long an allowance that is used up stays so, in ms, at least. */
const PAUSE_MS = 100

/**
 * A limit per second, which is also the most at once. Once it is used up, it gathers what comes in
 * for a while: then calls that begin together get their spans together, and share those of their
 * POSTs. Until then, a comparison tells that nothing is left.
 */
class Allowance {
  readonly isUnlimited: boolean
  readonly #fill: Fill
  #bucket: TokenBucket | undefined
  #usedUpUntil = Number.NEGATIVE_INFINITY

  constructor(perSecond: number) {
    this.isUnlimited = perSecond === Number.POSITIVE_INFINITY
    this.#fill = { perSecond, most: perSecond }
  }

  isLeft(now: number): boolean {
    return now >= this.#usedUpUntil
  }

  /** Uses up one. Only while `isLeft`. */
  take(now: number): void {
    if (this.isUnlimited) return
    // Full when the first call begins.
    this.#bucket ??= new TokenBucket(this.#fill.most, now)
    this.#bucket.take(1, now, this.#fill)
    const ms = this.#bucket.msUntil(1, now, this.#fill)
    if (ms > 0) this.#usedUpUntil = now + Math.max(ms, PAUSE_MS)
  }
}
