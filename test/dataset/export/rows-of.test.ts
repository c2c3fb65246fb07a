import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { checkExportOptions, type ExportDatasetOptions } from '../../../src/dataset/export/export-options.ts'
import { rowsOf } from '../../../src/dataset/export/rows-of.ts'
import { makeTableFolders } from '../../../src/dataset/folder/folder.ts'
import { datasetBlock, datasetReceipts } from '../../support/dataset-chain.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-rows-of-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** Writes the logs of one block, and gives the file. */
async function logsFile(options: Partial<ExportDatasetOptions>): Promise<{ name: string; bytes: Buffer; rows: number }> {
  const { header, stream } = checkExportOptions({ from: 5, to: 5, dir, tables: ['blocks', 'logs'], ...options })
  await makeTableFolders(dir, header.tables)
  const { cutter, createFile } = await rowsOf(dir, { ...header, chainId: 1, from: 5 }, stream)
  const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))
  const { transactions, ...rest } = datasetBlock(5)
  const block = bytesOf({ ...rest, transactions: transactions.map(({ hash }) => hash) })
  const item = cutter.item(cutter.block(block), cutter.receipts(bytesOf(datasetReceipts(5))))
  expect(Object.keys(item.tables)).toEqual(['blocks', 'logs'])
  const file = await createFile('logs', { from: 5, to: 5 })
  await file.add(item)
  const { entry } = await file.finish()
  await file.publish()
  return { name: entry.name, bytes: await readFile(join(dir, entry.name)), rows: entry.rows }
}
const logs = () => datasetReceipts(5).flatMap((receipt) => receipt.logs)

it('rows are lines in the bytes of the node', async () => {
  const { name, bytes, rows } = await logsFile({ format: 'ndjson' })
  expect(name).toBe('logs/000000005-000000005.ndjson')
  expect(rows).toBe(logs().length)
  expect(rows).toBeGreaterThan(0)
  expect(
    bytes
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(logs())
})

it('or rows of columns, of which there are as many as were chosen', async () => {
  const all = await logsFile({ format: 'parquet' })
  expect(all.name).toBe('logs/000000005-000000005.parquet')
  expect([all.rows, all.bytes.subarray(0, 4).toString(), all.bytes.subarray(-4).toString()]).toEqual([logs().length, 'PAR1', 'PAR1'])
  await rm(join(dir, 'logs'), { recursive: true })
  const few = await logsFile({ format: 'parquet', columns: ['logs.data'] })
  expect(few.rows).toBe(all.rows)
  expect(few.bytes.length).toBeLessThan(0.7 * all.bytes.length)
})
