/** How long a reply near the head is waited for at first, in ms: many times what it takes. */
const FIRST_MS = 10_000
/** After this many quick blocks in a row, a node that was slow gets no more than that again. */
const QUICK = 100

/**
 * How long an attempt near the head may take, in ms. What is asked for there is small, and the
 * whole stream waits for it: a reply that is lost is to cost less than the client's `timeoutMs`,
 * which is for large ones. A node that cannot answer in that time is given more and more of it,
 * until it has been quick for long.
 */
export class NearTimeout {
  readonly #mostMs: number
  #ms: number
  #quick = 0

  /** `mostMs` is the client's own timeout. */
  constructor(mostMs: number) {
    this.#mostMs = mostMs
    this.#ms = Math.min(FIRST_MS, mostMs)
  }

  get ms(): number {
    return this.#ms
  }

  /** All attempts of a call have taken longer. */
  ranOut(): void {
    this.#ms = Math.min(2 * this.#ms, this.#mostMs)
    this.#quick = 0
  }

  /** A block came in this time. */
  took(ms: number): void {
    this.#quick = 2 * ms <= FIRST_MS ? this.#quick + 1 : 0
    if (this.#quick >= QUICK) this.#ms = Math.min(FIRST_MS, this.#mostMs)
  }
}
