/**
 * An endpoint that is at most this many blocks behind is still asked for the newest one: so little
 * is a matter of timing.
 */
const TOLERANCE = 1
/** How often an endpoint is asked for its head while others get the calls, in ms. */
const EVERY_MS = 10_000
/** How often one that is behind is asked, in ms. */
const SOON_MS = 1_000

/** What is known of one endpoint's newest block. */
export interface Head {
  /** The newest block that it is known to have; -1 when none is. */
  number: number
  /** Blocks that it was behind the others when it last told its head. */
  lag: number
  /** When it last told its head. */
  toldAt: number
  /** When to ask it, unless it tells before. */
  askAt: number
}

/**
 * How far the heads of the endpoints are apart, learnt from the replies to real calls. An
 * endpoint's lag is measured at the moment when it tells its head, against what the others have
 * told until then: one that has not been asked for a while does not seem to be behind. Endpoints
 * that told while another was being asked are compared with that one's answer too: of two that are
 * asked together, the one that is behind may answer first.
 */
export class Heads {
  readonly #heads: Head[] = []

  add(now: number): Head {
    const head: Head = { number: -1, lag: 0, toldAt: Number.NEGATIVE_INFINITY, askAt: now }
    this.#heads.push(head)
    return head
  }

  /** `number` is the endpoint's newest block. It was asked at `since`. */
  isAt(head: Head, number: number, now: number, since = now): void {
    head.number = number
    head.toldAt = now
    const newest = this.newest
    head.lag = newest - number
    this.isAsked(head, now)
    for (const other of this.#heads) {
      if (other === head || other.toldAt < since) continue
      other.lag = newest - other.number
      // The chain may have grown between the two answers.
      if (this.isBehind(other)) other.askAt = now
    }
  }

  /** It has been asked, or has told its head unasked. */
  isAsked(head: Head, now: number): void {
    head.askAt = now + (this.isBehind(head) ? SOON_MS : EVERY_MS)
  }

  /** The endpoint has block `number`. */
  has(head: Head, number: number): void {
    if (number <= head.number) return
    head.number = number
    head.lag = Math.min(head.lag, this.newest - number)
  }

  /** The endpoint does not have block `number`; it exists if another one has told of it. */
  lacks(head: Head, number: number, now: number): void {
    if (number > this.newest || number <= head.number) return
    head.lag = Math.max(head.lag, this.newest - number + 1)
    head.askAt = Math.min(head.askAt, now + SOON_MS)
  }

  /**
   * Block `number` is this far below the newest one, and not beyond the endpoint's own head: it can
   * be missing only because it was dropped.
   */
  isOld(head: Head, number: number, depth: number): boolean {
    return number + depth <= this.newest && (head.number < 0 || number <= head.number)
  }

  /** Others should be asked for the newest block. */
  isBehind(head: Head): boolean {
    return head.lag > TOLERANCE
  }

  /** As far as is known, it does not have block `number`. */
  isBelow(head: Head, number: number): boolean {
    return head.lag > 0 && number > head.number && number > this.newest - head.lag
  }

  /** The newest block of all endpoints; -1 when none is known. */
  get newest(): number {
    let newest = -1
    for (const { number } of this.#heads) if (number > newest) newest = number
    return newest
  }
}
