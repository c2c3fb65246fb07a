import type { BatchPlan } from '../limits/endpoint-limits.ts'
import type { Entry } from './entry.ts'

/** Dead entries that may lie about before the line is swept. */
const SWEEP_AT = 1024

/** The calls of one priority that wait for a POST, first come first served. */
export class Line {
  readonly #onDropped: () => void
  #entries: Entry[] = []
  #head = 0
  /** Entries that were let in since the last were taken, in no order. */
  #returned: Entry[] = []
  /** Safe calls that wait, by what they ask. A fresh one whenever the line runs empty: a long-lived Map of passing keys is slow. */
  #joinable = new Map<string, Entry>()
  /** Entries that somebody waits for. */
  size = 0
  /** The last POST left calls behind that it had room for, since they take much longer than its own, or much less long. */
  leftApart = false

  /** `onDropped` is called when the first or the last entry has been dropped. */
  constructor(onDropped: () => void) {
    this.#onDropped = onDropped
  }

  /** The waiting entry that asks the same, if any. */
  find(key: string): Entry | undefined {
    return this.#joinable.get(key)
  }

  push(entry: Entry): void {
    this.#entries.push(entry)
    this.#enter(entry)
  }

  /** Puts entries that had been taken, and did not run, back to where they were: the front. */
  putBack(entries: readonly Entry[]): void {
    if (entries.length === 0) return
    this.#entries = [...entries, ...this.#entries.slice(this.#head)]
    this.#head = 0
    for (const entry of entries) this.#enter(entry)
  }

  /** Lets an entry in that has waited elsewhere: by its age, which its deadline tells, so that a caller's first calls stay its first. */
  letIn(entry: Entry): void {
    this.#returned.push(entry)
    this.#enter(entry)
  }

  /** Nobody waits for `entry` any more: it is passed over from now on. */
  drop(entry: Entry): void {
    const isFirst = this.#entries[this.#head] === entry
    this.#leave(entry)
    if (this.#entries.length - this.#head - this.size > Math.max(SWEEP_AT, this.size)) {
      this.#entries = this.#entries.slice(this.#head).filter((each) => each.line === this)
      this.#head = 0
    }
    this.#tidy()
    if (this.size === 0 || isFirst) this.#onDropped()
  }

  /** The next entry; there is one. */
  get first(): Entry {
    this.#merge()
    while ((this.#entries[this.#head] as Entry).line !== this) this.#entries[this.#head++] = undefined as never
    return this.#entries[this.#head] as Entry
  }

  /** The next entries for one POST, as far as the plan lets them in, and an unsafe call alone. Those that are to travel apart stay where they are. */
  take(plan: BatchPlan): Entry[] {
    this.#merge()
    const taken: Entry[] = []
    const left: Entry[] = []
    while (this.size > left.length && taken.length < plan.maxCalls) {
      const entry = this.#entries[this.#head] as Entry
      if (entry.line === this) {
        if (!entry.safe && taken.length > 0) break
        const fit = plan.fits(entry)
        if (fit === 'no') break
        if (fit === 'apart') {
          left.push(entry)
        } else {
          this.#leave(entry)
          taken.push(entry)
        }
      }
      this.#entries[this.#head++] = undefined as never
      if (!entry.safe && taken.length > 0) break
    }
    this.leftApart = left.length > 0
    if (this.leftApart) {
      this.#entries = left.concat(this.#entries.slice(this.#head))
      this.#head = 0
    }
    this.#tidy()
    return taken
  }

  /** A copy of what waits. */
  list(): Entry[] {
    this.#merge()
    return this.#entries.slice(this.#head).filter((entry) => entry.line === this)
  }

  #enter(entry: Entry): void {
    entry.line = this
    this.size++
    if (entry.key !== undefined && !this.#joinable.has(entry.key)) this.#joinable.set(entry.key, entry)
  }

  #leave(entry: Entry): void {
    entry.line = undefined
    this.size--
    if (entry.key !== undefined && this.#joinable.get(entry.key) === entry) this.#joinable.delete(entry.key)
  }

  /** Puts those that were let in to their places, all at once: thousands may come back together. */
  #merge(): void {
    if (this.#returned.length === 0) return
    const returned = this.#returned.filter((entry) => entry.line === this).sort((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))
    this.#returned = []
    const entries: Entry[] = []
    let at = this.#head
    for (const entry of returned) {
      while (at < this.#entries.length && (this.#entries[at] as Entry).deadline <= ageOf(entry)) entries.push(this.#entries[at++] as Entry)
      entries.push(entry)
    }
    this.#entries = entries.concat(this.#entries.slice(at))
    this.#head = 0
  }

  #tidy(): void {
    if (this.size === 0) {
      if (this.#entries.length > 0) this.#entries = []
      this.#returned = []
      this.#head = 0
      this.#joinable = new Map()
    } else if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
  }
}

/** Calls without a deadline, of which the age is not known, go first when they come back. */
function ageOf({ deadline }: Entry): number {
  return deadline === Number.POSITIVE_INFINITY ? Number.NEGATIVE_INFINITY : deadline
}
