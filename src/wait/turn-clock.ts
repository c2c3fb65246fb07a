import type { Clock } from './clock.ts'

/**
 * A clock for ends. All calls of a POST end in one turn of the event loop: the time is read once
 * for them, since reading it costs as much as all else that telling the end of a call takes.
 */
export class TurnClock {
  readonly #clock: Pick<Clock, 'now'>
  /** The time of this turn; 0 where it is not known. */
  #at = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** It was this time in this turn. `endTurn` has to follow. */
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
