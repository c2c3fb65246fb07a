import { HexlineError, RpcError } from '../errors.ts'
import { isOfResults, rangeLimit, suggestedRange } from '../eth/errors/log-range.ts'
import { isThrottled, mayRepeat } from '../rpc/failure-kinds.ts'

/*
 * What the failure of a range of logs says about its size.
 */

/** A smaller range, which may succeed where another one failed. */
export interface Split {
  /** Number of blocks to request at a time. */
  readonly part: number
  /**
   * What was too large: the number of `blocks`, which a limit of the endpoint's forbids; what the
   * range has in it (`content`); or the `time` that it took. Undefined for a failure that may have
   * nothing to do with its size.
   */
  readonly tooLarge: 'blocks' | 'content' | 'time' | undefined
  /** How many splits because of failures the part lies within. */
  readonly failures: number
}

/** Nested splits because of failures; after these, an outage is as likely as the size. */
const MOST_SPLITS_ON_FAILURE = 4
/** Failures that may come from the size of the range. */
const MAYBE_TOO_MUCH = ['timeout', 'server', 'malformed', 'overloaded', 'request-too-large']
/** What a node says in words that are not known may be about the size of the range, too. */
const MAYBE_REFUSED = ['invalid', 'execution']

/**
 * How to split a range of this many blocks after a failure; undefined if a smaller range does not
 * help.
 */
export function splitAfter(error: unknown, blocks: number, failures: number): Split | undefined {
  if (!(error instanceof HexlineError) || blocks === 1) return undefined
  if (isTooMuch(error)) {
    const isOfBlocks = error instanceof RpcError && suggestedRange(error.said) === undefined && rangeLimit(error.said) !== undefined
    return { part: partAfter(error, blocks), tooLarge: isOfBlocks ? 'blocks' : 'content', failures }
  }
  if (!mayBeTooMuch(error) || failures >= MOST_SPLITS_ON_FAILURE) return undefined
  return { part: Math.ceil(blocks / 2), tooLarge: error.kind === 'timeout' ? 'time' : undefined, failures: failures + 1 }
}

/** Whether the failure of a range may come from its size. */
export function mayBeTooMuch(error: unknown): boolean {
  if (!(error instanceof HexlineError) || error.attempts === 0) return false
  return MAYBE_TOO_MUCH.includes(error.kind) || (error instanceof RpcError && MAYBE_REFUSED.includes(error.kind))
}

/** The node, or hexline, refused the size of the range or of its reply. */
export function isTooMuch(error: unknown): boolean {
  return error instanceof HexlineError && (error.kind === 'range-too-large' || error.kind === 'response-too-large')
}

/**
 * The same range may do better later, such as at a node that lags behind. What is throttled has
 * been repeated until its deadline.
 */
export function isPassing(error: unknown): boolean {
  return error instanceof HexlineError && mayRepeat(error) === true && error.attempts > 0 && !isThrottled(error)
}

/**
 * The size that the refusal names, if it is smaller than the refused one. A limit of exactly the
 * refused size does not count the last block; any other that fails again is halved. Where there
 * were too many results, half would mostly hold more than is good: it takes a quarter.
 */
function partAfter(error: HexlineError, blocks: number): number {
  const said = error instanceof RpcError ? error.said : ''
  const named = rangeLimit(said)
  if (named !== undefined && named < blocks) return named
  if (named === blocks) return blocks - 1
  return Math.ceil(blocks / (named === undefined && isOfResults(said) ? 4 : 2))
}
