import type { EventLoopUtilization } from 'node:perf_hooks'
import type { Clock, Timer } from '../wait/clock.ts'
import { Lateness } from './lateness.ts'

/** How much may be asked for ahead of the reader. */
export interface Bounds {
  /** Bytes in flight and held, together. */
  readonly maxBytes: number
  /** Items in flight and held, together. */
  readonly maxItems: number
  /** Size of an item until one has come, in bytes. */
  readonly assumedBytes: number
  /** Longest time for which an item may wait for its turn at the endpoint, at the rate at which others come, in ms. */
  readonly maxWaitMs: number
}

/**
 * Asks for one item. `again`: it was asked for before, others have overtaken it, and the reader waits for it, so it goes first. The signal ends the asking
 * when its answer is of no use any more.
 */
export type Ask<T> = (number: bigint, signal: AbortSignal, again: boolean) => Promise<T>

/** Items that may be in flight at any rate. */
const AT_LEAST = 32
/** Items asked for ahead to begin with: each that waits costs the garbage collector something. */
const AT_FIRST = 256
/** Part of the time that the event loop may be busy when more items ahead are still of use: a busy one gets no faster by them. */
const BUSY = 0.8
/** Window over which rate and business are measured, in ms. */
const MEASURE = 250
/** Part by which the expected size follows items that are smaller. It follows larger ones at once. */
const DECAY = 0.05
/** Items that share a signal, and late items that are asked for again together: a signal each would cost more than the rest of asking. */
const GROUP = 32

/** Why an item is no longer asked for: it has come by another way, or nobody wants it any more. Nobody sees it. */
const OBSOLETE: unique symbol = Symbol('the item is not wanted any more')

/**
 * The items `first` to `last` in order, several asked for at a time, and no more than `bounds` allow ahead of the reader: a slow reader asks slowly. An item
 * that holds the reader up while others come is asked for again; the first answer counts, and the failure of the first asking. Ends with the failure of the
 * first item that fails, after all items before it, and with the reason of `stop`.
 */
export async function* ordered<T extends { readonly bytes: number }>(
  first: bigint,
  last: bigint,
  ask: Ask<T>,
  bounds: Bounds,
  stop: AbortSignal,
  clock: Clock,
): AsyncGenerator<T, void, undefined> {
  const ahead = new Ahead(first, last, ask, bounds, clock)
  const onStop = () => ahead.end(stop.reason)
  stop.addEventListener('abort', onStop)
  try {
    for (let number = first; number <= last; number++) yield await ahead.next()
  } finally {
    stop.removeEventListener('abort', onStop)
    ahead.end(OBSOLETE)
  }
}

/** Items that are asked for under one signal, which is aborted once none of them is wanted by this way any more. */
class Group {
  readonly controller = new AbortController()
  /** Items that have not come by this way, and may still. */
  open = 0
  hasObsolete = false
}

/** An item on its way. */
class Slot<T> {
  readonly number: bigint
  /** Its place in the range, from 0. */
  readonly place: number
  value: T | undefined
  failure: { readonly reason: unknown } | undefined
  /** The groups in which it is asked for: one, and others where it was late. */
  readonly groups: Group[]
  /** When it was overtaken, or 0. */
  overtakenAt = 0
  /** When it was asked for again the last time, or 0. */
  repeatedAt = 0
  /** How often it was asked for again. */
  repeats = 0

  constructor(number: bigint, place: number, group: Group) {
    this.number = number
    this.place = place
    this.groups = [group]
  }

  get isPending(): boolean {
    return this.value === undefined && this.failure === undefined
  }
}

/** What is asked for ahead of the reader. */
class Ahead<T extends { readonly bytes: number }> {
  readonly #ask: Ask<T>
  readonly #bounds: Bounds
  readonly #clock: Clock
  readonly #last: bigint
  readonly #lateness = new Lateness()
  readonly #groups = new Set<Group>()
  readonly #slots: Slot<T>[] = []
  /** Place of the first slot, of the item that the reader gets next, and of the farthest one that has come. */
  #base = 0
  #head = 0
  #farthest = -1
  /** The next number to ask for, its place, and its group. */
  #next: bigint
  #nextPlace = 0
  #group: Group | undefined
  #pending = 0
  #heldBytes = 0
  #expectedBytes: number
  #isKnown = false
  #hasFailed = false
  #ended: { readonly reason: unknown } | undefined
  #wake = () => {}

  /** Items that came in the present window of measuring. */
  #came = 0
  #since: number
  #business = eventLoopUtilization()
  /** Items ahead; and those of them that have not come. */
  #maxAhead: number
  #maxPending: number
  /** More would have been asked for, had they not been too many ahead: how fast items come says nothing of the endpoint then. */
  #wasFull = false

  constructor(first: bigint, last: bigint, ask: Ask<T>, bounds: Bounds, clock: Clock) {
    this.#ask = ask
    this.#clock = clock
    this.#since = clock.now()
    this.#bounds = bounds
    this.#last = last
    this.#next = first
    this.#expectedBytes = bounds.assumedBytes
    this.#maxAhead = Math.min(AT_FIRST, bounds.maxItems)
    this.#maxPending = this.#maxAhead
  }

  /** The next item, when it has come. */
  async next(): Promise<T> {
    this.#fill()
    const slot = this.#slotAt(this.#head)
    while (slot.isPending) {
      await this.#change(slot)
      // What came makes room for more, also when it is not yet this one's turn.
      this.#fill()
    }
    if (slot.failure !== undefined) throw slot.failure.reason
    const value = slot.value as T
    this.#slots[this.#head++ - this.#base] = undefined as never
    const passed = this.#head - this.#base
    if (passed > 1024 && passed * 2 > this.#slots.length) {
      this.#slots.splice(0, passed)
      this.#base = this.#head
    }
    this.#heldBytes -= value.bytes
    return value
  }

  /** Ends all that is on its way. */
  end(reason: unknown): void {
    this.#ended ??= { reason }
    for (const { controller } of this.#groups) controller.abort(reason)
  }

  /** Asks for as many items ahead as may be. */
  #fill(): void {
    const now = this.#clock.now()
    if (now - this.#since > MEASURE) this.#measure(now)
    while (this.#next <= this.#last && !this.#hasFailed && this.#pending < this.#maxPending) {
      const ahead = this.#nextPlace - this.#head
      if (ahead >= this.#maxAhead || (ahead > 0 && this.#heldBytes + (this.#pending + 1) * this.#expectedBytes > this.#bounds.maxBytes)) {
        this.#wasFull = true
        return
      }
      if (this.#nextPlace % GROUP === 0) this.#group = this.#newGroup()
      const slot = new Slot<T>(this.#next++, this.#nextPlace++, this.#group as Group)
      this.#slots.push(slot)
      this.#pending++
      this.#start(slot, this.#group as Group, false)
    }
  }

  #measure(now: number): void {
    const { maxItems, maxWaitMs } = this.#bounds
    const { utilization } = eventLoopUtilization(this.#business)
    if (utilization < BUSY) this.#maxAhead = Math.min(maxItems, this.#maxAhead * 2)
    // What is asked for far ahead of a slow endpoint waits in line until its deadline.
    const most = Math.max(AT_LEAST, (this.#came * maxWaitMs) / (now - this.#since))
    this.#maxPending = this.#wasFull ? Math.max(this.#maxPending, most) : most
    this.#wasFull = false
    this.#business = eventLoopUtilization()
    this.#came = 0
    this.#since = now
  }

  #start(slot: Slot<T>, group: Group, again: boolean): void {
    group.open++
    this.#ask(slot.number, group.controller.signal, again).then(
      (value) => {
        if (this.#close(slot, group)) this.#arrived(slot, value)
      },
      (reason) => {
        // Asking again only hurries: how often and how long is tried, the first asking decides.
        if (this.#close(slot, group) && !again) this.#failed(slot, reason)
      },
    )
  }

  /** The item is no longer asked for by this way. False when it was not wanted by it any more. */
  #close(slot: Slot<T>, group: Group): boolean {
    const at = slot.groups.indexOf(group)
    if (at < 0) return false
    slot.groups.splice(at, 1)
    if (--group.open === 0) {
      this.#groups.delete(group)
      if (group.hasObsolete) group.controller.abort(OBSOLETE)
    }
    return true
  }

  #arrived(slot: Slot<T>, value: T): void {
    const now = this.#clock.now()
    this.#came++
    this.#pending--
    this.#heldBytes += value.bytes
    if (!this.#isKnown || value.bytes > this.#expectedBytes) this.#expectedBytes = value.bytes
    else this.#expectedBytes += DECAY * (value.bytes - this.#expectedBytes)
    this.#isKnown = true
    slot.value = value
    this.#lateness.add(slot.overtakenAt === 0 ? 0 : now - slot.overtakenAt)
    for (let place = Math.max(this.#farthest + 1, this.#head); place < slot.place; place++) this.#slotAt(place).overtakenAt = now
    this.#farthest = Math.max(this.#farthest, slot.place)
    this.#dropOthers(slot)
    this.#wake()
  }

  #failed(slot: Slot<T>, reason: unknown): void {
    this.#pending--
    this.#hasFailed = true
    slot.failure = { reason }
    this.#dropOthers(slot)
    this.#wake()
  }

  /** The item is wanted by no other way any more. */
  #dropOthers(slot: Slot<T>): void {
    for (const group of [...slot.groups]) {
      group.hasObsolete = true
      this.#close(slot, group)
    }
  }

  /** Waits until something comes, or the item that the reader waits for is asked for again. */
  async #change(head: Slot<T>): Promise<void> {
    let timer: Timer | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      if (head.overtakenAt !== 0) timer = this.#clock.wakeAt(this.#dueAt(head), resolve)
    })
    if (timer !== undefined) this.#clock.cancel(timer)
    if (head.isPending && head.overtakenAt !== 0 && this.#clock.now() >= this.#dueAt(head)) this.#askAgain()
  }

  /** When a late item is asked for again: each time after twice the wait. */
  #dueAt({ overtakenAt, repeatedAt, repeats }: Slot<T>): number {
    return (repeatedAt || overtakenAt) + this.#lateness.limitMs * 2 ** repeats
  }

  #askAgain(): void {
    const now = this.#clock.now()
    const group = this.#newGroup()
    for (let place = this.#head; place < this.#farthest && group.open < GROUP; place++) {
      const slot = this.#slotAt(place)
      if (!slot.isPending || now < this.#dueAt(slot)) continue
      slot.repeatedAt = now
      slot.repeats++
      slot.groups.push(group)
      this.#start(slot, group, true)
    }
  }

  #newGroup(): Group {
    const group = new Group()
    this.#groups.add(group)
    if (this.#ended !== undefined) group.controller.abort(this.#ended.reason)
    return group
  }

  #slotAt(place: number): Slot<T> {
    return this.#slots[place - this.#base] as Slot<T>
  }
}

/** How busy the event loop is, since `since` where that is given: a load, not a time. */
function eventLoopUtilization(since?: EventLoopUtilization): EventLoopUtilization {
  // biome-ignore lint/style/noRestrictedGlobals: it is the machine that is measured here.
  return performance.eventLoopUtilization(since)
}
