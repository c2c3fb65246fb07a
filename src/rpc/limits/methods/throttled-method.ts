import type { HexlineError } from '../../../errors.ts'
import type { Backoff } from '../../retry-delay.ts'
import type { BatchResult } from '../batch-result.ts'
import { FlowControl } from '../flow-control.ts'
import { Pacer } from '../rate/pacer.ts'
import { SILENT_MS } from './method-trial.ts'

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
/**
 * What the throttling of a POST says about its method:
 * - `unknown`: nothing. The limits of the endpoint learn from it.
 * - `found`: it is the method's own, which has just been shown. What the limits of the endpoint
 *   have learnt from it so far is wrong.
 * - `own`: it is the method's own, and says nothing about the endpoint.
 */
export type Ownership = 'unknown' | 'found' | 'own'

/**
 * - `together`: its calls go with the others;
 * - `apart`: they wait by themselves, with pauses and a rate of their own, since the limit may be
 *   its own;
 * - `proven`: the same, and it is.
 */
type State =
  | { readonly is: 'together' }
  | {
      is: 'apart' | 'proven'
      readonly flow: FlowControl<Pacer>
      /** Length of the newest pause. */
      pausedMs: number
      /** POSTs in a row that are throttled until the next trial. */
      trialAfter: number
    }

const TOGETHER: State = { is: 'together' }

/** Numbers of POSTs, with the calls of one method or with any. */
export class Counts {
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

/** One method that an endpoint has throttled: whether its calls wait apart from the others. */
export class ThrottledMethod extends Counts {
  readonly #backoff: Backoff
  /** POSTs in which calls of this method were throttled, and no others. */
  throttledAlone = 0
  #state: State = TOGETHER
  /** POSTs in a row that were throttled, and that were answered. */
  #throttledInARow = 0
  #answeredInARow = 0
  /** Until when it stays with the others, and how long it does so the next time. */
  #togetherUntil = 0
  #togetherMs = TOGETHER_MS

  constructor(backoff: Backoff) {
    super()
    this.#backoff = backoff
  }

  get isApart(): boolean {
    return this.#state.is !== 'together'
  }

  /** When its calls may go while it is apart. */
  get flow(): FlowControl<Pacer> | undefined {
    return this.#state.is === 'together' ? undefined : this.#state.flow
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

  /** Calls of a POST of this method were taken. See `FlowControl`. */
  took(result: BatchResult, slots: number, now: number): void {
    const { flow } = this
    if (flow === undefined) return
    flow.took(result, slots, now)
    // What its rate held back might have been refused.
    if (flow.pacer.heldAt >= result.batch.sentAt) this.#answeredInARow = 0
  }

  override halve(): void {
    super.halve()
    this.throttledAlone /= 2
  }

  /**
   * Judges anew, by its own POSTs and those of others, whether its calls should wait apart. True
   * where that changes.
   */
  judge(others: Counts, areOthersWaiting: () => boolean, now: number): boolean {
    if (this.#state.is === 'together') {
      if (this.#throttledInARow < IN_A_ROW || now < this.#togetherUntil || !areOthersWaiting()) return false
      this.#state = { is: 'apart', flow: new FlowControl(new Pacer(undefined, now), this.#backoff), pausedMs: 0, trialAfter: 0 }
      return true
    }
    const isShared = others.throttled >= LEAST_OTHERS && others.throttled > SHARED_FROM * this.#expected(others)
    if (isShared) this.stayTogether(now)
    if (now >= this.#togetherUntil && this.#answeredInARow < RECOVERED) return false
    this.#state = TOGETHER
    this.#throttledInARow = 0
    return true
  }

  /** The limit is not its own: it stays with the others for a while, longer each time. */
  stayTogether(now: number): void {
    if (now < this.#togetherUntil) return
    this.#togetherUntil = now + this.#togetherMs
    this.#togetherMs = Math.min(MOST_TOGETHER_MS, 2 * this.#togetherMs)
  }

  /**
   * A POST was throttled while it is apart. It pauses, unless its rate is enough to hold calls
   * back. True where a trial is due: it was silent itself before this POST for as long as others
   * are silent in a trial, and that alone has not helped.
   */
  rest(result: BatchResult, throttling: HexlineError, now: number): boolean {
    const state = this.#state
    if (state.is === 'together') return false
    const { flow, pausedMs, trialAfter } = state
    const wasSilent = pausedMs >= SILENT_MS && result.batch.sentAt >= flow.pause.until && this.#throttledInARow > 1
    flow.throttled(result, throttling, now)
    const isPaused = flow.pauseFor(throttling, true, now)
    state.pausedMs = flow.pause.until - now
    const isDue = wasSilent && isPaused && this.#throttledInARow >= trialAfter
    if (isDue) state.trialAfter = 2 * this.#throttledInARow
    return isDue
  }

  /** Whether the throttling of a POST while it is apart shows that the limit is its own. */
  prove(others: Counts): Ownership {
    const state = this.#state
    if (state.is === 'together') return 'unknown'
    if (state.is === 'proven') return 'own'
    const expected = this.#expected(others)
    if (expected < EXPECTED || others.throttled > MOST_OTHERS * expected) return 'unknown'
    state.is = 'proven'
    return 'found'
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
