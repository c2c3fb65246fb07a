import type { Clock, Timer } from '../wait/clock.ts'
import { Lateness } from './lateness.ts'
import { type Bounds, ReadAhead } from './read-ahead.ts'

/**
 * Requests one item. `again` is true if it was requested before, later items have overtaken it and
 * the consumer waits for it; it takes precedence then. The signal aborts a request whose answer is
 * no longer needed.
 */
export type Ask<I, T> = (item: I, signal: AbortSignal, again: boolean) => Promise<T>

/**
 * Divides an item when it is its turn to be requested: into what to request now, and what to
 * request after it, if anything is left.
 */
export type Cut<I> = (item: I) => readonly [now: I, later: I | undefined]

/** An answer to an item. */
export interface Answer<I> {
  /** The memory that it holds, in bytes. */
  readonly bytes: number
  /** Where it answers only a part of the item: this part, and the rest, which is requested next. */
  readonly cut?: readonly [answered: I, rest: I] | undefined
}

/** Says which answers that wait for the consumer should be requested again. */
export interface Review<T> {
  /** Grows when answers that have arrived may have become unwanted. */
  readonly version: number
  isUnwanted(answer: T): boolean
}

/**
 * Number of items that share an abort signal, and of late items that are requested again together.
 * A signal for each item would cost more than the rest of the request.
 */
const GROUP = 32

/** Answers to an item that are dropped as unwanted, at most: the next one is taken as it is. */
const MOST_UNWANTED = 3

/** Reason for aborting a request that is no longer needed. It never reaches the consumer. */
const OBSOLETE: unique symbol = Symbol('the item is not needed any more')

/**
 * Yields the answers to `items` in their order, with several requests in flight, and no further
 * ahead of the consumer than `bounds` allow: a slow consumer slows the requests down. Items are
 * taken one by one, each when it is requested; `cut` may take a part of an item. An item that holds
 * up the consumer while later ones arrive is requested again. The first answer counts, and only the
 * first request can fail. Where more of them are in flight than large ones may be, and turn out to
 * be large, the last answers are dropped and requested again. So are those that `review` calls
 * unwanted, at most three times each. Rejects with the failure of the first failed item, after all
 * items before it, and with the reason of `stop`.
 */
export async function* ordered<I, T extends Answer<I>>(
  items: Iterable<I>,
  ask: Ask<I, T>,
  bounds: Bounds,
  stop: AbortSignal,
  clock: Clock,
  cut: Cut<I> = (item) => [item, undefined],
  review?: Review<T>,
): AsyncGenerator<T, void, undefined> {
  const buffer = new ReorderBuffer(items[Symbol.iterator](), ask, bounds, clock, cut, review)
  const onStop = () => buffer.close(stop.reason)
  stop.addEventListener('abort', onStop)
  try {
    while (buffer.hasNext()) yield await buffer.next()
  } finally {
    stop.removeEventListener('abort', onStop)
    buffer.close(OBSOLETE)
  }
}

/**
 * Requests that share an abort signal. It is aborted once no item needs its request of this group
 * any more.
 */
class RequestGroup {
  readonly controller = new AbortController()
  /** Requests so far. */
  size = 0
  /** Requests that are still needed. */
  open = 0
  /**
   * An item of the group has arrived from another request, so its request in this group may still
   * be in flight.
   */
  hasObsolete = false
}

/** What has become of an item. `waiting`: it is not requested yet. */
type State<T> =
  | { readonly type: 'waiting' }
  | { readonly type: 'in-flight' }
  | { readonly type: 'arrived'; readonly value: T }
  | { readonly type: 'failed'; readonly reason: unknown }

const WAITING = { type: 'waiting' } as const
const IN_FLIGHT = { type: 'in-flight' } as const

/** An item in the buffer. */
class Slot<I, T> {
  item: I
  /** Its position among the items, from 0. It grows when parts are inserted before it. */
  position: number
  state: State<T> = WAITING
  /** The groups of its requests: the first one, and one for each time that it was late. */
  readonly groups: RequestGroup[] = []
  /** When a later item arrived before it, or 0. */
  overtakenAt = 0
  /** When it was last requested again, or 0. */
  repeatedAt = 0
  /** Number of times it was requested again. */
  repeats = 0
  /** Number of its answers that were dropped as unwanted. */
  unwanted = 0

  constructor(item: I, position: number) {
    this.item = item
    this.position = position
  }
}

/**
 * Puts items that arrive in any order back into sequence. Positions: `#head` is the next item for
 * the consumer, `#farthest` the last one that has arrived, `#tail` the next one to request.
 */
class ReorderBuffer<I, T extends Answer<I>> {
  readonly #ask: Ask<I, T>
  readonly #cut: Cut<I>
  readonly #review: Review<T> | undefined
  /** The version of the review that all held answers have passed. */
  #reviewed = 0
  readonly #clock: Clock
  readonly #items: Iterator<I>
  readonly #readAhead: ReadAhead
  readonly #lateness: Lateness
  readonly #groups = new Set<RequestGroup>()
  /** The slots from position `#base` on. */
  readonly #slots: Slot<I, T>[] = []
  #base = 0
  #head = 0
  #farthest = -1
  #tail = 0
  /**
   * The slots that are not requested yet, in order: parts of items that were cut, and items whose
   * answers were dropped.
   */
  readonly #waiting: Slot<I, T>[] = []
  /** The group of the next requests, unless it is full or has ended. */
  #group: RequestGroup | undefined
  #inFlight = 0
  #heldBytes = 0
  #isAtEnd = false
  /** The first slot that has failed. Nothing after it is requested any more. */
  #failed: Slot<I, T> | undefined
  #closed: { readonly reason: unknown } | undefined
  #wake = () => {}

  constructor(items: Iterator<I>, ask: Ask<I, T>, bounds: Bounds, clock: Clock, cut: Cut<I>, review: Review<T> | undefined) {
    this.#ask = ask
    this.#cut = cut
    this.#review = review
    this.#clock = clock
    this.#items = items
    this.#readAhead = new ReadAhead(bounds, clock)
    this.#lateness = new Lateness(bounds.leastLateMs)
  }

  /** Requests what there is room for. False after the last item. */
  hasNext(): boolean {
    this.#dropUnwanted()
    this.#fill()
    return this.#head < this.#tail
  }

  /** The next item, once it has arrived. */
  async next(): Promise<T> {
    for (;;) {
      const slot = this.#slotAt(this.#head)
      const { state } = slot
      if (state.type === 'failed') throw state.reason
      if (state.type === 'arrived') {
        this.#shift()
        this.#heldBytes -= state.value.bytes
        return state.value
      }
      await this.#waitForChange(slot)
      // Arrivals make room for more requests, even if it is not their turn yet.
      this.#fill()
    }
  }

  /** Aborts all requests. */
  close(reason: unknown): void {
    this.#closed ??= { reason }
    for (const { controller } of this.#groups) controller.abort(reason)
  }

  /** Drops the slot at the head. The array is shortened only occasionally. */
  #shift(): void {
    this.#slots[this.#head++ - this.#base] = undefined as never
    const passed = this.#head - this.#base
    if (passed <= 1024 || passed * 2 <= this.#slots.length) return
    this.#slots.splice(0, passed)
    this.#base = this.#head
  }

  /** Requests as many items ahead as there is room for, the first ones first. */
  #fill(): void {
    this.#readAhead.update()
    for (;;) {
      const position = this.#waiting[0]?.position ?? (this.#isAtEnd ? Number.POSITIVE_INFINITY : this.#tail)
      if (position >= (this.#failed?.position ?? Number.POSITIVE_INFINITY)) return
      const ahead = position === this.#head ? 0 : this.#tail - this.#head
      if (!this.#readAhead.hasRoom(ahead, this.#inFlight, this.#heldBytes) && !this.#hasRoomBetween(position)) return
      const slot = this.#waiting.shift() ?? this.#takeNext()
      if (slot === undefined) return
      const [now, later] = this.#cut(slot.item)
      slot.item = now
      if (later !== undefined) this.#insertAfter(slot, later)
      slot.state = IN_FLIGHT
      // Those that arrived while it waited were no faster than it.
      if (slot.position < this.#farthest) slot.overtakenAt = this.#clock.now()
      if (this.#group === undefined || this.#group.size === GROUP) this.#group = this.#newGroup()
      const group = this.#group
      slot.groups.push(group)
      this.#inFlight++
      this.#request(slot, group, false)
    }
  }

  /** Whether there is room for an item at this position because later ones have arrived. */
  #hasRoomBetween(position: number): boolean {
    if (position > this.#farthest) return false
    let heldBefore = 0
    for (let before = this.#head; before < position; before++) {
      const { state } = this.#slotAt(before)
      if (state.type === 'arrived') heldBefore += state.value.bytes
    }
    return this.#readAhead.hasRoomBetween(this.#inFlight, heldBefore)
  }

  /** The next of the items, at the end. */
  #takeNext(): Slot<I, T> | undefined {
    const item = this.#items.next()
    if (item.done) {
      this.#isAtEnd = true
      return undefined
    }
    const slot = new Slot<I, T>(item.value, this.#tail++)
    this.#slots.push(slot)
    return slot
  }

  /** A part of an item waits for its turn behind another part of it. */
  #insertAfter({ position }: Slot<I, T>, item: I): void {
    const slot = new Slot<I, T>(item, position + 1)
    this.#slots.splice(slot.position - this.#base, 0, slot)
    this.#tail++
    if (this.#farthest > position) this.#farthest++
    for (let next = slot.position + 1; next < this.#tail; next++) this.#slotAt(next).position = next
    this.#addWaiting(slot)
  }

  #addWaiting(slot: Slot<I, T>): void {
    const at = this.#waiting.findIndex(({ position }) => position > slot.position)
    this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, slot)
  }

  #request(slot: Slot<I, T>, group: RequestGroup, again: boolean): void {
    group.size++
    group.open++
    this.#ask(slot.item, group.controller.signal, again).then(
      (value) => {
        if (this.#settle(slot, group)) this.#arrived(slot, value)
      },
      (reason) => {
        // A repeated request only speeds things up. The first request decides when to give up.
        if (this.#settle(slot, group) && !again) this.#fail(slot, reason)
      },
    )
  }

  /** Ends the request of this group. Returns false if the item no longer needed it. */
  #settle(slot: Slot<I, T>, group: RequestGroup): boolean {
    const at = slot.groups.indexOf(group)
    if (at < 0) return false
    slot.groups.splice(at, 1)
    if (--group.open === 0) {
      this.#groups.delete(group)
      // What comes later must be aborted with the others, and not by the end of these.
      if (group === this.#group) this.#group = undefined
      if (group.hasObsolete) group.controller.abort(OBSOLETE)
    }
    return true
  }

  #arrived(slot: Slot<I, T>, value: T): void {
    const now = this.#clock.now()
    this.#inFlight--
    this.#heldBytes += value.bytes
    this.#readAhead.add(value.bytes)
    slot.state = { type: 'arrived', value }
    if (value.cut !== undefined) {
      slot.item = value.cut[0]
      this.#insertAfter(slot, value.cut[1])
    }
    this.#lateness.add(slot.overtakenAt === 0 ? 0 : now - slot.overtakenAt)
    for (let position = Math.max(this.#farthest + 1, this.#head); position < slot.position; position++) {
      const overtaken = this.#slotAt(position)
      if (overtaken.state.type !== 'waiting') overtaken.overtakenAt = now
    }
    this.#farthest = Math.max(this.#farthest, slot.position)
    this.#dropOthers(slot)
    this.#dropExcess()
    // It may have been dropped just now.
    if (this.#slotAt(slot.position) === slot && this.#isUnwanted(slot)) this.#drop(slot, true)
    this.#wake()
  }

  /** Drops the held answers that have become unwanted, so that they are requested side by side. */
  #dropUnwanted(): void {
    if (this.#review === undefined || this.#review.version === this.#reviewed) return
    this.#reviewed = this.#review.version
    for (let position = this.#head; position <= this.#farthest; position++) {
      const slot = this.#slotAt(position)
      if (this.#isUnwanted(slot)) this.#drop(slot, true)
    }
  }

  #isUnwanted({ state, unwanted }: Slot<I, T>): boolean {
    return state.type === 'arrived' && unwanted < MOST_UNWANTED && (this.#review?.isUnwanted(state.value) ?? false)
  }

  /**
   * Drops an answer. Its item gets a new slot: what is still under way for the old one counts no
   * more.
   */
  #drop({ item, position, state, unwanted }: Slot<I, T>, isUnwanted: boolean): void {
    if (state.type !== 'arrived') return
    this.#heldBytes -= state.value.bytes
    const slot = new Slot<I, T>(item, position)
    slot.unwanted = unwanted + (isUnwanted ? 1 : 0)
    this.#slots[position - this.#base] = slot
    this.#addWaiting(slot)
  }

  /** Drops the answers to the last items while all of them take too much memory. */
  #dropExcess(): void {
    for (; this.#farthest > this.#head; this.#farthest--) {
      const slot = this.#slotAt(this.#farthest)
      if (slot.state.type !== 'arrived') continue
      if (!this.#readAhead.isOverfull(this.#heldBytes)) return
      this.#drop(slot, false)
    }
  }

  #fail(slot: Slot<I, T>, reason: unknown): void {
    this.#inFlight--
    if (this.#failed === undefined || slot.position < this.#failed.position) this.#failed = slot
    slot.state = { type: 'failed', reason }
    this.#dropOthers(slot)
    this.#wake()
  }

  /** Cancels the item's other requests. */
  #dropOthers(slot: Slot<I, T>): void {
    for (const group of [...slot.groups]) {
      group.hasObsolete = true
      this.#settle(slot, group)
    }
  }

  /** Waits for an arrival, or until the item at the head is late and requested again. */
  async #waitForChange(head: Slot<I, T>): Promise<void> {
    let timer: Timer | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      if (head.overtakenAt !== 0) timer = this.#clock.wakeAt(this.#dueAt(head), resolve)
    })
    if (timer !== undefined) this.#clock.cancel(timer)
    if (head.state.type === 'in-flight' && head.overtakenAt !== 0 && this.#clock.now() >= this.#dueAt(head)) this.#repeatLate()
  }

  /** When to request a late item again. The wait doubles each time. */
  #dueAt({ overtakenAt, repeatedAt, repeats }: Slot<I, T>): number {
    return (repeatedAt || overtakenAt) + this.#lateness.limitMs * 2 ** repeats
  }

  #repeatLate(): void {
    const now = this.#clock.now()
    const group = this.#newGroup()
    for (let position = this.#head; position < this.#farthest && group.open < GROUP; position++) {
      const slot = this.#slotAt(position)
      if (slot.state.type !== 'in-flight' || now < this.#dueAt(slot)) continue
      slot.repeatedAt = now
      slot.repeats++
      slot.groups.push(group)
      this.#request(slot, group, true)
    }
  }

  #newGroup(): RequestGroup {
    const group = new RequestGroup()
    this.#groups.add(group)
    if (this.#closed !== undefined) group.controller.abort(this.#closed.reason)
    return group
  }

  #slotAt(position: number): Slot<I, T> {
    return this.#slots[position - this.#base] as Slot<I, T>
  }
}
