import type { Client } from '../../client/client.ts'
import { clockOf } from '../../client/internals.ts'
import { IntegrityError } from '../../errors.ts'
import { findManifest, readCheckedManifest } from '../folder/check-manifest.ts'
import { checkSame } from '../folder/check-same.ts'
import { checkEmpty, checkFiles, makeFolder, makeTableFolders, removeLeftovers } from '../folder/folder.ts'
import { type Lock, lockFolder } from '../folder/lock.ts'
import { type DatasetHeader, lastOf, MANIFEST, type Manifest, ManifestFile } from '../folder/manifest.ts'
import { checkNoParts } from '../folder/parts.ts'
import { NOTHING_WRITTEN } from '../folder/written.ts'
import type { CutBlock } from '../rows/cut-block.ts'
import { type ExportJob, resolveJob } from './export-options.ts'
import { exportShard } from './export-shard.ts'
import { ManifestUpdates } from './manifest-updates.ts'
import { type WriteJob, writeRanges } from './write-ranges.ts'

/** What an export has done. */
export interface ExportSummary {
  /** The blocks that the folder holds now; of a shard, the blocks of all shards. */
  readonly from: bigint
  readonly to: bigint
  /** What this run added: ranges, blocks, files, rows and bytes of files. */
  readonly ranges: number
  readonly blocks: number
  readonly files: number
  readonly rows: number
  readonly bytes: number
}

/** Exports to a folder, with options that were checked. */
export async function runExport(client: Client, job: ExportJob): Promise<ExportSummary> {
  if (job.shard !== undefined) {
    const { from, to, ...added } = await exportShard(client, job, job.shard)
    return { from: BigInt(from), to: BigInt(to), ...added }
  }
  const { header, to } = await resolveJob(client, job)
  await makeFolder(job.dir)
  const lock = await lockFolder(job.dir)
  try {
    await checkNoParts(job.dir)
    return await fillFolder(client, job, header, to, lock)
  } finally {
    await lock.release()
  }
}

async function fillFolder(client: Client, { dir, stream }: ExportJob, asked: DatasetHeader, to: number, lock: Lock): Promise<ExportSummary> {
  const file = await openManifest(dir, asked)
  const { manifest } = file
  const from = lastOf(manifest) + 1
  const checkFirst = (block: CutBlock) => checkFollows(dir, block, manifest)
  const updates = new ManifestUpdates(file, lock, clockOf(client))
  /** True while files of a range may have their names before it is added to the manifest. */
  let isPublishing = false
  const job: WriteJob = {
    dir,
    header: manifest,
    stream,
    checkFirst,
    async beforePublish() {
      await lock.check()
      isPublishing = true
    },
    async onRange(range) {
      isPublishing = false
      await updates.add(range)
    },
  }
  try {
    const added = from > to ? NOTHING_WRITTEN : await writeRanges(client, job, { from, to })
    await updates.finish()
    return { from: BigInt(manifest.from), to: BigInt(lastOf(manifest)), ...added }
  } catch (error) {
    await updates.finish().catch(() => {})
    if (isPublishing || updates.isBehind) await removeUnnamed(dir, lock).catch(() => {})
    throw error
  }
}

/** Removes the files that the manifest on the disk does not name, while the folder is locked. */
async function removeUnnamed(dir: string, lock: Lock): Promise<void> {
  await lock.check()
  await removeLeftovers(dir, await readCheckedManifest(dir))
}

/** The manifest of the folder, which must be of the dataset that was asked for; or a new one. */
async function openManifest(dir: string, asked: DatasetHeader): Promise<ManifestFile> {
  const there = await findManifest(dir)
  if (there === undefined) {
    await checkEmpty(dir)
    const file = new ManifestFile(dir, { ...asked, ranges: [] })
    await file.write()
    await removeLeftovers(dir, file.manifest)
    await makeTableFolders(dir, asked.tables)
    return file
  }
  checkSame(dir, there, asked)
  await checkFiles(dir, there)
  await removeLeftovers(dir, there)
  await makeTableFolders(dir, there.tables)
  return new ManifestFile(dir, there)
}

/** Throws `IntegrityError` unless a block is the child of the folder's last one. */
function checkFollows(dir: string, { number, parentHash }: CutBlock, { ranges }: Manifest): void {
  const last = ranges.at(-1)
  if (last === undefined || parentHash === last.lastHash) return
  throw new IntegrityError(
    `block ${number} names ${parentHash} as its parent, but ${dir} ends with block ${last.to} as ${last.lastHash}: ` +
      "the chain was reorganised in between; nothing was changed. Export to a new folder, and end at 'finalized'",
    { file: MANIFEST, block: BigInt(number) },
  )
}
