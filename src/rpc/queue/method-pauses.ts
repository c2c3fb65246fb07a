import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import type { Line } from './line.ts'
import type { LinePair } from './lines.ts'

/** When the lines of methods that wait apart may go: each has pauses and a rate of its own. */
export class MethodPauses {
  readonly #apart: ReadonlyMap<string, LinePair>
  readonly #heldUntil: (line: Line, now: number) => number
  readonly #waiting: Waiting
  readonly #alarm: Alarm

  /**
   * `heldUntil` says until when a line with calls is held back. `onEnd` is called when the first
   * one may go, once `setAlarm` was.
   */
  constructor(apart: ReadonlyMap<string, LinePair>, heldUntil: (line: Line, now: number) => number, waiting: Waiting, onEnd: () => void) {
    this.#apart = apart
    this.#heldUntil = heldUntil
    this.#waiting = waiting
    this.#alarm = { at: 0, place: -1, ring: onEnd }
  }

  /** A line with calls that nothing holds back now. Interactive calls go first. */
  ready(mayBulkGo: boolean): Line | undefined {
    const now = this.#waiting.clock.now()
    for (const { interactive, bulk } of this.#apart.values()) {
      const line = interactive.size > 0 || !mayBulkGo ? interactive : bulk
      if (line.size > 0 && this.#heldUntil(line, now) <= now) return line
    }
    return undefined
  }

  /** Sets the alarm to when the first line that is held back may go, if there is one. */
  setAlarm(): void {
    this.unsetAlarm()
    if (this.#apart.size === 0) return
    const now = this.#waiting.clock.now()
    const lines = [...this.#apart.values()].map(({ interactive, bulk }) => (interactive.size > 0 ? interactive : bulk)).filter(({ size }) => size > 0)
    this.#alarm.at = Math.min(...lines.map((line) => this.#heldUntil(line, now)).filter((end) => end > now))
    if (this.#alarm.at < Number.POSITIVE_INFINITY) this.#waiting.alarms.set(this.#alarm)
  }

  unsetAlarm(): void {
    if (this.#alarm.place >= 0) this.#waiting.alarms.unset(this.#alarm)
  }
}
