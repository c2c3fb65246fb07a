import type { Client } from '../../client/client.ts'
import { connectionsOf } from '../../client/internals.ts'

/** Nodes cut replies at a multiple of this many results, or not at all. */
export const LEAST_CUT = 500
/** Ranges answered at the limit on blocks until a larger one is tried: at first, and at most. */
const FIRST_TRIAL = 256
const MOST_TO_TRIAL = 4096

/** What one endpoint takes. */
interface RangeLimit {
  /** Most blocks in a range, as the endpoint says; infinite if it has said nothing. */
  maxBlocks: number
  /** Most results in a reply of an endpoint that leaves the others out silently. */
  maxResults: number
}

/**
 * What the endpoints of a client take in one `eth_getLogs`, whatever the filter: learnt from their
 * refusals, and from replies that lacked logs. An endpoint may name a limit in error, or take more
 * later: now and then, one range exceeds it as a trial.
 */
export class RangeLimits {
  readonly #limits = new Map<string, RangeLimit>()
  /** Ranges that were answered near the limit on blocks since the last trial. */
  #atLimit = 0
  /** Number of these until the next trial. It doubles, since most limits are true. */
  #untilTrial = FIRST_TRIAL
  /** Whether a trial has not been answered yet, and has not failed. */
  #isTrying = false

  /** Most blocks that every endpoint takes. */
  get maxBlocks(): number {
    let least = Number.POSITIVE_INFINITY
    for (const { maxBlocks } of this.#limits.values()) least = Math.min(least, maxBlocks)
    return least
  }

  /** Most blocks that this endpoint takes; infinite if it has named no limit. */
  maxBlocksOf(endpoint: string | undefined): number {
    return this.#of(endpoint).maxBlocks
  }

  /** Most results of this endpoint in a reply; infinite if it is not known to leave any out. */
  maxResultsOf(endpoint: string | undefined): number {
    return this.#of(endpoint).maxResults
  }

  /** Whether the endpoint may have left out others where it gave this many results. */
  mayBeCut(endpoint: string | undefined, results: number): boolean {
    return results >= this.maxResultsOf(endpoint) || isRound(results)
  }

  /** The endpoint has said that it takes at most this many blocks. */
  takes(endpoint: string | undefined, maxBlocks: number): void {
    this.#of(endpoint).maxBlocks = maxBlocks
    this.#isTrying = false
  }

  /** It is time to try a larger range than the endpoints are known to take. */
  get isTrialDue(): boolean {
    return this.#atLimit >= this.#untilTrial
  }

  trialBegan(): void {
    this.#atLimit = 0
    this.#untilTrial = Math.min(this.#untilTrial * 2, MOST_TO_TRIAL)
    this.#isTrying = true
  }

  /** The trial has failed for what the range holds, which says nothing about the limit. */
  trialFailed(): void {
    this.#isTrying = false
  }

  /**
   * The endpoint has answered a range of this many blocks. If it was a trial, an even larger one is
   * due at once. Other ranges beyond the limit raise nothing: behind one URL, there may be nodes of
   * which only some have the limit.
   */
  answered(endpoint: string | undefined, blocks: number): void {
    const limit = this.#of(endpoint)
    const isTrial = this.#isTrying && blocks > this.maxBlocks
    if (isTrial) this.#isTrying = false
    if (isTrial && blocks > limit.maxBlocks) {
      limit.maxBlocks = blocks
      this.#atLimit = this.#untilTrial
    } else if (blocks * 2 > this.maxBlocks) this.#atLimit++
  }

  /** The endpoint has left out what exceeded this many results. */
  leavesOutAfter(endpoint: string | undefined, maxResults: number): void {
    this.#of(endpoint).maxResults = maxResults
  }

  /** The endpoint has given all of this many results: if its limit is lower, it has none. */
  leftOutNone(endpoint: string | undefined, results: number): void {
    const limit = this.#of(endpoint)
    if (results > limit.maxResults) limit.maxResults = Number.POSITIVE_INFINITY
  }

  #of(endpoint = ''): RangeLimit {
    let limit = this.#limits.get(endpoint)
    if (limit === undefined) {
      limit = { maxBlocks: Number.POSITIVE_INFINITY, maxResults: Number.POSITIVE_INFINITY }
      this.#limits.set(endpoint, limit)
    }
    return limit
  }
}

/** Learnt once for all streams of a client. */
const limitsOfClients = new WeakMap<object, RangeLimits>()

/** What the endpoints of a client take, as learnt by all its streams. */
export function rangeLimitsOf(client: Client): RangeLimits {
  const key = connectionsOf(client) ?? client
  let limits = limitsOfClients.get(key)
  if (limits === undefined) {
    limits = new RangeLimits()
    limitsOfClients.set(key, limits)
  }
  return limits
}

/** Whether a reply may have been cut at this number of logs by any node. */
export function isRound(logs: number): boolean {
  return logs >= LEAST_CUT && logs % LEAST_CUT === 0
}
