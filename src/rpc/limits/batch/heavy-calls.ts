import type { Call } from '../../call.ts'
import { setBounded } from '../../set-bounded.ts'
import type { BatchResult } from '../batch-result.ts'

/** Heavy calls in a POST, at least, before others go to another slot. */
const LEAST_SHARE = 4
/**
 * At most, where the node takes long for each: it works on them one after the other. Eight
 * replies of 2 MiB, which a range of logs aims at, make the longest body of a batch.
 */
const MOST = 8
/**
 * At most where it is quick: as many as it answers within this time, in ms, without the round trip,
 * up to `MOST_QUICK`. Their replies may be a thousand times as large as those before, and all calls
 * of a body that is too large are sent again.
 */
const QUICK_POST_MS = 250
const MOST_QUICK = 24

/**
 * How many heavy calls a POST may hold. A node works on those of one POST one after the other, and
 * on those of several side by side.
 */
export class HeavyCalls {
  readonly #isHeavy: (method: string) => boolean
  /** Most in a POST, by their method: as the newest POST of several shows. */
  readonly #most = new Map<string, number>()

  constructor(isHeavy: (method: string) => boolean) {
    this.#isHeavy = isHeavy
  }

  /**
   * Most calls in the next POST of `waiting` calls, of which the first one has this method, with
   * this many slots; infinite for a method that is not heavy.
   */
  maxCalls(method: string, waiting: number, slots: number): number {
    if (!this.#isHeavy(method)) return Number.POSITIVE_INFINITY
    const share = Math.max(LEAST_SHARE, Math.ceil(waiting / slots))
    return Math.min(share, this.#most.get(method) ?? MOST)
  }

  /** A POST has ended. It tells something if it held several heavy calls, all of one method. */
  learn({ batch, common }: BatchResult, roundTripMs: number, now: number): void {
    const { calls, sentAt } = batch
    const [{ method }] = calls as [Call]
    if (calls.length < MOST || !this.#isHeavy(method) || calls.some((call) => call.method !== method)) return
    const quick = Math.min(MOST_QUICK, Math.max(MOST, Math.floor((QUICK_POST_MS * calls.length) / Math.max(0, now - sentAt - roundTripMs))))
    // A call that fails may take no time.
    const most = common === 'answered' ? quick : Math.min(quick, this.#most.get(method) ?? MOST)
    setBounded(this.#most, method, most)
  }
}
