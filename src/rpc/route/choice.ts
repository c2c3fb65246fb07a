import { type Call, hasSubstitute, waitsForSlow } from '../call.ts'
import type { Endpoint, EndpointGroup } from './endpoint.ts'
import { HEAD, type Trait } from './protocol.ts'

/**
 * What is added to the cost of an endpoint that has something against it. Each row outweighs the
 * sum of all above it. A cost alone never excludes an endpoint here.
 */
const against = {
  /**
   * It is some blocks behind, and the call needs the newest block, or something that may be in it.
   */
  behind: 1e4,
  /** The call is pinned to another endpoint. */
  unpinned: 1e5,
  /** It has failed this very call; the most recent failure costs most. */
  tried: 1e6,
  /** It throttles, and is paused; the one whose pause ends first costs least. */
  paused: 1e9,
  /**
   * It fails or refuses every call, and is out for now; the one that is due first costs least.
   * Worse than a pause, since a call is answered after a pause, and would only fail here.
   */
  out: 1e12,
  /** It is out because it was silent. Other endpoints that are out at least fail quickly. */
  silent: 1e13,
  /** It lacks the method, or the block: it has dropped it, or does not have it yet. */
  lacking: 1e15,
}

/** Added for each ms that a pause lasts: 100 ms weigh as much as having failed the call once. */
const PER_PAUSED_MS = 1e4
/**
 * The last attempt of a call waits for a pause of up to this length, in ms, rather than going to an
 * endpoint that has failed the call before.
 */
const LAST_PAUSE_MS = 2_000

/**
 * Interactive calls stay where they are until another endpoint costs less than this part of the
 * current one.
 */
const STAY = 0.7

/** Which of several endpoints gets a call. */
export class Choice {
  readonly #group: EndpointGroup
  readonly #endpoints: readonly Endpoint[]
  /** The endpoint that gets the interactive calls. */
  #current: Endpoint | undefined

  constructor(group: EndpointGroup, endpoints: readonly Endpoint[]) {
    this.#group = group
    this.#endpoints = endpoints
  }

  /**
   * The cheapest endpoint for the call; undefined when all are in `passed`, or on another chain.
   */
  best(call: Call, trait: Trait | undefined, passed: readonly Endpoint[], now: number): Endpoint | undefined {
    const needed = trait?.needs?.(call.params)
    let best: Endpoint | undefined
    let least = Number.POSITIVE_INFINITY
    let cheapestForAny: Endpoint | undefined
    let leastForAny = Number.POSITIVE_INFINITY
    for (let i = 0; i < this.#endpoints.length; i++) {
      const endpoint = this.#endpoints[i] as Endpoint
      if (endpoint.wrong !== undefined || passed.includes(endpoint)) continue
      const forAny = this.#costForAny(endpoint, i, call, now)
      if (forAny < leastForAny) {
        cheapestForAny = endpoint
        leastForAny = forAny
      }
      const cost = forAny + this.#costForThis(endpoint, call, trait, needed, now)
      if (cost < least) {
        best = endpoint
        least = cost
      }
    }
    if (call.priority === 'interactive' && call.pin === undefined && passed.length === 0) this.#current = cheapestForAny
    return best
  }

  /** Could another endpoint, as far as is known, answer the call at once? */
  hasFree(call: Call, trait: Trait | undefined, passed: readonly Endpoint[], except: Endpoint, now: number): boolean {
    for (const each of this.#endpoints) {
      if (each === except || passed.includes(each) || each.wrong !== undefined || each.health.isOut || each.queue.pausedUntil > now) continue
      if (hasFailedBefore(call, each)) continue
      if (each.canAnswer(call, trait, now) || hasSubstitute(call)) return true
    }
    return false
  }

  /** The part of the cost that does not depend on what the call asks for. */
  #costForAny(endpoint: Endpoint, index: number, { priority }: Call, now: number): number {
    const { health, queue } = endpoint
    let cost = health.cost(this.#group.chain.isKnown ? priority : 'interactive', now)
    // The first endpoint that answers decides which chain is the right one. Until then they are
    // preferred in their given order, so that it is the same one each time.
    if (!this.#group.chain.isKnown) cost *= index + 1
    else if (endpoint === this.#current && priority === 'interactive') cost *= STAY
    cost = Math.min(cost, against.behind / 2)
    if (health.isOut) cost += against.out + Math.max(0, health.dueAt - now)
    if (endpoint.isGivenUp) cost += against.silent
    if (queue.pausedUntil > now) cost += against.paused + PER_PAUSED_MS * (queue.pausedUntil - now)
    return cost
  }

  /** The part of the cost that depends on what the call asks for, and where it has been. */
  #costForThis(endpoint: Endpoint, call: Call, trait: Trait | undefined, needed: number | undefined, now: number): number {
    const { heads } = this.#group
    const { blocks, name } = endpoint
    let cost = 0
    const mayNeedHead = needed === HEAD || (trait?.mayBeNew === true && call.priority === 'interactive')
    if (mayNeedHead) cost += heads.isBehind(blocks.head) ? against.behind : 0
    else if (needed !== undefined && heads.isBelow(blocks.head, needed)) cost += against.lacking
    if (trait?.reads !== undefined && blocks.lack(trait, call.params, now)) cost += against.lacking
    if (call.pin?.endpoint !== undefined && call.pin.endpoint !== name) cost += against.unpinned
    if (call.tried.length > 0) cost += against.tried * (call.tried.indexOf(name) + 1)
    if (hasFailedBefore(call, endpoint)) cost += against.paused + PER_PAUSED_MS * LAST_PAUSE_MS
    if (endpoint.lacks(call.method, now)) cost += against.lacking
    return cost
  }
}

/**
 * The endpoint has failed the call before, and this attempt, of three or more, is a patient one:
 * the last, or one in four of those that have no limit.
 */
function hasFailedBefore(call: Call, { name }: Endpoint): boolean {
  return call.attempts > 2 && waitsForSlow(call) && call.tried.includes(name)
}
