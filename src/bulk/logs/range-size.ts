import type { Client } from '../../client/client.ts'
import { timeoutOf } from '../../client/internals.ts'
import type { CheckedFilter } from './log-filter.ts'
import { isRound, LEAST_CUT, type RangeLimits, rangeLimitsOf } from './range-limits.ts'

/** First size of a range, in blocks: of a filter that selects, and of one that selects nothing. */
const FIRST = 10_000
const FIRST_OF_ALL = 100
/**
 * A range grows while its replies stay below these: bytes, and logs. Not a round number of logs: a
 * reply with one is taken for cut, and requested again in parts.
 */
const TARGET_BYTES = 2 * 1024 * 1024
const TARGET_LOGS = 4750
/**
 * And below this part of the endpoint's timeout: ranges are not alike, and the next one may take
 * ten times as long without being given up.
 */
const TARGET_OF_TIMEOUT = 1 / 10
/**
 * A range of half the size, or less, that takes at least this part of the time shows that the time
 * is not the range's: the node takes as long for any.
 */
const AS_LONG = 0.8
/** Growth of a range from one reply to the next. */
const MOST_GROWTH = 4
/** Near a size that was refused, it grows by this part, or by a block. */
const CAREFUL_GROWTH = 1.05
/** Ranges answered just below a size that was refused until it is tried again, at first. */
const FIRST_TRIAL = 256
/** Weight of the newest reply where it asks for a smaller range. */
const LEAST_SHRINKING = 0.5

/** The reply to one range. */
export interface RangeReply {
  readonly blocks: number
  readonly bytes: number
  readonly logs: number
  /** Time in its POST, in ms; undefined if unknown. */
  readonly tookMs: number | undefined
  /** Last block of the range. Default: no later range has been answered. */
  readonly to?: number
}

/**
 * How many blocks one `eth_getLogs` covers. A range grows fourfold while its replies are small and
 * quick, and shrinks in proportion when they are not, by half at most. A reply is quick if it takes
 * less than a tenth of the endpoint's timeout, not counting what the node takes for any range.
 * After a refusal it takes the size that the endpoint names, or half; from half of what was refused
 * it grows by 5 % only, since the limit is near. Where that is less than a block, it stays below
 * the size that was refused. After 256 ranges just below it, a single one is as long: if it is
 * answered, the size is no limit any more; else the next trial comes after twice as many. Replies
 * to parts of earlier ranges say nothing about how dense the logs are where the next range begins,
 * so only their time counts. Limits on blocks are the endpoint's, whatever the filter
 * (`RangeLimits`); the rest depends on how many logs it selects.
 */
export class RangeSize {
  readonly #limits: RangeLimits
  #blocks: number
  /** A size that was refused for what it held, such as too many results. */
  #refused = Number.POSITIVE_INFINITY
  /** Ranges just below it that were answered since it was tried. */
  #belowRefused = 0
  /** Number of these until the next trial. */
  #untilTrial = FIRST_TRIAL
  readonly #targetMs: number
  /** The part of a reply's time that does not depend on its range, where it is too long; in ms. */
  #baseMs = 0
  /** The last block that was answered. */
  #farthest = -1
  /** The reply that was too slow last. */
  #slow: { readonly blocks: number; readonly tookMs: number } | undefined
  /** Logs per block of the last complete reply that had a round number of logs; 0 if none had. */
  #steady = 0
  /** The next range may exceed the limit on blocks. */
  #isTrialNext = false

  constructor(isSelective: boolean, limits: RangeLimits, timeoutMs: number) {
    this.#limits = limits
    this.#targetMs = timeoutMs * TARGET_OF_TIMEOUT
    this.#blocks = isSelective ? FIRST : FIRST_OF_ALL
  }

  /** Blocks of the next range. */
  get blocks(): number {
    const most = this.#limits.maxBlocks * (this.#isTrialNext ? MOST_GROWTH : 1)
    const own = this.#isRefusedTried ? this.#refused : this.#blocks
    return offRound(Math.max(1, Math.floor(Math.min(own, most))), this.#steady)
  }

  /** The next range has the size that was refused. */
  get #isRefusedTried(): boolean {
    return this.#belowRefused >= this.#untilTrial
  }

  /** Lets the next range, and no other, exceed the limit on blocks. */
  tryMore(): void {
    this.#isTrialNext = true
  }

  /** A range of this size has been requested. */
  requested(blocks: number): void {
    if (this.#isRefusedTried && blocks >= this.#refused) {
      this.#belowRefused = 0
      this.#untilTrial *= 2
    }
    if (!this.#isTrialNext || blocks <= this.#limits.maxBlocks) return
    this.#isTrialNext = false
    this.#limits.trialBegan()
  }

  /** A reply that might have been cut, but has turned out to be complete. */
  wasComplete(reply: RangeReply): void {
    if (isRound(reply.logs)) this.#steady = reply.logs / reply.blocks
    this.answered(reply)
  }

  answered({ blocks, bytes, logs, tookMs = 0, to = this.#farthest }: RangeReply): void {
    const roomInTime = this.#targetMs / this.#ownTime(blocks, tookMs)
    const room = to < this.#farthest ? Math.min(1, roomInTime) : Math.min(TARGET_BYTES / bytes, TARGET_LOGS / logs, roomInTime)
    this.#farthest = Math.max(this.#farthest, to)
    // After a short range, such as a rest, the limit is no farther away.
    const isNear = Math.max(blocks, this.#blocks) * 2 >= this.#refused
    // Of a few blocks, 5 % is less than one.
    const careful = Math.max(CAREFUL_GROWTH, Math.min(blocks + 1, this.#refused - 1) / blocks)
    if (room >= 1 && blocks === this.#refused - 1) this.#belowRefused++
    const growth = isNear ? careful : Math.min(MOST_GROWTH, this.#refused / 2 / blocks)
    const factor = room < 1 ? Math.max(room, LEAST_SHRINKING) : Math.min(room, growth)
    // A range that is smaller than the current one proves nothing about larger ones, and one from
    // before a change proves nothing about the new size.
    const next = blocks * factor
    if (factor < 1 ? next < this.#blocks : next > this.#blocks) this.#blocks = next
    if (blocks < this.#refused) return
    this.#refused = Number.POSITIVE_INFINITY
    this.#belowRefused = 0
    this.#untilTrial = FIRST_TRIAL
  }

  /** The part of the time that a smaller range would shorten, in ms. */
  #ownTime(blocks: number, tookMs: number): number {
    this.#baseMs = Math.min(this.#baseMs, tookMs)
    if (tookMs - this.#baseMs <= this.#targetMs) return tookMs - this.#baseMs
    if (this.#slow !== undefined && blocks * 2 <= this.#slow.blocks && tookMs >= AS_LONG * this.#slow.tookMs) this.#baseMs = tookMs
    this.#slow = { blocks, tookMs }
    return tookMs - this.#baseMs
  }

  /**
   * A range up to the block `to` was refused for what it holds, and is asked for in parts of this
   * size. Default: no later range has been answered.
   */
  refused(blocks: number, part: number, to = this.#farthest): void {
    if (blocks > this.#limits.maxBlocks) this.#limits.trialFailed()
    if (to < this.#farthest) return
    // That it is too large is known.
    if (blocks >= this.#refused && this.#blocks < this.#refused) return
    this.#refused = Math.min(this.#refused, blocks)
    if (part < this.#blocks) this.#blocks = part
  }
}

/** The size that a job of this client begins with. */
export function firstRangeSize(client: Client, { isSelective }: CheckedFilter): RangeSize {
  return new RangeSize(isSelective, rangeLimitsOf(client), timeoutOf(client))
}

/** Blocks of a range that has as many logs, or as large a reply, as one should have. */
export function goodRange(logsPerBlock: number, bytesPerBlock: number): number {
  return Math.max(1, Math.min(TARGET_LOGS / logsPerBlock, TARGET_BYTES / bytesPerBlock))
}

/**
 * As many blocks, or a few less where they would have a round number of logs: so it is with events
 * in step with the blocks. Each such reply would have to be requested again in parts.
 */
function offRound(blocks: number, logsPerBlock: number): number {
  const logs = blocks * logsPerBlock
  const nearest = Math.round(logs / LEAST_CUT) * LEAST_CUT
  if (nearest === 0 || Math.abs(logs - nearest) >= 1) return blocks
  return Math.max(1, Math.floor((nearest - 1) / logsPerBlock))
}
