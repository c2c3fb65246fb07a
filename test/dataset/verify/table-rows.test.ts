import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, IntegrityError } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Manifest, type RangeEntry, readManifest } from '../../../src/dataset/folder/manifest.ts'
import { type DatasetTable, tableNames } from '../../../src/dataset/tables.ts'
import { isPlaced, type Row, readRows } from '../../../src/dataset/verify/table-rows.ts'
import { FIRST, startValidChain } from '../../support/valid-chain.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-rows-'))
})
afterEach(() => rm(dir, { recursive: true }))

async function write(format: 'ndjson' | 'parquet', subfolder = format): Promise<Manifest> {
  const server = await startValidChain(2)
  await using client = createClient(server.url)
  await exportDataset(client, { from: FIRST, to: FIRST + 1, dir: join(dir, subfolder), format, tables: tableNames })
  await server.close()
  return (await readManifest(join(dir, subfolder))) as Manifest
}

async function rowsOf(header: Manifest, table: DatasetTable, folder: string, change: (range: RangeEntry) => RangeEntry = (same) => same): Promise<Row[]> {
  const range = change(header.ranges[0] as RangeEntry)
  const file = range.files[header.tables.indexOf(table)] as RangeEntry['files'][number]
  const rows: Row[] = []
  for await (const some of readRows({ dir: join(dir, folder), header, range, table, file })) rows.push(...some)
  return rows
}

/** Without fields that are null, which a column cannot tell from absent ones. */
const known = (fields: object) =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== null && value !== undefined)
      // A number, without the zeros in front of it.
      .map(([name, value]) => [name, name === 'r' || name === 's' ? BigInt(value) : value]),
  )

it.each(tableNames)('%s: lines and columns hold the same, decoded', async (table) => {
  const [lines, columns] = [await write('ndjson'), await write('parquet')]
  const [ofLines, ofColumns] = [await rowsOf(lines, table, 'ndjson'), await rowsOf(columns, table, 'parquet')]
  expect(ofLines.length).toBeGreaterThan(1)
  expect(ofColumns.map(({ number }) => number)).toEqual(ofLines.map(({ number }) => number))
  for (const [i, { fields }] of ofLines.entries()) expect(known(ofColumns[i]?.fields as object)).toMatchObject(known(fields))
})

it('whether rows say their block', async () => {
  const { columns: _, ...header } = await write('parquet')
  expect(isPlaced({ ...header, columns: null }, 'logs')).toBe(true)
  expect(isPlaced({ ...header, columns: { blocks: ['number'], logs: ['data'] } }, 'blocks')).toBe(true)
  expect(isPlaced({ ...header, columns: { blocks: ['number'], logs: ['data'] } }, 'logs')).toBe(false)
})

it('another number of rows than the manifest says, or of values that no number holds', async () => {
  const manifest = await write('parquet')
  const more = rowsOf(manifest, 'logs', 'parquet', (range) => ({ ...range, files: range.files.map((file) => ({ ...file, rows: file.rows + 1 })) }))
  await expect(more).rejects.toThrow(/^logs\/.*: rows: expected \d+, found \d+$/)
  const nulls = rowsOf(manifest, 'transactions', 'parquet', (range) => ({ ...range, nulls: { 'transactions.valueDecimal': 1 } }))
  await expect(nulls).rejects.toMatchObject({ file: 'manifest.json', field: 'ranges.nulls.transactions.valueDecimal', expected: '0', found: '1' })
})

it('a list that has a table and is null in the line', async () => {
  const manifest = await write('ndjson')
  await writeFile(join(dir, 'ndjson', (manifest.ranges[0] as RangeEntry).files[0]?.name as string), '{"hash":"0x1","number":"0x8","withdrawals":null}\n')
  const more = (range: RangeEntry) => ({ ...range, files: range.files.map((file) => ({ ...file, rows: 1 })) })
  expect(await rowsOf(manifest, 'blocks', 'ndjson', more)).toMatchObject([{ number: 8n, fields: { withdrawals: null } }])
})

describe('a line that is wrong', () => {
  it.each([
    ['no JSON', '{', /row 0: expected JSON/],
    ['nothing', '', /row 0: expected JSON/],
    ['no object', '[]', /row 0: expected/],
    ['a value that is not a number', '{"hash":"0x1","number":"0x8","gasUsed":"x"}', /row 0\.gasUsed: expected a hex quantity, found "x"/],
    ['no number of its block', '{"hash":"0x1","number":null}', /row 0: expected a hex quantity, found null/],
    ['a name twice', '{"hash":"0x1","number":"0x8","hash":"0x2"}', /row 0: expected JSON, found the name "hash" twice in one object/],
    ['a name twice, once escaped', '{"hash":"0x1","number":"0x8","h\\u0061sh":"0x2"}', /row 0: expected JSON, found the name "hash" twice/],
    ['a name twice, further in', '{"hash":"0x1","number":"0x8","more":[{"a":1},{"a":1,"b":{},"a":2}]}', /row 0: expected JSON, found the name "a" twice/],
    ['a list that has a table', '{"hash":"0x1","number":"0x8","transactions":[]}', /row 0: transactions: expected nothing, since it has a table/],
  ])('%s', async (_, line, message) => {
    const manifest = await write('ndjson')
    await writeFile(join(dir, 'ndjson', (manifest.ranges[0] as RangeEntry).files[0]?.name as string), `${line}\n`)
    const error = (await rowsOf(manifest, 'blocks', 'ndjson').catch((reason: unknown) => reason)) as IntegrityError
    expect(error).toBeInstanceOf(IntegrityError)
    expect(error.message).toMatch(message)
  })
})
