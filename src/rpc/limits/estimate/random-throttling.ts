import { Cusum } from '../cusum.ts'
import { FarBelowLevel } from './far-below-level.ts'
import { Outage } from './outage.ts'
import { Probation } from './probation.ts'
import { RandomPart } from './random-part.ts'
import type { RateEstimate, RateVerdict, Throttling } from './rate-estimate.ts'
import { ThrottlingTrial } from './throttling-trial.ts'

/**
 * What is left of the rate in a trial: a limit does not fall by half within one, and random
 * throttling does not depend on the rate.
 */
const SLOWER = 1 / 2
/**
 * A trial begins with the second refusal far below the level, among recent POSTs there. A weighted
 * sum: it is a little less than two.
 */
const REFUSALS_UNTIL_TRIAL = 1.8
/**
 * Or with this many cuts below the level in a row, with answers between them. A limit that falls to
 * a quarter takes four.
 */
const CUTS_UNTIL_TRIAL = 5
/**
 * A cut counts among them if fewer POSTs than this told anything far below the level after the cut
 * before it. That is so where replies take long: the rate has grown by the first answer.
 */
const LEAST_FAR_BELOW = 5
/** A trial is as long as three refusals at random would take, within these bounds. */
const REFUSALS_IN_TRIAL = 3
const LEAST_POSTS = 24
const MOST_POSTS = 100
/** And this long after such cuts, which say nothing of how many are refused at random. */
const POSTS_AFTER_CUTS = 36
/**
 * A trial in which too many are refused starts again at half of the level: the limit fell. The
 * fourth is believed.
 */
const MOST_HALVINGS = 3
/**
 * The least that the test takes for the part refused at random, and how much more is refused if the
 * rate is the reason.
 */
const LEAST_TESTED = 0.02
const MORE = 0.1
/** How much likelier the rate must be as the reason, as a natural logarithm: 90 times. */
const LIKELIER = 4.5
/**
 * Until the first answer after a cut, refusals belong to it, for this many times the time of a
 * reply and this many ms.
 */
const REPLIES_UNTIL_ANSWER = 4
const MS_UNTIL_ANSWER = 100

/**
 * - `watching`: refusals far below the level are counted;
 * - `trial`: the rate is halved for some POSTs;
 * - `probation`: throttling was found to be random, and the rate is back where it was before it was
 *   cut for that.
 */
type State =
  | { readonly is: 'watching' }
  | { readonly is: 'trial'; readonly trial: ThrottlingTrial }
  | { readonly is: 'probation'; readonly probation: Probation }

const WATCHING: State = { is: 'watching' }

/**
 * Tells throttling at random (other limits of a provider, its other customers, its bad days) from
 * throttling by the rate. Without it, random throttling of more than 1 % of POSTs would lower the
 * rate without end. It wraps a `RateEstimate`, which works alone.
 *
 * A limit refuses nothing right after a cut, far below the level. When it does, twice, or when the
 * rate is cut five times below its level without getting back there, it is halved for a trial: a
 * limit then stops refusing, and chance does not. A refusal in the trial means that throttling is
 * random, and how much of it is (random-part.ts). The rate goes back to the highest level that was
 * cut because of it. If half is refused there, the trial was wrong. From then on, a refusal changes
 * nothing until a test (cusum.ts) finds that more is refused.
 *
 * An outage (outage.ts), in which nothing is answered at any rate, is neither.
 */
export class RandomThrottling {
  readonly #estimate: RateEstimate
  readonly #outage: Outage
  #state: State = WATCHING
  #isRandom = false
  readonly #randomPart = new RandomPart()
  readonly #test = new Cusum()
  /** The highest level that was cut though it was not exceeded. */
  #best = 0
  /** Trials in a row after which the level was halved. */
  #halvings = 0
  /** From when to when POSTs went at the rate of trials. */
  #slowFrom = 0
  #slowUntil = 0
  #isCut = false
  readonly #farBelow = new FarBelowLevel()
  /** Cuts in a row with few POSTs far below the level between them. */
  #falls = 0

  /**
   * The level is guessed now, because of a refusal. `answered`: calls per second that were answered
   * before it.
   */
  constructor(estimate: RateEstimate, answered: number, now: number) {
    this.#estimate = estimate
    this.#outage = new Outage(answered, now)
  }

  get since(): number {
    return this.#estimate.since
  }

  /** Calls per second that may go now. */
  get perSecond(): number {
    return this.#state.is === 'trial' ? Math.max(1, this.#estimate.perSecond * SLOWER) : this.#estimate.perSecond
  }

  get isBeyondLevel(): boolean {
    return this.#estimate.isBeyondLevel && !this.#isRandom
  }

  /** Which part of the rate POSTs had that were sent at this time. */
  slower(sentAt: number): number {
    return sentAt >= this.#slowFrom && (this.#state.is === 'trial' || sentAt < this.#slowUntil) ? SLOWER : 1
  }

  /** Calls start: the rate held them back for `heldMs`, and nothing was asked for `idleMs`. */
  started(heldMs: number, idleMs: number, now: number): void {
    if (this.#state.is === 'trial') {
      this.#estimate.passed(heldMs, idleMs)
    } else {
      this.#estimate.started(heldMs, idleMs)
      if (this.#estimate.isFarBelowLevel) this.#farBelow.started(now)
    }
  }

  /** Calls of a POST were answered, and none of them was throttled where `noneThrottled`. */
  answered(calls: number, sentAt: number, noneThrottled: boolean, now: number): void {
    this.#estimate.answered(calls / this.slower(sentAt))
    const restored = this.#outage.answered(calls, sentAt, this.#estimate.level, now)
    if (restored !== undefined) this.#estimate.restore(restored)
    if (sentAt >= this.since) this.#farBelow.answered(now)
    if (noneThrottled) this.#add(sentAt, 0, now)
  }

  throttled(throttling: Throttling, now: number): RateVerdict {
    const { sentAt, tookMs, part = 1 } = throttling
    if (sentAt < this.since) return 'stale'
    const mayBeKnown = this.#isCut && now - this.since < REPLIES_UNTIL_ANSWER * tookMs + MS_UNTIL_ANSWER
    if (!this.#farBelow.hasAnswer && mayBeKnown) return 'stale'
    this.#outage.refused(this.#estimate.level, now)
    const wasTrial = this.#state.is === 'trial'
    const verdict = this.#add(sentAt, part, now)
    if (verdict !== undefined) return verdict
    if (wasTrial || this.#state.is !== 'watching' || (this.#isRandom && this.#test.score < LIKELIER)) return 'random'
    return this.#cut(throttling, now)
  }

  /** The part of all calls that is refused at random, as far as is known. */
  get #byChance(): number {
    return this.#isRandom ? this.#randomPart.value : 0
  }

  #cut(throttling: Throttling, now: number): RateVerdict {
    this.#best = this.#estimate.isBeyondLevel || this.#isRandom ? 0 : Math.max(this.#best, this.#estimate.level)
    const verdict = this.#estimate.throttled(throttling, this.#byChance, now)
    this.#isCut = true
    const isUnwatched = this.#farBelow.posts < LEAST_FAR_BELOW && this.#farBelow.hasAnswer
    this.#falls = verdict === 'below-level' && isUnwatched ? this.#falls + 1 : 0
    this.#startOver()
    if (this.#falls === CUTS_UNTIL_TRIAL) this.#beginTrial(POSTS_AFTER_CUTS, now)
    return verdict
  }

  /** Of a POST, this part of its calls was refused. A verdict where that is clear. */
  #add(sentAt: number, refusedPart: number, now: number): RateVerdict | undefined {
    const byChance = Math.max(LEAST_TESTED, this.#byChance)
    this.#test.add(refusedPart, byChance, byChance + MORE)
    const state = this.#state
    if (state.is === 'trial') {
      if (sentAt < state.trial.since) return refusedPart > 0 ? 'stale' : undefined
      this.#addToTrial(state.trial, refusedPart, now)
      return undefined
    }
    if (state.is === 'probation' && sentAt >= state.probation.since) {
      const { probation } = state
      probation.add(refusedPart, byChance, byChance + MORE)
      if (probation.isFailed) {
        this.#forget()
        this.#estimate.moveTo(probation.level)
        this.#startOver()
        return 'below-level'
      }
      if (probation.isOver) this.#state = WATCHING
    }
    if (this.#farBelow.includes(sentAt)) this.#addFarBelow(refusedPart, now)
    return undefined
  }

  #addFarBelow(refusedPart: number, now: number): void {
    this.#farBelow.posts++
    this.#count(1, Number(refusedPart > 0), refusedPart)
    if (this.#isRandom || refusedPart === 0 || this.#randomPart.refused < REFUSALS_UNTIL_TRIAL) return
    this.#beginTrial(Math.min(MOST_POSTS, Math.max(LEAST_POSTS, REFUSALS_IN_TRIAL * this.#randomPart.postsPerRefusal)), now)
  }

  #beginTrial(length: number, now: number): void {
    this.#falls = 0
    this.#farBelow.posts = 0
    this.#slowFrom = now
    this.#state = { is: 'trial', trial: new ThrottlingTrial(length, now) }
  }

  #addToTrial(trial: ThrottlingTrial, refusedPart: number, now: number): void {
    if (!trial.add(refusedPart)) return
    if (trial.isTooFast && ++this.#halvings <= MOST_HALVINGS) {
      this.#estimate.moveTo(this.#estimate.level * SLOWER)
      this.#randomPart.clear()
      this.#state = { is: 'trial', trial: new ThrottlingTrial(LEAST_POSTS, now) }
    } else if (trial.isOver(now)) {
      this.#end(trial, now)
    }
  }

  #end(trial: ThrottlingTrial, now: number): void {
    this.#halvings = 0
    this.#slowUntil = now
    this.#forget()
    if (trial.showsChance) {
      const { level } = this.#estimate
      if (this.#best > level) this.#state = { is: 'probation', probation: new Probation(level, now) }
      this.#isRandom = true
      this.#count(trial.posts, trial.refused, trial.parts)
      this.#estimate.restore(this.#best)
      this.#startOver()
    }
    this.#best = 0
    this.#farBelow.end()
  }

  #count(posts: number, refused: number, parts: number): void {
    this.#randomPart.add(posts, refused, parts)
    if (this.#isRandom && this.#randomPart.isNone) this.#forget()
  }

  /** Throttling is not known to be random. */
  #forget(): void {
    this.#state = WATCHING
    this.#isRandom = false
    this.#randomPart.clear()
  }

  /** The rate has changed: what is known of single POSTs is of the one before. */
  #startOver(): void {
    this.#test.clear()
    this.#farBelow.startOver()
  }
}
