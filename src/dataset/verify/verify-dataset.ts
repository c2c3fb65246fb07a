import { randomInt } from 'node:crypto'
import { resolve } from 'node:path'
import type { Progress } from '../../bulk/blocks/range-stream.ts'
import * as check from '../../check.ts'
import { type Client, checkClient } from '../../client/client.ts'
import { OptionError } from '../../errors.ts'
import { shellWord } from '../../text.ts'
import { readCheckedManifest } from '../folder/check-manifest.ts'
import { checkIsFolder } from '../folder/folder.ts'
import { headerOf, MANIFEST, type Manifest, type RangeEntry } from '../folder/manifest.ts'
import { hasParts } from '../folder/parts.ts'
import { hasZstd } from '../zstd.ts'
import { CheckCounts } from './check-counts.ts'
import { checkFolder } from './check-files.ts'
import { compareRows } from './compare-rows.ts'
import { sampleOf } from './sample.ts'
import type { ChosenBlock } from './verify-range.ts'
import { verifyRanges } from './verify-ranges.ts'

/** Options of `verifyDataset`. */
export interface VerifyDatasetOptions {
  /**
   * Whether the sender of each transaction is recovered from its signature, which is slow. Default
   * false.
   */
  readonly senders?: boolean | undefined
  /** A client of a node whose blocks are compared with those of the dataset, row by row. */
  readonly against?: Client | undefined
  /** With `against`: number of blocks to compare, with the first and the last one. Default 20. */
  readonly sample?: number | undefined
  /** With `against`: chooses the blocks. Default: at random. */
  readonly seed?: number | undefined
  /** Ends the verification, which rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called after each block. `bytes` counts the files of its range and of those before. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** What was proven of a dataset, and what could not be. Plain data. */
export interface DatasetReport {
  readonly chainId: number
  /** The blocks; null for a dataset without any. */
  readonly from: number | null
  readonly to: number | null
  /**
   * Hash of the last block. Where `checks.header` and `checks.link` count all blocks, what is
   * proven follows from it, so compare it with one that you trust. Otherwise, it is what the
   * manifest says. Null for a dataset without blocks.
   */
  readonly lastHash: string | null
  readonly ranges: number
  readonly blocks: number
  readonly files: number
  readonly rows: number
  /** Size of all files, in bytes. */
  readonly bytes: number
  /** Number of blocks for which each check passed. */
  readonly checks: Readonly<Record<string, number>>
  /** Number of blocks for which a check could not be made, by check and reason. */
  readonly skipped: Readonly<Record<string, Readonly<Record<string, number>>>>
  /**
   * Columns, as `table.column`, with values that no hash covers and that follow from nothing else,
   * or that are null in a row whose value is in `extra`; `table.*` for a table of which rows are
   * not proven.
   */
  readonly uncovered: readonly string[]
  /** The node comparison: how many blocks, and the seed that chooses the same ones again. */
  readonly against: { readonly blocks: number; readonly seed: number } | null
}

/** Checks the options, and verifies the folder. */
export async function runVerification(dir: string, options: VerifyDatasetOptions): Promise<DatasetReport> {
  const job = checkVerifyOptions(dir, options)
  const { senders, signal, against } = job
  signal?.throwIfAborted()
  const manifest = await openDataset(job.dir)
  const asking = signal === undefined ? against : against?.with({ signal })
  if (asking !== undefined) await checkChain(asking, manifest)
  const { from, ranges } = manifest
  const to = ranges.at(-1)?.to ?? from - 1
  const total = to - from + 1
  const chosen = asking === undefined ? [] : sampleOf(from, to, job.sample, job.seed)
  const counts = new CheckCounts()
  const sums = { files: 0, rows: 0, bytes: 0 }
  let done = 0
  const header = headerOf(manifest)
  await verifyRanges(
    {
      ...{ dir: job.dir, header, ranges, senders, signal, chosen },
      compare: (block, range) => compare(asking as Client, manifest, range, block, counts),
      onBlock: (number) => job.onProgress?.({ number, done: ++done, total, bytes: sums.bytes }),
      onRange: ({ files }) => {
        sums.files += files.length
        for (const { rows, bytes } of files) {
          sums.rows += rows
          sums.bytes += bytes
        }
      },
    },
    counts,
  )
  return {
    chainId: manifest.chainId,
    from: total === 0 ? null : from,
    to: total === 0 ? null : to,
    lastHash: ranges.at(-1)?.lastHash ?? null,
    ranges: ranges.length,
    blocks: total,
    ...sums,
    checks: counts.checks,
    skipped: counts.skipped,
    uncovered: counts.uncovered,
    against: asking === undefined ? null : { blocks: counts.checks.against ?? 0, seed: job.seed },
  }
}

/** Checked options, with defaults. */
interface VerifyJob {
  readonly dir: string
  readonly senders: boolean
  readonly against: Client | undefined
  readonly sample: number
  readonly seed: number
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined
}

const LARGEST_SEED = 2 ** 31 - 1

/** Checks the options and fills in the defaults. Throws `OptionError`. */
function checkVerifyOptions(dir: string, options: VerifyDatasetOptions): VerifyJob {
  check.folder('dir', dir)
  check.onlyKnown('options', options, ['senders', 'against', 'sample', 'seed', 'signal', 'onProgress'])
  const { senders = false, against, sample, seed, signal, onProgress } = options
  if (against !== undefined) checkClient(against, 'against')
  for (const [name, value] of Object.entries({ sample, seed }))
    if (value !== undefined && against === undefined) throw new OptionError(name, 'against as well', 'no against')
  if (signal !== undefined) check.signal(signal)
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  return {
    dir: resolve(dir),
    senders: check.flag('senders', senders),
    against,
    sample: check.whole('sample', sample ?? 20),
    seed: check.whole('seed', seed ?? randomInt(LARGEST_SEED), 0, LARGEST_SEED),
    signal,
    onProgress,
  }
}

/** The manifest of a folder that holds what it names. */
async function openDataset(dir: string): Promise<Manifest> {
  await checkIsFolder(dir)
  if (await hasParts(dir)) throw new Error(`${dir} has parts of shards that are not merged: run \`hexline merge ${shellWord(dir)}\` first`)
  const manifest = await readCheckedManifest(dir)
  const isZstd = manifest.format === 'ndjson.zst' || manifest.compression === 'zstd'
  if (isZstd && !hasZstd)
    throw new OptionError('dir', 'a dataset without Zstandard, which needs Node.js 22.15, 23.8 or later', `one with it, and Node.js ${process.versions.node}`)
  await checkFolder(dir, manifest)
  return manifest
}

async function checkChain(client: Client, { chainId }: Manifest): Promise<void> {
  const asked = await client.call('eth_chainId')
  if (asked !== chainId) throw new OptionError('against', `a node of chain id ${chainId}, as ${MANIFEST} says`, `one of chain id ${asked}`)
}

/** Compares a block with a node's. */
async function compare(client: Client, manifest: Manifest, range: RangeEntry, block: ChosenBlock, counts: CheckCounts): Promise<void> {
  const reason = await compareRows(client, manifest, range, block)
  if (reason === undefined) counts.prove('against')
  else counts.skip('against', reason)
}
