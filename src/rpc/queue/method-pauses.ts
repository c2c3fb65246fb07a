import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import type { Line } from './line.ts'
import type { LinePair } from './lines.ts'

/** When the lines of methods that wait apart may go: each has pauses of its own. */
export class MethodPauses {
  readonly #apart: ReadonlyMap<string, LinePair>
  readonly #pausedUntil: (method: string) => number
  readonly #waiting: Waiting
  readonly #alarm: Alarm

  /** `onEnd` is called when a pause has ended, once `setAlarm` was. */
  constructor(apart: ReadonlyMap<string, LinePair>, pausedUntil: (method: string) => number, waiting: Waiting, onEnd: () => void) {
    this.#apart = apart
    this.#pausedUntil = pausedUntil
    this.#waiting = waiting
    this.#alarm = { at: 0, place: -1, ring: onEnd }
  }

  /** A line with calls that has no pause now. Interactive calls go first. */
  ready(mayBulkGo: boolean): Line | undefined {
    const now = this.#waiting.clock.now()
    for (const [method, { interactive, bulk }] of this.#apart) {
      if (this.#pausedUntil(method) > now) continue
      if (interactive.size > 0) return interactive
      if (bulk.size > 0 && mayBulkGo) return bulk
    }
    return undefined
  }

  /** Sets the alarm to the end of the first pause that calls wait for, if there is one. */
  setAlarm(): void {
    this.unsetAlarm()
    if (this.#apart.size === 0) return
    const now = this.#waiting.clock.now()
    const ends = [...this.#apart].filter(([, { interactive, bulk }]) => interactive.size + bulk.size > 0).map(([method]) => this.#pausedUntil(method))
    this.#alarm.at = Math.min(...ends.filter((end) => end > now))
    if (this.#alarm.at < Number.POSITIVE_INFINITY) this.#waiting.alarms.set(this.#alarm)
  }

  unsetAlarm(): void {
    if (this.#alarm.place >= 0) this.#waiting.alarms.unset(this.#alarm)
  }
}
