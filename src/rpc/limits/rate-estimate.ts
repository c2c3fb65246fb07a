import { RandomThrottling } from './random-throttling.ts'

/** Where it starts again after having been throttled, as a part of what was measured; the lower one where each throttling costs a pause. */
const START = 0.95
const START_AFTER_PAUSE = 0.9
/** Over few calls the measure may be off by so many of them: it starts as much lower, down to a least, and is taken for rough. */
const OFF_BY = 3
const LEAST_START = 0.7
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
/** A rate is measured over at least so many ms and answers, or over a whole second. */
const ENOUGH_MS = 200
const ENOUGH_CALLS = 20
const LONG_ENOUGH_MS = 1000
/** An endpoint that is asked nothing saves tokens: how many, nobody knows; what it gets in so many ms, it is assumed. */
const MOST_SAVED_MS = 250
/** How far beyond what was measured over all the level follows what was answered of late: from the start below it, it is not passed. */
const HIGHER = 1.04
/** A guess that has grown by so many times was far too low. */
const FAR = 2
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
/** Bounds of the rate. Whoever takes the most has no limit worth keeping. */
const LEAST = 1
const MOST = 100_000
/** A rate that held nothing back for so long is forgotten, in ms. */
const FORGOTTEN = 300_000

/** What a throttled POST tells besides. */
export interface Throttling {
  /** When the POST started, and how long it took, in ms. */
  readonly sentAt: number
  readonly tookMs: number
  /** How long the endpoint is left alone because of it, in ms. */
  readonly pauseMs: number
  /** Calls per second that were answered of late. */
  readonly recently: number
}

/**
 * Why a POST was throttled:
 * - `too-fast`: the rate had grown past its level, and was cut;
 * - `below-level`: the rate was cut though it had been answered before, so something else may be the reason, too;
 * - `random`: the rate is not the reason;
 * - `known`: the POST was sent before the last cut, and says nothing new.
 */
export type RateVerdict = 'too-fast' | 'below-level' | 'random' | 'known'

/** How well a rate is known: guessed, measured over few calls, or measured. */
type Known = 'guessed' | 'roughly' | 'well'

/** How many calls an endpoint answers a second, measured from a time at which it was out of tokens. */
class Measure {
  answered = 0
  #from: number

  constructor(from: number) {
    this.#from = from
  }

  /** It was asked nothing for so long. What it saved in that time, nobody knows: as much as it gets in `MOST_SAVED_MS`, at most. */
  rested(ms: number): void {
    this.#from += Math.max(0, ms - MOST_SAVED_MS)
  }

  /** Undefined while that is too little to tell. */
  perSecond(now: number): number | undefined {
    const ms = now - this.#from
    if (this.answered === 0 || ms < ENOUGH_MS || (this.answered < ENOUGH_CALLS && ms < LONG_ENOUGH_MS)) return undefined
    return (this.answered / ms) * 1000
  }
}

/**
 * The calls per second that an endpoint takes, found by being throttled. Between two throttlings its tokens were used up, at both ends:
 * what it answered in between is its rate, whatever its burst. From a little below that the rate grows along a cubic, as TCP does (RFC 9438): flat where
 * the limit was, so that passing it costs few refusals, then ever faster, so that a limit that was raised is found. It grows only while it
 * holds calls back. Throttling before it has grown is chance until there is too much of it (random-throttling.ts).
 */
export class RateEstimate {
  /** Calls per second that it was seen to take. */
  #level = 0
  #known: Known = 'guessed'
  /** Time that calls were held back since, in ms: it is what the rate grows by. */
  #heldMs = 0
  #heldSince: number | undefined
  /** When it was looked whether calls are held back. */
  #lookedAt = 0
  #scaleMs = FAST
  #start = START
  #tokens = 0
  #filledAt = 0
  /** When it was learnt, or the end of the pause that followed. */
  #since = 0
  #sinceLearnt = new Measure(0)
  /** Since throttling came up that may be chance. */
  #sinceAsked = new Measure(0)
  readonly #chance = new RandomThrottling()
  /** The level before the rate was blamed at a level that should have been taken. */
  #undoubted = 0
  /** Mean time of replies. */
  #meanMs: number
  /** By how much POSTs follow each other so that the slots suffice. */
  #spacingMs = 0
  /** When it last held calls back, or was throttled. */
  #lastHeldAt: number

  /** `guess` in calls per second, made because of `throttling`. */
  constructor(guess: number, { tookMs, pauseMs }: Pick<Throttling, 'tookMs' | 'pauseMs'>, now: number) {
    this.#lastHeldAt = now
    this.#lookedAt = now
    this.#meanMs = tookMs
    this.#learn(guess, 'guessed', START, tookMs, pauseMs, now)
  }

  /** When it was learnt last, or the end of the pause that followed. */
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

  /** How many calls may go now. */
  available(now: number): number {
    const { perSecond } = this
    this.#tokens = Math.min(Math.max(LEAST_BURST, 2 * this.#worthWaiting), this.#tokens + ((now - this.#filledAt) * perSecond) / 1000)
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
    const wanted = Math.min(calls, this.#worthWaiting)
    this.#hold(available < wanted, now)
    return available >= wanted ? 0 : ((wanted - this.#tokens) / perSecond) * 1000
  }

  /** So many calls were answered by a POST, with so many slots for POSTs; `isWhole` where none of its calls was throttled. */
  answered(calls: number, tookMs: number, slots: number, isWhole: boolean): void {
    this.#sinceLearnt.answered += calls
    this.#sinceAsked.answered += calls
    this.#meanMs += NEWEST * (tookMs - this.#meanMs)
    this.#spacingMs = Math.min(MOST_SPACING, (MARGIN * this.#meanMs) / slots)
    if (isWhole) this.#chance.add(false, !this.hasGrown)
  }

  throttled({ sentAt, tookMs, pauseMs, recently }: Throttling, now: number): RateVerdict {
    this.#lastHeldAt = now
    // It went before what was learnt last: there is nothing new in it.
    if (sentAt < this.#since) return 'known'
    const hasGrown = this.hasGrown
    const isRough = this.#known === 'roughly'
    const isCheap = pauseMs <= MOST_SAVED_MS
    const isExpected = (!isCheap || ((hasGrown || isRough) && this.#hasHeld(now))) && this.#chance.isNegligible
    if (!isExpected && this.#isChance(pauseMs, now)) return 'random'
    this.#tokens = Math.min(this.#tokens, 0)
    const measure = isExpected ? this.#sinceLearnt : this.#sinceAsked
    const measured = measure.perSecond(now)
    const verdict = hasGrown ? 'too-fast' : 'below-level'
    // While nothing at all is answered there is nothing to measure, and the endpoint is paused.
    if (measured === undefined) return verdict
    const level = this.#levelOf(measured, hasGrown && isExpected && isCheap, recently)
    if (!this.#chance.isDoubtful) this.#undoubted = this.#level
    if (!this.#chance.blame(isRough ? undefined : !hasGrown, isCheap ? 1 : 0.5)) {
      this.#learn(Math.max(this.#undoubted, this.#level), 'well', START, tookMs, pauseMs, now)
      return 'random'
    }
    const sure = Math.max(LEAST_START, 1 - OFF_BY / measure.answered)
    const start = Math.min(isCheap ? START : START_AFTER_PAUSE, sure)
    if (recently > MOVED * measured) this.#learn(recently, isCheap ? 'guessed' : 'well', start, tookMs, pauseMs, now)
    else this.#learn(level, this.#known === 'guessed' || (sure < START && this.#known === 'well') ? 'roughly' : 'well', start, tookMs, pauseMs, now)
    return verdict
  }

  /** What was measured over all is too low where the endpoint had tokens to spare in between; what was answered of late is too high, by the burst. */
  #levelOf(measured: number, isLook: boolean, recently: number): number {
    if (!this.hasGrown) return Math.min(measured, this.#level)
    if (this.#known === 'guessed') {
      // One that has grown from far below was too low for most of the time; of one that has not, the truth is in between. Too much shows at once.
      const late = Math.max(measured, Math.min(recently, this.perSecond))
      return this.perSecond > FAR * this.#level ? late : Math.sqrt(measured * late)
    }
    if (!isLook) return measured
    const higher = this.#known === 'well' ? Math.min(HIGHER * measured, this.perSecond) : 0
    return Math.max(measured, Math.min(recently, Math.max(this.#level, higher)))
  }

  /** The rate was what held calls back, and not the slots or that there were none, for half of the time at least. */
  #hasHeld(now: number): boolean {
    return 2 * (this.#heldMs + now - (this.#heldSince ?? now)) >= now - this.#since
  }

  #isChance(pauseMs: number, now: number): boolean {
    if (this.#chance.isLikely) this.#sinceAsked = new Measure(now)
    const isChance = !this.#chance.add(true, !this.hasGrown)
    if (isChance && pauseMs > 0) this.#rest(pauseMs, now)
    return isChance
  }

  #learn(level: number, known: Known, start: number, tookMs: number, pauseMs: number, now: number): void {
    this.#level = within(level)
    this.#known = known
    this.#start = start
    this.#scaleMs =
      known === 'guessed'
        ? Math.min(SLOW, Math.max(FAST, tookMs * FAST_PER_REPLY))
        : Math.min(SLOWEST, Math.max(SLOW, tookMs * SLOW_PER_REPLY, pauseMs * SLOW_PER_PAUSE))
    this.#sinceLearnt = new Measure(now)
    this.#rest(pauseMs, now)
    this.#heldMs = 0
    this.#since = now + pauseMs
    this.#tokens = 0
    this.#filledAt = now
  }

  /** Calls for which it is worth to wait: else POSTs would be too many for the slots, or for the clock. */
  get #worthWaiting(): number {
    const { perSecond } = this
    return Math.max(1, Math.ceil((perSecond * this.#spacingMs) / 1000), Math.floor((perSecond * LEAST_SPACING) / 1000))
  }

  /** It has grown past what is known to be taken. */
  get hasGrown(): boolean {
    return this.#known === 'guessed' || this.#heldMs > this.#plateauMs
  }

  /** How long it takes to get back to the level, in ms. A guess starts from where it is. */
  get #plateauMs(): number {
    return this.#known === 'guessed' ? 0 : this.#scaleMs * Math.cbrt(1 - this.#start)
  }

  #hold(isHeld: boolean, now: number): void {
    if (this.#heldSince !== undefined) {
      this.#heldMs += now - this.#heldSince
      this.#lastHeldAt = now
    } else if (now - this.#lookedAt > MOST_SAVED_MS) {
      this.#rest(now - this.#lookedAt, this.#lookedAt)
    }
    this.#lookedAt = now
    this.#heldSince = isHeld ? now : undefined
  }

  /** It is asked nothing for so long, from then. */
  #rest(ms: number, from: number): void {
    if (this.#heldSince !== undefined) this.#heldMs += Math.max(0, from - this.#heldSince)
    this.#heldSince = undefined
    // Several POSTs may tell of the same pause.
    const more = Math.min(ms, from + ms - this.#lookedAt)
    if (more <= 0) return
    this.#lookedAt = from + ms
    this.#sinceLearnt.rested(more)
    this.#sinceAsked.rested(more)
  }
}

function within(rate: number): number {
  return Math.min(MOST, Math.max(LEAST, rate))
}
