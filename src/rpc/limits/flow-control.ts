import type { HexlineError } from '../../errors.ts'
import type { Backoff } from '../retry-delay.ts'
import type { BatchResult } from './batch-result.ts'
import type { RateVerdict } from './estimate/rate-estimate.ts'
import { Pause } from './pause.ts'
import type { Pacing, WaitingCalls } from './rate/pacer.ts'

/**
 * When calls may go: not in a pause, and no faster than a pacer allows. An endpoint has one, and so
 * has each method with a limit of its own.
 */
export class FlowControl<P extends Pacing = Pacing> {
  pacer: P
  readonly pause: Pause
  /** Calls were answered since it was last throttled. */
  #isAnswering = false

  constructor(pacer: P, backoff: Backoff) {
    this.pacer = pacer
    this.pause = new Pause(backoff)
  }

  /**
   * Until when the waiting calls, of which a POST holds at most `most`, are held back; in the past
   * where nothing holds them back.
   */
  heldUntil(waiting: WaitingCalls, most: number, now: number): number {
    return Math.max(this.pause.until, now + this.pacer.msUntil(waiting, most, now))
  }

  /** Calls of a POST were taken, with this many slots for POSTs. */
  took({ batch, taken, throttling }: BatchResult, slots: number, now: number): void {
    this.pacer.answered(taken.length, now - batch.sentAt, slots, throttling === undefined, now)
    this.pause.recovered()
    this.#isAnswering = true
  }

  /** A POST was throttled, and the rate may be the reason. `pauseFor` comes next. */
  throttled({ batch, throttled }: BatchResult, { retryAfterMs = 0 }: HexlineError, now: number): RateVerdict {
    const { calls, sentAt } = batch
    return this.pacer.throttled({ sentAt, tookMs: now - sentAt, calls: calls.length, part: throttled.length / calls.length, pauseMs: retryAfterMs }, now)
  }

  /**
   * A POST was throttled with this failure. A pause begins if the endpoint asks for one, or if
   * nothing was answered since the failure before and the rate may be the reason. Tells whether.
   */
  pauseFor(failure: HexlineError, mayBeRate: boolean, now: number): boolean {
    // While calls are answered in between, the rate holds back what it must.
    const isPaused = (failure.retryAfterMs ?? 0) > 0 || (mayBeRate && !this.#isAnswering)
    if (isPaused) this.pause.begin(failure, now)
    this.#isAnswering = false
    return isPaused
  }
}
