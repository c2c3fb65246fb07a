/** Most notifications that wait for the reply to `eth_subscribe`, and most bytes of them. */
const MOST = 1000
const MOST_BYTES = 16 * 1024 * 1024

/** Gets the notifications of one id. */
interface Claimant {
  notified(result: unknown, bytes: number): void
  /** Some before this may be missing. */
  missed(): void
}

/** Notifications of subscriptions that are not known yet: their ids are still to come. */
export class Unclaimed {
  #items: { readonly id: string; readonly result: unknown; readonly bytes: number }[] = []
  #bytes = 0
  #isCut = false

  add(id: string, result: unknown, bytes: number): void {
    this.#isCut ||= this.#items.length >= MOST || this.#bytes + bytes > MOST_BYTES
    // Nothing after what is missing: a gap stands at the end.
    if (this.#isCut) return
    this.#items.push({ id, result, bytes })
    this.#bytes += bytes
  }

  /** One was dropped, which may be of any of them. */
  missed(): void {
    this.#isCut = true
  }

  /** Passes on those of a subscription. */
  claim(id: string, claimant: Claimant): void {
    const items = this.#items
    this.#items = items.filter((item) => item.id !== id)
    for (const item of items) {
      if (item.id !== id) continue
      this.#bytes -= item.bytes
      claimant.notified(item.result, item.bytes)
    }
    if (this.#isCut) claimant.missed()
  }

  clear(): void {
    this.#items = []
    this.#bytes = 0
    this.#isCut = false
  }
}
