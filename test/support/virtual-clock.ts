import type { Clock, Timer } from '../../src/wait/clock.ts'

/** Turns of the event loop in which nothing asks for the time, after which nothing but a timer can happen. */
const QUIET_TURNS = 3

interface VirtualTimer extends Timer {
  readonly at: number
  readonly wake: () => void
  isHeld: boolean
}

/**
 * A clock that stands still while anything happens, and then jumps to its next timer: minutes pass in milliseconds, and
 * each time in the same order. It runs for as long as a timer holds it up, as a process does. What it drives must not
 * wait for anything outside the process: real sockets, files, zlib.
 */
export class VirtualClock implements Clock {
  #now = 1
  /** Everything in the engine that happens asks for the time or sets a timer. */
  #uses = 0
  /** By time; those of one time in the order in which they were set. */
  readonly #timers: VirtualTimer[] = []
  #held = 0
  #isRunning = false

  now(): number {
    this.#uses++
    return this.#now
  }

  wakeAt(at: number, wake: () => void): Timer {
    this.#uses++
    const hold = (isHeld: boolean) => this.#hold(timer, isHeld)
    // As long as a timer of Node.js takes at least.
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

  /** Begins anew, and forgets every timer. */
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
