/** Where it starts again after having been throttled, as a part of what was measured; the lower one where each throttling costs a pause. */
const START = 0.95
const START_AFTER_PAUSE = 0.9
/**
 * How long growing takes, in ms: the scale of the curve, when the level was measured well. The more a look beyond the limit costs, the longer: so many
 * times the time of a reply, until which nothing is known of it, or of the pause that it brings, up to a most.
 */
const SLOW = 5000
const SLOW_PER_REPLY = 25
const SLOW_PER_PAUSE = 15
const SLOWEST = 60_000
/** The same while the level is only a guess; with slow replies so many times their time, since what is too much shows only then. */
const FAST = 500
const FAST_PER_REPLY = 3
/** A rate is measured over at least so many ms and calls, or over a whole second. */
const ENOUGH_MS = 200
const ENOUGH_CALLS = 20
const LONG_ENOUGH_MS = 1000
/** When the calls answered of late are so many times more than over all, the limit is not where it was. */
const MOVED = 1.6
/**
 * POSTs follow each other by at least so many ms, and by so much that the slots suffice for them, with a margin: else calls would wait for slots, and
 * go in clumps. Tokens are kept for two such times, so that an alarm that rings late loses none.
 */
const LEAST_SPACING = 25
const MOST_SPACING = 250
const MARGIN = 1.25
const LEAST_BURST = 3
/** Weight of the newest reply in their mean time. */
const NEWEST = 0.2
/**
 * Throttlings one after the other, at a rate that had not grown past what was known, after which the rate is not the reason: where the last of them
 * came at so small a part of the rate of the first, and turned away hardly a smaller part of the calls than any. An endpoint that has a limit answers what is well below it.
 */
const IN_VAIN = 5
const MUCH_LESS = 0.7
const NO_BETTER = 0.5

/** Bounds of the rate. Whoever takes the most has no limit worth keeping. */
const LEAST = 1
const MOST = 100_000
/** A rate that held nothing back for so long is forgotten, in ms. */
const FORGOTTEN = 300_000

/** What a throttled POST tells besides. */
export interface Throttling {
  /** Calls that were turned away. */
  readonly refused: number
  /** When the POST started, and how long it took, in ms. */
  readonly sentAt: number
  readonly tookMs: number
  /** How long the endpoint is left alone because of it, in ms. */
  readonly pauseMs: number
  /** Calls per second that were answered of late. */
  readonly recently: number
}

/**
 * The calls per second that an endpoint takes, found by being throttled. Between two throttlings its tokens were used up, at both ends:
 * what it answered in between is its rate, whatever its burst. From a little below that the rate grows along a cubic, as TCP does (RFC 9438): flat where
 * the limit was, so that passing it costs few refusals, then ever faster, so that a limit that was raised is found. It grows only while it
 * holds calls back.
 */
export class LearntRate {
  /** Calls per second that it was seen to take. */
  #level = 0
  /** The level was measured, and is no guess. */
  #isMeasured = false
  /** Time that calls were held back since, in ms: it is what the rate grows by. */
  #heldMs = 0
  #heldSince: number | undefined
  #scaleMs = FAST
  #start = START
  #tokens = 0
  #filledAt = 0
  /** Since when it is measured: the endpoint was out of tokens then. */
  #since = 0
  /** How long it had been left alone then, in ms. */
  #restedMs = 0
  #answered = 0
  #refused = 0
  /** Throttlings in a row that were not expected, the level at the first of them, and the largest part of calls that they turned away. */
  #unexpected = 0
  #unexpectedLevel = 0
  #unexpectedPart = 0
  #isInVain = false
  /** Mean time of replies. */
  #meanMs: number
  #spacingMs = LEAST_SPACING
  /** When it last held calls back, or was throttled. */
  #lastHeldAt: number

  /** `guess` in calls per second, made because of `throttling`. */
  constructor(guess: number, { tookMs, pauseMs }: Pick<Throttling, 'tookMs' | 'pauseMs'>, now: number) {
    this.#lastHeldAt = now
    this.#meanMs = tookMs
    this.#learn(guess, false, tookMs, pauseMs, now)
  }

  /** When it was last learnt, or the end of the pause that followed. */
  get since(): number {
    return this.#since
  }

  /** Calls per second that may go now. */
  get perSecond(): number {
    return within(this.#level * (1 + ((this.#heldMs - this.#plateauMs) / this.#scaleMs) ** 3))
  }

  /** It has held nothing back for long, or takes whatever comes. */
  isForgotten(now: number): boolean {
    return now - this.#lastHeldAt > FORGOTTEN || this.perSecond >= MOST
  }

  /** Calls are held back at this time. */
  get isHolding(): boolean {
    return this.#heldSince !== undefined
  }

  /** Going slower has not helped: the endpoint turns calls away for another reason. */
  get isInVain(): boolean {
    return this.#isInVain
  }

  /** How many calls may go now. */
  available(now: number): number {
    const { perSecond } = this
    this.#tokens = Math.min(Math.max(LEAST_BURST, (perSecond * 2 * this.#spacingMs) / 1000), this.#tokens + ((now - this.#filledAt) * perSecond) / 1000)
    this.#filledAt = now
    return Math.floor(this.#tokens + 1e-6)
  }

  take(calls: number): void {
    this.#tokens -= calls
  }

  /** How long until `calls` of them, or as many as are worth waiting for, may go, in ms. */
  msUntil(calls: number, now: number): number {
    const available = this.available(now)
    const { perSecond } = this
    const wanted = Math.max(1, Math.min(calls, Math.floor((perSecond * this.#spacingMs) / 1000)))
    this.#hold(available < wanted, now)
    return available >= wanted ? 0 : ((wanted - this.#tokens) / perSecond) * 1000
  }

  /** So many calls were answered by a POST, with so many slots for POSTs. */
  answered(calls: number, tookMs: number, slots: number): void {
    this.#answered += calls
    this.#meanMs += NEWEST * (tookMs - this.#meanMs)
    this.#spacingMs = Math.min(MOST_SPACING, Math.max(LEAST_SPACING, (MARGIN * this.#meanMs) / slots))
  }

  /** A POST was throttled. True where that was to be expected: the rate was only a guess, or had grown past what was known. */
  throttled({ refused, sentAt, tookMs, pauseMs, recently }: Throttling, now: number): boolean {
    this.#lastHeldAt = now
    // It went before what was learnt last: there is nothing new in it.
    if (sentAt < this.#since) return true
    this.#refused += refused
    this.#tokens = Math.min(this.#tokens, 0)
    const hasGrown = !this.#isMeasured || this.#heldMs > this.#plateauMs
    const ms = now - this.#since
    // While nothing at all is answered there is nothing to measure, and the endpoint is paused.
    if (this.#answered === 0 || ms < ENOUGH_MS || (this.#answered + this.#refused < ENOUGH_CALLS && ms < LONG_ENOUGH_MS)) return hasGrown
    // Over all it is too low where the endpoint had tokens to spare in between; of late too high, by the burst.
    const overAll = (this.#answered / ms) * 1000 * this.#restedPart(ms)
    const known = this.#isMeasured && hasGrown && pauseMs === 0 ? Math.max(overAll, Math.min(this.#level, recently)) : overAll
    const hasMoved = recently > MOVED * known
    this.#doubt(!hasGrown && !hasMoved)
    this.#learn(hasMoved ? recently : known, !hasMoved || pauseMs > 0, tookMs, pauseMs, now)
    return hasGrown
  }

  #doubt(isUnexpected: boolean): void {
    const part = this.#refused / (this.#answered + this.#refused)
    if (!isUnexpected) {
      this.#unexpected = 0
    } else {
      if (this.#unexpected++ === 0) {
        this.#unexpectedLevel = this.#level
        this.#unexpectedPart = 0
      }
      // The largest: at the first one there may be much that was answered before.
      this.#unexpectedPart = Math.max(this.#unexpectedPart, part)
    }
    this.#isInVain = this.#unexpected >= IN_VAIN && this.#level <= MUCH_LESS * this.#unexpectedLevel && part >= NO_BETTER * this.#unexpectedPart
  }

  /** After a pause the endpoint had tokens to spare, nobody knows how many: without the time of the pause they count too much, with it too little. */
  #restedPart(ms: number): number {
    return Math.sqrt(ms / (ms + this.#restedMs))
  }

  #learn(level: number, isMeasured: boolean, tookMs: number, pauseMs: number, now: number): void {
    this.#level = within(level)
    this.#isMeasured = isMeasured
    this.#start = pauseMs > 0 ? START_AFTER_PAUSE : START
    this.#scaleMs = isMeasured
      ? Math.min(SLOWEST, Math.max(SLOW, tookMs * SLOW_PER_REPLY, pauseMs * SLOW_PER_PAUSE))
      : Math.min(SLOW, Math.max(FAST, tookMs * FAST_PER_REPLY))
    this.#heldMs = 0
    this.#heldSince = undefined
    this.#since = now + pauseMs
    this.#restedMs = pauseMs
    this.#answered = 0
    this.#refused = 0
    this.#tokens = 0
    this.#filledAt = now
  }

  /** How long it takes to get back to the level, in ms. A guess starts from where it is. */
  get #plateauMs(): number {
    return this.#isMeasured ? this.#scaleMs * Math.cbrt(1 - this.#start) : 0
  }

  #hold(isHeld: boolean, now: number): void {
    if (this.#heldSince !== undefined) {
      this.#heldMs += now - this.#heldSince
      this.#lastHeldAt = now
    }
    this.#heldSince = isHeld ? now : undefined
  }
}

function within(rate: number): number {
  return Math.min(MOST, Math.max(LEAST, rate))
}
