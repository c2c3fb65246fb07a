import type { RangeSize } from '../bulk/logs/range-size.ts'
import type { LogWindow } from './log-windows.ts'

/** Ranges that `getLogs` requests ahead of its reader. */
export const RANGES_AHEAD = 64

/**
 * Number of ranges that `getLogs` splits a range into. It simulates the job, with replies as dense
 * as the windows that stand for their blocks, which are in order, times `density`. The first range
 * is answered before others are requested.
 */
export function rangesFor(from: number, blocks: number, windows: readonly LogWindow[], density: number, size: RangeSize): number {
  const end = from + blocks
  const repliesIn = repliesOf(windows, density)
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
    size.answered({ blocks: length, ...repliesIn(start, length), tookMs: undefined })
  }
  return ranges
}

/**
 * Tells the logs and bytes in a range, as dense as in the windows that stand for its blocks. To be
 * asked for one range after the other: there may be millions.
 */
function repliesOf(windows: readonly LogWindow[], density: number): (start: number, length: number) => { logs: number; bytes: number } {
  let next = 0
  return (start, length) => {
    while (next < windows.length && endOf(windows[next] as LogWindow) <= start) next++
    let [logs, bytes] = [0, 0]
    for (let i = next; i < windows.length; i++) {
      const window = windows[i] as LogWindow
      const common = Math.min(endOf(window), start + length) - Math.max(window.first, start)
      if (common <= 0) break
      const share = (density * common) / (window.to - window.from + 1)
      logs += share * window.logs
      bytes += share * window.bytes
    }
    return { logs, bytes }
  }
}

function endOf({ first, blocks }: LogWindow): number {
  return first + blocks
}
