import type { Clock, Timer } from '../../src/wait/clock.ts'

/**
 * Number of quiet turns of the event loop, in which nothing asks for the time, after which only a
 * timer can change anything.
 */
const QUIET_TURNS = 3

interface VirtualTimer extends Timer {
  readonly at: number
  readonly wake: () => void
  isHeld: boolean
}

/**
 * A clock that stands still while anything happens, and then jumps to its next timer. Minutes pass
 * in milliseconds, always in the same order. It runs while a ref'd timer is set, as a process does.
 * The code under test must not wait for anything outside the process, such as sockets, files or
 * zlib.
 */
export class VirtualClock implements Clock {
  #now = 1
  /** Number of uses. Every activity of the engine asks for the time or sets a timer. */
  #uses = 0
  /** Sorted by time, and those of the same time by the order in which they were set. */
  readonly #timers: VirtualTimer[] = []
  #held = 0
  #isRunning = false

  /** Number of timers that are set. */
  get timers(): number {
    return this.#timers.length
  }

  now(): number {
    this.#uses++
    return this.#now
  }

  wakeAt(at: number, wake: () => void): Timer {
    this.#uses++
    const hold = (isHeld: boolean) => this.#hold(timer, isHeld)
    // Node.js timers take at least one ms.
    const timer: VirtualTimer = { at: Math.max(at, this.#now + 1), wake, isHeld: false, ref: () => hold(true), unref: () => hold(false) }
    let place = this.#timers.length
    while (place > 0 && (this.#timers[place - 1] as VirtualTimer).at > timer.at) place--
    this.#timers.splice(place, 0, timer)
    hold(true)
    return timer
  }

  cancel(timer: Timer): void {
    this.#uses++
    const place = this.#timers.indexOf(timer as VirtualTimer)
    if (place < 0) return
    this.#timers.splice(place, 1)
    if ((timer as VirtualTimer).isHeld) this.#held--
  }

  /** Starts again at the same time, without timers. */
  reset(): void {
    this.#timers.length = 0
    this.#held = 0
    this.#now = 1
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.wakeAt(this.#now + ms, resolve))
  }

  #hold(timer: VirtualTimer, isHeld: boolean): void {
    if (timer.isHeld === isHeld || !this.#timers.includes(timer)) return
    timer.isHeld = isHeld
    this.#held += isHeld ? 1 : -1
    if (isHeld && !this.#isRunning) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#held > 0) {
      await this.#quiet()
      const timer = this.#timers[0]
      if (timer === undefined || this.#held === 0) continue
      this.cancel(timer)
      this.#now = timer.at
      timer.wake()
    }
    this.#isRunning = false
  }

  async #quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      const before = this.#uses
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#uses !== before) turns = -1
    }
  }
}
