import type { RequestGroup } from './request-groups.ts'

/** What has become of an item. `waiting`: it is not requested yet. */
export type State<T> =
  | { readonly type: 'waiting' }
  | { readonly type: 'in-flight' }
  | { readonly type: 'arrived'; readonly value: T }
  | { readonly type: 'failed'; readonly reason: unknown }

const WAITING = { type: 'waiting' } as const

/** An item between the consumer and the last request. */
export class Slot<I, T> {
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

/** The items between the consumer and the last request, by position. */
export class SlotWindow<I, T> {
  /** The slots from position `#base` on. */
  readonly #slots: Slot<I, T>[] = []
  #base = 0
  #head = 0
  #tail = 0
  /**
   * The slots that are not requested yet, in order: parts of items that were cut, and items whose
   * answers were dropped.
   */
  readonly #waiting: Slot<I, T>[] = []

  /** Position of the next item for the consumer. */
  get head(): number {
    return this.#head
  }

  /** Position of the next item to request, if none waits. */
  get tail(): number {
    return this.#tail
  }

  at(position: number): Slot<I, T> {
    return this.#slots[position - this.#base] as Slot<I, T>
  }

  /** The first slot that waits. */
  get waiting(): Slot<I, T> | undefined {
    return this.#waiting[0]
  }

  /** The first slot that waits, which does so no longer. */
  takeWaiting(): Slot<I, T> | undefined {
    return this.#waiting.shift()
  }

  /** Adds an item at the end. */
  append(item: I): Slot<I, T> {
    const slot = new Slot<I, T>(item, this.#tail++)
    this.#slots.push(slot)
    return slot
  }

  /** Drops the slot at the head. The array is shortened only occasionally. */
  shift(): void {
    this.#slots[this.#head++ - this.#base] = undefined as never
    const passed = this.#head - this.#base
    if (passed <= 1024 || passed * 2 <= this.#slots.length) return
    this.#slots.splice(0, passed)
    this.#base = this.#head
  }

  /** Inserts an item after this position. It waits. */
  insertAfter(position: number, item: I): void {
    const slot = new Slot<I, T>(item, position + 1)
    this.#slots.splice(slot.position - this.#base, 0, slot)
    this.#tail++
    for (let next = slot.position + 1; next < this.#tail; next++) this.at(next).position = next
    this.#wait(slot)
  }

  /** Puts the item of a slot into a new one, which waits. What becomes of the old one is lost. */
  renew({ item, position }: Slot<I, T>): Slot<I, T> {
    const slot = new Slot<I, T>(item, position)
    this.#slots[position - this.#base] = slot
    this.#wait(slot)
    return slot
  }

  #wait(slot: Slot<I, T>): void {
    const at = this.#waiting.findIndex(({ position }) => position > slot.position)
    this.#waiting.splice(at < 0 ? this.#waiting.length : at, 0, slot)
  }
}
