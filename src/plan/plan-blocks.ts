import { lineReader } from '../bulk/blocks/lines.ts'
import type { StreamOptions } from '../bulk/blocks/range-stream.ts'
import type { GetBlocksOptions } from '../bulk/get-blocks.ts'
import { resolveRange } from '../bulk/range.ts'
import type { Client } from '../client/client.ts'
import { type Estimate, sum, whole } from './estimate.ts'
import { type CheckedPlanOptions, onceOf, type Plan, type PlanOptions, partOf, planOf } from './plan.ts'
import { tablesFor } from './provider.ts'
import { planReceipts, type ReceiptsPlan } from './receipts-ways.ts'
import { BLOCKS_AHEAD, estimatorFor, takeSample } from './sample.ts'

/** The options of `getBlocks`, and how to plan. */
export interface PlanBlocksOptions extends GetBlocksOptions, PlanOptions {}

/** What a range of blocks will take. */
export interface BlocksPlan extends Plan {
  /** Size of the blocks as NDJSON, as `hexline blocks` writes them, in bytes. */
  readonly diskBytes: Estimate
  /** What receipts cost by each way; null without receipts. */
  readonly receipts: ReceiptsPlan | null
}

/** Plans a job whose options were checked. */
export async function runBlocksPlan(client: Client, stream: StreamOptions, { sample: size, provider }: CheckedPlanOptions): Promise<BlocksPlan> {
  const { signal } = stream
  const range = await resolveRange(client.with(signal ? { signal } : {}), stream.range)
  const blocks = Number(range.to - range.from) + 1
  const sample = await takeSample(client, Number(range.from), blocks, size, stream)
  const estimate = estimatorFor(blocks, sample)
  const tables = tablesFor(client, provider)
  const once = {
    ...(typeof stream.range.to === 'bigint' ? { eth_blockNumber: 1 } : { eth_getBlockByNumber: 1 }),
    // A verification asks which chain it is.
    ...(stream.verify !== undefined && { eth_chainId: 1 }),
  }
  const plan = planOf({
    client,
    range,
    parts: [partOf(estimate, sample.blocks, sample.counts), onceOf(once, sample.counts)],
    others: sample.headerCounts,
    ahead: { items: BLOCKS_AHEAD, of: blocks },
    tables,
    missing: sample.missing,
  })
  const reader = lineReader(stream)
  const lines = sample.blocks.map(({ block, receipts, traces }) => {
    const line = reader.item(reader.block(block), receipts && reader.receipts(receipts), traces && reader.traces?.read(traces))
    return sum(line.map(({ length }) => length))
  })
  return {
    ...plan,
    diskBytes: whole(estimate(lines)),
    receipts: stream.receipts ? planReceipts(client, tables, blocks, estimate, sample.blocks, false) : null,
  }
}
