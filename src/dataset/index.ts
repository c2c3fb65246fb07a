import { type Client, checkClient } from '../client/client.ts'
import type { ExportSummary } from './export/export-dataset.ts'
import { checkExportOptions, type ExportDatasetOptions } from './export/export-options.ts'
import type { MergeDatasetOptions, MergeSummary } from './merge/merge-dataset.ts'
import type { DatasetReport, VerifyDatasetOptions } from './verify/verify-dataset.ts'

export type { VerifyLevel } from './checks.ts'
export type { ExportSummary } from './export/export-dataset.ts'
export type { ExportDatasetOptions } from './export/export-options.ts'
export type { DatasetFormat } from './folder/manifest.ts'
export type { MergeDatasetOptions, MergeProgress, MergeSummary } from './merge/merge-dataset.ts'
export type { Shard } from './shard.ts'
export type { DatasetTable } from './tables.ts'
export type { DatasetReport, VerifyDatasetOptions } from './verify/verify-dataset.ts'

/*
 * The code of each is loaded when it is first called: most programs that read blocks or logs write
 * no dataset.
 */

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
 * Rejects with `OptionError` for invalid options, before any request, and for a folder that has
 * other ones; with `IntegrityError` when replies contradict each other or the folder; with an
 * `Error` that names the path when the folder is damaged, in use or cannot be written; and
 * otherwise with the same errors as `client.call`.
 */
export async function exportDataset(client: Client, options: ExportDatasetOptions): Promise<ExportSummary> {
  checkClient(client)
  const job = checkExportOptions(options)
  return (await import('./export/export-dataset.ts')).runExport(client, job)
}

/**
 * Makes a dataset of the parts that shards have written into one folder, or into one folder each:
 * byte for byte what a single export writes.
 *
 *     const { to } = await mergeDataset(['mainnet-1', 'mainnet-2'], { into: 'mainnet' })
 *
 * All blocks that the runs were asked for have to be there, and each range has to begin with the
 * child of the last block of the one before. Nothing is written otherwise. Files are linked, not
 * copied, where the file system allows; parts are removed when the manifest names them, and folders
 * other than the dataset's stay as they are. It may be killed at any moment, and called again.
 *
 * Reads no file of rows: `verifyDataset` does. Rejects with `OptionError` for folders that hold no
 * dataset, with `IntegrityError` for parts that contradict each other or are damaged, and with an
 * `Error` that names what is missing, in use, not of the same dataset, or cannot be written.
 */
export async function mergeDataset(dirs: readonly string[], options: MergeDatasetOptions = {}): Promise<MergeSummary> {
  return (await import('./merge/merge-dataset.ts')).runMerge(dirs, options)
}

/**
 * Verifies a folder that `exportDataset` wrote, without a node, and says what was proven:
 *
 * - `files`: the manifest and each file have their digests, and there is nothing else;
 * - `rows`: each block has its rows in each table, in order, and they fit one another;
 * - `link`: each block names the one before it as its parent;
 * - `header`, `transactionsRoot`, `receiptsRoot` and so on: hashes and roots that are recomputed
 *   from the rows, as far as the stored columns allow.
 *
 *     const { checks, skipped, uncovered, lastHash } = await verifyDataset('mainnet')
 *
 * A person who can write the folder can write digests, too, but cannot make other rows with the
 * hashes of the chain. So compare `lastHash` with one that you trust, or pass a client as
 * `against`.
 *
 * Rejects at the first mismatch with `IntegrityError`, which names file, block and field, with
 * what was expected and found. Rejects with `OptionError` for invalid options, a path that is not a
 * folder, and a dataset that this version of Node.js cannot read.
 */
export async function verifyDataset(dir: string, options: VerifyDatasetOptions = {}): Promise<DatasetReport> {
  return (await import('./verify/verify-dataset.ts')).runVerification(dir, options)
}
