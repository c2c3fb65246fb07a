/** An item of a list without an order, which knows its place in it. */
export interface Listed {
  /** Its index in the list, or -1. Kept by `append` and `remove`. */
  index: number
}

/** Adds `item` to its list. */
export function append<Item extends Listed>(list: Item[], item: Item): void {
  item.index = list.push(item) - 1
}

/**
 * Removes `item` from its list. The last item takes its place, so the cost does not grow with the
 * list.
 */
export function remove<Item extends Listed>(list: Item[], item: Item): void {
  const last = list.pop() as Item
  if (last !== item) {
    list[item.index] = last
    last.index = item.index
  }
  item.index = -1
}

/** The listeners of one signal, and the event listener that serves them all. */
interface Group<Listener> {
  readonly listeners: Listener[]
  readonly onAbort: () => void
}

/**
 * Listeners by their signals, each signal with one event listener for all of them. A signal with
 * many event listeners is slow and warns, and `AbortSignal.any` on a signal that lives long keeps a
 * trace of every call.
 */
export class Listeners<Listener extends Listed> {
  readonly #groups = new Map<AbortSignal, Group<Listener>>()
  readonly #onAbort: (listener: Listener, reason: unknown) => void

  /**
   * `onAbort` is called for each listener of a signal that is aborted. It may remove any of them.
   */
  constructor(onAbort: (listener: Listener, reason: unknown) => void) {
    this.#onAbort = onAbort
  }

  add(signal: AbortSignal, listener: Listener): void {
    let group = this.#groups.get(signal)
    if (group === undefined) {
      const listeners: Listener[] = []
      const onAbort = () => {
        for (const each of [...listeners]) if (each.index >= 0) this.#onAbort(each, signal.reason)
      }
      group = { listeners, onAbort }
      this.#groups.set(signal, group)
      signal.addEventListener('abort', onAbort)
    }
    append(group.listeners, listener)
  }

  remove(signal: AbortSignal, listener: Listener): void {
    if (listener.index < 0) return
    const { listeners, onAbort } = this.#groups.get(signal) as Group<Listener>
    remove(listeners, listener)
    if (listeners.length > 0) return
    signal.removeEventListener('abort', onAbort)
    this.#groups.delete(signal)
  }

  /** All listeners of all signals, as a new array. */
  all(): Listener[] {
    return [...this.#groups.values()].flatMap(({ listeners }) => listeners)
  }
}
