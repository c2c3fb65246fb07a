import { HexlineError, RpcError } from '../../errors.ts'
import { isOfResults, rangeLimit, suggestedRange } from '../../eth/errors/log-range.ts'
import { isThrottled, mayRepeat } from '../../rpc/failure-kinds.ts'

/*
 * What the failure of a range of logs says about its size.
 */

/** A smaller range, which may succeed where another one failed. */
export interface Split {
  /** Number of blocks to request at a time. */
  readonly part: number
  /**
   * What was too large: the number of `blocks`, which a limit of the endpoint's forbids, or what
   * the range has in it.
   */
  readonly tooLarge: 'blocks' | 'content'
}

/** A suggested range that is longer than this part of the refused one is not believed. */
const HARDLY_LESS = 7 / 8
/** Failures that may come from the size of the range. */
const MAYBE_TOO_MUCH = ['network', 'timeout', 'server', 'malformed', 'overloaded', 'request-too-large']
/** What a node says in words that are not known may be about the size of the range, too. */
const MAYBE_REFUSED = ['invalid', 'execution']

/** How to split a range of this many blocks that was refused for its size; else undefined. */
export function splitAfter(error: unknown, blocks: number): Split | undefined {
  if (!isTooMuch(error) || blocks === 1) return undefined
  const isOfBlocks = error instanceof RpcError && suggestedRange(error.said) === undefined && rangeLimit(error.said) !== undefined
  return { part: partAfter(error, blocks), tooLarge: isOfBlocks ? 'blocks' : 'content' }
}

/** Whether the failure of a range may come from its size. */
export function mayBeTooMuch(error: unknown): boolean {
  if (!(error instanceof HexlineError) || error.attempts === 0) return false
  return MAYBE_TOO_MUCH.includes(error.kind) || (error instanceof RpcError && MAYBE_REFUSED.includes(error.kind))
}

/** The node, or hexline, refused the size of the range or of its reply. */
export function isTooMuch(error: unknown): error is HexlineError {
  return error instanceof HexlineError && (error.kind === 'range-too-large' || error.kind === 'response-too-large')
}

/**
 * The node did not answer in time: that is seen late, so it is not waited for again and again.
 */
export function isTooLate(error: unknown): boolean {
  return error instanceof HexlineError && error.kind === 'timeout'
}

/** Its deadline has passed in line: that says nothing about the call, nor about the endpoint. */
export function isUnsent(error: unknown): boolean {
  return isTooLate(error) && (error as HexlineError).attempts === 0
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
 * were too many results, half would mostly hold more than is good: it takes a quarter. So it does
 * where the node suggests the very range that it has just refused
 * (https://github.com/paradigmxyz/reth/issues/23810), or one that is hardly shorter: if it suggests
 * one block less each time, thousands of ranges would be refused.
 */
function partAfter(error: HexlineError, blocks: number): number {
  const said = error instanceof RpcError ? error.said : ''
  const limit = rangeLimit(said)
  const isHardlyLess = limit !== undefined && limit <= blocks && limit > blocks * HARDLY_LESS && suggestedRange(said) !== undefined
  const named = isHardlyLess ? undefined : limit
  if (named !== undefined && named < blocks) return named
  if (named === blocks) return blocks - 1
  return Math.ceil(blocks / (named === undefined && isOfResults(said) ? 4 : 2))
}
