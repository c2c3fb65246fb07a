import type { Call } from '../../call.ts'
import { GivenRate } from './given-rate.ts'

/** What may go per second, as the user says. */
export interface Budget {
  /** Units; calls, where each costs 1. */
  readonly perSecond: number
  /** What a call costs, by its method. Without it each costs 1. */
  readonly costOf?: ((method: string) => number) | undefined
}

/** When calls may go by a budget that the user gave: a `GivenRate`, and what calls cost there. */
export class GivenBudget {
  readonly #rate: GivenRate
  readonly #costOf: ((method: string) => number) | undefined

  constructor({ perSecond, costOf }: Budget, now: number) {
    this.#rate = new GivenRate(perSecond, now)
    this.#costOf = costOf
  }

  /** How long until the next of at most `calls` calls is to go, in ms. */
  msUntil(next: Call, calls: number, now: number): number {
    const cost = this.#cost(next)
    return cost === 0 ? 0 : this.#rate.msUntil(cost, calls, now)
  }

  /** How many calls may go in one POST, at most `most`, where all calls cost the same. */
  room(most: number, now: number): number {
    return this.#costOf === undefined ? Math.min(most, this.#rate.available(now)) : most
  }

  /** See `Pacing`. */
  fitting(now: number): ((call: Call) => boolean) | undefined {
    return this.#costOf === undefined ? undefined : fittingWithin(this.#rate.units(now), (call) => this.#cost(call))
  }

  /** A POST of these calls starts. */
  started(calls: readonly Call[], now: number): void {
    const units = this.#costOf === undefined ? calls.length : calls.reduce((sum, call) => sum + this.#cost(call), 0)
    this.#rate.take(units, this.#cost(calls[0] as Call), now)
  }

  #cost(call: Call): number {
    return this.#costOf === undefined ? 1 : this.#costOf(call.method)
  }
}

/**
 * A function that says of one call after another whether what is left of the units covers it. The
 * first call always fits.
 */
export function fittingWithin(units: number, costOf: (call: Call) => number): (call: Call) => boolean {
  let left = units
  let isFirst = true
  return (call) => {
    const cost = costOf(call)
    if (!isFirst && cost > Math.max(0, left)) return false
    isFirst = false
    left -= cost
    return true
  }
}
