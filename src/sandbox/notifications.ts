/** The logs that a subscription is about, as `eth_subscribe` takes them. */
export interface LogFilter {
  readonly address?: unknown
  readonly topics?: unknown
}

/**
 * All that the sockets of a sandbox get without a request. A reorganisation holds it back, so that
 * removed logs come before the new blocks.
 */
export class Notifications {
  readonly #ofLogs = new Map<string, { readonly filter: LogFilter; readonly tell: (log: unknown) => void }>()
  #held: (() => void)[] | undefined
  /** Settles after the last reorganisation. */
  #last: Promise<unknown> = Promise.resolve()

  /** Adds a subscription to logs, by its id. */
  addLogs(id: string, filter: LogFilter, tell: (log: unknown) => void): void {
    this.#ofLogs.set(id, { filter, tell })
  }

  remove(id: string): void {
    this.#ofLogs.delete(id)
  }

  /** Sends now, or after the reorganisation that is under way. */
  pass(tell: () => void): void {
    if (this.#held === undefined) tell()
    else this.#held.push(tell)
  }

  /**
   * Calls `replace`, which replaces blocks whose logs `logsOf` gives. The subscriptions to these
   * logs get them as removed, newest first. One reorganisation at a time.
   */
  replaceBlocks<T>(logsOf: (filter: LogFilter) => Promise<readonly object[]>, replace: () => Promise<T>): Promise<T> {
    const next = this.#last.then(() => this.#replace(logsOf, replace))
    this.#last = next.catch(() => {})
    return next
  }

  async #replace<T>(logsOf: (filter: LogFilter) => Promise<readonly object[]>, replace: () => Promise<T>): Promise<T> {
    const subscriptions = await Promise.all([...this.#ofLogs].map(async ([id, { filter, tell }]) => ({ id, tell, logs: await logsOf(filter) })))
    this.#held = []
    try {
      const replaced = await replace()
      for (const { id, tell, logs } of subscriptions) {
        if (this.#ofLogs.has(id)) for (const log of logs.toReversed()) tell({ ...log, removed: true })
      }
      return replaced
    } finally {
      const held = this.#held
      this.#held = undefined
      for (const tell of held) tell()
    }
  }
}
