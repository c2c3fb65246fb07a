/** Blocks by which an endpoint may be behind and still be asked for the newest one: less is only who has told last. */
const TOLERANCE = 1
/** After the first call, how often an endpoint is asked for its head while others get the calls, in ms. */
const EVERY_MS = 10_000
/** And one that is behind. */
const SOON_MS = 1_000

/** What is known of one endpoint's newest block. */
export interface Head {
  /** The newest block that it is known to have; -1 when nothing is known. */
  number: number
  /** By how many blocks it was behind the others when it told last. */
  lag: number
  /** When it told last. */
  toldAt: number
  /** When it is to be asked, should it not have told by then. */
  askAt: number
}

/**
 * How far the heads of the endpoints are apart, learnt from replies that go by. An endpoint's lag is measured when it tells, against what the others have told
 * until then, so that one that has not been asked for a while does not seem to be behind. Those that have told while another one was being asked are
 * compared with its answer as well: of two endpoints that are asked together, the one that is behind may be the first to answer.
 */
export class Heads {
  readonly #heads: Head[] = []

  add(now: number): Head {
    const head: Head = { number: -1, lag: 0, toldAt: Number.NEGATIVE_INFINITY, askAt: now }
    this.#heads.push(head)
    return head
  }

  /** `number` is the endpoint's newest block, which it was asked for at `since`. */
  isAt(head: Head, number: number, now: number, since = now): void {
    head.number = number
    head.toldAt = now
    const newest = this.#newest
    head.lag = newest - number
    this.isAsked(head, now)
    for (const other of this.#heads) {
      if (other === head || other.toldAt < since) continue
      other.lag = newest - other.number
      // The chain may have grown between the two answers.
      if (this.isBehind(other)) other.askAt = now
    }
  }

  /** It has been asked, or has told unasked. */
  isAsked(head: Head, now: number): void {
    head.askAt = now + (this.isBehind(head) ? SOON_MS : EVERY_MS)
  }

  /** The endpoint has block `number`. */
  has(head: Head, number: number): void {
    if (number <= head.number) return
    head.number = number
    head.lag = Math.min(head.lag, this.#newest - number)
  }

  /** The endpoint does not have block `number`, which exists where another one has told so. */
  lacks(head: Head, number: number, now: number): void {
    if (number > this.#newest || number <= head.number) return
    head.lag = Math.max(head.lag, this.#newest - number + 1)
    head.askAt = Math.min(head.askAt, now + SOON_MS)
  }

  /** It is not the one to ask for the newest block. */
  isBehind(head: Head): boolean {
    return head.lag > TOLERANCE
  }

  /** It does not have block `number`, as far as is known. */
  isBelow(head: Head, number: number): boolean {
    return head.lag > 0 && number > head.number && number > this.#newest - head.lag
  }

  get #newest(): number {
    let newest = -1
    for (const { number } of this.#heads) if (number > newest) newest = number
    return newest
  }
}
