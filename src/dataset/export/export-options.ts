import { resolve } from 'node:path'
import type { Progress, StreamOptions } from '../../bulk/blocks/range-stream.ts'
import { boundsWithin } from '../../bulk/ordered/read-ahead.ts'
import { checkRange, type RangeEnd, resolveRange } from '../../bulk/range.ts'
import * as check from '../../check.ts'
import type { Client } from '../../client/client.ts'
import { OptionError } from '../../errors.ts'
import type { Quantity } from '../../eth/codec/quantity.ts'
import { show } from '../../text.ts'
import { missingOf, type VerifyLevel, verifyLevels } from '../checks.ts'
import { checkTables, columnsOf } from '../columns.ts'
import { type DatasetFormat, type DatasetHeader, formats } from '../folder/manifest.ts'
import { checkShard, type Shard } from '../shard.ts'
import type { DatasetTable } from '../tables.ts'
import { hasZstd } from '../zstd.ts'

/** Options of `exportDataset`. */
export interface ExportDatasetOptions {
  /** First block. A folder keeps the one that it began with. */
  readonly from: Quantity
  /** Last block, included: a number, or a tag that is resolved once, at the start. */
  readonly to: RangeEnd
  /** The folder: a new or empty one, or a dataset with the same options, which is continued. */
  readonly dir: string
  /** How rows are stored. Default `parquet`. */
  readonly format?: DatasetFormat | undefined
  /** The tables to write. Default blocks and transactions. */
  readonly tables?: readonly DatasetTable[] | undefined
  /**
   * The columns to store, such as `['transactions.hash', 'transactions.value']`. A table of which
   * it names none keeps all. For Parquet alone.
   */
  readonly columns?: readonly string[] | undefined
  /** Number of blocks in each file. Default 1,000. */
  readonly blocksPerFile?: number | undefined
  /**
   * How much is checked of each block. Default `link`. A wrong block is requested again from
   * another endpoint. What cannot be checked is counted in the manifest, with the reason.
   */
  readonly verify?: VerifyLevel | undefined
  /**
   * Exports only a share of the ranges, beside other processes or machines that export the others,
   * into the same folder or one for each. `mergeDataset` makes a dataset of what they wrote.
   */
  readonly shard?: Shard | undefined
  /** Ends the export, which rejects with the signal's reason. A later one continues it. */
  readonly signal?: AbortSignal | undefined
  /** Limit for replies requested ahead of the files, in bytes. Default 16 MiB. */
  readonly maxBytes?: number | undefined
  /** Called after each block; with `shard`, without what was verified. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

const MiB = 1024 * 1024

/** Checked options, with defaults. */
export interface ExportJob {
  readonly dir: string
  readonly header: Omit<DatasetHeader, 'chainId'>
  readonly stream: StreamOptions
  /** The share of the ranges to export; undefined for all of them, as one export. */
  readonly shard: Shard | undefined
}

const known = ['from', 'to', 'dir', 'format', 'tables', 'columns', 'blocksPerFile', 'verify', 'shard', 'signal', 'maxBytes', 'onProgress']

/** Checks the options and fills in the defaults. Throws `OptionError`. */
export function checkExportOptions(options: ExportDatasetOptions): ExportJob {
  check.onlyKnown('options', options, known)
  const {
    format = 'parquet',
    tables: asked = ['blocks', 'transactions'],
    signal,
    onProgress,
    columns,
    shard,
    blocksPerFile = 1000,
    maxBytes = 16 * MiB,
    verify: level = 'link',
  } = options
  const dir = check.folder('dir', options.dir)
  check.oneOf('format', format, formats)
  if (format === 'ndjson.zst' && !hasZstd)
    throw new OptionError('format', 'another format: Zstandard needs Node.js 22.15, 23.8 or later', `${show(format)} with Node.js ${process.versions.node}`)
  if (columns !== undefined && format !== 'parquet')
    throw new OptionError('columns', 'no columns with NDJSON, whose lines are what the node sent', `${show(columns)} with ${show(format)}`)
  const tables = checkTables(asked)
  const verify = check.oneOf('verify', level, verifyLevels)
  const full = tables.includes('transactions')
  const receipts = tables.includes('receipts') || tables.includes('logs')
  if (verify === 'full' && !full && !receipts)
    throw new OptionError('verify', "a table of transactions, receipts or logs with 'full'", `${show(verify)} without one`)
  const range = checkRange(options.from, options.to)
  if (range.from > Number.MAX_SAFE_INTEGER) throw new OptionError('from', 'a block number of at most 2^53 - 1', show(range.from))
  if (signal !== undefined) check.signal(signal)
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  const stored = { tables, columns: format === 'parquet' ? columnsOf(tables, columns) : null }
  return {
    dir: resolve(dir),
    shard: shard === undefined ? undefined : checkShard(shard),
    header: {
      schema: 1,
      format,
      compression: format === 'parquet' ? (hasZstd ? 'zstd' : 'snappy') : null,
      from: Number(range.from),
      blocksPerFile: check.whole('blocksPerFile', blocksPerFile, 1, 1_000_000),
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
      bounds: boundsWithin(check.bytes('maxBytes', maxBytes)),
    },
  }
}

/**
 * Asks the node for its chain id and the end of the range. Nothing is written for a node that does
 * not answer, or a range that it does not have.
 */
export async function resolveJob(client: Client, { stream, header }: ExportJob): Promise<{ readonly header: DatasetHeader; readonly to: number }> {
  const { signal, range } = stream
  signal?.throwIfAborted()
  const asking = signal === undefined ? client : client.with({ signal })
  const [chainId, { to }] = await Promise.all([asking.call('eth_chainId'), resolveRange(asking, range)])
  if (to > Number.MAX_SAFE_INTEGER) throw new OptionError('to', 'a block number of at most 2^53 - 1', show(to))
  return { header: { ...header, chainId }, to: Number(to) }
}
