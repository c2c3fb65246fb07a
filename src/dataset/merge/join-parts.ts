import type { BlockRange } from '../aligned-range.ts'
import type { RangeEntry } from '../folder/manifest.ts'
import type { Goal } from '../folder/parts.ts'
import { shardOf } from '../shard.ts'

/** A range, with the folder that holds its files. */
export interface Found {
  readonly dir: string
  readonly range: RangeEntry
}

/**
 * A contradiction: the first block about which two folders disagree, what each says, and where.
 */
export interface Contradiction {
  readonly block: number
  readonly field: 'hash' | 'files'
  readonly said: readonly [string, string]
  readonly by: readonly [string, string]
}

/** What ranges say about the hashes of blocks: two that differ contradict each other. */
export function contradictionIn(all: readonly Found[]): Contradiction | undefined {
  const said = new Map<number, { readonly hash: string; readonly dir: string }>()
  const files = new Map<string, { readonly digests: string; readonly dir: string }>()
  for (const { dir, range } of all) {
    const { from, to, parentHash, firstHash, lastHash } = range
    for (const [block, hash] of [
      [from - 1, parentHash],
      [from, firstHash],
      [to, lastHash],
    ] as const) {
      const other = said.get(block)
      if (other === undefined) said.set(block, { hash, dir })
      else if (other.hash !== hash) return { block, field: 'hash', said: [other.hash, hash], by: [other.dir, dir] }
    }
    const place = `${from}-${to}`
    const digests = range.files.map(({ sha256 }) => sha256).join(', ')
    const other = files.get(place)
    if (other === undefined) files.set(place, { digests, dir })
    else if (other.digests !== digests) return { block: from, field: 'files', said: [other.digests, digests], by: [other.dir, dir] }
  }
  return undefined
}

/** Blocks that no range has: the first and the last of each gap. */
export type Gaps = readonly (readonly [number, number])[]

/**
 * The ranges that cover the blocks `from` to `to`, and the gaps between them. Where ranges overlap,
 * since runs ended at different blocks, it takes those that leave no gap, and of these the longest.
 */
export function tile(all: readonly Found[], { from, to, blocksPerFile }: BlockRange & { readonly blocksPerFile: number }): { ranges: Found[]; gaps: Gaps } {
  const ordered = [...all].sort((a, b) => a.range.from - b.range.from || b.range.to - a.range.to)
  // The blocks from which ranges lead to the end of the aligned range, which none goes beyond.
  const leading = new Set<number>()
  const leads = (block: number) => block % blocksPerFile === 0 || block > to || leading.has(block)
  for (const { range } of ordered.toReversed()) if (leads(range.to + 1)) leading.add(range.from)
  const ranges: Found[] = []
  const gaps: [number, number][] = []
  let next = from
  for (let i = 0; i < ordered.length; ) {
    const { from: start } = (ordered[i] as Found).range
    const same: Found[] = []
    for (; ordered[i]?.range.from === start; i++) same.push(ordered[i] as Found)
    if (start < next) continue
    const taken = same.find(({ range }) => leads(range.to + 1)) ?? (same[0] as Found)
    if (start > next) gaps.push([next, start - 1])
    ranges.push(taken)
    next = taken.range.to + 1
  }
  if (next <= to) gaps.push([next, to])
  return { ranges, gaps }
}

/** Ranges that are named for each shard, or for all. */
const MOST_NAMED = 10

/** Names missing blocks, and the shards that have to export them. */
export function missingText(gaps: Gaps, blocksPerFile: number, of: number | undefined): string {
  if (of === undefined) return rangesText(gaps)
  const byShard = new Map<number, [number, number][]>()
  for (const [from, to] of gaps) {
    for (let start = from; start <= to; ) {
      const end = Math.min(to, start - (start % blocksPerFile) + blocksPerFile - 1)
      const { index } = shardOf(start, blocksPerFile, of)
      const ranges = byShard.get(index) ?? []
      byShard.set(index, ranges)
      const last = ranges.at(-1)
      if (last?.[1] === start - 1) last[1] = end
      else ranges.push([start, end])
      start = end + 1
    }
  }
  const shards = [...byShard].sort(([a], [b]) => a - b)
  const named = shards.slice(0, MOST_NAMED).map(([index, ranges]) => `shard ${index}/${of}: ${rangesText(ranges)}`)
  return [...named, ...(shards.length > named.length ? [`and ${shards.length - named.length} more shards`] : [])].join('; ')
}

function rangesText(ranges: Gaps): string {
  const named = ranges.slice(0, MOST_NAMED).map(([from, to]) => (from === to ? `block ${from}` : `blocks ${from} to ${to}`))
  const others = ranges.length - named.length
  return [...named, ...(others > 0 ? [`and ${others} more ${others === 1 ? 'range' : 'ranges'}`] : [])].join(', ')
}

/** The goal that is furthest, with the number of its shards. */
export function furthest(goals: readonly Goal[]): Goal | undefined {
  return [...goals].sort((a, b) => b.to - a.to || Number(a.of === undefined) - Number(b.of === undefined))[0]
}
