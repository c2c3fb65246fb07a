import { HexlineError, TimeoutError } from '../../errors.ts'
import { stopWith } from '../../wait/stop-with.ts'
import { isUnusable, type LogAskOptions, type LogQuestion, type LogReply } from './log-reply.ts'
import { isPassing, isTooLate, isUnsent, mayBeTooMuch } from './log-split.ts'
import type { RangeSize } from './range-size.ts'

/** How the logs of one range are asked for. */
export interface RangeOptions extends LogAskOptions {
  /** Gets the endpoints that answer. */
  readonly endpoints: Set<string>
  /** It is the first part of a range that waited, far ahead of the next one. */
  readonly isAhead?: boolean
  /** It has failed for a reason other than its size, and is repeated until its deadline. */
  readonly isPatient?: boolean
}

/** The replies to a question, of blocks that follow each other. */
export interface Part<T> {
  /** Its last block, which may be one before the last one that was requested. */
  readonly to: number
  readonly replies: readonly LogReply<T>[]
  /** Most blocks of the parts that follow. Default: a good size where logs are as dense as here. */
  readonly most?: number
}

/** A part of a range that was answered where the range was not. */
interface FoundPart<T> {
  readonly part: Part<T>
  /** The least number of blocks that failed. */
  readonly failed: number
  /** Most blocks of the parts that follow. */
  readonly most: number
}

/** A range that waits for its reply. */
interface UnderWay {
  readonly blocks: number
  readonly urgent: boolean
  readonly stop: AbortController
}

/** While one range finds out why ranges fail. */
interface Doubt {
  /** It is answered, or has failed for good. */
  readonly end: Promise<void>
  /** It had no reply in time: each range that fails like it holds a slot for as long. */
  readonly isLong: boolean
}

/** Asks for a range, or for its first blocks. Rejects after `attempts` failures, if given. */
type AskRange<T> = (question: LogQuestion, options: RangeOptions) => Promise<Part<T>>

/** How often a range is halved; after that, it begins with the block that was answered. */
const MOST_HALVINGS = 4
/** Attempts for each part. */
const ATTEMPTS_OF_PART = 2
/** Attempts for the whole where not even a block is answered. */
const ATTEMPTS_OVER_SECONDS = 6
/** Where only one block is answered, the rest follows in parts this many times shorter. */
const SHRINKING = 8
/** Attempts for the whole once a part has been answered. */
const ATTEMPTS_TO_CONFIRM = 3

/** Why a range is no longer waited for: it is asked for again, at the size that is good by then. */
export const ASK_AGAIN: unique symbol = Symbol('a range is asked for again')

/**
 * What becomes of ranges that have failed without a word about their size. It may be the reason: a
 * part is then answered where the whole is not. Or there is an outage, in which nothing is
 * answered. It may end at any moment, so the size is only taken for the reason if the whole fails
 * once more after a part was answered, or if no reply to it came in time.
 */
export class FailedRanges<T> {
  readonly #size: RangeSize
  readonly #askRange: AskRange<T>
  /** Undefined while no range finds out why ranges fail. */
  #inDoubt: Doubt | undefined
  /** Ranges that are under way. */
  readonly #underWay = new Set<UnderWay>()
  /** Ranges that were answered so far. */
  #answered = 0
  /** What such a range failed with for good, if none was answered meanwhile or since. */
  #hopeless: unknown
  /** Ranges that were split. */
  splits = 0

  constructor(size: RangeSize, askRange: AskRange<T>) {
    this.#size = size
    this.#askRange = askRange
  }

  /**
   * Waits for `ask`, which is given a signal. Rejects with `ASK_AGAIN` if it turns out meanwhile
   * that ranges of this size are not answered. So does an urgent range, which is late and asked for
   * once more, when another one finds out why there was no reply in time: it needs the slots.
   */
  async whileSizeMayFit<R>(blocks: number, { signal, urgent }: RangeOptions, ask: (signal: AbortSignal) => Promise<R>): Promise<R> {
    if (urgent && this.#inDoubt?.isLong) {
      await this.#inDoubt.end
      throw ASK_AGAIN
    }
    const { stop, release } = stopWith(signal)
    const range = { blocks, urgent, stop }
    this.#underWay.add(range)
    try {
      return await ask(stop.signal)
    } finally {
      this.#underWay.delete(range)
      release()
    }
  }

  /** A range was answered. */
  answered(): void {
    this.#answered++
    this.#hopeless = undefined
  }

  /**
   * The logs of a range that has failed for this reason, or of its first blocks. Where several fail
   * at once, one of them finds out why, and the others wait: they are asked for again once it is
   * answered. One that was never sent, while none was answered, is asked for again if a block is
   * answered ahead of others, which may hold the slots in vain.
   */
  async ask(question: LogQuestion, options: RangeOptions, reason: unknown): Promise<Part<T>> {
    const isInDoubt = mayBeTooMuch(reason) || isPassing(reason)
    if (!isInDoubt && !isUnsent(reason)) throw reason
    if (this.#inDoubt === undefined) {
      if (this.#hopeless !== undefined) throw this.#failureOf(reason)
      const findOut = (alone: RangeOptions) => (isInDoubt ? this.#findOut(question, alone, reason) : this.#askBlock(question, alone))
      const part = await this.#whileOthersWait(options, isTooLate(reason), findOut)
      if (part !== undefined) return part
    } else {
      // Those that fail may also have taken the time of one that was never sent.
      await this.#inDoubt.end
      // What comes too late is not waited for again.
      if (isTooLate(this.#hopeless)) throw this.#failureOf(reason)
    }
    return this.#askRange(firstPart(question, this.#size.blocks), { ...options, isAhead: true })
  }

  /** What a range that has failed for this reason rejects with when there is no hope. */
  #failureOf(reason: unknown): unknown {
    return isUnsent(reason) ? this.#hopeless : reason
  }

  /** Finds out about a range, ahead of others, which wait, or hold the slots in vain. */
  async #whileOthersWait<R>(options: RangeOptions, isLong: boolean, findOut: (options: RangeOptions) => Promise<R>): Promise<R> {
    const answered = this.#answered
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    this.#inDoubt = { end: ended, isLong }
    if (isLong) this.#askAgain(({ urgent }) => urgent)
    try {
      return await findOut({ ...options, isAlone: true, urgent: true })
    } catch (error) {
      if (this.#answered === answered && !options.signal.aborted) this.#hopeless = error
      throw error
    } finally {
      this.#inDoubt = undefined
      end()
    }
  }

  /**
   * The first block of a range that was never sent, where it has no other; undefined if it has, and
   * can be asked for again, since the block was answered.
   */
  async #askBlock(question: LogQuestion, options: RangeOptions): Promise<Part<T> | undefined> {
    const block = await this.#askRange(firstPart(question, 1), { ...options, attempts: ATTEMPTS_OF_PART })
    return block.to === question.span.to ? block : undefined
  }

  /**
   * Where the size is the reason, the rest follows in parts that are answered, and so do later
   * ranges. Otherwise the range is asked for until its deadline.
   */
  async #findOut(question: LogQuestion, options: RangeOptions, reason: unknown): Promise<Part<T>> {
    const found = mayBeTooMuch(reason) ? await this.#askPart(question, options, reason) : undefined
    if (found === undefined) {
      if (!isPassing(reason)) throw reason
      return this.#askRange(question, { ...options, isPatient: true })
    }
    const { part, failed, most } = found
    if (part.to === question.span.to) return part
    const whole = await this.#confirm(question, options, reason)
    if (whole !== undefined) return whole
    this.#size.refused(failed, most)
    this.#askAgain(({ blocks }) => blocks >= failed)
    this.splits++
    return { ...part, most }
  }

  /** The whole, if it is answered now that a part was; undefined if its size is the reason. */
  #confirm(question: LogQuestion, options: RangeOptions, reason: unknown): Promise<Part<T> | undefined> | undefined {
    // What comes too late is not waited for again. But a gateway may say at once that it did.
    if (reason instanceof TimeoutError) return undefined
    return this.#try(question, options, isTooLate(reason) ? 1 : ATTEMPTS_TO_CONFIRM)
  }

  /**
   * The largest part of a range that is answered where the range failed for this reason: its first
   * half, half of that and so on, or its first block; or the whole, after an outage. Where not even
   * the block is answered, it rejects at the deadline of the block, and is undefined at once if the
   * failure will not pass, or if replies came that cannot be used.
   */
  async #askPart(question: LogQuestion, options: RangeOptions, reason: unknown): Promise<FoundPart<T> | undefined> {
    const attempts = isTooLate(reason) ? 1 : ATTEMPTS_OF_PART
    const tryFirst = (blocks: number) => this.#try(firstPart(question, blocks), options, attempts)
    const { from, to } = question.span
    let failed = to - from + 1
    let block = await tryFirst(1)
    if (block === undefined) {
      // Those are asked for again as a whole, as often as any wrong reply.
      if (!isPassing(reason) || isUnusable(reason)) return undefined
      const allOf = (whole: Part<T>) => ({ part: whole, failed, most: failed })
      // An outage of some seconds is over by then.
      const early = isTooLate(reason) ? undefined : await this.#try(question, options, ATTEMPTS_OVER_SECONDS)
      if (early !== undefined) return allOf(early)
      // A block shows that a longer one is over. The size may be too large nevertheless.
      block = await this.#askRange(firstPart(question, 1), { ...options, isPatient: true })
      const late = await this.#try(question, options, attempts)
      if (late !== undefined) return allOf(late)
    }
    for (let halvings = 0; halvings < MOST_HALVINGS && failed > 2; halvings++) {
      const blocks = Math.min(Math.ceil(failed / 2), this.#size.blocks)
      const part = await tryFirst(blocks)
      if (part !== undefined) return { part, failed, most: blocks }
      failed = blocks
    }
    return { part: block, failed, most: Math.ceil(failed / SHRINKING) }
  }

  /** Gives up the chosen ranges that are under way. */
  #askAgain(isChosen: (range: UnderWay) => boolean): void {
    for (const range of this.#underWay) if (isChosen(range)) range.stop.abort(ASK_AGAIN)
  }

  /** The logs of a range, or of its first blocks; undefined once all attempts have failed. */
  async #try(question: LogQuestion, options: RangeOptions, attempts: number): Promise<Part<T> | undefined> {
    try {
      return await this.#askRange(question, { ...options, attempts })
    } catch (error) {
      options.signal.throwIfAborted()
      if (!(error instanceof HexlineError) || error.kind === 'closed') throw error
      return undefined
    }
  }
}

/** The first blocks of a range, at most this many. */
function firstPart({ group, span: { from, to } }: LogQuestion, blocks: number): LogQuestion {
  return { group, span: { from, to: Math.min(to, from + blocks - 1) } }
}
