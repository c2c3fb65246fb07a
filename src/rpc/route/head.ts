/**
 * An endpoint that is at most this many blocks behind is still asked for the newest one: so
 * small a lag is a matter of timing.
 */
const TOLERANCE = 1
/** How often an endpoint is asked for its head while others get the calls, in ms. */
const EVERY_MS = 10_000
/** How often one that is behind is asked, in ms. */
const SOON_MS = 1_000
/** For how long what an endpoint has told is as good as another answer, in ms. */
const FRESH_MS = 100
/** How often one that stays behind is asked out of turn, at most: about once for each attempt. */
const MOST_OUT_OF_TURN = 4
/**
 * A missing block at least this far below the head that its endpoint tells makes that head
 * doubtful: the nodes behind one URL are hardly that far apart.
 */
const FAR = 128
/**
 * An endpoint that has the block this far below its head shows that the head is true: all
 * nodes behind one URL should have it by then, and none should have dropped it.
 */
const BELOW_TRUE = FAR / 2
/** A head is false once such blocks were missing this often, and for this long, in ms. */
const ENOUGH = 4
const DOUBTED_MS = 3_000
/** How long a missing block counts, in ms: longer than any wait between calls. */
const COUNTS_MS = 60_000

/** Blocks are missing that only this endpoint tells of. */
interface Doubt {
  /** The newest one of them. */
  block: number
  /** How often in a row: calls sent together count as one. */
  times: number
  readonly since: number
  /** When one was missing last. */
  at: number
}

/** What is known of one endpoint's newest block. */
export interface Head {
  /** The newest block that it is believed to have; -1 when none is. */
  number: number
  /** The newest block that it has answered for; -1 when none is. */
  seen: number
  doubt: Doubt | undefined
  /** The head that it tells is false. It is believed only as far as it has answered for. */
  isFalse: boolean
  /** Blocks that it was behind the others when it last told its head. */
  lag: number
  /** When it last told its head. */
  toldAt: number
  /** When it was last asked for it, or told it. */
  askedAt: number
  /** When to ask it, unless it tells before. */
  askAt: number
  /** How often it was asked before that since it was level with the others. */
  outOfTurn: number
  /** It could not be reached, and has not told its head since: it may have lost blocks. */
  isUncertain: boolean
}

/**
 * How far the heads of the endpoints are apart, learnt from the replies to real calls. An
 * endpoint's lag is measured at the moment when it tells its head, against what the others have
 * told until then: one that has not been asked for a while does not seem to be behind. Endpoints
 * that told while another was being asked are compared with that one's answer too: of two that are
 * asked together, the one that is behind may answer first.
 *
 * An endpoint may tell of a head that does not exist. All others would seem to be behind. What
 * shows it is that the endpoint itself lacks blocks far below that head, again and again, which no
 * other endpoint tells of. It then counts as behind until it tells a head near the others', or near
 * what it has answered for. An honest node may lack such blocks, too, beside others that are still
 * being synchronised. But it has the blocks just below its head, so it is asked for one
 * (`proofOf`), and once it has answered for that, its head is not doubted.
 *
 * Methods in the past tense, such as `told` and `missed`, report what an endpoint did. The others
 * change nothing.
 */
export class Heads {
  readonly #heads: Head[] = []

  add(now: number): Head {
    const head: Head = {
      number: -1,
      seen: -1,
      doubt: undefined,
      isFalse: false,
      lag: 0,
      toldAt: Number.NEGATIVE_INFINITY,
      askedAt: Number.NEGATIVE_INFINITY,
      askAt: now,
      outOfTurn: 0,
      isUncertain: false,
    }
    this.#heads.push(head)
    return head
  }

  /** `number` is the endpoint's newest block. It was asked at `since`. */
  told(head: Head, number: number, now: number, since = now): void {
    head.toldAt = now
    head.isUncertain = false
    head.isFalse &&= number > this.newest + FAR
    if (!head.isFalse) head.number = number
    const newest = this.newest
    head.lag = newest - head.number
    if (head.lag <= 0) head.outOfTurn = 0
    this.asked(head, now)
    for (const other of this.#heads) {
      if (other === head || other.toldAt < since) continue
      other.lag = newest - other.number
      // The chain may have grown between the two answers.
      if (this.isBehind(other)) other.askAt = now
    }
  }

  /** It has been asked, or has told its head unasked. */
  asked(head: Head, now: number): void {
    head.askedAt = now
    head.askAt = now + (this.isBehind(head) ? SOON_MS : EVERY_MS)
  }

  /**
   * A call waits for an endpoint that says nothing, for lack of another one: those below the newest
   * block are asked as often as those that are behind.
   */
  awaited(): void {
    const { newest } = this
    for (const each of this.#heads) if (this.isBelow(each, newest)) each.askAt = Math.min(each.askAt, each.askedAt + SOON_MS)
  }

  /**
   * An endpoint does not have what may be in the newest block. Whether that means anything depends
   * on what the others have by now: all are asked soon.
   */
  missedNew(): void {
    for (const each of this.#heads) each.askAt = Math.min(each.askAt, each.askedAt + SOON_MS)
  }

  /** The endpoint has block `number`. */
  answeredFor(head: Head, number: number): void {
    head.seen = Math.max(head.seen, number)
    if (head.doubt !== undefined && number >= head.doubt.block) head.doubt = undefined
    if (number <= head.number) return
    head.number = number
    head.lag = Math.min(head.lag, this.newest - number)
  }

  /**
   * Only this endpoint tells of block `number`, and of far newer ones, and it has answered for none
   * of them.
   */
  claimsAlone(head: Head, number: number): boolean {
    const others = this.#newestExcept(head)
    return others >= 0 && number > others && number > head.seen && number + FAR <= head.number
  }

  /** The head that it tells may be false, or is. */
  isDoubted({ doubt, isFalse }: Head): boolean {
    return isFalse || doubt !== undefined
  }

  /** The number of a block that an endpoint has if this head of its is true. */
  proofOf(told: number): number {
    return Math.max(0, told - BELOW_TRUE)
  }

  /** The endpoint lacks such a block. It was asked at `since`. */
  missedClaimed(head: Head, number: number, since: number, now: number): void {
    const { doubt } = head
    if (doubt === undefined || now - doubt.at >= COUNTS_MS) {
      head.doubt = { block: number, times: 1, since: now, at: now }
      return
    }
    doubt.block = Math.max(doubt.block, number)
    if (since < doubt.at) return
    doubt.times++
    doubt.at = now
    if (doubt.times >= ENOUGH && now - doubt.since >= DOUBTED_MS) this.#disbelieve(head, now)
  }

  /** The others seemed to be behind a head that is false: they are compared anew. */
  #disbelieve(head: Head, now: number): void {
    head.isFalse = true
    head.doubt = undefined
    head.number = head.seen
    for (const each of this.#heads) {
      each.lag = this.newest - each.number
      if (this.isBehind(each)) each.askAt = now
    }
  }

  /** The endpoint does not have block `number`; it exists if another one has told of it. */
  missed(head: Head, number: number, now: number): void {
    if (number > this.newest) return
    if (number <= head.number) {
      // It has told of this block. Those that seemed to be behind it may have the block by now.
      for (const other of this.#heads) if (this.isBelow(other, number) && now - other.toldAt >= FRESH_MS) this.#askOutOfTurn(other, now)
      return
    }
    head.lag = Math.max(head.lag, this.newest - number + 1)
    head.askAt = Math.min(head.askAt, now + SOON_MS)
  }

  #askOutOfTurn(head: Head, now: number): void {
    if (head.askAt <= now || head.outOfTurn >= MOST_OUT_OF_TURN) return
    head.outOfTurn++
    head.askAt = now
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
    return head.isFalse || head.lag > TOLERANCE
  }

  /** As far as is known, it does not have block `number`, or may not have it. */
  isBelow(head: Head, number: number): boolean {
    if (head.doubt !== undefined && number > head.seen) return true
    return head.lag > 0 && number > head.number && number > this.newest - head.lag
  }

  /** The endpoint could not be reached: a node that was restarted may have lost blocks. */
  unreached(head: Head): void {
    head.isUncertain = true
  }

  /** Another endpoint has block `number`, and this one is not known to have it. */
  mayLack(head: Head, number: number): boolean {
    if (number > this.#newestExcept(head)) return false
    return head.isUncertain || number > (head.doubt === undefined ? head.number : head.seen)
  }

  /** The newest block of all endpoints; -1 when none is known. */
  get newest(): number {
    return this.#newestExcept(undefined)
  }

  #newestExcept(head: Head | undefined): number {
    let newest = -1
    for (const each of this.#heads) if (each !== head && each.number > newest) newest = each.number
    return newest
  }
}
