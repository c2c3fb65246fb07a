import { join, resolve } from 'node:path'
import { checkRange, type RangeEnd, resolveRange } from '../bulk/range.ts'
import { type Progress, rangeStream, type StreamOptions } from '../bulk/range-stream.ts'
import type { Proof } from '../bulk/verifying.ts'
import * as check from '../check.ts'
import { type Client, checkClient } from '../client/client.ts'
import { IntegrityError, OptionError } from '../errors.ts'
import type { Quantity } from '../eth/codec/quantity.ts'
import { show } from '../text.ts'
import { rangeFrom } from './aligned-range.ts'
import { readCheckedManifest } from './check-manifest.ts'
import { missingOf, type VerifyLevel, verifyLevels } from './checks.ts'
import { checkTables, columnsOf, columnsText } from './columns.ts'
import type { CutBlock } from './cut-block.ts'
import { syncFolder } from './disk.ts'
import { checkDir, checkEmpty, checkFiles, makeFolder, makeTableFolders, removeLeftovers } from './folder.ts'
import { type Lock, lockFolder } from './lock.ts'
import { type DatasetFormat, type DatasetHeader, formats, type Manifest, ManifestFile, readManifest } from './manifest.ts'
import { hasZstd } from './ndjson-files.ts'
import { RangeFiles } from './range-files.ts'
import { rowsOf } from './rows-of.ts'
import type { DatasetTable } from './tables.ts'

/** Options of `exportDataset`. */
export interface ExportDatasetOptions {
  /** First block. A folder keeps the one that it began with. */
  readonly from: Quantity
  /** Last block, included: a number, or a tag that is resolved once, at the start. */
  readonly to: RangeEnd
  /** The folder: a new or empty one, or a dataset with the same options, which is continued. */
  readonly dir: string
  /** How rows are stored. Default `parquet`. */
  readonly format?: DatasetFormat
  /** Default blocks and transactions. */
  readonly tables?: readonly DatasetTable[]
  /**
   * The columns to store, such as `['transactions.hash', 'transactions.value']`; all those of
   * tables of which it names none. For Parquet alone.
   */
  readonly columns?: readonly string[]
  /** Number of blocks in each file. Default 1,000. */
  readonly blocksPerFile?: number
  /**
   * How much is checked of each block. Default `link`. A wrong block is requested again from
   * another endpoint. What cannot be checked is counted in the manifest, with the reason.
   */
  readonly verify?: VerifyLevel
  /** Ends the export, which rejects with the signal's reason. A later one continues it. */
  readonly signal?: AbortSignal
  /** Limit for replies requested ahead of the files, in bytes. Default 16 MiB. */
  readonly maxBytes?: number
  /** Called after each block. */
  readonly onProgress?: (progress: Progress) => void
}

/** What an export has done. */
export interface ExportSummary {
  /** The blocks that the folder holds now. */
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

const MiB = 1024 * 1024

/** Checked options, with defaults. */
export interface ExportJob {
  readonly dir: string
  readonly header: Omit<DatasetHeader, 'chainId'>
  readonly stream: StreamOptions
}

const known = ['from', 'to', 'dir', 'format', 'tables', 'columns', 'blocksPerFile', 'verify', 'signal', 'maxBytes', 'onProgress']

/** Checks the options and fills in the defaults. Throws `OptionError`. */
export function checkExportOptions(options: ExportDatasetOptions): ExportJob {
  check.onlyKnown('options', options, known)
  const { signal, onProgress, columns, maxBytes = 16 * MiB, verify: level = 'link' } = options
  const dir = checkDir(options.dir)
  const format = check.oneOf('format', options.format ?? 'parquet', formats)
  if (format === 'ndjson.zst' && !hasZstd)
    throw new OptionError('format', 'another format: Zstandard needs Node.js 22.15, 23.8 or later', `${show(format)} with Node.js ${process.versions.node}`)
  if (columns !== undefined && format !== 'parquet')
    throw new OptionError('columns', 'no columns with NDJSON, whose lines are what the node sent', `${show(columns)} with ${show(format)}`)
  const tables = checkTables(options.tables ?? ['blocks', 'transactions'])
  const verify = check.oneOf('verify', level, verifyLevels)
  const full = tables.includes('transactions')
  const receipts = tables.includes('receipts') || tables.includes('logs')
  if (verify === 'full' && !full && !receipts)
    throw new OptionError('verify', "'link' or 'header' without a table of transactions, receipts or logs", show(verify))
  const range = checkRange(options.from, options.to)
  if (range.from > Number.MAX_SAFE_INTEGER) throw new OptionError('from', 'a block number of at most 2^53 - 1', show(range.from))
  if (signal !== undefined) check.signal(signal)
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  const stored = { tables, columns: format === 'parquet' ? columnsOf(tables, columns) : null }
  return {
    dir: resolve(dir),
    header: {
      schema: 1,
      format,
      compression: format === 'parquet' ? (hasZstd ? 'zstd' : 'snappy') : null,
      from: Number(range.from),
      blocksPerFile: check.whole('blocksPerFile', options.blocksPerFile ?? 1000, 1, 1_000_000),
      ...stored,
      checks: missingOf(stored),
    },
    stream: {
      range,
      full,
      receipts,
      verify: verify === 'link' ? undefined : { level: verify, senders: false },
      signal,
      onProgress,
      bounds: { maxBytes: check.positive('maxBytes', maxBytes), maxItems: 1000, assumedBytes: MiB, maxWaitMs: 15_000 },
    },
  }
}

/** Runs a job whose options were checked. */
export async function runExport(client: Client, job: ExportJob): Promise<ExportSummary> {
  const { signal, range } = job.stream
  signal?.throwIfAborted()
  // Nothing is written for a node that does not answer, or a range that it does not have.
  const asking = signal === undefined ? client : client.with({ signal })
  const [chainId, { from, to }] = await Promise.all([asking.call('eth_chainId'), resolveRange(asking, range)])
  if (to > Number.MAX_SAFE_INTEGER) throw new OptionError('to', 'a block number of at most 2^53 - 1', show(to))
  await makeFolder(job.dir)
  const lock = await lockFolder(job.dir)
  try {
    return await fillFolder(client, job, { ...job.header, chainId, from: Number(from) }, Number(to), lock)
  } finally {
    await lock.release()
  }
}

async function fillFolder(client: Client, { dir, stream }: ExportJob, asked: DatasetHeader, to: number, lock: Lock): Promise<ExportSummary> {
  const file = await openManifest(dir, asked)
  const { manifest } = file
  const added = { ranges: 0, blocks: 0, files: 0, rows: 0, bytes: 0 }
  const start = (manifest.ranges.at(-1)?.to ?? manifest.from - 1) + 1
  if (start <= to) {
    const { cutter, createFile } = await rowsOf(dir, manifest, stream)
    let files: RangeFiles | undefined
    let proof: Proof | undefined
    const onVerified = (proven: Proof) => {
      proof = proven
    }
    try {
      for await (const block of rangeStream(client, { ...stream, range: { from: BigInt(start), to: BigInt(to) }, onVerified }, cutter)) {
        if (files === undefined) {
          checkFollows(dir, block, manifest)
          files = await RangeFiles.create(manifest.tables, rangeFrom(block.number, to, manifest.blocksPerFile), createFile)
        }
        const room = files.add(block, proof)
        if (room !== undefined) await room
        if (block.number < files.range.to) continue
        const entry = await files.finish()
        await lock.check()
        await files.publish()
        for (const table of manifest.tables) await syncFolder(join(dir, table))
        await file.add(entry)
        files = undefined
        added.ranges++
        added.blocks += entry.to - entry.from + 1
        for (const { rows, bytes } of entry.files) {
          added.files++
          added.rows += rows
          added.bytes += bytes
        }
      }
    } finally {
      await files?.abandon()
    }
  }
  return { from: BigInt(manifest.from), to: BigInt(manifest.ranges.at(-1)?.to ?? manifest.from - 1), ...added }
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

/** Throws `OptionError` with the first option that differs from the folder's. */
function checkSame(dir: string, there: Manifest, asked: DatasetHeader): void {
  const differs = (option: string, has: unknown, wants: unknown) =>
    new OptionError(option, `${String(has)}, which is what ${dir} was begun with`, `${String(wants)}; nothing was changed`)
  if (there.chainId !== asked.chainId) throw differs('chain', `chain id ${there.chainId}`, `a node of chain id ${asked.chainId}`)
  for (const option of ['format', 'from', 'blocksPerFile'] as const) if (there[option] !== asked[option]) throw differs(option, there[option], asked[option])
  if (there.tables.join() !== asked.tables.join()) throw differs('tables', there.tables.join(', '), asked.tables.join(', '))
  for (const table of there.tables) {
    const [has, wants] = [there.columns?.[table], asked.columns?.[table]]
    if (has?.join() !== wants?.join()) throw differs('columns', columnsText(table, has), columnsText(table, wants))
  }
  if (there.compression === 'zstd' && asked.compression !== 'zstd')
    throw differs('format', 'Parquet with zstd', `Node.js ${process.versions.node}, which cannot write it: use Node.js 22.15, 23.8 or later`)
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
