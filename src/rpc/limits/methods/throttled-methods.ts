import type { HexlineError } from '../../../errors.ts'
import type { Call } from '../../call.ts'
import type { Backoff } from '../../retry-delay.ts'
import type { BatchInFlight, BatchResult } from '../batch-result.ts'
import type { FlowControl } from '../flow-control.ts'
import type { WaitingCalls } from '../rate/pacer.ts'
import { MethodTrial } from './method-trial.ts'
import { Counts, type Ownership, ThrottledMethod } from './throttled-method.ts'

/** Counts are halved here: what was long ago weighs little. */
const MOST_COUNTED = 200
/** Methods that are watched, at most: they are named by the user. */
const MOST_METHODS = 100

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
    return this.#flowOf(waiting.first.method)?.heldUntil(waiting, most, now) ?? 0
  }

  /** How many calls of this method the next POST may hold, at most `most`. */
  room(method: string, most: number, now: number): number {
    return this.#flowOf(method)?.pacer.room(most, now) ?? most
  }

  /** See `Pause`. */
  failureFor(call: Call, now: number): HexlineError | undefined {
    return this.#flowOf(call.method)?.pause.failureFor(call, now)
  }

  /** Undefined for a method that is not apart. */
  #flowOf(method: string): FlowControl | undefined {
    return this.#methods.get(method)?.flow
  }

  /** How long these calls are to wait for the trial of another method, in ms. */
  msUntilTrialEnds(waiting: WaitingCalls, now: number): number {
    return this.#trial?.msToWait(waiting.first.method, now) ?? 0
  }

  /** A POST of these calls starts. */
  started(calls: readonly Call[], now: number): void {
    const { method } = calls[0] as Call
    this.#flowOf(method)?.pacer.started(calls, now)
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
    for (const [name, each] of this.#methods) if (each.judge(this.#othersOf(each), () => areOthersWaiting(name), now)) this.#moved(name, each)
    this.#halveIfMany()
    const suspect = method === undefined ? undefined : this.#methods.get(method)
    if (suspect?.flow === undefined || throttling === undefined) return 'unknown'
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

  /** The method is apart now, or is not any more. */
  #moved(name: string, { isApart }: ThrottledMethod): void {
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

const NONE: ReadonlySet<string> = new Set()
