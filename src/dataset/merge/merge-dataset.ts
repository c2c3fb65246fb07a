import { stat } from 'node:fs/promises'
import { join, resolve, sep } from 'node:path'
import * as check from '../../check.ts'
import { IntegrityError, OptionError } from '../../errors.ts'
import { show } from '../../text.ts'
import { findManifest } from '../folder/check-manifest.ts'
import { checkAlike } from '../folder/check-same.ts'
import { lookAt, syncFolder } from '../folder/disk.ts'
import { checkEmpty, checkFiles, makeFolder, makeTableFolders, removeEmpty, removeLeftovers } from '../folder/folder.ts'
import { LOCK, lockFolder } from '../folder/lock.ts'
import { type DatasetHeader, headerOf, lastOf, ManifestFile, readManifest } from '../folder/manifest.ts'
import { checkNoWriters } from '../folder/part-writers.ts'
import { type Goal, goalsIn, hasParts, hasPartsFolder, PARTS, partsIn, readCommon, readPart, removeParts } from '../folder/parts.ts'
import { placeFile } from '../folder/place-file.ts'
import { addRange, NOTHING_WRITTEN, type Written } from '../folder/written.ts'
import { type Contradiction, contradictionIn, type Found, furthest, missingText, tile } from './join-parts.ts'

/** Options of `mergeDataset`. */
export interface MergeDatasetOptions {
  /**
   * The folder that becomes the dataset: a new or empty one, or one of `dirs`. Default the first.
   */
  readonly into?: string | undefined
  /** Ends the merge, which rejects with the signal's reason. A later merge starts over. */
  readonly signal?: AbortSignal | undefined
  /** Called after each range whose files are in the folder. */
  readonly onProgress?: ((progress: MergeProgress) => void) | undefined
}

/** Progress of a merge, in ranges. */
export interface MergeProgress {
  readonly done: number
  readonly total: number
}

/** What the dataset holds after a merge. */
export interface MergeSummary extends Written {
  readonly dir: string
  readonly from: bigint
  readonly to: bigint
}

/** Checks the options, and makes a dataset of what is in the folders. */
export async function runMerge(dirs: readonly string[], options: MergeDatasetOptions): Promise<MergeSummary> {
  check.onlyKnown('options', options, ['into', 'signal', 'onProgress'])
  const { into, signal, onProgress } = options
  if (!Array.isArray(dirs) || dirs.length === 0) throw new OptionError('dirs', 'one or more folders', show(dirs))
  const sources = [...new Set(dirs.map((dir) => resolve(check.folder('dir', dir))))]
  if (signal !== undefined) check.signal(signal)
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  const dir = into === undefined ? (sources[0] as string) : resolve(check.folder('into', into))
  signal?.throwIfAborted()
  for (const source of sources) if (!(await lookAt(source, stat))?.isDirectory()) throw new OptionError('dirs', 'folders that exist', source)
  // `verify` would find what it does not know in the folder around it.
  if (into !== undefined && !sources.includes(dir) && sources.some((source) => dir.startsWith(source + sep)))
    throw new OptionError('into', 'a folder outside of those that are merged', dir)
  const made = await makeFolder(dir, 'into')
  try {
    return await mergeInto(dir, sources, { signal, onProgress })
  } catch (error) {
    if (made !== undefined) await removeEmpty(dir, made)
    throw error
  }
}

async function mergeInto(dir: string, sources: readonly string[], options: Omit<Writing, 'beforeManifest'>): Promise<MergeSummary> {
  const lock = await lockFolder(dir)
  try {
    if (await hasPartsFolder(dir)) await checkNoWriters(join(dir, PARTS), join(dir, LOCK), 'busy')
    if (!sources.includes(dir) && !(await isBegun(dir))) await checkEmpty(dir)
    const job = joined(await readSources([...new Set([dir, ...sources])], options.signal), sources)
    return await write(dir, job, { ...options, beforeManifest: lock.check })
  } finally {
    await lock.release()
  }
}

/** What a folder holds: ranges of its own manifest, and parts. */
interface Source {
  readonly dir: string
  readonly header: DatasetHeader
  readonly found: readonly Found[]
  readonly goals: readonly Goal[]
}

/** A dataset that is whole: each range, with the folder where its files are. */
interface Joined {
  readonly header: DatasetHeader
  readonly ranges: readonly Found[]
}

async function isBegun(dir: string): Promise<boolean> {
  return (await hasParts(dir)) || (await readManifest(dir)) !== undefined
}

async function readSources(dirs: readonly string[], signal: AbortSignal | undefined): Promise<Source[]> {
  const sources: Source[] = []
  for (const dir of dirs) {
    const manifest = await findManifest(dir)
    const common = (await hasParts(dir)) ? await readCommon(dir) : undefined
    const header = common ?? (manifest && headerOf(manifest))
    if (header === undefined) {
      // Such as that of a worker that has had no range.
      await checkEmpty(dir)
      continue
    }
    if (manifest !== undefined && common !== undefined) checkAlike(dir, headerOf(manifest), join(dir, PARTS), common)
    const found: Found[] = manifest?.ranges.map((range) => ({ dir, range })) ?? []
    const last = manifest === undefined ? header.from - 1 : lastOf(manifest)
    // What the manifest has was merged before: its part may be half removed.
    for (const from of common === undefined ? [] : (await partsIn(dir)).filter((from) => from > last)) {
      signal?.throwIfAborted()
      const part = await readPart(dir, from)
      if (part === undefined) continue
      checkAlike(dir, header, part.dir, { ...part.header, from: header.from })
      found.push({ dir: part.dir, range: part.range })
    }
    sources.push({ dir, header, found, goals: [...(common === undefined ? [] : await goalsIn(dir)), { to: last, of: undefined }] })
  }
  return sources
}

/** Joins what was found. Throws for what is missing or contradicts itself. */
function joined(sources: readonly Source[], dirs: readonly string[]): Joined {
  const [first] = sources
  if (first === undefined) throw new OptionError('dirs', 'folders that hexline export wrote', dirs.join(', '))
  const { header } = first
  for (const other of sources) checkAlike(first.dir, header, other.dir, other.header)
  const found = sources.flatMap((source) => source.found)
  const contradiction = contradictionIn(found)
  if (contradiction !== undefined) throw contradicting(contradiction)
  const goal = furthest(sources.flatMap((source) => source.goals)) as Goal
  const { ranges, gaps } = tile(found, { from: header.from, to: goal.to, blocksPerFile: header.blocksPerFile })
  if (gaps.length > 0) {
    const where = dirs.length === 1 ? `${dirs[0]} lacks` : 'the folders lack'
    throw new Error(`${where} ${missingText(gaps, header.blocksPerFile, goal.of)}; export them up to block ${goal.to}, and merge again; nothing was changed`)
  }
  return { header, ranges }
}

function contradicting({ block, field, said, by }: Contradiction): IntegrityError {
  const [expected, found] = said
  const what = field === 'hash' ? `block ${block} has the hash` : `the files of the range from block ${block} have the SHA-256`
  const message = `${what} ${expected} in ${by[0]}, but ${found} in ${by[1]}: they contradict each other; delete the one that is wrong, and export it again; nothing was changed`
  return new IntegrityError(message, { file: by[1], block: BigInt(block), field, expected, found })
}

interface Writing {
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: MergeProgress) => void) | undefined
  readonly beforeManifest: () => Promise<void>
}

async function write(dir: string, { header, ranges }: Joined, { signal, onProgress, beforeManifest }: Writing): Promise<MergeSummary> {
  for (const { dir: source, range } of ranges) await checkFiles(source, { ranges: [range] })
  // A later merge knows by it that the files of a killed one are its own.
  if (!(await isBegun(dir))) await new ManifestFile(dir, { ...header, ranges: [] }).write()
  await makeTableFolders(dir, header.tables)
  let summary = NOTHING_WRITTEN
  for (const found of ranges) {
    signal?.throwIfAborted()
    if (found.dir !== dir) for (const file of found.range.files) await placeFile(found.dir, dir, file)
    summary = addRange(summary, found.range)
    onProgress?.({ done: summary.ranges, total: ranges.length })
  }
  for (const table of header.tables) await syncFolder(join(dir, table))
  await beforeManifest()
  const file = new ManifestFile(dir, { ...header, ranges: ranges.map(({ range }) => range) })
  await file.write()
  await removeParts(dir)
  await removeLeftovers(dir, file.manifest)
  return { dir, from: BigInt(header.from), to: BigInt(lastOf(file.manifest)), ...summary }
}
