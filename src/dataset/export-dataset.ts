import { type Client, checkClient } from '../client/client.ts'
import { IntegrityError } from '../errors.ts'
import { readCheckedManifest } from './check-manifest.ts'
import { checkSame } from './check-same.ts'
import type { CutBlock } from './cut-block.ts'
import { checkExportOptions, type ExportDatasetOptions, type ExportJob, resolveJob } from './export-options.ts'
import { exportShard } from './export-shard.ts'
import { checkEmpty, checkFiles, makeFolder, makeTableFolders, removeLeftovers } from './folder.ts'
import { type Lock, lockFolder } from './lock.ts'
import { type DatasetHeader, lastOf, type Manifest, ManifestFile, readManifest } from './manifest.ts'
import { checkNoParts } from './parts.ts'
import { nothing, type WriteJob, writeRanges } from './write-ranges.ts'

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

/**
 * Exports a range of blocks to a folder: one file for each table and range of `blocksPerFile`
 * blocks, and `manifest.json`, which says what is there. docs/datasets.md describes both.
 *
 *     await exportDataset(client, { from: 0n, to: 'finalized', dir: 'mainnet', tables: ['blocks', 'transactions', 'logs'] })
 *
 * A folder grows by whole ranges. An export that failed, was aborted or was killed at any moment is
 * continued by the same call, and gives the same bytes as one that was not interrupted; with a
 * larger `to`, a later call extends the folder.
 *
 * With `shard`, several processes or machines export a share each; docs/scale.md describes that.
 *
 * Each block must have the number that was requested, name the previous one as its parent, also
 * across runs, and come with one receipt for each of its transactions.
 *
 * Throws `OptionError` at once for invalid options, and rejects with it for a folder that has other
 * ones. Rejects with `IntegrityError` when replies contradict each other or the folder, with an
 * `Error` that names the path when the folder is damaged, in use or cannot be written, and
 * otherwise with the same errors as `client.call`.
 */
export function exportDataset(client: Client, options: ExportDatasetOptions): Promise<ExportSummary> {
  checkClient(client)
  return runExport(client, checkExportOptions(options))
}

/** Runs a job whose options were checked. */
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
  const job: WriteJob = { dir, header: manifest, stream, checkFirst, beforePublish: lock.check, onRange: (range) => file.add(range) }
  const added = from > to ? nothing : await writeRanges(client, job, { from, to })
  return { from: BigInt(manifest.from), to: BigInt(lastOf(manifest)), ...added }
}

/** The manifest of the folder, which must be of the dataset that was asked for; or a new one. */
async function openManifest(dir: string, asked: DatasetHeader): Promise<ManifestFile> {
  // Its own digest first, which tells damage from what was never written by hexline.
  const there = (await readManifest(dir)) && (await readCheckedManifest(dir))
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
  )
}
