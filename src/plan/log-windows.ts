import type { ReadLogs } from '../bulk/log-fetch.ts'
import type { CopiedLog } from '../bulk/log-lines.ts'
import type { LogSpan } from '../bulk/log-reply.ts'
import { type Estimator, estimator, sum } from './estimate.ts'
import { type Missing, missingOf, settled } from './sample.ts'
import { oneOfEach, seeded } from './spread.ts'

/** A part of the range whose logs were fetched. */
export interface LogWindow extends LogSpan {
  readonly logs: number
  /** Size of the results, and of the logs as lines, in bytes. */
  readonly bytes: number
  readonly lineBytes: number
  /** Blocks that have logs. */
  readonly blocksWithLogs: number
}

/** Blocks of the first window; each next one is ten times as long. */
const FIRST = 100
const GROWTH = 10
/** Longest window, in blocks. */
const MOST = 100_000
/** Logs in a window that are enough. */
const ENOUGH = 250

export interface WindowOptions {
  fetch(span: LogSpan): Promise<ReadLogs<CopiedLog>>
  /** Ranges had to be split so far: the node takes no longer ones. */
  splits(): number
}

/**
 * Fetches the logs of windows of one length, one in each of `size` equal parts of the range. The
 * length is found in the middle of the range: it grows until there are enough logs, or the node
 * takes no more. Rejects if the node has the logs of none.
 */
export async function sampleWindows(
  { fetch, splits }: WindowOptions,
  from: number,
  blocks: number,
  size: number,
): Promise<{ readonly windows: readonly LogWindow[]; readonly missing: Missing | null }> {
  const parts = Math.min(size, blocks)
  const longest = Math.min(MOST, Math.floor(blocks / parts))
  const middle = from + Math.floor(blocks / 2)
  let length = Math.min(FIRST, longest)
  while (length < longest) {
    const { found } = await settled([{ from: middle, to: Math.min(from + blocks, middle + length) - 1 }], spanStart, fetch)
    if (splits() > 0 || found[0] === undefined || found[0].items.length >= ENOUGH) break
    length = Math.min(longest, length * GROWTH)
  }
  const random = seeded()
  const spans = Array.from({ length: parts }, (_, i): LogSpan => {
    const [start, end] = [from + Math.floor((i * blocks) / parts), from + Math.floor(((i + 1) * blocks) / parts)]
    // Windows that fill their parts leave no block out.
    if (length === longest && longest < MOST) return { from: start, to: end - 1 }
    const at = start + (oneOfEach(end - start - length + 1, 1, random)[0] as number)
    return { from: at, to: at + length - 1 }
  })
  const { found, gaps } = await settled(spans, spanStart, async (span) => windowOf(span, await fetch(span)))
  if (found.length === 0) throw gaps.at(-1)?.error
  return { windows: found, missing: missingOf(gaps) }
}

const spanStart = ({ from }: LogSpan): number => from

function windowOf({ from, to }: LogSpan, { items, received }: ReadLogs<CopiedLog>): LogWindow {
  return {
    from,
    to,
    logs: items.length,
    bytes: received,
    lineBytes: sum(items.map(({ json }) => json.length + 1)),
    blocksWithLogs: new Set(items.map(({ value }) => value.blockNumber)).size,
  }
}

/** The estimator for values of windows. */
export function windowEstimator(blocks: number, windows: readonly LogWindow[]): Estimator {
  const covered = sum(windows.map(({ from, to }) => to - from + 1))
  const none = windows.map(() => [])
  return estimator(covered === blocks ? windows.length : (windows.length * blocks) / covered, none, none)
}
