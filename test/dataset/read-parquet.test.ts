import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IntegrityError } from 'hexline'
import { parquetWriteBuffer, type SchemaElement } from 'hyparquet-writer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasZstd } from '../../src/dataset/ndjson-files.ts'
import { ParquetColumn, schemaOf } from '../../src/dataset/parquet-column.ts'
import { loadParquet, ParquetFile } from '../../src/dataset/parquet-file.ts'
import { readParquet } from '../../src/dataset/read-parquet.ts'
import { type Column, tables } from '../../src/dataset/tables.ts'
import { type Stored, storedIn } from '../support/column-page.ts'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-read-parquet-'))
})
afterAll(() => rm(dir, { recursive: true }))

const columns = (...names: string[]): Column[] => tables.blocks.filter(({ name }) => names.includes(name))

async function read(of: readonly Column[]): Promise<Stored[][]> {
  const rows: Stored[][] = []
  for await (const group of readParquet(dir, 'file', of)) {
    for (let row = 0; row < group.rows; row++) rows.push(group.columns.map((page) => storedIn(page, row)))
  }
  return rows
}

async function fault(of: readonly Column[]): Promise<IntegrityError> {
  const error = await read(of).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(IntegrityError)
  expect((error as IntegrityError).file).toBe('file')
  return error as IntegrityError
}

/** Writes values as a node sends them, some rows in each group. */
async function write(
  of: readonly Column[],
  groups: readonly (readonly (string | null)[])[][],
  compression: 'zstd' | 'snappy' = 'snappy',
  forge = (_: readonly ParquetColumn[]): unknown => undefined,
): Promise<void> {
  const made = of.map(({ name, type }) => new ParquetColumn(name, type))
  const file = await ParquetFile.create(await loadParquet(), dir, 'file', compression)
  for (const rows of groups) {
    for (const row of rows)
      for (const [i, column] of made.entries()) {
        const json = Buffer.from(JSON.stringify(row[i]))
        if (row[i] === null) column.addNull()
        else expect(column.add(json, 0, json.length)).toBe(true)
      }
    forge(made)
    await file.writeGroup(made)
    for (const column of made) column.clear()
  }
  await file.finish(made)
  await file.publish()
}

/** Writes a file as another tool may. */
function other(of: readonly { name: string; data: unknown[]; declared?: SchemaElement; index?: object }[], options: object = {}): Promise<void> {
  const schema = [{ name: 'root', num_children: of.length }, ...of.map(({ name, declared }) => declared ?? schemaOf(name, 'int64'))]
  const bytes = parquetWriteBuffer({
    columnData: of.map(({ name, data, index = {} }) => ({ name, data, ...index })) as never,
    schema,
    codec: 'UNCOMPRESSED',
    ...options,
  })
  return writeFile(join(dir, 'file'), new Uint8Array(bytes))
}

const hex = (fill: string) => `0x${fill.repeat(32)}`

describe.each(['snappy', ...(hasZstd ? (['zstd'] as const) : [])] as const)('%s', (compression) => {
  it('values as they are stored, in all row groups', async () => {
    const of = columns('number', 'hash', 'timestamp', 'transactionCount', 'baseFeePerGas', 'extraData', 'uncles')
    const rows = Array.from({ length: 900 }, (_, i) => [
      `0x${i.toString(16)}`,
      i % 3 === 0 ? null : hex('ab'),
      '0x10',
      '0x7',
      '0x100',
      `0x${'01'.repeat(i % 5)}`,
      i % 2 === 0 ? null : '0x',
    ])
    await write(of, [rows.slice(0, 400), rows.slice(400)], compression)
    const found = await read(of)
    expect(found).toHaveLength(900)
    const plainBytes = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)
    expect(found[401]?.map(plainBytes)).toEqual([
      401n,
      'ab'.repeat(32),
      16_000_000n,
      7,
      `${'0'.repeat(28)}0100`,
      '01',
      '223078'.length === 6 ? Buffer.from('"0x"').toString('hex') : '',
    ])
    expect(found[0]?.map(plainBytes)).toEqual([0n, null, 16_000_000n, 7, `${'0'.repeat(28)}0100`, '', null])
  })
})

it('no rows', async () => {
  const of = columns('number', 'hash')
  await write(of, [])
  expect(await read(of)).toEqual([])
})

it('another schema is refused', async () => {
  await write(columns('number', 'hash'), [[['0x1', hex('11')]]])
  expect(await fault(columns('number'))).toMatchObject({ field: 'schema', expected: 'no more columns' })
  expect(await fault(columns('number', 'hash', 'parentHash'))).toMatchObject({ field: 'schema', found: 'no more columns' })
  expect(await fault(columns('number', 'parentHash'))).toMatchObject({ field: 'schema' })
  await other([
    {
      name: 'baseFeePerGas',
      data: [1n],
      declared: { ...schemaOf('baseFeePerGas', 'decimal'), precision: 38, scale: 2, logical_type: { type: 'DECIMAL', precision: 38, scale: 2 } },
    },
  ])
  expect(await fault(columns('baseFeePerGas'))).toMatchObject({ field: 'schema' })
})

it('anything else that gives readers types is refused: lists, a smaller root, and notes for other tools', async () => {
  await other([{ name: 'number', data: [1n], declared: { ...schemaOf('number', 'int64'), repetition_type: 'REQUIRED' } }])
  expect(await fault(columns('number'))).toMatchObject({ field: 'schema', expected: 'number OPTIONAL INT64', found: 'number REQUIRED INT64' })
  await other([{ name: 'number', data: [1n] }], { kvMetadata: [{ key: 'ARROW:schema', value: 'x' }] })
  expect(await fault(columns('number'))).toMatchObject({ field: 'metadata', found: '"ARROW:schema"' })
})

it('more than one page in a column is refused', async () => {
  await other([{ name: 'number', data: [1n, 2n, 3n], index: { offsetIndex: false } }], { pageSize: 8 })
  expect((await fault(columns('number'))).field).toMatch(/^number \((?:rows|size) of the page\)$/)
})

it.each([
  ['no Parquet', () => Buffer.from('PAR1 and no more')],
  ['a file that is cut', (whole: Buffer) => whole.subarray(0, -20)],
  ['a footer without its pages', (whole: Buffer) => Buffer.concat([whole.subarray(0, 4), whole.subarray(60)])],
  ['nothing', () => Buffer.alloc(0)],
])('%s is refused', async (_, change) => {
  const of = columns('number', 'hash')
  await write(of, [[['0x1', hex('11')]]])
  await writeFile(join(dir, 'file'), change(await readFile(join(dir, 'file'))))
  await fault(of)
})

describe('pages that the writer does not make are refused', () => {
  // Other layouts have other readers, which may see other values.
  it('several pages', async () => {
    const page = { name: 'number', data: [1n, 2n, 3n, null], index: { offsetIndex: false, columnIndex: false } }
    await other([page])
    expect(await read(columns('number'))).toEqual([[1n], [2n], [3n], [null]])
    await other([page], { pageSize: 8 })
    expect(await fault(columns('number'))).toMatchObject({ field: 'number (rows of the page)', expected: '4' })
  })

  it('another encoding', async () => {
    await other([{ name: 'number', data: [1n, 2n, 3n], index: { encoding: 'DELTA_BINARY_PACKED' } }])
    expect(await fault(columns('number'))).toMatchObject({ field: 'number (encodings)', expected: 'PLAIN and RLE', found: 'DELTA_BINARY_PACKED' })
  })

  it.each<[string, string, PropertyDescriptor, RegExp]>([
    ['more levels than rows', 'levels', { value: Buffer.from([6, 1]) }, /levels that the writer does not make/],
    ['no levels', 'levels', { value: Buffer.alloc(0) }, /^0$/],
    ['a value too many', 'data', { value: Buffer.alloc(24) }, /2 values has 24 bytes instead of 16/],
    ['other rows than its group', 'rows', { value: 3 }, /levels|instead of/],
  ])('%s', async (_, part, property, message) => {
    const of = columns('number')
    await write(of, [[['0x1'], ['0x2']]], 'snappy', (made) => Object.defineProperty(made[0] as ParquetColumn, part, property))
    expect((await fault(of)).found).toMatch(message)
  })
})

describe('what a database would skip rows by', () => {
  it.each([
    ['the smallest value', 3n, 'number (smallest value)'],
    ['the largest value', 9n, 'number (largest value)'],
  ])('%s of a group', async (_, wrong, field) => {
    const of = columns('number')
    await write(of, [[['0x3'], ['0x9']]])
    const bytes = await readFile(join(dir, 'file'))
    const footer = bytes.subarray(bytes.length - bytes.readUInt32LE(bytes.length - 8))
    const value = Buffer.alloc(8)
    value.writeBigInt64LE(wrong)
    footer.writeBigInt64LE(5n, footer.indexOf(value))
    await writeFile(join(dir, 'file'), bytes)
    expect(await fault(of)).toMatchObject({ field, found: '5n' })
  })

  it('statistics of a column that has none; another count of nulls', async () => {
    const of = columns('number', 'hash')
    const rows = [
      ['0x1', hex('11')],
      ['0x2', null],
    ]
    await write(of, [rows], 'snappy', (made) => Object.defineProperty(made[1] as ParquetColumn, 'extremes', { value: { min: 1, max: 2 } }))
    expect((await fault(of)).field).toBe('hash (smallest value)')
    await write(of, [rows], 'snappy', (made) => Object.defineProperty(made[1] as ParquetColumn, 'nulls', { value: 0 }))
    expect(await fault(of)).toMatchObject({ field: 'content', found: 'hash: a page has 1 nulls instead of 0' })
  })

  it.each([
    ['offset_index_offset', { offsetIndex: true }],
    ['column_index_offset', { columnIndex: true, offsetIndex: true }],
    ['bloom_filter_offset', { bloomFilter: true, offsetIndex: false }],
  ])('%s: an index, which the writer never makes', async (field, index) => {
    await other([{ name: 'number', data: [1n, 2n], index }], { pageSize: 8 })
    expect((await fault(columns('number'))).field).toBe(`number (${field})`)
  })
})
