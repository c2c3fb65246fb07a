import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import type { Call } from '../call.ts'
import type { Choice } from './choice.ts'
import type { Endpoint } from './endpoint.ts'
import { isBehindPin } from './move-pin.ts'
import type { Protocol } from './protocol.ts'

/** How often it looks while there are calls, in ms. */
const INTERVAL_MS = 250
/** A call that cannot start within this time, in ms, moves to an endpoint that has none waiting. */
const LATE_MS = 1_000

/**
 * Watches several endpoints, from time to time while there are calls: asks for heads, gives up
 * silent endpoints, and moves calls that are too far back in one endpoint's line to an endpoint
 * that is free again.
 */
export class Watch {
  readonly #endpoints: readonly Endpoint[]
  readonly #choice: Choice
  readonly #protocol: Protocol
  readonly #waiting: Waiting
  readonly #alarm: Alarm = { at: 0, place: -1, ring: () => this.#look() }

  constructor(endpoints: readonly Endpoint[], choice: Choice, protocol: Protocol, waiting: Waiting) {
    this.#endpoints = endpoints
    this.#choice = choice
    this.#protocol = protocol
    this.#waiting = waiting
  }

  /** The first call has come. */
  start(): void {
    if (this.#endpoints.length > 1) this.#setAlarm()
  }

  /** The last call has ended: nothing is asked, and no timer runs, until the next one. */
  stop(): void {
    this.#waiting.alarms.unset(this.#alarm)
    for (const each of this.#endpoints) each.endChallenge()
  }

  /**
   * Asks endpoints that have been idle for their heads, and those that are out whether they are
   * back. Only while there are calls.
   */
  askHeads(now: number): void {
    if (this.#endpoints.length === 1) return
    for (const endpoint of this.#endpoints) {
      const { health, blocks, queue } = endpoint
      const dueAt = health.isOut ? health.dueAt : blocks.head.askAt
      if (now < dueAt || endpoint.isAskedForHead || endpoint.wrong !== undefined || queue.pausedUntil > now) continue
      void endpoint.askHead()
    }
  }

  #setAlarm(): void {
    this.#alarm.at = this.#now() + INTERVAL_MS
    this.#waiting.alarms.set(this.#alarm)
  }

  #look(): void {
    this.#setAlarm()
    const now = this.#now()
    this.askHeads(now)
    this.#giveUpSilent(now)
    if (!this.#endpoints.some((each) => each.isFree(now) && each.queue.size === 0)) return
    for (const { queue } of this.#endpoints) {
      const late = queue.callsBeyond(LATE_MS)
      if (late > 0) queue.handOver(late)
    }
  }

  /**
   * Gives up endpoints that owe replies and send none, while others answer: calls that wait for
   * them need not wait for the timeout.
   */
  #giveUpSilent(now: number): void {
    const answers = (each: Endpoint) => each.isFree(now) && each.health.hasAnswered && !each.health.isSilent(now)
    for (const each of this.#endpoints) {
      const { health, isGivenUp } = each
      if (!health.isSilent(now) || !this.#endpoints.some(answers)) continue
      const goesElsewhere = (call: Call) => this.#goesElsewhere(call, each, isGivenUp)
      if (isGivenUp) each.giveUpLeft(goesElsewhere)
      else if (health.hasAnswered) void each.challenge(goesElsewhere)
      else each.giveUp(now, 'no reply to its first calls', goesElsewhere)
    }
  }

  /**
   * True if the call would now go to another endpoint than this one. If this one `isOut` already,
   * the call may have come here because that other one had failed it, and then stays.
   */
  #goesElsewhere(call: Call, { name }: Endpoint, isOut: boolean): boolean {
    const best = this.#choice.best(call, this.#protocol.traitOf(call.method), [], this.#now())
    if (best === undefined || best.name === name) return best === undefined
    if (call.pin !== undefined && isBehindPin(call.pin, best)) return false
    return !isOut || !call.tried.includes(best.name)
  }

  #now(): number {
    return this.#waiting.clock.now()
  }
}
