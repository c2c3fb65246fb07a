import type { Clock, Timer } from './clock.ts'

/** Something to be woken at a time. */
export interface Alarm {
  /** When, on the clock. Not to be changed while set. */
  at: number
  /** Its place among the alarms, or -1. Kept by `Alarms`. */
  place: number
  /** Called once, when the time has come; the alarm is no longer set then. */
  ring(): void
}

/**
 * A timer that is set for longer than this, in ms, is not kept while there is no alarm: it would
 * hold memory for clients that are no longer used. Shorter ones are kept, since a client that makes
 * one call after the other would set and cancel one for each. The default deadline of a call.
 */
const MOST_KEPT_MS = 120_000

/**
 * Any number of alarms on one timer: a binary heap by time, each alarm knowing its place, so that
 * setting and taking back are cheap. The timer holds the process up only while an alarm is set.
 */
export class Alarms {
  readonly clock: Clock
  #heap: Alarm[] = []
  #timer: Timer | undefined
  #timerAt = Number.POSITIVE_INFINITY
  /** The timer is worth keeping while there is no alarm. */
  #isKept = false
  #isOver = false
  readonly #wake = () => this.#ringDue()

  constructor(clock: Clock) {
    this.clock = clock
  }

  get size(): number {
    return this.#heap.length
  }

  set(alarm: Alarm): void {
    this.#heap.push(alarm)
    this.#up(alarm, this.#heap.length - 1)
    // A timer that is due too early is left alone: it finds nothing to do and is set anew. So is
    // one that does not keep the process alive.
    if (alarm.at < this.#timerAt) this.#arm()
    else if (this.#heap.length === 1) this.#timer?.ref()
  }

  unset(alarm: Alarm): void {
    const { place } = alarm
    if (place < 0) return
    alarm.place = -1
    const last = this.#heap.pop() as Alarm
    if (last !== alarm) {
      this.#up(last, place)
      this.#down(last, last.place)
    }
    if (this.#heap.length > 0) return
    if (this.#isKept && !this.#isOver) this.#timer?.unref()
    else this.#disarm()
  }

  /** Few alarms are to come, if any: from now on, no timer is kept for them. */
  end(): void {
    this.#isOver = true
    if (this.#heap.length === 0) this.#disarm()
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.clock.cancel(this.#timer)
    this.#timer = undefined
    this.#timerAt = Number.POSITIVE_INFINITY
  }

  #arm(): void {
    this.#disarm()
    const first = this.#heap[0]
    if (first === undefined) return
    this.#timerAt = first.at
    this.#isKept = first.at - this.clock.now() <= MOST_KEPT_MS
    this.#timer = this.clock.wakeAt(first.at, this.#wake)
  }

  #ringDue(): void {
    const now = this.clock.now()
    for (;;) {
      const first = this.#heap[0]
      if (first === undefined || first.at > now) break
      this.unset(first)
      first.ring()
    }
    this.#arm()
  }

  #up(alarm: Alarm, from: number): void {
    const heap = this.#heap
    let place = from
    while (place > 0) {
      const parent = heap[(place - 1) >> 1] as Alarm
      if (parent.at <= alarm.at) break
      heap[place] = parent
      parent.place = place
      place = (place - 1) >> 1
    }
    heap[place] = alarm
    alarm.place = place
  }

  #down(alarm: Alarm, from: number): void {
    const heap = this.#heap
    const { length } = heap
    let place = from
    for (;;) {
      let child = 2 * place + 1
      if (child >= length) break
      if (child + 1 < length && (heap[child + 1] as Alarm).at < (heap[child] as Alarm).at) child++
      const lower = heap[child] as Alarm
      if (lower.at >= alarm.at) break
      heap[place] = lower
      lower.place = place
      place = child
    }
    heap[place] = alarm
    alarm.place = place
  }
}
