import { mkdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Progress } from '../bulk/range-stream.ts'
import type { Client } from '../client/client.ts'
import { OptionError } from '../errors.ts'
import { type BlockRange, rangeFrom } from './aligned-range.ts'
import { readCheckedManifest } from './check-manifest.ts'
import { checkSame } from './check-same.ts'
import { writing } from './disk.ts'
import { type ExportJob, resolveJob } from './export-options.ts'
import { checkEmpty, makeFolder, makeTableFolders } from './folder.ts'
import { checkUnlocked } from './lock.ts'
import { type DatasetHeader, lastOf, ManifestFile, type RangeEntry, readManifest } from './manifest.ts'
import { joinWriters, type PartWriter, removeDeadWriters } from './part-writers.ts'
import { addGoal, commitCommon, commitPart, hasParts, PARTS, readCommon, readPart, removeDamaged } from './parts.ts'
import { hasFiles } from './whole-files.ts'
import { writeRanges } from './write-ranges.ts'

/** Ranges that a worker exports at a time, at most. */
export const MOST_RANGES = 100

/** A folder that several processes fill, each with whole ranges, in any order. */
export interface OpenParts {
  /** What the dataset is, with the chain id of the node. */
  readonly header: DatasetHeader
  /** The last block that this run wants; its tag was resolved when the folder was opened. */
  readonly to: number
  /**
   * Fetches the blocks of a range that the folder does not have yet, writes their files, and
   * commits them as a part. The range must lie within an aligned one. Several may run at a time.
   */
  exportRange(range: BlockRange, options?: RangeOptions): Promise<RangeExport>
  /**
   * The last block, from the first of a range on, that the folder has; the one before if none. A
   * part of which a file is missing or cut is removed, and counts as missing.
   */
  lastDone(range: BlockRange): Promise<number>
  /**
   * Whether ranges can still be written: not after another process has taken this one for dead,
   * which stood still for too long.
   */
  isOpen(): Promise<boolean>
  /** Ends the use of the folder, and removes what was not committed. */
  close(): Promise<void>
}

export interface RangeOptions {
  /** Ends it; it rejects with the signal's reason, and nothing of the range stays behind. */
  readonly signal?: AbortSignal | undefined
  /** Called after each block. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** Limit for replies requested ahead of the files, in bytes. Default: that of the job. */
  readonly maxBytes?: number
}

/** What the export of a range has done. Plain data. */
export interface RangeExport {
  /** The part that was committed; null if other processes had committed all blocks before. */
  readonly added: RangeEntry | null
}

/**
 * Exports one aligned range of a dataset, beside other processes and machines that export others: a
 * job of a queue, or an activity of a workflow. It may run twice, also at the same time: the second
 * commit of a range loses, and its files are removed. Killed at any moment, it leaves only what a
 * later run removes.
 *
 *     const job = checkExportOptions({ from: 0, to: 24_999_999, dir: 'mainnet' })
 *     const { added } = await exportRange(client, job, { from: 21_000_000, to: 21_000_999 })
 *
 * `mergeDataset` makes a dataset of the parts. Rejects with the same errors as `exportDataset`.
 */
export async function exportRange(client: Client, job: ExportJob, range: BlockRange, options: RangeOptions = {}): Promise<RangeExport> {
  const { signal = job.stream.signal } = options
  const parts = await openParts(client, { ...job, stream: { ...job.stream, signal } })
  try {
    return await parts.exportRange(range, options)
  } finally {
    await parts.close()
  }
}

/**
 * Opens a folder for several ranges. `of` is the number of shards that share the work, where ranges
 * are dealt out by number. Rejects with `OptionError` where others have begun the folder with other
 * options, and with an `Error` where a single export is running in it.
 */
export async function openParts(client: Client, job: ExportJob, of?: number): Promise<OpenParts> {
  const { dir, stream } = job
  const { header: asked, to } = await resolveJob(client, job)
  await makeFolder(dir)
  const hadParts = await hasParts(dir)
  if (!hadParts && (await readManifest(dir)) === undefined) await checkEmpty(dir)
  const parts = join(dir, PARTS)
  await makeFolder(parts)
  const writer = await joinWriters(parts)
  try {
    // Only now: a single export looks for parts after it has taken the lock.
    await checkUnlocked(dir)
    const merged = (await readManifest(dir)) && (await readCheckedManifest(dir))
    if (merged !== undefined) checkSame(dir, merged, asked)
    const begun = await readCommon(dir)
    if (begun === undefined && merged !== undefined && lastOf(merged) >= to) {
      // All of it is merged: what says otherwise would ask for another merge.
      const { ranges: _, ...header } = merged
      const open = partsOf(client, { dir, header, stream, to, writer, merged: lastOf(merged) })
      return { ...open, close: () => open.close().then(() => removeIfEmpty(parts)) }
    }
    if (begun === undefined) {
      const { ranges: _, ...header } = merged ?? { ...asked, ranges: [] }
      await commitCommon(dir, header, join(writer.dir, 'dataset'))
    }
    const header = (await readCommon(dir)) ?? asked
    checkSame(dir, header, asked)
    await addGoal(dir, { to, of })
    await removeDeadWriters(parts, join(writer.dir, 'process.json'))
    return partsOf(client, { dir, header, stream, to, writer, merged: merged === undefined ? header.from - 1 : lastOf(merged) })
  } catch (error) {
    await writer.close()
    // Of a folder where no part was begun, nothing stays.
    await removeIfEmpty(parts)
    throw error
  }
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {})
}

interface Opened {
  readonly dir: string
  readonly header: DatasetHeader
  readonly stream: ExportJob['stream']
  readonly to: number
  readonly writer: PartWriter
  /** The last block of the folder's own manifest. */
  readonly merged: number
}

function partsOf(client: Client, { dir, header, stream, to, writer, merged }: Opened): OpenParts {
  let runs = 0
  const lastDone = async (range: BlockRange): Promise<number> => {
    let last = Math.max(range.from - 1, merged)
    while (last < range.to) {
      const part = await readPart(dir, last + 1)
      if (part === undefined) return last
      if (!(await hasFiles(part.dir, part.range))) {
        await removeDamaged(part, join(writer.dir, String(++runs)))
        return last
      }
      last = part.range.to
    }
    return last
  }
  return {
    header,
    to,
    lastDone,
    isOpen: () =>
      writer.check().then(
        () => true,
        () => false,
      ),
    close: () => writer.close(),
    async exportRange(range, { signal = stream.signal, onProgress = stream.onProgress, maxBytes = stream.bounds.maxBytes } = {}) {
      checkAligned(range, header, to)
      for (;;) {
        signal?.throwIfAborted()
        const from = (await lastDone(range)) + 1
        if (from > range.to) return { added: null }
        const added = await addPart({ from, to: range.to }, { ...stream, signal, onProgress, bounds: { ...stream.bounds, maxBytes } })
        if (added !== undefined) return { added }
        // Another was first. Its part may end earlier: then the blocks after it are still missing.
      }
    },
  }

  /** The part that was committed; undefined if there is one that begins with the same block. */
  async function addPart({ from, to }: BlockRange, options: ExportJob['stream']): Promise<RangeEntry | undefined> {
    const aside = join(writer.dir, String(++runs))
    try {
      await writing(aside, () => mkdir(aside))
      await makeTableFolders(aside, header.tables)
      const file = new ManifestFile(aside, { ...header, from, ranges: [] })
      // The node may be behind others, which have the block already.
      const known = { ...options.range, isKnown: true }
      await writeRanges(client, { dir: aside, header, stream: { ...options, range: known }, onRange: (entry) => file.add(entry) }, { from, to })
      await writer.check()
      return (await commitPart(dir, from, aside)) ? file.manifest.ranges[0] : undefined
    } finally {
      await rm(aside, { recursive: true, force: true }).catch(() => {})
    }
  }
}

/** Throws `OptionError` unless a range lies within an aligned one of the dataset. */
function checkAligned(range: BlockRange, { from, blocksPerFile }: DatasetHeader, to: number): void {
  const isWithin = Number.isSafeInteger(range.from) && range.from >= from && range.to >= range.from
  const most = isWithin ? rangeFrom(range.from, to, blocksPerFile).to : to
  if (isWithin && Number.isSafeInteger(range.to) && range.to <= most) return
  throw new OptionError('range', `blocks of one file, which has ${blocksPerFile}, from ${from} to ${most}`, `${range.from} to ${range.to}`)
}
