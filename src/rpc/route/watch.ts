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
 * Of a line with late calls, it looks at no more than this many that no other endpoint can take:
 * thousands may wait, and each costs about a microsecond.
 */
const MOST_STAYERS = 500

/**
 * Watches several endpoints, from time to time while there are calls: asks for heads, gives up
 * silent endpoints, and moves calls that are too far back in one endpoint's line to an endpoint
 * that is free again. Calls that an endpoint turns out to be unable to answer leave its line at
 * once.
 */
export class Watch {
  readonly #endpoints: readonly Endpoint[]
  readonly #choice: Choice
  readonly #protocol: Protocol
  readonly #waiting: Waiting
  readonly #alarm: Alarm = { at: 0, place: -1, ring: () => this.#look() }
  /** Endpoints that lack more than was known, since the last microtask. */
  readonly #lacking = new Set<Endpoint>()

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
    this.#moveLate(now)
  }

  /**
   * Calls that cannot start soon where they wait go to an endpoint where they can. Those that no
   * such endpoint would get stay where they are: taken back, they would only be put in line again.
   */
  #moveLate(now: number): void {
    if (!this.#endpoints.some((each) => each.isFree(now) && each.queue.size === 0)) return
    const late = this.#endpoints.map(({ queue }) => queue.callsBeyond(LATE_MS))
    const isPrompt = (best: Endpoint | undefined) => best?.isFree(now) === true && late[this.#endpoints.indexOf(best)] === 0
    for (const [i, { queue }] of this.#endpoints.entries()) {
      const calls = late[i] as number
      if (calls > 0) queue.handOver(calls, (call) => isPrompt(this.#best(call, now)), MOST_STAYERS)
    }
  }

  /**
   * The endpoint lacks a method or blocks, which was not known before. Calls in its line that need
   * them go to an endpoint that can answer them. The replies of one POST may show it many times:
   * the line is gone through once.
   */
  lacksMore(endpoint: Endpoint): void {
    if (this.#lacking.size === 0) void Promise.resolve().then(() => this.#moveUnanswerable())
    this.#lacking.add(endpoint)
  }

  #moveUnanswerable(): void {
    const now = this.#now()
    const lacking = [...this.#lacking]
    this.#lacking.clear()
    for (const each of lacking) {
      each.queue.handOver(Number.POSITIVE_INFINITY, (call) => {
        const trait = this.#protocol.traitOf(call.method)
        return !each.canAnswer(call, trait, now) && this.#best(call, now)?.canAnswer(call, trait, now) === true
      })
    }
  }

  #best(call: Call, now: number): Endpoint | undefined {
    return this.#choice.best(call, this.#protocol.traitOf(call.method), [], now)
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
    const best = this.#best(call, this.#now())
    if (best === undefined || best.name === name) return best === undefined
    if (call.pin !== undefined && isBehindPin(call.pin, best)) return false
    return !isOut || !call.tried.includes(best.name)
  }

  #now(): number {
    return this.#waiting.clock.now()
  }
}
