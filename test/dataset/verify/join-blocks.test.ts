import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, IntegrityError } from 'hexline'
import { type DatasetFormat, type DatasetTable, exportDataset } from 'hexline/bulk'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Manifest, type RangeEntry, readManifest } from '../../../src/dataset/folder/manifest.ts'
import { tableNames } from '../../../src/dataset/tables.ts'
import { fileNamesOf, joinBlocks, type StoredBlock } from '../../../src/dataset/verify/join-blocks.ts'
import { datasetBlock, datasetReceipts, startDatasetChain } from '../../support/dataset-chain.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-join-'))
})
afterEach(() => rm(dir, { recursive: true }))

async function write(format: DatasetFormat, options: { tables?: readonly DatasetTable[]; columns?: string[] } = {}): Promise<Manifest> {
  const server = await startDatasetChain({ head: 60 })
  await using client = createClient(server.url)
  await exportDataset(client, { from: 3, to: 24, dir, format, tables: tableNames, blocksPerFile: 15, ...options })
  await server.close()
  return (await readManifest(dir)) as Manifest
}

async function blocksOf(manifest: Manifest): Promise<StoredBlock[]> {
  const blocks: StoredBlock[] = []
  for (const range of manifest.ranges) for await (const block of joinBlocks(dir, manifest, range)) blocks.push(block)
  return blocks
}

it.each(['ndjson', 'ndjson.gz', 'parquet'] as const)('%s: each block with its rows in each table', async (format) => {
  const blocks = await blocksOf(await write(format))
  expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: 22 }, (_, i) => i + 3))
  for (const { number, ...tables } of blocks) {
    const block = datasetBlock(Number(number))
    const receipts = datasetReceipts(Number(number))
    expect(tables.blocks?.map(({ hash }) => hash)).toEqual([block.hash])
    expect(tables.transactions?.map(({ hash }) => hash)).toEqual(block.transactions.map(({ hash }) => hash))
    expect(tables.receipts?.map(({ transactionHash }) => transactionHash)).toEqual(receipts.map(({ transactionHash }) => transactionHash))
    expect(tables.logs?.map(({ data }) => data)).toEqual(receipts.flatMap(({ logs }) => logs.map(({ data }) => data)))
    expect(tables.withdrawals).toHaveLength(block.withdrawals.length)
  }
})

it('rows that do not say their block are read, and not joined', async () => {
  const manifest = await write('parquet', { tables: ['blocks', 'transactions'], columns: ['blocks.number', 'transactions.hash'] })
  expect(Object.keys((await blocksOf(manifest))[0] as StoredBlock)).toEqual(['number', 'blocks'])
  const [range] = manifest.ranges as [RangeEntry]
  const forged = { ...range, files: range.files.map((file, i) => (i === 1 ? { ...file, rows: file.rows + 1 } : file)) }
  await expect(blocksOf({ ...manifest, ranges: [forged] })).rejects.toThrow(/transactions\/.*: rows: expected/)
})

it.each([
  ['of a block before', 1, '0x3', 'row 1: blockNumber', 5n],
  ['of a block after the range', -1, '0xff', 'blockNumber', 14n],
])('a row %s', async (_, at, number, field, block) => {
  const manifest = await write('ndjson', { tables: ['transactions'] })
  const [range] = manifest.ranges as [RangeEntry]
  const path = join(dir, fileNamesOf(manifest, range).transactions as string)
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  const index = at < 0 ? lines.length + at : lines.findIndex((line) => line.includes('"blockNumber":"0x5"')) + at
  lines[index] = (lines[index] as string).replace(/"blockNumber":"0x\w+"/, `"blockNumber":"${number}"`)
  await writeFile(path, `${lines.join('\n')}\n`)
  const error = (await blocksOf(manifest).catch((reason: unknown) => reason)) as IntegrityError
  expect(error).toBeInstanceOf(IntegrityError)
  expect(error.field).toContain(field.replace('row 1', `row ${index}`))
  expect(error.block).toBe(block)
})

it('a block with more rows than fit into memory is refused before they are there', async () => {
  const manifest = await write('ndjson', { tables: ['transactions'] })
  const range = manifest.ranges[0] as RangeEntry
  const read = async (most: number) => {
    for await (const _ of joinBlocks(dir, manifest, range, { mostRows: most }));
  }
  const most = Math.max(...Array.from({ length: range.to - range.from + 1 }, (_, i) => datasetBlock(range.from + i).transactions.length))
  await read(most)
  await expect(read(most - 1)).rejects.toMatchObject({ file: range.files[0]?.name, field: 'rows', expected: `at most ${most - 1} rows` })
})
