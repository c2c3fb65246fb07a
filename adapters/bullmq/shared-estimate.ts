import { RandomThrottling } from '../../src/rpc/limits/estimate/random-throttling.ts'
import { RateEstimate } from '../../src/rpc/limits/estimate/rate-estimate.ts'
import { Lately, latelyMs } from '../../src/rpc/limits/rate/lately.ts'
import type { Grant, PostEvent, Question } from './budget-script.ts'

/** Weight of the newest reply in their mean time. */
const NEWEST = 0.2
/**
 * Calls per second where nothing is known. It grows at once, by the cube of time, so that it is far
 * below any usual limit when it meets it: what was answered lately is then the limit.
 */
export const GUESS = 25

interface Rate {
  readonly estimate: RateEstimate
  readonly pace: RandomThrottling
}

/**
 * The calls per second that an endpoint takes from all workers together, by the estimate of
 * docs/limits.md. One worker makes it, from what became of everyone's POSTs. The next one begins
 * with the level that it found.
 */
export class SharedEstimate {
  #lately = new Lately()
  /** What another worker has found: the rate, and the level, 0 where nothing was refused. */
  readonly #known: Pick<Grant, 'perSecond' | 'level'>
  #wasRefused: boolean
  #rate: Rate | undefined
  #meanMs = 0
  #now = 0

  constructor(known: Pick<Grant, 'perSecond' | 'level'>) {
    this.#known = known
    this.#wasRefused = known.level > 0
  }

  /**
   * Learns from what has happened since the last time, in the order in which POSTs ended. What it
   * returns holds from `untilKnownMs` after `now` on.
   */
  learn({ events, heldMs, idleMs, now }: Pick<Grant, 'events' | 'heldMs' | 'idleMs' | 'now'>, untilKnownMs: number): Question['estimate'] {
    // A worker that does not know yet that the clock of Redis was set back tells of the future.
    const inOrder = events.map((event) => ({ ...event, at: Math.min(event.at, now) })).sort((a, b) => a.at - b.at)
    const first = inOrder[0]
    if (this.#rate === undefined) {
      if (first === undefined) return undefined
      this.#rate = this.#begin(first)
    }
    const { estimate, pace } = this.#rate
    pace.started(heldMs, idleMs, now)
    let isCut = false
    for (const event of inOrder) if (this.#add(event, pace, now + untilKnownMs)) isCut = true
    if (isCut) this.#wasRefused = true
    return { perSecond: pace.perSecond, level: this.#wasRefused ? estimate.level : 0, isCut }
  }

  #begin({ tookMs, at }: PostEvent): Rate {
    const { perSecond, level } = this.#known
    this.#meanMs = tookMs
    const estimate = new RateEstimate(perSecond, { tookMs, pauseMs: 0 }, at - tookMs)
    if (level > 0) estimate.resume(level)
    return { estimate, pace: new RandomThrottling(estimate, level, at) }
  }

  /** True where the rate was cut. */
  #add({ at: endedAt, tookMs, calls, isThrottled, pauseMs }: PostEvent, pace: RandomThrottling, knownAt: number): boolean {
    const sentAt = endedAt - tookMs
    // Some workers tell later than others: time does not go back.
    const at = Math.max(this.#now, endedAt)
    this.#now = at
    const memoryMs = latelyMs(this.#meanMs, pace.perSecond)
    if (calls > 0) {
      this.#lately.add(calls / pace.slower(sentAt), memoryMs, at)
      pace.answered(calls, sentAt, !isThrottled, at)
      this.#meanMs += NEWEST * (tookMs - this.#meanMs)
    }
    if (!isThrottled) return false
    const before = pace.perSecond
    const answered = this.#lately.perSecond(memoryMs, at) ?? 0
    // POSTs that are sent until then go at the rate before.
    pace.throttled({ sentAt, tookMs, pauseMs, answered, idleMs: 0 }, Math.max(at, knownAt))
    if (pace.perSecond >= before) return false
    // What was answered until now came from a burst, or from a limit that has fallen since.
    this.#lately = new Lately()
    return true
  }
}
