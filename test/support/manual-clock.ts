import type { Clock, Timer } from '../../src/wait/clock.ts'

/**
 * A clock whose time passes when a test says so: while the process runs, and its timers ring, or
 * while it stands still.
 */
export class ManualClock implements Clock {
  #now = 1e7
  readonly #timers = new Set<Timer & { readonly at: number; readonly wake: () => void }>()

  now(): number {
    return this.#now
  }

  wakeAt(at: number, wake: () => void): Timer {
    const timer = { at: Math.max(at, this.#now + 1), wake, ref() {}, unref() {} }
    this.#timers.add(timer)
    return timer
  }

  cancel(timer: Timer): void {
    this.#timers.delete(timer as never)
  }

  run(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.at - b.at)
      if (next === undefined || next.at > end) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.wake()
    }
    this.#now = end
  }

  standStill(ms: number): void {
    this.#now += ms
  }
}
