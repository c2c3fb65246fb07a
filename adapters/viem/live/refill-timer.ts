import type { Client } from '../../../src/client/client.ts'
import { clockOf, napOf } from '../../../src/client/internals.ts'

/** How long after a success the next fill is, in ms. It doubles after each failure. */
const FIRST_MS = 1_000
const LONGEST_MS = 60_000

/** Has what is missing fetched again after a while: each time later, until a fill succeeds. */
export class RefillTimer {
  readonly #client: Client
  readonly #stopped: AbortSignal
  readonly #refill: () => void
  #nextMs = FIRST_MS
  #isSet = false

  constructor(client: Client, stopped: AbortSignal, refill: () => void) {
    this.#client = client
    this.#stopped = stopped
    this.#refill = refill
  }

  /** Sets it, unless it is set. */
  set(): void {
    if (this.#isSet || this.#stopped.aborted) return
    this.#isSet = true
    const ring = () => {
      this.#isSet = false
      this.#refill()
    }
    // Rejects when it is stopped, or the client is closed.
    napOf(this.#client)('eth_getLogs', clockOf(this.#client).now() + this.#nextMs, this.#stopped).over.then(ring, () => {})
    this.#nextMs = Math.min(LONGEST_MS, 2 * this.#nextMs)
  }

  /** A fill has succeeded. */
  succeeded(): void {
    this.#nextMs = FIRST_MS
  }
}
