import PQueue from 'p-queue'
import type { Call } from '../call.ts'
import type { Line } from './line.ts'

/** Makes a POST of calls in this line. `end` gives the slot back. */
export type Begin = (line: Line, end: () => void) => void

/** How p-queue knows waiting jobs: interactive ones go first. */
const JOBS: Readonly<Record<Call['priority'], { readonly id: string; readonly priority: number }>> = {
  interactive: { id: 'interactive', priority: 1 },
  bulk: { id: 'bulk', priority: 0 },
}

/**
 * The POSTs that may be in flight at a time, as slots of p-queue. A slot is taken by a job, which
 * makes one POST after another: after each it rests, and goes on with what is in line next. A job
 * for each POST would cost more than all other work of the queue for a POST of one call.
 */
export class Slots {
  readonly #queue: PQueue
  readonly #begin: Begin
  /** What ends each of the jobs that rest. */
  readonly #resting: (() => void)[] = []

  /** `onEnd` is called when a job has ended. */
  constructor(concurrency: number, begin: Begin, onEnd: () => void) {
    this.#queue = new PQueue({ concurrency })
    this.#begin = begin
    this.#queue.on('next', onEnd)
  }

  /**
   * Offers a line with calls: to a job that rests, or else to a new one, which begins at once if a
   * slot is free. False where a job of this priority waits for a slot already.
   */
  offer(line: Line): boolean {
    const end = this.isPaused ? undefined : this.#resting.pop()
    if (end !== undefined) {
      // Fewer are allowed by now.
      if (this.#queue.pending > this.#queue.concurrency) end()
      else this.#begin(line, end)
      return true
    }
    const job = JOBS[line.priority]
    if (this.#queue.size > 0 && this.#queue.sizeBy(job) > 0) return false
    void this.#queue.add(() => new Promise<void>((end) => this.#begin(line, end)), job)
    return true
  }

  /** The job that `end` ends rests, and keeps its slot. */
  rest(end: () => void): void {
    this.#resting.push(end)
  }

  /** How many there are from now on. */
  allow(concurrency: number): void {
    if (this.#queue.concurrency !== concurrency) this.#queue.concurrency = concurrency
  }

  /** No job begins or goes on until `resume`. */
  pause(): void {
    this.#queue.pause()
  }

  get isPaused(): boolean {
    return this.#queue.isPaused
  }

  resume(): void {
    this.#queue.start()
  }
}
