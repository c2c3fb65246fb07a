/**
 * Most requests of a group. A signal for each request would cost more than the rest of the request.
 */
export const GROUP = 32

/** Reason for aborting a request that is no longer needed. It never reaches the consumer. */
export const OBSOLETE: unique symbol = Symbol('the item is not needed any more')

/**
 * Requests that share an abort signal. It is aborted once no item needs its request of this group
 * any more.
 */
export class RequestGroup {
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

/** The groups with requests that are still needed. */
export class RequestGroups {
  readonly #open = new Set<RequestGroup>()
  /** The group of the next requests, unless it is full or has ended. */
  #next: RequestGroup | undefined
  #closed: { readonly reason: unknown } | undefined

  /** The group of the next request in order. */
  next(): RequestGroup {
    if (this.#next === undefined || this.#next.size === GROUP) this.#next = this.add()
    return this.#next
  }

  /** A group of its own. */
  add(): RequestGroup {
    const group = new RequestGroup()
    this.#open.add(group)
    if (this.#closed !== undefined) group.controller.abort(this.#closed.reason)
    return group
  }

  /** One of the group's requests has ended, or is no longer needed. */
  left(group: RequestGroup): void {
    if (--group.open > 0) return
    this.#open.delete(group)
    // What comes later must be aborted with the others, and not by the end of these.
    if (group === this.#next) this.#next = undefined
    if (group.hasObsolete) group.controller.abort(OBSOLETE)
  }

  /** Aborts all requests, and those that begin later. */
  close(reason: unknown): void {
    this.#closed ??= { reason }
    for (const { controller } of this.#open) controller.abort(reason)
  }
}
