import type { RangeSize } from '../bulk/logs/range-size.ts'
import type { LogWindow } from './log-windows.ts'

/** Ranges that `getLogs` requests ahead of its reader. */
export const RANGES_AHEAD = 64

/**
 * Number of ranges that `getLogs` splits a range into. It simulates the job, with replies as dense
 * as the windows that stand for their blocks, times `density`. The first range is answered before
 * others are requested.
 */
export function rangesFor(from: number, blocks: number, windows: readonly LogWindow[], density: number, size: RangeSize): number {
  const end = from + blocks
  const inFlight: { readonly start: number; readonly length: number }[] = []
  let next = from
  let ranges = 0
  while (next < end || inFlight.length > 0) {
    while (next < end && inFlight.length < (ranges <= 1 ? 1 : RANGES_AHEAD)) {
      const length = Math.min(size.blocks, end - next)
      inFlight.push({ start: next, length })
      next += length
      ranges++
    }
    const { start, length } = inFlight.shift() as { start: number; length: number }
    size.answered({ blocks: length, ...repliesIn(windows, start, length, density), tookMs: undefined })
  }
  return ranges
}

/** Logs and bytes in a range, as dense as in the windows that stand for its blocks. */
function repliesIn(windows: readonly LogWindow[], start: number, length: number, density: number): { logs: number; bytes: number } {
  let [logs, bytes] = [0, 0]
  for (const { first, blocks, from, to, ...seen } of windows) {
    const common = Math.min(first + blocks, start + length) - Math.max(first, start)
    if (common <= 0) continue
    const share = (density * common) / (to - from + 1)
    logs += share * seen.logs
    bytes += share * seen.bytes
  }
  return { logs, bytes }
}
