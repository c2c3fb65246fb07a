import type { Call } from '../call.ts'
import type { Company, Member } from './endpoint.ts'
import { HEAD, type Trait } from './protocol.ts'

/**
 * What speaks against an endpoint, beside its pace: each weighs more than all that stand above it together. Nothing makes a call fail
 * untried: where something speaks against every endpoint, the call goes to the one against which least does.
 */
const against = {
  /** It is some blocks behind, and the call is for the newest one. */
  behind: 1e4,
  /** The call is pinned to another one. */
  unpinned: 1e5,
  /** It has failed this very call; the longer ago, the less that weighs. */
  tried: 1e6,
  /** It fails or refuses everybody, and is left out for now; the one that may be asked first is the least bad. */
  out: 1e9,
  /** It throttles, and is paused; the one whose pause ends first is the least bad. */
  paused: 1e12,
  /** It does not have the block that is asked for, or not the method. */
  lacking: 1e15,
}

/** Another endpoint must be so much better than the one that gets the interactive calls, to get them instead. */
const STAY = 0.7

/** Which of several endpoints gets a call. */
export class Choice {
  readonly #company: Company
  readonly #members: readonly Member[]
  /** Who gets the interactive calls. */
  #current: Member | undefined

  constructor(company: Company, members: readonly Member[]) {
    this.#company = company
    this.#members = members
  }

  /** The endpoint against which least speaks; undefined when all are in `passed`, or on another chain. */
  best(call: Call, trait: Trait | undefined, passed: readonly Member[], now: number): Member | undefined {
    const needed = trait?.needs?.(call.params)
    let best: Member | undefined
    let least = Number.POSITIVE_INFINITY
    let next: Member | undefined
    let leastForAny = Number.POSITIVE_INFINITY
    for (let i = 0; i < this.#members.length; i++) {
      const member = this.#members[i] as Member
      if (member.wrong !== undefined || passed.includes(member)) continue
      const forAny = this.#costForAny(member, i, call, now)
      if (forAny < leastForAny) {
        next = member
        leastForAny = forAny
      }
      const cost = forAny + this.#costForThis(member, call, needed, now)
      if (cost < least) {
        best = member
        least = cost
      }
    }
    if (call.priority === 'interactive' && call.pin === undefined && passed.length === 0) this.#current = next
    return best
  }

  /** Is there another one that could take a call at once? */
  hasFree(passed: readonly Member[], besides: Member, now: number): boolean {
    for (const each of this.#members) {
      if (each !== besides && each.wrong === undefined && !each.health.isOut && each.queue.pausedUntil <= now && !passed.includes(each)) return true
    }
    return false
  }

  /** What speaks against the endpoint for whatever call. */
  #costForAny(member: Member, index: number, { priority }: Call, now: number): number {
    const { health, queue } = member
    let cost = health.cost(this.#company.isChainKnown ? priority : 'interactive', now)
    // The first one that answers says which chain it is. In their order that is the same one each time.
    if (!this.#company.isChainKnown) cost *= index + 1
    else if (member === this.#current && priority === 'interactive') cost *= STAY
    cost = Math.min(cost, against.behind / 2)
    if (health.isOut) cost += against.out + Math.max(0, health.dueAt - now)
    if (queue.pausedUntil > now) cost += against.paused + (queue.pausedUntil - now)
    return cost
  }

  #costForThis(member: Member, call: Call, needed: number | undefined, now: number): number {
    const { heads } = this.#company
    const { head, name } = member
    let cost = 0
    if (needed === HEAD) cost += heads.isBehind(head) ? against.behind : 0
    else if (needed !== undefined && heads.isBelow(head, needed)) cost += against.lacking
    if (call.pin?.endpoint !== undefined && call.pin.endpoint !== name) cost += against.unpinned
    if (call.tried.length > 0) cost += against.tried * (call.tried.indexOf(name) + 1)
    if (member.lacks(call.method, now)) cost += against.lacking
    return cost
  }
}
