import { TimeoutError } from '../errors.ts'
import { isFailure, mayRepeat } from '../rpc/failure-kinds.ts'

/** Fewer attempts than this say little about an endpoint: it is the default of a client's calls. */
const ENOUGH = 4
/** How much of the time up to its deadline has passed where that is why a call was given up. */
const MOST = 3 / 4

/**
 * Did a failed call spend the time up to its deadline in line, so that there was none for further
 * attempts? Then the failure only shows that the node is slow.
 */
export function waitedInLine(reason: unknown, waitedMs: number, deadlineMs: number): boolean {
  if (!isFailure(reason) || mayRepeat(reason) !== true) return false
  if (reason instanceof TimeoutError) return reason.attempts === 0
  return reason.attempts < ENOUGH && waitedMs >= MOST * deadlineMs
}
