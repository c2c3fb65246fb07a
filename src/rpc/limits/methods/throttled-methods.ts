import type { HexlineError } from '../../../errors.ts'
import type { Call } from '../../call.ts'
import type { Backoff } from '../../retry-delay.ts'
import type { BatchInFlight, BatchResult } from '../batch-result.ts'
import { FlowControl } from '../flow-control.ts'
import { Pacer, type WaitingCalls } from '../rate/pacer.ts'
import { MethodTrial, SILENT_MS } from './method-trial.ts'

/** POSTs of a method in a row that are throttled until its calls go apart from the others. */
const IN_A_ROW = 2
/**
 * POSTs of other methods that would have been throttled as often as those of this method, at least,
 * and the part of them that may have been.
 */
const EXPECTED = 5
const MOST_OTHERS = 0.1
/** From this part of them on, and this number, the method is throttled as all others are. */
const SHARED_FROM = 0.5
const LEAST_OTHERS = 2
/**
 * A method is refused where at least this many of its POSTs were throttled, and fewer than this
 * part of their number answered. Its POSTs tell nothing about another method.
 */
const LEAST_REFUSED = 2
const LEAST_ANSWERED = 0.02
/**
 * POSTs of a method in a row that are answered, while its rate holds nothing back, until its calls
 * go with the others again.
 */
const RECOVERED = 20
/**
 * How long a method whose throttling was not its own stays with the others, at first and at most,
 * in ms.
 */
const TOGETHER_MS = 30_000
const MOST_TOGETHER_MS = 600_000
/** Counts are halved here: what was long ago weighs little. */
const MOST_COUNTED = 200
/** Methods that are watched, at most: they are named by the user. */
const MOST_METHODS = 100

/**
 * What the throttling of a POST says about its method:
 * - `unknown`: nothing. The limits of the endpoint learn from it.
 * - `found`: it is the method's own, which has just been shown. What the limits of the endpoint
 *   have learnt from it so far is wrong.
 * - `own`: it is the method's own, and says nothing about the endpoint.
 */
export type Ownership = 'unknown' | 'found' | 'own'

/**
 * Finds out which methods an endpoint throttles by themselves. Some providers take a few calls of
 * `eth_getLogs` per second, or none, and answer everything else. Taken for a limit of the endpoint,
 * that would hold all calls back.
 *
 *     together ── 2 POSTs in a row throttled ──▶ apart ── others are answered ──▶ proven
 *        ▲                                         │                                 │
 *        └── others are throttled as often, or 20 POSTs in a row are answered ◀──────┤
 *        └── it is answered in a trial ◀─────────────────────────────────────────────┘
 *
 * A method that is apart has a learnt rate of its own, and pauses while it is not answered, longer
 * each time. Where an endpoint counts units, cheap calls may leave too few for an expensive one: so
 * there are trials, in which the others are silent for a second before its next POST. If it is
 * answered then, the limit is the endpoint's.
 */
export class ThrottledMethods {
  readonly #backoff: Backoff
  /** All POSTs since one was throttled for a single method. */
  readonly #all = new Counts()
  readonly #methods = new Map<string, ThrottledMethod>()
  #apart: ReadonlySet<string> = NONE
  #trial: MethodTrial | undefined

  constructor(backoff: Backoff) {
    this.#backoff = backoff
  }

  /** The methods that are apart. Another set whenever they change. */
  get apart(): ReadonlySet<string> {
    return this.#apart
  }

  /**
   * Until when a method that is apart gets none of the waiting calls, of which a POST holds at most
   * `most`; in the past where nothing holds them back.
   */
  heldUntil(waiting: WaitingCalls, most: number, now: number): number {
    const { flow } = this.#methods.get(waiting.first.method) as ThrottledMethod
    return flow.heldUntil(waiting, most, now)
  }

  /** How many calls of this method the next POST may hold, at most `most`. */
  room(method: string, most: number, now: number): number {
    return this.#ifApart(method)?.flow.pacer.room(most, now) ?? most
  }

  /** See `Pause`. */
  failureFor(call: Call, now: number): HexlineError | undefined {
    return this.#ifApart(call.method)?.flow.pause.failureFor(call, now)
  }

  #ifApart(method: string): ThrottledMethod | undefined {
    return this.#apart.has(method) ? this.#methods.get(method) : undefined
  }

  /** How long these calls are to wait for the trial of another method, in ms. */
  msUntilTrialEnds(waiting: WaitingCalls, now: number): number {
    return this.#trial?.msToWait(waiting.first.method, now) ?? 0
  }

  /** A POST of these calls starts. */
  started(calls: readonly Call[], now: number): void {
    const { method } = calls[0] as Call
    this.#ifApart(method)?.flow.pacer.started(calls, now)
    if (this.#trial?.isSpoiltBy(method, now)) this.#trial = undefined
    else this.#trial?.started(method, now)
  }

  /** A POST has ended that says nothing. */
  abandoned(batch: BatchInFlight): void {
    if (this.#trial?.isOf(batch)) this.#trial = undefined
  }

  /**
   * A POST has ended. `areOthersWaiting`: for calls of other methods than this one. `slots`: POSTs
   * that may be in flight.
   */
  learn(result: BatchResult, areOthersWaiting: (method: string) => boolean, slots: number, now: number): Ownership {
    const { batch, taken, throttled, throttling } = result
    const [first] = throttled
    const method = first !== undefined && throttled.every((call) => call.method === first.method) ? first.method : undefined
    if (method !== undefined && !this.#methods.has(method) && this.#methods.size < MOST_METHODS) this.#methods.set(method, new ThrottledMethod(this.#backoff))
    if (this.#methods.size === 0) return 'unknown'
    this.#all.add(taken.length > 0, throttled.length > 0)
    if (this.#trial?.isOf(batch)) this.#endTrial(this.#trial, taken.length >= this.#trial.calls, now)
    for (const [name, each] of this.#methods) {
      const isThrottled = throttled.some((call) => call.method === name)
      each.add(!isThrottled && taken.some((call) => call.method === name), isThrottled)
      if (each.isApart && taken.length > 0 && batch.calls[0]?.method === name) each.took(result, slots, now)
      if (name === method) each.throttledAlone++
    }
    for (const [name, each] of this.#methods) this.#set(name, each, each.judge(this.#othersOf(each), now) && (each.isApart || areOthersWaiting(name)), now)
    this.#halveIfMany()
    const suspect = method === undefined ? undefined : this.#methods.get(method)
    if (suspect === undefined || throttling === undefined || !suspect.isApart) return 'unknown'
    if (suspect.rest(result, throttling, now)) this.#trial ??= new MethodTrial(method as string, batch.calls.length, suspect.flow.pause.until)
    return suspect.prove(this.#othersOf(suspect))
  }

  /**
   * POSTs of other methods. Methods that are apart do not count, since their limits may be their
   * own, nor do POSTs that were throttled for a method that is refused.
   */
  #othersOf(method: ThrottledMethod): Counts {
    const others = new Counts()
    others.answered = this.#all.answered - method.answered
    others.throttled = this.#all.throttled - method.throttled
    // A POST that was throttled for several methods is subtracted once at most.
    for (const each of this.#methods.values()) {
      if (each === method || !(each.isRefused || each.isApart)) continue
      others.throttled -= each.throttledAlone
      if (each.isApart) others.answered -= each.answered
    }
    // A POST that was answered for several of them is subtracted for each.
    others.answered = Math.max(0, others.answered)
    others.throttled = Math.max(0, others.throttled)
    return others
  }

  #endTrial({ method }: MethodTrial, isTaken: boolean, now: number): void {
    this.#trial = undefined
    if (isTaken) this.#methods.get(method)?.stayTogether(now)
  }

  #set(name: string, method: ThrottledMethod, isApart: boolean, now: number): void {
    if (method.isApart === isApart) return
    method.isApart = isApart
    if (isApart) method.goApart(now)
    else method.rejoin()
    if (!isApart && this.#trial?.method === name) this.#trial = undefined
    const others = [...this.#apart].filter((each) => each !== name)
    this.#apart = new Set(isApart ? [...others, name] : others)
  }

  #halveIfMany(): void {
    if (this.#all.answered + this.#all.throttled < MOST_COUNTED) return
    this.#all.halve()
    for (const [name, method] of this.#methods) {
      method.halve()
      if (method.throttled < 1 && !method.isApart) this.#methods.delete(name)
    }
  }
}

/** Numbers of POSTs, with the calls of one method or with any. */
class Counts {
  answered = 0
  throttled = 0

  add(isAnswered: boolean, isThrottled: boolean): void {
    if (isAnswered) this.answered++
    if (isThrottled) this.throttled++
  }

  halve(): void {
    this.answered /= 2
    this.throttled /= 2
  }
}

/** One method that an endpoint has throttled. */
class ThrottledMethod extends Counts {
  /** When its calls may go while it is apart. */
  flow: FlowControl<Pacer>
  readonly #backoff: Backoff
  isApart = false
  /** POSTs in which calls of this method were throttled, and no others. */
  throttledAlone = 0
  #isProven = false
  /** POSTs in a row that were throttled, and that were answered. */
  #throttledInARow = 0
  #answeredInARow = 0
  /** Until when it stays with the others, and how long that was. */
  #togetherUntil = 0
  #togetherMs = TOGETHER_MS
  /** Length of its newest pause. */
  #pausedMs = 0
  /** POSTs in a row that are throttled until the next trial. */
  #trialAfter = 0

  constructor(backoff: Backoff) {
    super()
    this.#backoff = backoff
    this.flow = new FlowControl(new Pacer(undefined, 0), backoff)
  }

  override add(isAnswered: boolean, isThrottled: boolean): void {
    super.add(isAnswered, isThrottled)
    if (isThrottled) {
      this.#throttledInARow++
      this.#answeredInARow = 0
    } else if (isAnswered) {
      this.#throttledInARow = 0
      this.#answeredInARow++
    }
  }

  /** See `FlowControl`. */
  took(result: BatchResult, slots: number, now: number): void {
    this.flow.took(result, slots, now)
    // What its rate held back might have been refused.
    if (this.flow.pacer.heldAt >= result.batch.sentAt) this.#answeredInARow = 0
  }

  override halve(): void {
    super.halve()
    this.throttledAlone /= 2
  }

  /** Judges anew, by its own POSTs and those of others, whether its calls should wait apart. */
  judge(others: Counts, now: number): boolean {
    if (!this.isApart) return this.#throttledInARow >= IN_A_ROW && now >= this.#togetherUntil
    const isShared = others.throttled >= LEAST_OTHERS && others.throttled > SHARED_FROM * this.#expected(others)
    if (isShared) this.stayTogether(now)
    return now >= this.#togetherUntil && this.#answeredInARow < RECOVERED
  }

  /** The limit is not its own: it stays with the others for a while, longer each time. */
  stayTogether(now: number): void {
    if (now < this.#togetherUntil) return
    this.#togetherUntil = now + this.#togetherMs
    this.#togetherMs = Math.min(MOST_TOGETHER_MS, 2 * this.#togetherMs)
  }

  /** Its calls wait apart: its pauses and its rate are those of this time. */
  goApart(now: number): void {
    this.flow = new FlowControl(new Pacer(undefined, now), this.#backoff)
    this.#pausedMs = 0
  }

  /** Its calls go with the others again. */
  rejoin(): void {
    this.#isProven = false
    this.#throttledInARow = 0
    this.#trialAfter = 0
  }

  /**
   * A POST was throttled. The method pauses, unless its rate is enough to hold calls back. True
   * where a trial is due: it was silent itself before this POST for as long as others are silent in
   * a trial, and that alone has not helped.
   */
  rest(result: BatchResult, throttling: HexlineError, now: number): boolean {
    const { pause } = this.flow
    const wasSilent = this.#pausedMs >= SILENT_MS && result.batch.sentAt >= pause.until && this.#throttledInARow > 1
    const isDue = wasSilent && this.#throttledInARow >= this.#trialAfter
    this.flow.throttled(result, throttling, now)
    const pauses = this.flow.pauseFor(throttling, true, now)
    this.#pausedMs = pause.until - now
    if (isDue && pauses) this.#trialAfter = 2 * this.#throttledInARow
    return isDue && pauses
  }

  prove(others: Counts): Ownership {
    if (this.#isProven) return 'own'
    const expected = this.#expected(others)
    this.#isProven = expected >= EXPECTED && others.throttled <= MOST_OTHERS * expected
    return this.#isProven ? 'found' : 'unknown'
  }

  /** Is hardly any of its POSTs answered? */
  get isRefused(): boolean {
    return this.throttled >= LEAST_REFUSED && this.answered < LEAST_ANSWERED * this.throttled
  }

  /** POSTs of others that would have been throttled if they were as often as those of this one. */
  #expected({ answered, throttled }: Counts): number {
    return ((answered + throttled) * this.throttled) / (this.answered + this.throttled)
  }
}

const NONE: ReadonlySet<string> = new Set()
