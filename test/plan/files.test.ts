import { describe, expect, it } from 'vitest'
import { checkExportOptions, type ExportDatasetOptions } from '../../src/dataset/export/export-options.ts'
import { planFiles } from '../../src/plan/files.ts'
import { estimatorFor, type SampledBlock } from '../../src/plan/sample.ts'
import { datasetBlock, datasetReceipts } from '../support/dataset-chain.ts'

/** A block of the sample, with its receipts. */
function sampled(number: number): SampledBlock {
  const block = datasetBlock(number)
  return {
    number,
    block: Buffer.from(JSON.stringify(block)),
    receipts: Buffer.from(JSON.stringify(datasetReceipts(number))),
    traces: undefined,
    header: { number, transactions: block.transactions.length, gasUsed: 0, logsBloom: undefined },
    bytes: 0,
    logs: { count: 0, bytes: 0 },
    calls: {},
  }
}

async function filesOf(numbers: readonly number[], to: number, options: Partial<ExportDatasetOptions>) {
  const job = checkExportOptions({ from: 3, to, dir: 'unused', tables: ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'], ...options })
  const blocks = numbers.map(sampled)
  const sample = { blocks, headers: blocks.map(({ header }) => header) }
  return await planFiles(job, { from: 3, to }, 1, blocks, estimatorFor(to - 2, sample))
}

describe('the files of a dataset', () => {
  it('are one for each table and aligned range', async () => {
    expect((await filesOf([3, 12, 21], 25, { format: 'ndjson', blocksPerFile: 10 })).files).toBe(3 * 5)
    expect((await filesOf([3, 12, 21], 29, { format: 'ndjson', blocksPerFile: 10 })).files).toBe(3 * 5)
    expect((await filesOf([3, 12, 21], 30, { format: 'ndjson', blocksPerFile: 10 })).files).toBe(4 * 5)
  })

  it('of NDJSON have the size of their lines, and no fixed costs', async () => {
    const { tables } = await filesOf([5, 16, 27, 38], 42, { format: 'ndjson', blocksPerFile: 1 })
    const lines = [5, 16, 27, 38].flatMap((number) => datasetReceipts(number).map(({ logs: _, ...receipt }) => JSON.stringify(receipt).length + 1))
    expect(tables.receipts?.bytes.value).toBeCloseTo((40 / 4) * lines.reduce((sum, size) => sum + size, 0), 3)
    expect(tables.withdrawals?.rows.value).toBe(40 * 16)
  })

  it('have fixed costs in Parquet, however few rows they have', async () => {
    const [few, many] = await Promise.all([1000, 1].map((blocksPerFile) => filesOf([5, 16, 27, 38], 42, { format: 'parquet', blocksPerFile })))
    expect(many?.bytes.value).toBeGreaterThan(2 * (few?.bytes.value as number))
  })
})
