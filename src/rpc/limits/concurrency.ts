import { Cusum } from './cusum.ts'

/** Factor for the POSTs in flight after too many of them. */
const DOWN = 3 / 4
/**
 * A cut connection or a timeout may be chance. It leaves at least this share of `most`, and never
 * fewer than this many POSTs.
 */
const LEAST_BY_CHANCE = 1 / 4
const ENOUGH_BY_CHANCE = 2
/**
 * Time without trouble before one more POST is tried, in ms. It doubles with each failed try, up to
 * a limit. After a try that worked, one more is added every `STEP_MS`.
 */
const HOLD_MS = 2000
const LONGEST_HOLD_MS = 32_000
const STEP_MS = 250
/**
 * POSTs that must be answered beyond the proven number before it rises by one: the endpoint may
 * have finished one that still counts as in flight here.
 */
const PROOF = 8
/**
 * Where as many POSTs at a time were answered before: the part that may be cut off by chance, the
 * least where their number is the reason, and how much likelier that must be, as a natural
 * logarithm: 20 times. Four in a row suffice.
 */
const BY_CHANCE = 0.2
const BY_NUMBER = 0.5
const LIKELIER = 3

/**
 * How many POSTs an endpoint takes at a time: additive increase, multiplicative decrease.
 *
 *     after trouble:    limit = 3/4 * n           n: POSTs in flight when the refused one started
 *     without trouble:  limit + 1 every 250 ms    from 2 s after the last trouble on
 *
 * A refusal of the 4th POST in flight means that 4 are too many, whatever the limit was.
 */
export class Concurrency {
  /** How many POSTs may be in flight. */
  limit: number
  #most: number
  /** The most POSTs that were in flight together and answered, since the last cut below that. */
  #proven = 0
  #beyond = 0
  #cutAt = Number.NEGATIVE_INFINITY
  #growAt = 0
  #holdMs = HOLD_MS
  /** The limit has grown since the last cut. */
  #hasGrown = false
  /** This many POSTs at a time were too many. */
  #failed = Number.POSITIVE_INFINITY
  readonly #test = new Cusum()

  constructor(most: number) {
    this.limit = most
    this.#most = most
  }

  /** No more POSTs than this have ever been answered at a time. */
  get proven(): number {
    return this.#proven
  }

  /** At most this many may be in flight from now on. What was learnt below that stays. */
  allow(most: number): void {
    if (most === this.#most) return
    if (this.limit === this.#most || this.limit > most) this.limit = most
    this.#most = most
  }

  /** The nth POST in flight was answered. */
  answered(nth: number, now: number): void {
    this.#test.add(0, BY_CHANCE, BY_NUMBER)
    if (nth > this.#proven && ++this.#beyond >= PROOF) {
      this.#proven++
      this.#beyond = 0
      if (this.#proven >= this.#failed) this.#holdMs = HOLD_MS
    }
    // The queue may keep one slot free for interactive calls, so one less than the limit is full.
    if (this.limit === this.#most || nth < this.limit - 1 || now < this.#growAt) return
    this.limit++
    this.#hasGrown = true
    this.#growAt = now + STEP_MS
  }

  /** The nth POST in flight was refused because of their number. */
  refused(nth: number, now: number): void {
    this.#cut(nth, Math.max(1, Math.floor(nth * DOWN)), now)
  }

  /** The refusals had another reason than the number of POSTs. */
  forgive(): void {
    this.limit = this.#most
    this.#failed = Number.POSITIVE_INFINITY
    this.#holdMs = HOLD_MS
    this.#growAt = 0
  }

  /**
   * The nth POST in flight, started at `sentAt`, failed in a way that too many POSTs can cause.
   * POSTs that started before the last cut do not count again.
   */
  strained(nth: number, sentAt: number, now: number): void {
    if (nth <= 1 || sentAt < this.#cutAt) return
    this.#test.add(1, BY_CHANCE, BY_NUMBER)
    if (nth <= this.#proven && this.#test.score < LIKELIER) return
    const least = Math.min(ENOUGH_BY_CHANCE, Math.ceil(this.#most * LEAST_BY_CHANCE))
    this.#cut(nth, Math.max(least, Math.floor(nth * DOWN)), now)
  }

  #cut(nth: number, limit: number, now: number): void {
    if (this.#hasGrown && nth >= this.#failed) this.#holdMs = Math.min(LONGEST_HOLD_MS, this.#holdMs * 2)
    this.#hasGrown = false
    this.#failed = nth
    this.#growAt = now + this.#holdMs
    this.#cutAt = now
    this.#beyond = 0
    this.#test.clear()
    if (limit >= this.limit) return
    this.limit = limit
    this.#proven = Math.min(this.#proven, limit)
  }
}
