/*
 * How many calls per second an endpoint takes. The rate grows until a POST is throttled, is cut to
 * what the endpoint answered, its `level`, and grows again: slowly where it was refused last, and
 * faster beyond, which is a look whether the limit has risen. `RateEstimate`, below the constants,
 * has the formulas; docs/limits.md draws them.
 */

/**
 * Part of the level at which the rate starts again after a cut; the lower one where each refusal
 * costs a pause.
 */
const START = 0.92
const START_AFTER_PAUSE = 0.9
/**
 * A level measured over few calls may be off by this many of them: the rate starts as much lower,
 * down to a least part.
 */
const OFF_BY = 3
const LEAST_START = 0.7
/**
 * Longest scale of the growth, in ms, while the level stays where it is: one look beyond it in five
 * to seven seconds.
 */
const SCALE_MS = 4500
/**
 * Looks become fewer where each costs more: scale per ms of a reply, until which nothing is known
 * of it, and per ms of the pause it brings.
 */
const SCALE_PER_REPLY = 15
const SCALE_PER_PAUSE = 15
/** And where calls are few: a look refuses at least one, so this many are to be answered for it. */
const CALLS_PER_LOOK = 50
const LONGEST_SCALE_MS = 60_000
/**
 * Scale of the first guess, in ms, and per ms of a reply, since what is too much shows only then.
 */
const FIRST_SCALE_MS = 500
const FIRST_SCALE_PER_REPLY = 3
/**
 * Mean change of the level, as a natural logarithm, up to which it counts as steady. Beyond it the
 * scale becomes shorter, down to this part.
 */
const STEADY = 0.06
const LEAST_PART = 0.25
/**
 * The same while POSTs are throttled at random, and of the scale that follows from the time of a
 * reply: a look is noticed late, so it must not go far.
 */
const LEAST_PART_AT_RANDOM = 0.5
const LEAST_PART_PER_REPLY = 0.5
/** Weight of the newest change in that mean. */
const NEWEST = 0.5
/**
 * A rate that has grown past the level this many times was far too low: the level is what was
 * answered lately.
 */
const FAR = 2
/**
 * The level follows what was answered lately up to this part of what was measured: more may be the
 * burst of the endpoint.
 */
const HIGHER = 1.04
/**
 * One refusal beyond the level may be chance: at least this part of the level is kept; and of the
 * rate where it was refused below the level.
 */
const KEPT_BEYOND = 0.95
const KEPT_BELOW = 0.6
/** After a cut, the rate is far from the level while it is under this part of it. */
const FAR_BELOW = 0.98
/** A rate is measured over at least this many ms and calls, or over a second. */
const ENOUGH_MS = 200
const ENOUGH_CALLS = 20
const LONG_ENOUGH_MS = 1000
/**
 * An endpoint that is asked nothing saves tokens, at most as many as it gets in this time, in ms.
 */
const MOST_SAVED_MS = 250
/** Bounds of the rate. An endpoint that takes the most has no limit worth keeping. */
const LEAST = 1
export const MOST_PER_SECOND = 100_000

/** A POST that was throttled. */
export interface ThrottledPost {
  /** When it started, and how long it took, in ms. */
  readonly sentAt: number
  readonly tookMs: number
  /** How many calls it had. Default 1. */
  readonly calls?: number
  /** Which part of them was throttled. Default: all. */
  readonly part?: number
  /** How long the endpoint is paused because of it, in ms. */
  readonly pauseMs: number
}

/** A POST that was throttled, and what led to it. */
export interface Throttling extends ThrottledPost {
  /** Calls per second that were answered lately. */
  readonly answered: number
  /** Time since calls last started, in ms. */
  readonly idleMs: number
}

/** What a first guess takes from the throttled POST that it is made for. */
export type FirstThrottled = Pick<ThrottledPost, 'tookMs' | 'pauseMs'>

/**
 * Why a POST was throttled:
 * - `too-fast`: the rate had grown past its level, and was cut;
 * - `below-level`: the rate was cut though it had been answered before, so something else may be
 *   the reason, too;
 * - `random`: the rate is not the reason, or that is being found out;
 * - `stale`: the POST was sent before the last cut, and says nothing new.
 */
export type RateVerdict = 'too-fast' | 'below-level' | 'random' | 'stale'

/**
 * The calls per second that an endpoint takes, found by being throttled. It remembers the level at
 * which that happened last:
 *
 *     rate(t) = level * (1 + ((t - K) / scale)^3),   K = scale * cbrt(1 - start)
 *
 * where t is the time for which the rate has held calls back since the last cut. From 92 % of the
 * level (`start`) the rate returns to it in K, passes it slowly, where the limit is expected, and
 * then grows ever faster, so that a limit that was raised is found (CUBIC, RFC 9438). A throttled
 * POST cuts it:
 *
 *     beyond the level:  level = calls answered since the last cut / time since then
 *     below it:          level = calls per second that were answered lately,
 *                                but at least 60 % of the rate
 *
 * The first is exact whatever the burst of the endpoint: its tokens were used up at both ends. The
 * second is quick, for a limit that falls. The scale is 4.5 s while the level is steady. Where it
 * changes from cut to cut by more than 6 % in the mean, the limit drifts, and the scale shrinks in
 * proportion, but not below a quarter, or 7.5 times the time of a reply.
 */
export class RateEstimate {
  #level: number
  /** The level is a guess, and nothing has been refused since. */
  #isGuess = true
  #start = START
  #scaleMs: number
  #heldMs = 0
  #since: number
  /** Mean change of the level from cut to cut, as a natural logarithm. */
  #change = STEADY / LEAST_PART
  /**
   * Calls answered since the last cut, and the time they took without the time in which nothing was
   * asked, in ms.
   */
  #answered = 0
  #measuredMs: number

  /** `guess` in calls per second, made because of a throttled POST. */
  constructor(guess: number, { tookMs, pauseMs }: FirstThrottled, now: number) {
    this.#level = within(guess)
    this.#scaleMs = Math.min(SCALE_MS, Math.max(FIRST_SCALE_MS, tookMs * FIRST_SCALE_PER_REPLY))
    this.#since = now + pauseMs
    this.#measuredMs = Math.min(pauseMs, MOST_SAVED_MS)
  }

  /** When the rate was last cut, or the end of the pause that followed. */
  get since(): number {
    return this.#since
  }

  get level(): number {
    return this.#level
  }

  /** Calls per second that may go now. */
  get perSecond(): number {
    return within(this.#level * (1 + ((this.#heldMs - this.#plateauMs) / this.#scaleMs) ** 3))
  }

  get isBeyondLevel(): boolean {
    return this.#isGuess || this.#heldMs > this.#plateauMs
  }

  /** It has just been cut: a limit that was where the level is refuses nothing at this rate. */
  get isFarBelowLevel(): boolean {
    return !this.#isGuess && this.perSecond <= FAR_BELOW * this.#level
  }

  /**
   * Calls start: the rate held them back for `heldMs`, by which it grows, and nothing was asked for
   * `idleMs`.
   */
  started(heldMs: number, idleMs: number): void {
    this.#heldMs += heldMs
    this.passed(heldMs, idleMs)
  }

  /** The same, at a rate that is lower for the time being: it does not grow. */
  passed(heldMs: number, idleMs: number): void {
    this.#measuredMs += heldMs + Math.min(MOST_SAVED_MS, idleMs)
  }

  answered(calls: number): void {
    this.#answered += calls
  }

  /** Cuts the rate. This part of the POSTs is throttled at random. */
  throttled({ tookMs, pauseMs, answered, idleMs }: Throttling, atRandom: number, now: number): 'too-fast' | 'below-level' {
    const { isBeyondLevel } = this
    const level = within(this.#levelAfter(answered / (1 - atRandom), (this.#measured(idleMs) ?? 0) / (1 - atRandom), pauseMs <= MOST_SAVED_MS))
    const change = this.#isGuess ? STEADY / LEAST_PART : Math.abs(Math.log(level / this.#level))
    this.#change += NEWEST * (change - this.#change)
    const part = Math.min(1, Math.max(atRandom > 0 ? LEAST_PART_AT_RANDOM : LEAST_PART, STEADY / this.#change))
    const perReply = Math.max(part, LEAST_PART_PER_REPLY) * SCALE_PER_REPLY
    const scaleMs = Math.max(part * SCALE_MS, perReply * tookMs, SCALE_PER_PAUSE * pauseMs, (CALLS_PER_LOOK / level) * 1000)
    this.#scaleMs = Math.min(LONGEST_SCALE_MS, scaleMs)
    const sure = isBeyondLevel ? Math.max(LEAST_START, 1 - OFF_BY / Math.max(1, this.#answered)) : 1
    this.#start = Math.min(pauseMs <= MOST_SAVED_MS ? START : START_AFTER_PAUSE, sure)
    this.#isGuess = false
    this.moveTo(level)
    this.#since = now + pauseMs
    this.#answered = 0
    this.#measuredMs = Math.min(pauseMs, MOST_SAVED_MS)
    return isBeyondLevel ? 'too-fast' : 'below-level'
  }

  /** The level is here: the rate grows from below it. */
  moveTo(level: number): void {
    this.#level = within(level)
    this.#heldMs = 0
  }

  /** Another estimate has found the level: the rate starts below it, as after a cut. */
  resume(level: number): void {
    this.#isGuess = false
    this.#scaleMs = SCALE_MS
    this.#change = STEADY
    this.moveTo(level)
  }

  /** The level was cut wrongly: it is here or higher, and found again soon. */
  restore(level: number): void {
    this.moveTo(Math.max(level, this.#level))
    this.#change = STEADY / LEAST_PART
    this.#scaleMs = Math.min(this.#scaleMs, LEAST_PART * SCALE_MS)
  }

  /** The level after a refusal; `measured` is 0 where there is too little to measure. */
  #levelAfter(answered: number, measured: number, isCheap: boolean): number {
    const { perSecond } = this
    const level = this.#level
    const late = Math.max(measured, Math.min(answered, perSecond))
    // A guess that has grown far was too low for most of the time. If not, the truth is in between:
    // too much shows at once.
    if (this.#isGuess) return measured === 0 || perSecond > FAR * level ? late : Math.sqrt(measured * late)
    if (!this.isBeyondLevel) return Math.min(perSecond, Math.max(answered, KEPT_BELOW * perSecond))
    if (perSecond > FAR * level) return Math.max(late, KEPT_BEYOND * level)
    const most = measured === 0 ? level : measured
    const followed = isCheap ? Math.max(most, Math.min(answered, Math.max(level, HIGHER * most))) : most
    return Math.max(KEPT_BEYOND * level, Math.min(perSecond, followed))
  }

  /** Calls per second answered since the last cut; undefined while that is too little to tell. */
  #measured(idleMs: number): number | undefined {
    const ms = this.#measuredMs + Math.min(MOST_SAVED_MS, idleMs)
    if (this.#answered === 0 || ms < ENOUGH_MS || (this.#answered < ENOUGH_CALLS && ms < LONG_ENOUGH_MS)) return undefined
    return (this.#answered / ms) * 1000
  }

  /** How long it takes to get back to the level, in ms. A guess starts from where it is. */
  get #plateauMs(): number {
    return this.#isGuess ? 0 : this.#scaleMs * Math.cbrt(1 - this.#start)
  }
}

function within(rate: number): number {
  return Math.min(MOST_PER_SECOND, Math.max(LEAST, rate))
}
