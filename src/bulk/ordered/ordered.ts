import type { Clock, Timer } from '../../wait/clock.ts'
import { Lateness } from './lateness.ts'
import { type Bounds, ReadAhead } from './read-ahead.ts'
import { GROUP, OBSOLETE, type RequestGroup, RequestGroups } from './request-groups.ts'
import { type Slot, SlotWindow } from './slot-window.ts'

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
type Cut<I> = (item: I) => readonly [now: I, later: I | undefined]

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

/** How `ordered` requests items. */
export interface OrderedOptions<I, T> {
  /** How far to request ahead of the consumer. */
  readonly bounds: Bounds
  /** Ends the requests, and what is yielded, with its reason. */
  readonly stop: AbortSignal
  readonly clock: Clock
  /** Default: each item is requested whole. */
  readonly cut?: Cut<I> | undefined
  readonly review?: Review<T> | undefined
}

/** Answers to an item that are dropped as unwanted, at most: the next one is taken as it is. */
const MOST_UNWANTED = 3

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
export async function* ordered<I, T extends Answer<I>>(items: Iterable<I>, ask: Ask<I, T>, options: OrderedOptions<I, T>): AsyncGenerator<T, void, undefined> {
  const { stop } = options
  stop.throwIfAborted()
  const buffer = new ReorderBuffer(items[Symbol.iterator](), ask, options)
  const onStop = () => buffer.close(stop.reason)
  stop.addEventListener('abort', onStop)
  try {
    while (buffer.hasNext()) yield await buffer.next()
  } finally {
    stop.removeEventListener('abort', onStop)
    buffer.close(OBSOLETE)
  }
}

const IN_FLIGHT = { type: 'in-flight' } as const

/**
 * Puts items that arrive in any order back into sequence.
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
  readonly #groups = new RequestGroups()
  readonly #window = new SlotWindow<I, T>()
  /** Position of the last item that has arrived. */
  #farthest = -1
  #inFlight = 0
  #heldBytes = 0
  #isAtEnd = false
  /** The first slot that has failed. Nothing after it is requested any more. */
  #failed: Slot<I, T> | undefined
  #wake = () => {}

  constructor(items: Iterator<I>, ask: Ask<I, T>, { bounds, clock, cut = (item) => [item, undefined], review }: OrderedOptions<I, T>) {
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
    return this.#window.head < this.#window.tail
  }

  /** The next item, once it has arrived. */
  async next(): Promise<T> {
    for (;;) {
      const slot = this.#window.at(this.#window.head)
      const { state } = slot
      if (state.type === 'failed') throw state.reason
      if (state.type === 'arrived') {
        this.#window.shift()
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
    this.#groups.close(reason)
  }

  /** Requests as many items ahead as there is room for, the first ones first. */
  #fill(): void {
    this.#readAhead.update()
    for (;;) {
      const { waiting, head, tail } = this.#window
      const position = waiting?.position ?? (this.#isAtEnd ? Number.POSITIVE_INFINITY : tail)
      if (position >= (this.#failed?.position ?? Number.POSITIVE_INFINITY)) return
      const ahead = position === head ? 0 : tail - head
      if (!this.#readAhead.hasRoom(ahead, this.#inFlight, this.#heldBytes) && !this.#hasRoomBetween(position)) return
      const slot = this.#window.takeWaiting() ?? this.#takeNext()
      if (slot === undefined) return
      const [now, later] = this.#cut(slot.item)
      slot.item = now
      if (later !== undefined) this.#insertAfter(slot, later)
      slot.state = IN_FLIGHT
      // Those that arrived while it waited were no faster than it.
      if (slot.position < this.#farthest) slot.overtakenAt = this.#clock.now()
      this.#inFlight++
      this.#request(slot, this.#groups.next(), false)
    }
  }

  /** Whether there is room for an item at this position because later ones have arrived. */
  #hasRoomBetween(position: number): boolean {
    if (position > this.#farthest) return false
    let heldBefore = 0
    for (let before = this.#window.head; before < position; before++) {
      const { state } = this.#window.at(before)
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
    return this.#window.append(item.value)
  }

  /** A part of an item waits for its turn behind another part of it. */
  #insertAfter({ position }: Slot<I, T>, item: I): void {
    this.#window.insertAfter(position, item)
    if (this.#farthest > position) this.#farthest++
  }

  #request(slot: Slot<I, T>, group: RequestGroup, again: boolean): void {
    slot.groups.push(group)
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
    this.#groups.left(group)
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
    for (let position = Math.max(this.#farthest + 1, this.#window.head); position < slot.position; position++) {
      const overtaken = this.#window.at(position)
      if (overtaken.state.type !== 'waiting') overtaken.overtakenAt = now
    }
    this.#farthest = Math.max(this.#farthest, slot.position)
    this.#dropOthers(slot)
    this.#dropExcess()
    // It may have been dropped just now.
    if (this.#window.at(slot.position) === slot && this.#isUnwanted(slot)) this.#drop(slot, true)
    this.#wake()
  }

  /** Drops the held answers that have become unwanted, so that they are requested side by side. */
  #dropUnwanted(): void {
    if (this.#review === undefined || this.#review.version === this.#reviewed) return
    this.#reviewed = this.#review.version
    for (let position = this.#window.head; position <= this.#farthest; position++) {
      const slot = this.#window.at(position)
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
  #drop(slot: Slot<I, T>, isUnwanted: boolean): void {
    if (slot.state.type !== 'arrived') return
    this.#heldBytes -= slot.state.value.bytes
    this.#window.renew(slot).unwanted = slot.unwanted + (isUnwanted ? 1 : 0)
  }

  /** Drops the answers to the last items while all of them take too much memory. */
  #dropExcess(): void {
    for (; this.#farthest > this.#window.head; this.#farthest--) {
      const slot = this.#window.at(this.#farthest)
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
    const group = this.#groups.add()
    for (let position = this.#window.head; position < this.#farthest && group.open < GROUP; position++) {
      const slot = this.#window.at(position)
      if (slot.state.type !== 'in-flight' || now < this.#dueAt(slot)) continue
      slot.repeatedAt = now
      slot.repeats++
      this.#request(slot, group, true)
    }
  }
}
