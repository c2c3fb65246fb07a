import type { Call } from '../../call.ts'
import type { BatchSize } from './batch-size.ts'
import type { ReplySizes } from './reply-sizes.ts'
import type { Speeds } from './speeds.ts'

/** What the next batch may hold. It counts what it has let in: one plan is for one batch. */
export interface BatchPlan {
  /** Longest batch, in calls. */
  readonly maxCalls: number
  /**
   * Whether the next waiting call belongs in this batch: `split` for one that is to travel in
   * another batch, `no` where the batch is full.
   */
  fits(call: Call): 'yes' | 'split' | 'no'
}

/** A plan by the size of replies, by what the rate allows, and by how fast calls are. */
export class Plan implements BatchPlan {
  readonly maxCalls: number
  readonly #size: BatchSize
  readonly #replies: ReplySizes
  readonly #fitsBudget: ((call: Call) => boolean) | undefined
  readonly #speeds: Speeds | undefined
  #bytes = 0
  /** Methods of the first call and of the last one. */
  #first: string | undefined
  #last: string | undefined

  constructor(maxCalls: number, size: BatchSize, replies: ReplySizes, fitsBudget: ((call: Call) => boolean) | undefined, speeds: Speeds | undefined) {
    this.maxCalls = maxCalls
    this.#size = size
    this.#replies = replies
    this.#fitsBudget = fitsBudget
    this.#speeds = speeds
  }

  fits(call: Call): 'yes' | 'split' | 'no' {
    const { method, priority } = call
    // The last one may travel with the first one.
    if (this.#first !== undefined && method !== this.#last && this.#speeds?.areSplit(this.#first, method)) return 'split'
    const bytes = this.#replies.of(method)
    if (this.#size.body.isFull(this.#bytes, bytes, priority) || this.#fitsBudget?.(call) === false) return 'no'
    this.#bytes += bytes
    this.#first ??= method
    this.#last = method
    return 'yes'
  }
}
