import type { RateEstimate, RateVerdict, Throttling } from './rate-estimate.ts'

/**
 * What is left of the rate in a trial: a limit does not fall by half within one, and random
 * throttling does not depend on the rate.
 */
const SLOWER = 1 / 2
/**
 * A trial begins with the second refusal far below the level, among recent POSTs there. A weighted
 * sum: it is a little less than two.
 */
const REFUSALS = 1.8
/**
 * Or with this many cuts below the level in a row, with answers between them. A limit that falls to
 * a quarter takes four.
 */
const FALLS = 5
/**
 * A cut counts among them if fewer POSTs than this told anything far below the level after the cut
 * before it. That is so where replies take long: the rate has grown by the first answer.
 */
const FEW = 5
/**
 * A trial is as long as three refusals at random would take, within these bounds, or after 12 POSTs
 * this many ms.
 */
const REFUSALS_IN_TRIAL = 3
const LEAST_POSTS = 24
const POSTS_AFTER_FALLS = 36
const MOST_POSTS = 100
const ENOUGH_POSTS = 12
const LONGEST_MS = 2500
/** Refusals before the first answer in a trial that still belong to the throttling before it. */
const IGNORED = 2
/**
 * A trial with this part of its POSTs refused, and at least four, starts again at half of the
 * level: the limit fell. The fourth is believed.
 */
const TOO_MANY = 1 / 4
const LEAST_TOO_MANY = 4
const TOO_MANY_FROM = 8
const MOST_HALVINGS = 3
/** POSTs count for less the older they are: the last two hundred or so. */
const KEPT = 0.995
/**
 * It is no longer random when this little is left of its refusals, or less than this part of POSTs
 * is refused.
 */
const LEAST_REFUSALS = 0.3
const LEAST_PART = 0.005
/**
 * Bounds of the part refused at random for the test, and how much more is refused if the rate is
 * the reason.
 */
const LEAST_TESTED = 0.02
const MOST_PART = 0.7
const MORE = 0.1
/** How much likelier the rate must be as the reason, as a natural logarithm: 90 times. */
const LIKELIER = 4.5
/**
 * The same in the probation after a trial: this many POSTs, of which half are refused if the trial
 * was wrong.
 */
const PROBATION_POSTS = 40
const WRONG_PART = 1 / 2
const WRONG_LIKELIER = 9
/**
 * Until the first answer after a cut, refusals belong to it, for this many times the time of a
 * reply and this many ms.
 */
const REPLIES_UNTIL_ANSWER = 4
const MS_UNTIL_ANSWER = 100

/**
 * Refusals in a row, without an answer between them, for this many ms are taken for an outage:
 * nothing was answered at any rate. The next answer restores this part of the level before it: the
 * last one at which that many calls had been answered.
 */
const OUTAGE_REFUSALS = 2
const OUTAGE_AFTER_CALLS = 20
const OUTAGE_MS = 1000
const RESTORED = 1 / 2

/**
 * - `watching`: refusals far below the level are counted;
 * - `trial`: the rate is halved for some POSTs;
 * - `probation`: throttling was found to be random, and the rate is back where it was before it was
 *   cut for that.
 */
type State =
  | { readonly is: 'watching' }
  | {
      readonly is: 'trial'
      readonly since: number
      readonly length: number
      hasAnswers: boolean
      ignored: number
      posts: number
      refused: number
      parts: number
    }
  | { readonly is: 'probation'; readonly since: number; readonly level: number; posts: number; score: number }

const WATCHING: State = { is: 'watching' }

/**
 * Tells throttling at random (other limits of a provider, its other customers, its bad days) from
 * throttling by the rate. Without it, random throttling of more than 1 % of POSTs would lower the
 * rate without end. It wraps a `RateEstimate`, which works alone.
 *
 * A limit refuses nothing right after a cut, far below the level. When it does, twice, or when the
 * rate is cut five times below its level without getting back there, it is halved for a trial: a
 * limit then stops refusing, and chance does not. A refusal in the trial means that throttling is
 * random, and
 *
 *     p = sum of refused / POSTs,  in trials and far below the level, the newest counting most
 *
 * is the part refused at random, where `refused` is the part of a POST's calls that was refused.
 * The rate goes back to the highest level that was cut because of it. If half is refused there, the
 * trial was wrong. From then on, a refusal changes nothing until a cumulative sum test (CUSUM;
 * E. S. Page, Continuous Inspection Schemes, 1954) finds more than p:
 *
 *     S = max(0, S + refused * ln(q / p) + (1 - refused) * ln((1 - q) / (1 - p))),
 *
 *     q = p + 0.1,  until S > 4.5
 *
 * The part counts, since nearly every long POST has a call that is refused at random, but no larger
 * part of its calls.
 *
 * Where nothing at all is answered for a while, neither the rate nor chance need be the reason: the
 * next answer undoes most of what the refusals have done to the level.
 */
export class RandomThrottling {
  readonly #estimate: RateEstimate
  #state: State = WATCHING
  #isRandom = false
  /**
   * Weighted sums over POSTs in trials and far below the level: their number, those refused, and
   * the parts of these that were.
   */
  #posts = 0
  #refused = 0
  #parts = 0
  #score = 0
  /** The highest level that was cut though it was not exceeded. */
  #best = 0
  /** Trials in a row after which the level was halved. */
  #halvings = 0
  /** From when to when POSTs went at the rate of trials. */
  #slowFrom = 0
  #slowUntil = 0
  #isCut = false
  /**
   * POSTs sent far below the level since the first answer after the last cut, and cuts in a row
   * with few of them.
   */
  #farBelow = 0
  #falls = 0
  /** Refusals since the last answer, and when the first of them came. */
  #unanswered = 1
  #unansweredSince: number
  /** The last level that enough calls were answered at, until a first refusal; 0 once restored. */
  #levelBefore: number
  /** Calls answered since that level. */
  #answeredCalls = 0
  /**
   * When the first answer came after the last cut, and when the last POST started that was far
   * below the level.
   */
  #answeredAt = Number.POSITIVE_INFINITY
  #farBelowUntil = Number.NEGATIVE_INFINITY

  /**
   * The level is guessed now, because of a refusal. `answered`: calls per second that were answered
   * before it.
   */
  constructor(estimate: RateEstimate, answered: number, now: number) {
    this.#estimate = estimate
    this.#unansweredSince = now
    this.#levelBefore = answered
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
      if (this.#estimate.isFarBelowLevel) this.#farBelowUntil = now
    }
  }

  /** Calls of a POST were answered, and none of them was throttled where `isWhole`. */
  answered(calls: number, sentAt: number, isWhole: boolean, now: number): void {
    this.#estimate.answered(calls / this.slower(sentAt))
    this.#answeredCalls += calls
    if (calls > 0) this.#endOutage(sentAt, now)
    if (sentAt >= this.since && this.#answeredAt === Number.POSITIVE_INFINITY) this.#answeredAt = now
    if (isWhole) this.#add(sentAt, 0, now)
  }

  throttled(throttling: Throttling, now: number): RateVerdict {
    const { sentAt, tookMs, part = 1 } = throttling
    if (sentAt < this.since) return 'known'
    const mayBeKnown = this.#isCut && now - this.since < REPLIES_UNTIL_ANSWER * tookMs + MS_UNTIL_ANSWER
    if (this.#answeredAt === Number.POSITIVE_INFINITY && mayBeKnown) return 'known'
    if (this.#unanswered++ === 0) {
      this.#unansweredSince = now
      if (this.#answeredCalls >= OUTAGE_AFTER_CALLS) {
        this.#levelBefore = this.#estimate.level
        this.#answeredCalls = 0
      }
    }
    const wasTrial = this.#state.is === 'trial'
    const verdict = this.#add(sentAt, part, now)
    if (verdict !== undefined) return verdict
    if (wasTrial || this.#state.is !== 'watching' || (this.#isRandom && this.#score < LIKELIER)) return 'random'
    return this.#cut(throttling, now)
  }

  /** Something was answered, of a POST that was sent at this time. */
  #endOutage(sentAt: number, now: number): void {
    // One that was on its way when the refusals began does not end them.
    if (this.#unanswered > 0 && sentAt < this.#unansweredSince) return
    const isOutage = this.#unanswered >= OUTAGE_REFUSALS && now - this.#unansweredSince >= OUTAGE_MS
    this.#unanswered = 0
    const level = RESTORED * this.#levelBefore
    if (!isOutage || level <= this.#estimate.level) return
    this.#estimate.restore(level)
    this.#levelBefore = 0
    this.#answeredCalls = 0
  }

  get #part(): number {
    return this.#isRandom ? Math.min(MOST_PART, this.#parts / this.#posts) : 0
  }

  #cut(throttling: Throttling, now: number): RateVerdict {
    this.#best = this.#estimate.isBeyondLevel || this.#isRandom ? 0 : Math.max(this.#best, this.#estimate.level)
    const verdict = this.#estimate.throttled(throttling, this.#part, now)
    this.#isCut = true
    const isUnwatched = this.#farBelow < FEW && this.#answeredAt !== Number.POSITIVE_INFINITY
    this.#falls = verdict === 'below-level' && isUnwatched ? this.#falls + 1 : 0
    this.#startOver()
    if (this.#falls === FALLS) this.#beginTrial(POSTS_AFTER_FALLS, now)
    return verdict
  }

  /** Of a POST, this part of its calls was refused. A verdict where that is clear. */
  #add(sentAt: number, refused: number, now: number): RateVerdict | undefined {
    this.#score = sum(this.#score, refused, Math.max(LEAST_TESTED, this.#part), MORE)
    const state = this.#state
    if (state.is === 'trial') {
      if (sentAt < state.since) return refused > 0 ? 'known' : undefined
      this.#addToTrial(state, refused, now)
      return undefined
    }
    if (state.is === 'probation' && sentAt >= state.since) {
      const part = Math.max(LEAST_TESTED, this.#part)
      state.score = sum(state.score, refused, part, Math.max(MORE, WRONG_PART - part))
      if (state.score >= WRONG_LIKELIER) {
        this.#forget()
        this.#estimate.moveTo(state.level)
        this.#startOver()
        return 'below-level'
      }
      if (++state.posts > PROBATION_POSTS) this.#state = WATCHING
    }
    if (sentAt >= this.#answeredAt && sentAt <= this.#farBelowUntil) this.#addFarBelow(refused, now)
    return undefined
  }

  #addFarBelow(refused: number, now: number): void {
    this.#farBelow++
    this.#count(1, Number(refused > 0), refused)
    if (this.#isRandom || refused === 0 || this.#refused < REFUSALS) return
    this.#beginTrial(Math.min(MOST_POSTS, Math.max(LEAST_POSTS, (REFUSALS_IN_TRIAL * this.#posts) / this.#refused)), now)
  }

  #beginTrial(length: number, now: number): void {
    this.#falls = 0
    this.#farBelow = 0
    this.#slowFrom = now
    this.#try(length, now)
  }

  #try(length: number, now: number): void {
    this.#state = { is: 'trial', since: now, length, hasAnswers: false, ignored: 0, posts: 0, refused: 0, parts: 0 }
  }

  #addToTrial(trial: State & { is: 'trial' }, refused: number, now: number): void {
    if (!trial.hasAnswers && refused > 0 && ++trial.ignored <= IGNORED) return
    trial.hasAnswers = true
    trial.posts++
    trial.refused += Number(refused > 0)
    trial.parts += refused
    const isTooMany = trial.posts >= TOO_MANY_FROM && trial.parts >= Math.max(LEAST_TOO_MANY, TOO_MANY * trial.posts)
    if (isTooMany && ++this.#halvings <= MOST_HALVINGS) {
      this.#estimate.moveTo(this.#estimate.level * SLOWER)
      this.#posts = 0
      this.#refused = 0
      this.#parts = 0
      this.#try(LEAST_POSTS, now)
    } else if (trial.posts >= trial.length || (trial.posts >= ENOUGH_POSTS && now - trial.since > LONGEST_MS)) {
      this.#end(trial, now)
    }
  }

  #end({ posts, refused, parts }: State & { is: 'trial' }, now: number): void {
    this.#halvings = 0
    this.#slowUntil = now
    this.#forget()
    // Where all were refused, that is not chance.
    if (refused > 0 && parts < posts) {
      const { level } = this.#estimate
      if (this.#best > level) this.#state = { is: 'probation', since: now, level, posts: 0, score: 0 }
      this.#isRandom = true
      this.#count(posts, refused, parts)
      this.#estimate.restore(this.#best)
      this.#startOver()
    }
    this.#best = 0
    this.#farBelowUntil = Number.NEGATIVE_INFINITY
  }

  #count(posts: number, refused: number, parts: number): void {
    this.#posts = this.#posts * KEPT ** posts + posts
    this.#refused = this.#refused * KEPT ** posts + refused
    this.#parts = this.#parts * KEPT ** posts + parts
    if (this.#isRandom && (this.#refused < LEAST_REFUSALS || this.#refused / this.#posts < LEAST_PART)) this.#forget()
  }

  /** Throttling is not known to be random. */
  #forget(): void {
    this.#state = WATCHING
    this.#isRandom = false
    this.#posts = 0
    this.#refused = 0
    this.#parts = 0
  }

  /** The rate has changed: what is known of single POSTs is of the one before. */
  #startOver(): void {
    this.#score = 0
    this.#answeredAt = Number.POSITIVE_INFINITY
    this.#farBelowUntil = Number.NEGATIVE_INFINITY
    this.#farBelow = 0
  }
}

/**
 * The cumulative sum after another POST, of which the part `refused` was. It tests whether
 * `part + more` are refused in the mean, rather than `part`.
 */
function sum(score: number, refused: number, part: number, more: number): number {
  const other = part + more
  return Math.max(0, score + refused * Math.log(other / part) + (1 - refused) * Math.log((1 - other) / (1 - part)))
}
