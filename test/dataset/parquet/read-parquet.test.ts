import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IntegrityError } from 'hexline'
import { type ColumnChunk, type ColumnMetaData, type FileMetaData, parquetMetadata } from 'hyparquet'
import { parquetWriteBuffer, type SchemaElement } from 'hyparquet-writer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ParquetColumn } from '../../../src/dataset/parquet/parquet-column.ts'
import { ParquetFile } from '../../../src/dataset/parquet/parquet-file.ts'
import { loadParquet } from '../../../src/dataset/parquet/parquet-form.ts'
import { schemaOf } from '../../../src/dataset/parquet/parquet-types.ts'
import { readParquet } from '../../../src/dataset/parquet/read-parquet.ts'
import { type Column, tables } from '../../../src/dataset/tables.ts'
import { hasZstd } from '../../../src/dataset/zstd.ts'
import { type Stored, storedIn } from '../../support/column-page.ts'

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
    await other([{ name: 'number', data: [1n, 2n, 3n, null], index: { offsetIndex: false, columnIndex: false } }], { pageSize: 8 })
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
})

describe('what readers may take in two ways is refused', () => {
  /** Writes two groups, and the file again with another footer. */
  async function reform(of: readonly Column[], change: (footer: Buffer) => Buffer | Promise<Buffer>): Promise<void> {
    const rows = [['0x1', hex('11'), hex('22'), '0x5']]
    await write(of, [rows, rows])
    const bytes = await readFile(join(dir, 'file'))
    const at = bytes.length - 8 - bytes.readUInt32LE(bytes.length - 8)
    const footer = await change(bytes.subarray(at, -8))
    await writeFile(join(dir, 'file'), Buffer.concat([bytes.subarray(0, at), footer, lengthOf(footer)]))
  }
  const of = columns('number', 'hash', 'parentHash', 'baseFeePerGas')

  /** Replaces bytes of a footer, in hex; the last of them that are there. */
  const put = (from: string, to: string) => (footer: Buffer) => {
    const at = footer.lastIndexOf(from, undefined, 'hex')
    expect(at).toBeGreaterThan(0)
    return Buffer.concat([footer.subarray(0, at), Buffer.from(to, 'hex'), footer.subarray(at + from.length / 2)])
  }

  it('no change', async () => {
    await reform(of, (footer) => footer)
    expect(await read(of)).toHaveLength(2)
  })

  it.each([
    // The type of each field stands in its first byte, with its distance from the one before.
    ['a field twice, once with another type', put('250a1500154c', '250a1504040e00154c')],
    ['a field of another type: 64 bits for the precision', put('1500154c', '1500164c')],
    ['a number in more bytes than it needs', put('1500154c', '158000154c')],
    ['a field that no reader knows', put('1500154c', '1500154c5500')],
    ['bytes behind the end', (footer: Buffer) => Buffer.concat([footer, Buffer.alloc(1)])],
  ])('in the footer, %s', async (_, change) => {
    await reform(of, change)
    const error = await fault(of)
    expect(error).toMatchObject({ field: 'footer', expected: 'the one that hexline writes for these pages' })
    expect(error.message).toMatch(/^file: footer: .* another one from byte \d+ on, which readers may take for other values$/)
  })

  it.each<[string, (metadata: FileMetaData, chunk: ColumnChunk, meta: ColumnMetaData) => void]>([
    ['an index', (_, chunk) => Object.assign(chunk, { offset_index_offset: 4n, offset_index_length: 4 })],
    ['a bloom filter', (_, __, meta) => Object.assign(meta, { bloom_filter_offset: 4n })],
    ['a dictionary', (_, __, meta) => Object.assign(meta, { dictionary_page_offset: 4n })],
    ['another writer', (metadata) => Object.assign(metadata, { created_by: 'parquet-mr version 1.8.0' })],
    ['another file', (_, chunk) => Object.assign(chunk, { file_path: 'other' })],
    ['another type', (_, __, meta) => Object.assign(meta, { type: 'INT96' })],
    ['other notes on encodings', (_, __, meta) => Object.assign(meta, { encoding_stats: [{ page_type: 'DATA_PAGE_V2', encoding: 'PLAIN', count: 1 }] })],
    [
      'an order of the rows',
      (metadata) => Object.assign(metadata.row_groups[1] as object, { sorting_columns: [{ column_idx: 0, descending: false, nulls_first: false }] }),
    ],
  ])('%s', async (_, change) => {
    await reform(of, async (footer) => {
      const metadata = metadataOf(footer)
      const chunk = metadata.row_groups[1]?.columns[0] as ColumnChunk
      change(metadata, chunk, chunk.meta_data as ColumnMetaData)
      const { newWriter, writeMetadata } = await loadParquet()
      const writer = newWriter()
      writeMetadata(writer, metadata)
      return Buffer.from(writer.getBytes()).subarray(0, -4)
    })
    expect((await fault(of)).field).toBe('footer')
  })

  it('a page of another column, or behind a gap', async () => {
    await reform(of, async (footer) => {
      const places = metadataOf(footer).row_groups.flatMap((group) => group.columns)
      const [honest, forged] = [places[1], places[2]].map((place) => zigzag(Number(place?.file_offset)))
      return put(`26${honest}`, `26${forged}`)(footer)
    })
    expect((await fault(of)).found).toMatch(/^hash: a page at \d+ instead of \d+$/)
  })

  it.each([
    ['the start of the file', 0, 'content'],
    ['the header of a page', 4, 'number (page)'],
    ['the CRC-32 of a page', 12, 'content'],
  ])('another byte in %s', async (_, at, field) => {
    await write(of, [[['0x1', hex('11'), hex('22'), '0x5']]])
    const bytes = await readFile(join(dir, 'file'))
    bytes[at] = (bytes[at] as number) ^ 0x10
    await writeFile(join(dir, 'file'), bytes)
    expect((await fault(of)).field).toBe(field)
  })
})

function metadataOf(footer: Buffer): FileMetaData {
  return parquetMetadata(Buffer.concat([footer, lengthOf(footer)]), { geoparquet: false, parsers: { timestampFromMicroseconds: (micros) => micros } })
}

function lengthOf(footer: Buffer): Buffer {
  const end = Buffer.from('....PAR1')
  end.writeUInt32LE(footer.length)
  return end
}

/** A whole number as Thrift has it, in hex. */
function zigzag(value: number): string {
  const bytes: number[] = []
  let rest = 2 * value
  for (; rest > 127; rest >>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest]).toString('hex')
}
