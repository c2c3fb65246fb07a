import { resolveRange } from '../bulk/range.ts'
import type { Client } from '../client/client.ts'
import type { ExportDatasetOptions, ExportJob } from '../dataset/export/export-options.ts'
import type { DatasetTable } from '../dataset/tables.ts'
import { OptionError } from '../errors.ts'
import { show } from '../text.ts'
import { type Estimate, whole } from './estimate.ts'
import { planFiles, type TablePlan } from './files.ts'
import { type CheckedPlanOptions, onceOf, type Plan, type PlanOptions, partOf, planOf } from './plan.ts'
import { tablesFor } from './provider.ts'
import { planReceipts, type ReceiptsPlan } from './receipts-ways.ts'
import { BLOCKS_AHEAD, estimatorFor, takeSample } from './sample.ts'

/** The options of `exportDataset`, and how to plan. The folder is not needed, and not looked at. */
export interface PlanExportOptions extends Omit<ExportDatasetOptions, 'dir' | 'shard'>, PlanOptions {
  readonly dir?: string | undefined
}

/** What an export will take. */
export interface ExportPlan extends Plan {
  /** Rows of each table, and the size of its files in bytes. */
  readonly tables: Readonly<Partial<Record<DatasetTable, TablePlan>>>
  readonly files: number
  /** Size of all files and the manifest, in bytes. */
  readonly diskBytes: Estimate
  /** What receipts cost by each way; null for tables that need none. */
  readonly receipts: ReceiptsPlan | null
}

/** Plans an export whose options were checked. */
export async function runExportPlan(client: Client, job: ExportJob, { sample: size, provider }: CheckedPlanOptions): Promise<ExportPlan> {
  const { stream, header } = job
  const { signal } = stream
  signal?.throwIfAborted()
  const asking = signal === undefined ? client : client.with({ signal })
  const [chainId, range] = await Promise.all([asking.call('eth_chainId'), resolveRange(asking, stream.range)])
  if (range.to > Number.MAX_SAFE_INTEGER) throw new OptionError('to', 'a block number of at most 2^53 - 1', show(range.to))
  const [from, to] = [Number(range.from), Number(range.to)]
  const blocks = to - from + 1
  const sample = await takeSample(client, from, blocks, size, stream)
  const estimate = estimatorFor(blocks, sample)
  const tables = tablesFor(client, provider)
  const files = await planFiles(job, { from, to }, chainId, sample.blocks, estimate)
  const hasTag = typeof stream.range.to !== 'bigint'
  // The range is resolved, and later compared with the head.
  const once = { eth_chainId: stream.verify === undefined ? 1 : 2, eth_blockNumber: hasTag ? 1 : 2, ...(hasTag && { eth_getBlockByNumber: 1 }) }
  const plan = planOf({
    client,
    range,
    parts: [partOf(estimate, sample.blocks, sample.counts), onceOf(once, sample.counts)],
    others: sample.headerCounts,
    ahead: { items: BLOCKS_AHEAD, of: blocks },
    tables,
    missing: sample.missing,
  })
  return {
    ...plan,
    tables: files.tables,
    files: files.files,
    diskBytes: whole(files.bytes),
    receipts: stream.receipts ? planReceipts(client, tables, blocks, estimate, sample.blocks, !header.tables.includes('receipts')) : null,
  }
}
