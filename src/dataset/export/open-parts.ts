import { mkdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Progress } from '../../bulk/blocks/range-stream.ts'
import type { Client } from '../../client/client.ts'
import { OptionError } from '../../errors.ts'
import { type BlockRange, rangeFrom } from '../aligned-range.ts'
import { findManifest } from '../folder/check-manifest.ts'
import { checkSame } from '../folder/check-same.ts'
import { writing } from '../folder/disk.ts'
import { checkEmpty, makeFolder, makeTableFolders } from '../folder/folder.ts'
import { checkUnlocked } from '../folder/lock.ts'
import { type DatasetHeader, headerOf, lastOf, ManifestFile, type RangeEntry, readManifest } from '../folder/manifest.ts'
import { HOLDER, joinWriters, type PartWriter, removeDeadWriters } from '../folder/part-writers.ts'
import { addGoal, commitCommon, commitPart, hasParts, PARTS, readCommon, readPart, removeDamaged } from '../folder/parts.ts'
import { hasFiles } from '../folder/whole-files.ts'
import { type ExportJob, resolveJob } from './export-options.ts'
import { writeRanges } from './write-ranges.ts'

/** Ranges that a process exports at a time, at most. */
export const MOST_RANGES = 100

/** A folder that several processes fill, each with whole ranges, in any order. */
export interface OpenParts {
  /** What the dataset is, with the chain id of the node. */
  readonly header: DatasetHeader
  /** The last block that this run wants; its tag was resolved when the folder was opened. */
  readonly to: number
  /**
   * Fetches the blocks of a range that the folder does not have yet, writes their files, and
   * commits them as a part. The range must lie within an aligned one. Several may run at a time, of
   * one range, too: the second commit loses, and its files are removed. Killed at any moment, it
   * leaves only what a later run removes. Rejects with the same errors as `exportDataset`.
   */
  exportRange(range: BlockRange, options?: PartOptions): Promise<RangeExport>
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

export interface PartOptions {
  /** Ends it; it rejects with the signal's reason, and nothing of the range stays behind. */
  readonly signal?: AbortSignal | undefined
  /** Called after each block. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** Limit for replies requested ahead of the files, in bytes. Default: that of the job. */
  readonly maxBytes?: number
}

/** What the export of a range has done. Plain data. */
interface RangeExport {
  /** The part that was committed; null if other processes had committed all blocks before. */
  readonly added: RangeEntry | null
}

/**
 * Opens a folder for several ranges. `of` is the number of shards that share the work, where ranges
 * are dealt out by number. Rejects with `OptionError` where others have begun the folder with other
 * options, and with an `Error` where a single export is running in it.
 */
export async function openParts(client: Client, job: ExportJob, of?: number): Promise<OpenParts> {
  const { dir } = job
  const { header: asked, to } = await resolveJob(client, job)
  await makeFolder(dir)
  const hadParts = await hasParts(dir)
  if (!hadParts && (await readManifest(dir)) === undefined) await checkEmpty(dir)
  const parts = join(dir, PARTS)
  const writer = await joinParts(parts)
  try {
    // Only now: a single export looks for parts after it has taken the lock.
    await checkUnlocked(dir)
    const merged = await findManifest(dir)
    if (merged !== undefined) checkSame(dir, merged, asked)
    const mergedTo = merged === undefined ? undefined : lastOf(merged)
    const begun = await readCommon(dir)
    const mine = merged === undefined ? asked : headerOf(merged)
    // All of it is merged: what says otherwise would ask for another merge.
    if (begun === undefined && mergedTo !== undefined && mergedTo >= to) return new Parts(client, job, { header: mine, to, writer, mergedTo })
    if (begun === undefined) await commitCommon(dir, mine, join(writer.dir, 'dataset'))
    const header = (await readCommon(dir)) ?? asked
    checkSame(dir, header, asked)
    await addGoal(dir, { to, of })
    // A merge that began before it could see this goal would remove what is committed from now on.
    await checkUnlocked(dir)
    await removeDeadWriters(parts, join(writer.dir, HOLDER))
    return new Parts(client, job, { header, to, writer, mergedTo: mergedTo ?? header.from - 1 })
  } catch (error) {
    await leave(dir, writer)
    throw error
  }
}

/**
 * Throws `OptionError` where a folder of this path has been begun with other options. It need not
 * be there: that of a worker may be on another machine.
 */
export async function checkBegun(dir: string, asked: DatasetHeader): Promise<void> {
  for (const there of [await readManifest(dir), await readCommon(dir)]) if (there !== undefined) checkSame(dir, there, asked)
}

/** Joins the writers of `parts`, which is made if it is not there. */
async function joinParts(parts: string, attempts = 5): Promise<PartWriter> {
  await makeFolder(parts)
  try {
    return await joinWriters(parts)
  } catch (error) {
    // The last writer before has removed the empty folder meanwhile.
    const isGone = ((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
    if (isGone && attempts > 1) return joinParts(parts, attempts - 1)
    await removeIfEmpty(parts)
    throw error
  }
}

/** Ends the use of a folder. Where it has no part, and none was begun, nothing stays. */
async function leave(dir: string, writer: PartWriter): Promise<void> {
  await writer.close()
  await removeIfEmpty(join(dir, PARTS))
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {})
}

interface Opened {
  readonly header: DatasetHeader
  readonly to: number
  readonly writer: PartWriter
  /** The last block of the folder's own manifest; the one before the dataset if there is none. */
  readonly mergedTo: number
}

class Parts implements OpenParts {
  readonly header: DatasetHeader
  readonly to: number
  readonly #client: Client
  readonly #dir: string
  readonly #stream: ExportJob['stream']
  readonly #writer: PartWriter
  readonly #mergedTo: number
  /** Names for what this process writes, or takes away, in its own folder. */
  #names = 0

  constructor(client: Client, { dir, stream }: ExportJob, { header, to, writer, mergedTo }: Opened) {
    this.header = header
    this.to = to
    this.#client = client
    this.#dir = dir
    this.#stream = stream
    this.#writer = writer
    this.#mergedTo = mergedTo
  }

  async exportRange(range: BlockRange, options: PartOptions = {}): Promise<RangeExport> {
    const { signal, onProgress, bounds } = this.#stream
    const { maxBytes = bounds.maxBytes } = options
    const stream = { ...this.#stream, signal: options.signal ?? signal, onProgress: options.onProgress ?? onProgress, bounds: { ...bounds, maxBytes } }
    checkAligned(range, this.header, this.to)
    for (;;) {
      stream.signal?.throwIfAborted()
      const from = (await this.lastDone(range)) + 1
      if (from > range.to) return { added: null }
      const added = await this.#addPart({ from, to: range.to }, stream)
      if (added !== undefined) return { added }
      // Another was first. Its part may end earlier: then the blocks after it are still missing.
    }
  }

  async lastDone(range: BlockRange): Promise<number> {
    let last = Math.max(range.from - 1, this.#mergedTo)
    while (last < range.to) {
      const part = await readPart(this.#dir, last + 1)
      if (part === undefined) return last
      if (!(await hasFiles(part.dir, part.range))) {
        await removeDamaged(part, this.#aside())
        return last
      }
      last = part.range.to
    }
    return last
  }

  isOpen(): Promise<boolean> {
    return this.#writer.check().then(
      () => true,
      () => false,
    )
  }

  close(): Promise<void> {
    return leave(this.#dir, this.#writer)
  }

  /** The part that was committed; undefined if there is one that begins with the same block. */
  async #addPart({ from, to }: BlockRange, stream: ExportJob['stream']): Promise<RangeEntry | undefined> {
    const { header } = this
    const aside = this.#aside()
    try {
      await writing(aside, () => mkdir(aside))
      await makeTableFolders(aside, header.tables)
      const file = new ManifestFile(aside, { ...header, from, ranges: [] })
      // The node may be behind others, which have the block already.
      const known = { ...stream, range: { ...stream.range, isKnown: true } }
      const onRange = async (entry: RangeEntry) => {
        file.add(entry)
        await file.write()
      }
      await writeRanges(this.#client, { dir: aside, header, stream: known, onRange }, { from, to })
      await this.#writer.check()
      return (await commitPart(this.#dir, from, aside)) ? file.manifest.ranges[0] : undefined
    } finally {
      await rm(aside, { recursive: true, force: true }).catch(() => {})
    }
  }

  /** A path in this process's own folder. */
  #aside(): string {
    return join(this.#writer.dir, String(++this.#names))
  }
}

/** Throws `OptionError` unless a range lies within an aligned one of the dataset. */
function checkAligned(range: BlockRange, { from, blocksPerFile }: DatasetHeader, to: number): void {
  const isWithin = Number.isSafeInteger(range.from) && range.from >= from && range.to >= range.from
  const most = isWithin ? rangeFrom(range.from, to, blocksPerFile).to : to
  if (isWithin && Number.isSafeInteger(range.to) && range.to <= most) return
  throw new OptionError('range', `blocks of one file, which has ${blocksPerFile}, from ${from} to ${most}`, `${range.from} to ${range.to}`)
}
