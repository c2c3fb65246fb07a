import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BlockRange, rangeFrom } from '../dataset/aligned-range.ts'
import type { ExportJob } from '../dataset/export/export-options.ts'
import { RangeFiles } from '../dataset/export/range-files.ts'
import { rowsOf } from '../dataset/export/rows-of.ts'
import { writing } from '../dataset/folder/disk.ts'
import { makeTableFolders } from '../dataset/folder/folder.ts'
import { type DatasetHeader, ManifestFile, type RangeEntry } from '../dataset/folder/manifest.ts'
import { lineBytes } from '../dataset/ndjson/ndjson-files.ts'
import type { DatasetTable } from '../dataset/tables.ts'
import { added, type Estimate, type Estimator, known, linear, sum } from './estimate.ts'
import type { SampledBlock } from './sample.ts'

/** A table of a dataset, as it will be. */
export interface TablePlan {
  readonly rows: Estimate
  /** Size of its files, in bytes. */
  readonly bytes: Estimate
}

/** A dataset, as it will be. */
export interface FilesPlan {
  readonly tables: Readonly<Partial<Record<DatasetTable, TablePlan>>>
  readonly files: number
  /** Size of all files and of the manifest, in bytes. */
  readonly bytes: Estimate
}

/**
 * What a dataset of the blocks `from` to `to` takes on disk. The sample is written to files of the
 * dataset's format in a temporary folder, which is removed: half of it, and all of it. A file has
 * costs of its own, and compresses better the more it holds, so the difference tells what more rows
 * take, and the rest is what each file takes:
 *
 *     bytes of a table = files * fixed + growth * size of its rows as lines
 */
export async function planFiles(
  { header, stream }: ExportJob,
  { from, to }: BlockRange,
  chainId: number,
  sample: readonly SampledBlock[],
  estimate: Estimator,
): Promise<FilesPlan> {
  const whole: DatasetHeader = { ...header, chainId, from }
  const dir = await writing(tmpdir(), () => mkdtemp(join(tmpdir(), 'hexline-plan-')))
  try {
    await makeTableFolders(dir, whole.tables)
    const { cutter, createFile } = await rowsOf(dir, whole, stream)
    const encode = async (blocks: readonly SampledBlock[]): Promise<RangeEntry> => {
      const [first, last] = [blocks[0], blocks.at(-1)] as [SampledBlock, SampledBlock]
      const files = await RangeFiles.create(whole.tables, { from: first.number, to: last.number }, createFile)
      try {
        for (const { block, receipts } of blocks) await files.add(cutter.item(cutter.block(block), receipts && cutter.receipts(receipts)))
        return await files.finish()
      } finally {
        await files.abandon()
      }
    }
    const ranges = Math.floor(to / whole.blocksPerFile) - Math.floor(from / whole.blocksPerFile) + 1
    const isWhole = sample.length === to - from + 1
    const parts = isWhole ? byRange(sample, to, whole.blocksPerFile) : [sample.filter((_, i) => i % 2 === 0), sample]
    const entries: RangeEntry[] = []
    for (const part of parts) entries.push(await encode(part))
    const lines = await linesOf(whole, stream, sample)
    const tables = Object.fromEntries(whole.tables.map((table, i) => [table, ofTable(table, i)]))
    const manifest = manifestBytes(dir, whole, isWhole ? entries : [entries.at(-1) as RangeEntry], ranges)
    const plans = Object.values(tables)
    return { tables, files: ranges * whole.tables.length, bytes: added([...plans.map(({ bytes }) => bytes), known(manifest)]) }

    function ofTable(table: DatasetTable, i: number): TablePlan {
      const ofBlocks = lines.map((each) => each[table] ?? NO_LINES)
      const rows = estimate(ofBlocks.map((each) => each.rows))
      const sizes = entries.map(({ files }) => files[i]?.bytes ?? 0)
      if (isWhole) return { rows, bytes: known(sum(sizes)) }
      const [half, all] = [0, 1].map((part) => ({
        lines: sum(ofBlocks.filter((_, j) => part === 1 || j % 2 === 0).map((each) => each.bytes)),
        bytes: sizes[part] as number,
      })) as [Point, Point]
      const { fixed, growth } = lineThrough(half, all)
      return { rows, bytes: linear(estimate(ofBlocks.map((each) => each.bytes)), growth, ranges * fixed) }
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** Rows of a table in a block, and their size as lines. */
interface Lines {
  readonly rows: number
  readonly bytes: number
}

const NO_LINES: Lines = { rows: 0, bytes: 0 }

/** What the blocks have as lines, whatever the format. */
async function linesOf(header: DatasetHeader, stream: ExportJob['stream'], sample: readonly SampledBlock[]): Promise<Partial<Record<DatasetTable, Lines>>[]> {
  const { cutter } = await rowsOf('', { ...header, format: 'ndjson', compression: null, columns: null }, stream)
  return sample.map(({ block, receipts }) => {
    const { number, tables } = cutter.item(cutter.block(block), receipts && cutter.receipts(receipts))
    const entries = Object.entries(tables).map(([table, part]) => [table, { rows: part.rows.count, bytes: lineBytes(table as DatasetTable, part, number) }])
    return Object.fromEntries(entries)
  })
}

/** A file, and the size of its rows as lines. */
interface Point {
  readonly lines: number
  readonly bytes: number
}

/** Neither what each file takes nor what more rows take can be negative. */
function lineThrough(half: Point, all: Point): { readonly fixed: number; readonly growth: number } {
  if (all.lines === 0) return { fixed: all.bytes, growth: 0 }
  const most = all.bytes / all.lines
  const growth = all.lines === half.lines ? most : Math.min(most, Math.max(0, (all.bytes - half.bytes) / (all.lines - half.lines)))
  return { fixed: all.bytes - growth * all.lines, growth }
}

/** The blocks of each file, where the sample has all blocks. */
function byRange(sample: readonly SampledBlock[], to: number, blocksPerFile: number): SampledBlock[][] {
  const parts = new Map<number, SampledBlock[]>()
  for (const block of sample) {
    const { to: end } = rangeFrom(block.number, to, blocksPerFile)
    const part = parts.get(end)
    if (part === undefined) parts.set(end, [block])
    else part.push(block)
  }
  return [...parts.values()]
}

/** The manifest has a line for each range, and all are about as long as those of `entries`. */
function manifestBytes(dir: string, header: DatasetHeader, entries: RangeEntry[], ranges: number): number {
  const sizeWith = (lines: RangeEntry[]) => Buffer.byteLength(new ManifestFile(dir, { ...header, ranges: lines }).text)
  const size = sizeWith(entries)
  return ranges === entries.length ? size : size + ((ranges - entries.length) * (sizeWith([...entries, ...entries]) - size)) / entries.length
}
