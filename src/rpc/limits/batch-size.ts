/**
 * Replies of one POST together, in bytes, beyond which another POST is better: a larger body would
 * be parsed in one long turn.
 */
const GOOD_BODY_BYTES = 1.5 * 1024 * 1024
/**
 * Replies that were expected to be smaller than this, in bytes, were not refused for their expected
 * size.
 */
const LEAST_BYTES = 64 * 1024
/**
 * Full POSTs in a row before a longer one is tried; doubled by each try that fails, at most 64
 * times.
 */
const ENOUGH = 20
const MOST_PATIENCE = 64
/** How much longer, as a part of the length. */
const MORE = 0.1
/** Failures of whole POSTs in a row that are hardly by chance. */
const IN_A_ROW = 2
/** The same where a lone call has failed as well since the last one was answered. */
const MANY_IN_A_ROW = 8
/** What is left of a number of bytes that was too large. */
const FEWER = 3 / 4

/**
 * Whether the endpoint takes batches at all:
 * - `unknown`: no batch has been answered, and none has failed without a reason;
 * - `doubted`: one has, so calls go one by one, to see whether these are answered;
 * - `singles`: they are, so calls keep going one by one, and batches are tried again ever more
 *   rarely;
 * - `failing`: they are not, so batches were not the reason, and calls travel together again;
 * - `batches`: a batch has been answered.
 */
type Support = 'unknown' | 'doubted' | 'singles' | 'failing' | 'batches'

/**
 * A POST longer than `calls`: none is due, the next POST is to be one of this length, or it is in
 * flight and the others keep to `calls`.
 */
type Trial = { readonly state: 'none' } | { readonly state: 'due'; readonly length: number } | { readonly state: 'in-flight'; readonly length: number }

const NO_TRIAL: Trial = { state: 'none' }

/**
 * How long batches may be: in calls, and in expected bytes of their replies. Both work alike:
 *
 *     refused for its length:    calls = floor(length / 2), and `length` is never reached again
 *     timed out:                 calls = floor(length / 2)
 *     throttled in its middle:   calls = max(answered, ceil(calls / 2))
 *     replies too large:         bytes = max(largest answered, 3/4 of the limit),
 *                                or half of the calls where bytes are not the reason
 *     only the first answered:   calls = as many
 *     failed twice in a row:     calls = floor(length / 2), and again until one is answered
 *     after 20 full POSTs:       one tries 10 % more, while the others wait for it; 20 becomes
 *                                40, 80 .. 1280 with each try that fails, and 20 again with one
 *                                that works
 *
 * A batch that fails without a reason is covered by `Support`.
 */
export class BatchSize {
  /** Longest batch, in calls. */
  calls: number
  /**
   * Longest batch that was taken, as far as that still holds: POSTs of this length need no probe.
   */
  taken = 1
  /** Most expected bytes of the replies to one POST. */
  bytes = GOOD_BODY_BYTES
  /**
   * No POST of `calls` calls has been taken since they were made fewer: one is sent while the
   * others wait.
   */
  #isUnproven = false
  /** Number of bytes that is never passed. */
  #mostBytes = GOOD_BODY_BYTES
  /** Length that is never passed. */
  #ceiling: number
  #trial: Trial = NO_TRIAL
  #support: Support = 'unknown'
  /** Length to try next, where it is not a little more than `calls`: it failed without a reason. */
  #resume: number | undefined
  /**
   * POSTs of the most calls, and of the most bytes, that were answered in full one after the other.
   */
  #longestInARow = 0
  #largestInARow = 0
  #patience = 1
  /** The most replies that were answered, in expected bytes. */
  #provenBytes = 0
  /** POSTs that failed as a whole, each sent after the one before; the shortest and the longest. */
  #failedInARow = 0
  #shortestFailed = Number.POSITIVE_INFINITY
  #longestFailed = 1
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(maxCalls: number) {
    this.calls = maxCalls
    this.#ceiling = maxCalls
  }

  /** How many calls the next POST may have. */
  get most(): number {
    return this.#trial.state === 'due' ? this.#trial.length : this.calls
  }

  /** Each call is a POST, because the endpoint takes no batches or the user wants none. */
  get isSingle(): boolean {
    return this.calls === 1 && (this.#ceiling === 1 || this.#support === 'singles')
  }

  /** A POST of this length shows whether such POSTs are taken. */
  isProbe(length: number): boolean {
    return this.#isUnproven && length > this.taken
  }

  /**
   * A POST with this many `bytes` expected already should not take a call with `more`. A limit of
   * the endpoint is not passed, a good size may be.
   */
  isFull(bytes: number, more: number): boolean {
    return bytes >= GOOD_BODY_BYTES || (this.bytes < GOOD_BODY_BYTES && bytes > 0 && bytes + more > this.bytes)
  }

  /** A POST of `length` calls starts. */
  start(length: number): void {
    if (length > this.calls) this.#trial = { state: 'in-flight', length }
  }

  /** A POST has ended, and all has been learnt from it. A trial without a result is made again. */
  end(length: number): void {
    if (this.#isTrial(length)) this.#trial = { state: 'due', length: Math.min(this.#ceiling, length) }
  }

  /**
   * A POST of `length` calls was not refused for its size. It could have been longer where it
   * `hadRoom`.
   */
  took(length: number, hadRoom: boolean): void {
    if (length > this.taken) this.taken = length
    if (length >= this.calls || !hadRoom) this.#isUnproven = false
  }

  /**
   * A POST of `length` calls, and of this many expected bytes, was answered in full. When enough of
   * them were, a longer one is tried.
   */
  worked(length: number, bytes = 0): void {
    if (bytes > this.#provenBytes) this.#provenBytes = bytes
    if (this.bytes < GOOD_BODY_BYTES && bytes >= this.bytes * FEWER && ++this.#largestInARow >= ENOUGH * this.#patience) {
      this.#largestInARow = 0
      this.bytes = Math.min(this.#mostBytes, this.bytes * (1 + MORE))
    }
    if (length >= this.#shortestFailed || length >= this.calls) this.#forgetFailures()
    if (length > 1) this.#support = 'batches'
    else if (this.#support === 'failing') this.#support = 'unknown'
    else if (this.#support === 'doubted') this.#support = 'singles'
    if (this.#isTrial(length)) {
      this.#setCalls(Math.min(this.#ceiling, Math.max(this.calls, length)))
      this.#patience = 1
    } else if (length >= this.calls && this.calls < this.#ceiling && this.#trial.state === 'none' && ++this.#longestInARow >= ENOUGH * this.#patience) {
      this.#longestInARow = 0
      const step = Math.min(Math.ceil(this.calls * MORE), Math.ceil((this.#ceiling - this.calls) / 2))
      this.#trial = { state: 'due', length: Math.min(this.#ceiling, this.#resume ?? this.calls + step) }
      this.#resume = undefined
    }
  }

  /** A POST of `length` calls was refused for their number, which is never reached again. */
  refused(length: number): void {
    this.#ceiling = Math.max(1, Math.min(this.#ceiling, length - 1))
    this.halve(length)
    // Trials come to an end: what lies between the ceiling and what works is halved by each.
    this.#patience = 1
  }

  /**
   * The replies to `length` calls were too large for the endpoint: `bytes` together, as expected or
   * as they turned out to be. Fewer bytes from now on, or fewer calls where bytes are not the
   * reason.
   */
  tooLarge(length: number, bytes: number): void {
    if (bytes <= this.#provenBytes || bytes < LEAST_BYTES) {
      this.halve(length)
      return
    }
    this.bytes = Math.min(this.bytes, Math.max(this.#provenBytes, bytes * FEWER))
    this.#largestInARow = 0
    this.taken = Math.min(this.taken, Math.max(1, Math.floor(length * FEWER)))
    this.#isUnproven = true
    this.#trialFailed()
  }

  /** No POST is to have replies beyond this many bytes, which are hexline's own limit. */
  stayWithin(limit: number): void {
    this.#mostBytes = Math.min(this.#mostBytes, limit * FEWER)
    this.bytes = Math.min(this.bytes, this.#mostBytes)
  }

  /**
   * A POST was throttled after this many of its calls had been answered. Halved at most, since it
   * may have been a short one.
   */
  throttled(answered: number): void {
    if (answered > 0) this.#setCalls(Math.min(this.calls, Math.max(answered, Math.ceil(this.calls / 2))))
  }

  /** A POST of `length` calls timed out, or had replies that were too large. */
  halve(length: number): void {
    // A trial says nothing about POSTs of the usual length.
    if (this.#isTrial(length)) {
      this.#trialFailed()
      return
    }
    const half = Math.max(1, Math.min(this.calls, Math.floor(length / 2)))
    if (half < this.calls) this.#isUnproven = true
    this.taken = Math.min(this.taken, half)
    this.#setCalls(half)
  }

  /** Only the first `answered` calls of a POST have a reply. */
  answeredOnly(answered: number): void {
    if (answered < this.calls) this.#setCalls(answered)
  }

  /**
   * A POST of `length` calls failed as a whole, for a reason that says nothing about its length,
   * and nothing is known of batches. True when its calls may do better one by one.
   */
  failed(length: number): boolean {
    if (this.#support === 'batches' || this.#support === 'failing') return false
    if (length === 1) {
      if (this.#support === 'doubted') this.#failedAlone()
      return false
    }
    const resume = Math.min(this.#ceiling, Math.max(this.calls, length, this.#resume ?? 1))
    this.#setCalls(1)
    this.#resume = resume
    if (this.#support === 'unknown') this.#support = 'doubted'
    this.#trialFailed()
    return true
  }

  /**
   * A POST of `length` calls, and of this many expected bytes, sent at `sentAt`, failed as a whole
   * at `now`: by chance, or because it was too long, which the endpoint does not say. True when its
   * calls may do better in shorter ones. That is assumed after two in a row, unless the second one
   * was under way when the first one failed, or as long a one has been answered. Where a lone call
   * fails as well, the length was not the reason.
   */
  failedAgain({ length, bytes, sentAt, now }: { length: number; bytes: number; sentAt: number; now: number }): boolean {
    if (length === 1) {
      if (this.#isUnproven) this.#failedAlone()
      return false
    }
    if (this.#isTrial(length)) {
      this.#trialFailed()
      return true
    }
    if (length <= this.taken && bytes <= this.#provenBytes) return false
    if (sentAt < this.#failedAt) return length > this.calls
    this.#failedAt = now
    this.#shortestFailed = Math.min(this.#shortestFailed, length)
    this.#longestFailed = Math.max(this.#longestFailed, length)
    if (++this.#failedInARow < (this.#support === 'failing' ? MANY_IN_A_ROW : IN_A_ROW)) return false
    this.halve(length)
    if (this.calls === 1) this.#resume = this.#longestFailed
    return true
  }

  #failedAlone(): void {
    if (this.#resume === undefined) return
    this.#setCalls(this.#resume)
    this.#support = 'failing'
    this.#forgetFailures()
  }

  #forgetFailures(): void {
    this.#failedInARow = 0
    this.#shortestFailed = Number.POSITIVE_INFINITY
    this.#longestFailed = 1
  }

  #isTrial(length: number): boolean {
    return this.#trial.state === 'in-flight' && this.#trial.length === length
  }

  #setCalls(calls: number): void {
    this.calls = calls
    if (this.#support === 'doubted') this.#support = 'unknown'
    this.#resume = undefined
    this.#trial = NO_TRIAL
    this.#longestInARow = 0
  }

  /** The next trial waits for longer. */
  #trialFailed(): void {
    this.#trial = NO_TRIAL
    this.#longestInARow = 0
    this.#patience = Math.min(MOST_PATIENCE, this.#patience * 2)
  }
}
