import type { Call } from '../call.ts'
import type { BatchPlan } from '../limits/batch/batch-plan.ts'
import { type Entry, UNPLACED, type WaitingInLine } from './entry.ts'
import { Joinable } from './joinable.ts'

/**
 * Entries that have left may stay in the array up to this number, or the number that wait, before
 * they are swept out.
 */
const SWEEP_AT = 1024

/** The entries of one priority that wait for a POST, first come first served. */
export class Line {
  readonly priority: Call['priority']
  /** The state of every entry in this line. */
  readonly #here: WaitingInLine = { name: 'waiting', drop: (entry) => this.drop(entry) }
  readonly #onDropped: () => void
  #entries: Entry[] = []
  #head = 0
  /** Entries inserted by age since the last batch was taken, in no order. */
  #inserted: Entry[] = []
  /**
   * Entries that identical calls may join; undefined until one is looked for. A new map whenever
   * the line has run empty: one that lives long while its keys come and go is slow, and so is
   * taking out one entry after the other.
   */
  #joinable: Joinable | undefined
  /** Number of entries that have a caller. */
  size = 0

  /** `onDropped` is called when the first or the last entry has been dropped. */
  constructor(priority: Call['priority'], onDropped: () => void) {
    this.priority = priority
    this.#onDropped = onDropped
  }

  /** The waiting entry of an identical call, with its params as JSON, if there is one. */
  find(call: Call, json: string): Entry | undefined {
    this.#joinable ??= this.#allJoinable()
    return this.#joinable.find(call, json)
  }

  #allJoinable(): Joinable {
    const joinable = new Joinable()
    for (const entries of [this.#entries.slice(this.#head), this.#inserted]) {
      for (const entry of entries) {
        // Of two that ask the same, the one that goes first.
        if (this.#holds(entry) && joinable.find(entry, entry.json) === undefined) joinable.add(entry)
      }
    }
    return joinable
  }

  push(entry: Entry): void {
    this.#entries.push(entry)
    this.#enter(entry)
  }

  /** Puts entries of a batch that did not run back where they were: at the front. */
  putBack(entries: readonly Entry[]): void {
    if (entries.length === 0) return
    this.#entries = [...entries, ...this.#entries.slice(this.#head)]
    this.#head = 0
    for (const entry of entries) this.#enter(entry)
  }

  /**
   * Adds an entry that comes back from a failure. Its place follows from its age, which its
   * deadline tells: a caller's first calls stay its first.
   */
  insertByAge(entry: Entry): void {
    this.#inserted.push(entry)
    this.#enter(entry)
  }

  /** The last caller of `entry` has left: no batch takes it. */
  drop(entry: Entry): void {
    const isFirst = this.#entries[this.#head] === entry
    this.#leave(entry)
    this.#forget(entry)
    if (this.#entries.length - this.#head - this.size > Math.max(SWEEP_AT, this.size)) {
      this.#entries = this.#entries.slice(this.#head).filter((each) => this.#holds(each))
      this.#head = 0
    }
    this.#tidy()
    if (this.size === 0 || isFirst) this.#onDropped()
  }

  /** The next entry; there must be one. */
  get first(): Entry {
    this.#merge()
    while (!this.#holds(this.#entries[this.#head] as Entry)) this.#entries[this.#head++] = undefined as never
    return this.#entries[this.#head] as Entry
  }

  /**
   * Takes the next entries for one POST, as far as `plan` lets them in; an unsafe call goes alone.
   * Entries that are to travel in another batch than the first one stay. `hadRoom` where the POST
   * could have taken more than it found.
   */
  take(plan: BatchPlan): { entries: Entry[]; hadRoom: boolean } {
    this.#merge()
    const taken: Entry[] = []
    const split: Entry[] = []
    let most = plan.maxCalls
    let isShortened = false
    while (this.size > split.length && taken.length < most) {
      const entry = this.#entries[this.#head] as Entry
      if (this.#holds(entry)) {
        if (taken.length > 0 && (!entry.safe || taken.length >= entry.longest)) {
          isShortened = entry.safe
          break
        }
        const fit = plan.fits(entry)
        if (fit === 'no') break
        if (fit === 'split') {
          split.push(entry)
        } else {
          this.#leave(entry)
          taken.push(entry)
          most = Math.min(most, entry.longest)
        }
      }
      this.#entries[this.#head++] = undefined as never
      if (!entry.safe && taken.length > 0) break
    }
    if (split.length > 0) {
      this.#entries = split.concat(this.#entries.slice(this.#head))
      this.#head = 0
    }
    if (this.size > 0) for (const entry of taken) this.#forget(entry)
    this.#tidy()
    return { entries: taken, hadRoom: this.size === 0 || split.length > 0 || isShortened || most < plan.maxCalls }
  }

  /** Takes out the entries of which this is true, for another line. */
  takeOut(isWanted: (entry: Entry) => boolean): Entry[] {
    const all = this.list()
    const taken = all.filter(isWanted)
    for (const entry of taken) {
      this.#leave(entry)
      this.#forget(entry)
    }
    // Without a trace: they may come back.
    this.#entries = all.filter((entry) => this.#holds(entry))
    this.#head = 0
    this.#tidy()
    return taken
  }

  /** Does an entry wait of which this is true? */
  some(isWanted: (entry: Entry) => boolean): boolean {
    this.#merge()
    for (let i = this.#head; i < this.#entries.length; i++) {
      const entry = this.#entries[i] as Entry
      if (this.#holds(entry) && isWanted(entry)) return true
    }
    return false
  }

  /** A copy of what waits. */
  list(): Entry[] {
    this.#merge()
    return this.#entries.slice(this.#head).filter((entry) => this.#holds(entry))
  }

  #holds(entry: Entry): boolean {
    return entry.state === this.#here
  }

  #enter(entry: Entry): void {
    entry.state = this.#here
    this.size++
    this.#joinable?.add(entry)
  }

  #leave(entry: Entry): void {
    entry.state = UNPLACED
    this.size--
  }

  /** No call may join `entry` any more. */
  #forget(entry: Entry): void {
    this.#joinable?.delete(entry)
  }

  /** Gives the inserted entries their places, all at once: thousands may come back together. */
  #merge(): void {
    if (this.#inserted.length === 0) return
    const inserted = this.#inserted.filter((entry) => this.#holds(entry)).sort((a, b) => Number(ageOf(a) > ageOf(b)) - Number(ageOf(a) < ageOf(b)))
    this.#inserted = []
    const entries: Entry[] = []
    let at = this.#head
    for (const entry of inserted) {
      while (at < this.#entries.length && (this.#entries[at] as Entry).age <= ageOf(entry)) entries.push(this.#entries[at++] as Entry)
      entries.push(entry)
    }
    this.#entries = entries.concat(this.#entries.slice(at))
    this.#head = 0
  }

  #tidy(): void {
    if (this.size === 0) {
      if (this.#entries.length > 0) this.#entries = []
      this.#inserted = []
      this.#head = 0
      this.#joinable = undefined
    } else if (this.#head > SWEEP_AT && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
  }
}

/**
 * By the clock, the larger the younger. Calls without a deadline, whose age is not known, go first
 * when they come back.
 */
function ageOf({ age }: Entry): number {
  return age === Number.POSITIVE_INFINITY ? Number.NEGATIVE_INFINITY : age
}
