import type { Clock } from './clock.ts'

/**
 * Tells the time at which calls end. All calls of a POST end in one turn of the event loop, and
 * share one reading of the clock: a reading costs as much as all the rest of reporting an end.
 */
export class TurnClock {
  readonly #clock: Pick<Clock, 'now'>
  /** The time of this turn; 0 if it is not set. */
  #at = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Sets the time for the rest of this turn. `endTurn` has to follow. */
  hold(at: number): void {
    this.#at = at
  }

  endTurn(): void {
    this.#at = 0
  }

  now(): number {
    return this.#at > 0 ? this.#at : this.#clock.now()
  }
}
