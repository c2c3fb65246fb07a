import type { LogRange } from '../bulk/log-range.ts'
import type { LogWindow } from './log-windows.ts'

/** Ranges that `getLogs` requests ahead of its reader. */
const AHEAD = 64

/**
 * Number of ranges that `getLogs` splits a range into: it is played through, with replies as dense as
 * the windows around them, times `density`. The first range is answered before others are requested.
 */
export function rangesFor(from: number, blocks: number, windows: readonly LogWindow[], density: number, range: LogRange): number {
  const end = from + blocks
  const inFlight: { readonly start: number; readonly length: number }[] = []
  let next = from
  let ranges = 0
  while (next < end || inFlight.length > 0) {
    while (next < end && inFlight.length < (ranges <= 1 ? 1 : AHEAD)) {
      const length = Math.min(range.blocks, end - next)
      inFlight.push({ start: next, length })
      next += length
      ranges++
    }
    const { start, length } = inFlight.shift() as { start: number; length: number }
    const { logs, bytes, from: first, to: last } = windows[Math.floor(((start - from) * windows.length) / blocks)] as LogWindow
    const share = (density * length) / (last - first + 1)
    range.answered({ blocks: length, logs: share * logs, bytes: share * bytes, tookMs: undefined })
  }
  return ranges
}
