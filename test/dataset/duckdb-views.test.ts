import { execFileSync } from 'node:child_process'
import { copyFile, cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { duckDbViews, viewColumns } from '../../src/dataset/duckdb-views.ts'
import { type Manifest, readManifest } from '../../src/dataset/folder/manifest.ts'
import { tableNames } from '../../src/dataset/tables.ts'
import { datasetBlock, datasetReceipts, startDatasetChain } from '../support/dataset-chain.ts'

const HEAD = 25
let folder: string
/**
 * A dataset of each format; one in a folder whose name has what SQL, a pattern or a reader of
 * partitions may mistake.
 */
const dirs = { parquet: "x=1/it's [1]", ndjson: 'plain.ndjson', 'ndjson.gz': 'packed.ndjson.gz' } as const

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hexline-views-'))
  const server = await startDatasetChain({ head: HEAD })
  const client = createClient(server.url)
  for (const [format, name] of Object.entries(dirs))
    await exportDataset(client, { from: 1, to: HEAD, dir: join(folder, name), format: format as keyof typeof dirs, tables: tableNames, blocksPerFile: 10 })
  await client.close()
  await server.close()
  // What the name would mean as a pattern: a dataset with another number of blocks.
  const mistaken = join(folder, "x=1/it's 1")
  await cp(join(folder, dirs.parquet), mistaken, { recursive: true })
  const [first = '', second = ''] = (await readdir(join(mistaken, 'blocks'))).sort()
  await copyFile(join(mistaken, 'blocks', second), join(mistaken, 'blocks', first))
})
afterAll(() => rm(folder, { recursive: true }))

/** What the views of a dataset answer. */
async function answers(name: string, ...queries: string[]): Promise<Record<string, unknown>[][]> {
  const dir = join(folder, name)
  return run(dir, (await readManifest(dir)) as Manifest, queries)
}

async function run(dir: string, manifest: Manifest, queries: readonly string[]): Promise<Record<string, unknown>[][]> {
  const instance = await DuckDBInstance.create()
  const connection = await instance.connect()
  try {
    for (const statement of duckDbViews(dir, manifest)) await connection.run(statement)
    const found = []
    for (const query of queries) found.push((await connection.runAndReadAll(query)).getRowObjectsJson())
    return found
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}

const numbers = Array.from({ length: HEAD }, (_, i) => i + 1)
const blocks = numbers.map((number) => datasetBlock(number))
const receipts = numbers.flatMap((number) => datasetReceipts(number))
const rows = {
  blocks: HEAD,
  transactions: receipts.length,
  receipts: receipts.length,
  logs: receipts.flatMap(({ logs }) => logs).length,
  withdrawals: blocks.flatMap(({ withdrawals }) => withdrawals).length,
}
const counts = tableNames.map((table) => `select count(*)::int as n from ${table}`)

describe.each(Object.entries(dirs))('the views of %s', (format, name) => {
  it('have the rows of all files', async () => {
    expect((await answers(name, ...counts)).flat().map(({ n }) => n)).toEqual(tableNames.map((table) => rows[table]))
  })

  it('have the columns that are promised', async () => {
    const manifest = (await readManifest(join(folder, name))) as Manifest
    const described = await answers(name, ...tableNames.map((table) => `describe ${table}`))
    expect(described.map((each) => each.map(({ column_name, column_type }) => [column_name, column_type]))).toEqual(
      tableNames.map((table) => viewColumns(manifest, table)),
    )
  })

  it('have no files but those that the manifest names', async () => {
    const logs = join(folder, name, 'logs')
    const [first] = await readdir(logs)
    const other = join(logs, (first as string).replace(/\d+-\d+/, '000000090-000000099'))
    await copyFile(join(logs, first as string), other)
    expect((await answers(name, counts[3] as string)).flat()).toEqual([{ n: rows.logs }])
    await rm(other)
  })

  it('have the same columns where no file has rows', async () => {
    const dir = join(folder, name)
    const { ranges, ...header } = (await readManifest(dir)) as Manifest
    const hollow = ranges.map((range) => ({ ...range, files: range.files.map((file) => ({ ...file, rows: 0 })) }))
    for (const manifest of [
      { ...header, ranges: [] },
      { ...header, ranges: hollow },
    ]) {
      const [described, counted] = await run(dir, manifest, ['describe transactions', 'select count(*)::int as n from transactions'])
      expect(described?.map(({ column_name, column_type }) => [column_name, column_type])).toEqual(viewColumns(manifest, 'transactions'))
      expect(counted).toEqual([{ n: 0 }])
    }
  })

  it(`are read in one place alone (${format})`, async () => {
    const other = join(folder, 'other.csv')
    await writeFile(other, 'a\n1\n')
    for (const query of [
      `select * from '${other}'`,
      `copy (select 1) to '${join(folder, 'out.csv')}'`,
      `attach '${join(folder, 'out.db')}'`,
      `export database '${join(folder, name, 'new').replaceAll("'", "''")}'`,
    ])
      await expect(answers(name, query)).rejects.toThrow('file system operations are disabled by configuration')
    expect(await readdir(join(folder, name))).not.toContain('new')
    await expect(answers(name, 'set enable_external_access = true')).rejects.toThrow('the configuration has been locked')
  })
})

describe('the views of NDJSON', () => {
  it("have the node's own text: quantities, hashes, lists", async () => {
    const [found, asNumbers, logs] = await answers(
      dirs.ndjson,
      'select number, hash, "baseFeePerGas" from blocks order by "timestamp"',
      `select number::bigint::varchar as number from blocks order by "timestamp"`,
      'select topics, data, removed from logs order by "blockNumber", "transactionIndex", "logIndex" limit 5',
    )
    expect(found).toEqual(blocks.map(({ number, hash, baseFeePerGas }) => ({ number, hash, baseFeePerGas })))
    expect(asNumbers).toEqual(numbers.map((number) => ({ number: `${number}` })))
    const first = receipts.slice(0, 10).flatMap((receipt) => receipt.logs)
    expect(logs).toEqual(first.slice(0, 5).map(({ topics, data, removed }) => ({ topics, data, removed })))
  })

  it('read Zstandard, in several frames, too', async () => {
    const dir = join(folder, 'zstd')
    const manifest = (await readManifest(join(folder, dirs.ndjson))) as Manifest
    execFileSync('cp', ['-r', join(folder, dirs.ndjson), dir])
    const ranges = manifest.ranges.map((range) => ({ ...range, files: range.files.map((file) => ({ ...file, name: `${file.name}.zst` })) }))
    for (const { files } of ranges)
      for (const { name } of files) {
        const path = join(dir, name)
        execFileSync('bash', ['-c', 'for part in 1 2; do split -n l/$part/2 "$0" | zstd -q; done > "$0.zst"', path.slice(0, -4)])
      }
    const found = await run(dir, { ...manifest, format: 'ndjson.zst', ranges }, counts)
    expect(found.flat().map(({ n }) => n)).toEqual(tableNames.map((table) => rows[table]))
  })

  it('have lists in their rows where these have no table', async () => {
    const columns = (tables: Manifest['tables']) => viewColumns({ columns: null, tables }, 'blocks')
    expect(columns(['blocks'])).toEqual(expect.arrayContaining([['transactions', 'JSON']]))
    expect(columns(['blocks', 'transactions']).map(([name]) => name)).not.toContain('transactions')
  })
})
