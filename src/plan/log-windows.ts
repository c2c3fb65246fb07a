import type { ReadLogs } from '../bulk/logs/log-fetch.ts'
import type { CopiedLog } from '../bulk/logs/log-lines.ts'
import type { LogSpan } from '../bulk/logs/log-span.ts'
import { type Estimator, strataEstimator, sum } from './estimate.ts'
import { type Missing, missingOf, settled } from './sample.ts'
import { oneOfEach, seeded } from './spread.ts'

/** A part of the range whose logs were fetched. */
export interface LogWindow extends LogSpan {
  /** The first of the blocks that it stands for, and their number. */
  readonly first: number
  readonly blocks: number
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
/** Neighbours differ where one has this many times the other's logs. */
const STEP = 3
/** What is unknown between two windows is looked up from this part of all logs on. */
const WORTH = 0.005

export interface WindowOptions {
  fetch(span: LogSpan): Promise<ReadLogs<CopiedLog>>
  /** Ranges had to be split so far: the node takes no longer ones. */
  splits(): number
}

/**
 * Fetches the logs of windows of one length, one in each of `size` equal parts of the range, and
 * one at each end. The length is found in the middle of the range: it grows until there are enough
 * logs, or the node takes no more. Where neighbours differ much, as where a contract was deployed
 * between them, others follow between them, at most `size` in all. Rejects if the node has the logs
 * of none.
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
  const starts = Array.from({ length: parts }, (_, i) => from + Math.floor((i * blocks) / parts))
  const spans = starts.map((start, i): LogSpan => {
    const end = starts[i + 1] ?? from + blocks
    // Windows that fill their parts leave no block out.
    if (length === longest && longest < MOST) return { from: start, to: end - 1 }
    const at = start + (oneOfEach(end - start - length + 1, 1, random)[0] as number)
    return { from: at, to: at + length - 1 }
  })
  const ask = (asked: readonly LogSpan[]) => settled(asked, spanStart, async (span) => seenIn(span, await fetch(span)))
  const { found, gaps } = await ask(withEnds(spans, from, from + blocks))
  if (found.length === 0) throw gaps.at(-1)?.error
  const seen = [...found]
  for (let room = size; room > 0; ) {
    const between = steps(seen, length).slice(0, room)
    const { found: more } = await ask(between)
    if (more.length < between.length || more.length === 0) break
    room -= more.length
    seen.push(...more)
    seen.sort((a, b) => a.from - b.from)
  }
  return { windows: inCells(seen, starts, from + blocks), missing: missingOf(gaps) }
}

/**
 * The same with one at each end of the range, between which all changes are, where there is room.
 */
function withEnds(spans: readonly LogSpan[], from: number, end: number): LogSpan[] {
  const [first, last] = [spans[0], spans.at(-1)] as [LogSpan, LogSpan]
  const length = first.to - first.from + 1
  return [
    ...(first.from - from >= length ? [{ from, to: from + length - 1 }] : []),
    ...spans,
    ...(end - 1 - last.to >= length ? [{ from: end - length, to: end - 1 }] : []),
  ]
}

type Seen = Omit<LogWindow, 'first' | 'blocks'>

const logsPerBlock = ({ from, to, logs }: Seen) => logs / (to - from + 1)

/** Spans between neighbours that differ much, those about which most is unknown first. */
function steps(windows: readonly Seen[], length: number): LogSpan[] {
  const whole = (windows.at(-1) as Seen).to - (windows[0] as Seen).from
  const total = (whole / windows.length) * sum(windows.map(logsPerBlock))
  const unknown = windows.slice(1).map((window, i) => {
    const before = windows[i] as Seen
    const [low, high] = [logsPerBlock(before), logsPerBlock(window)].sort((a, b) => a - b) as [number, number]
    const [start, room] = [before.to + 1, window.from - before.to - 1]
    const blocks = Math.min(length, room)
    const at = start + Math.floor((room - blocks) / 2)
    return { span: { from: at, to: at + blocks - 1 }, logs: room > 0 && high > STEP * low ? ((high - low) * room) / 2 : 0 }
  })
  return unknown
    .filter(({ logs }) => logs > WORTH * total)
    .sort((a, b) => b.logs - a.logs)
    .map(({ span }) => span)
}

/**
 * Windows with the blocks that each stands for: those of its part of the range, or, next to one
 * that was fetched later, those up to the middle between them.
 */
function inCells(windows: readonly Seen[], starts: readonly number[], end: number): LogWindow[] {
  const partOf = ({ from }: Seen) => starts.findLastIndex((start) => start <= from)
  const isAlone = (window: Seen) => windows.every((other) => other === window || partOf(other) !== partOf(window))
  const borders = windows.map((window, i) => {
    const before = windows[i - 1]
    if (before === undefined) return starts[0] as number
    const isPlain = partOf(window) === partOf(before) + 1 && isAlone(window) && isAlone(before)
    return isPlain ? (starts[partOf(window)] as number) : Math.floor((before.to + 1 + window.from) / 2)
  })
  return windows.map((window, i) => ({ ...window, first: borders[i] as number, blocks: (borders[i + 1] ?? end) - (borders[i] as number) }))
}

const spanStart = ({ from }: LogSpan): number => from

function seenIn({ from, to }: LogSpan, { items, received }: ReadLogs<CopiedLog>): Seen {
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
export function windowEstimator(windows: readonly LogWindow[]): Estimator {
  return strataEstimator(windows.map(({ from, to, blocks }) => ({ blocks, seen: to - from + 1 })))
}
