import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import zlib from 'node:zlib'
import { type ColumnMetaData, parquetMetadata } from 'hyparquet'
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ParquetColumn } from '../../../src/dataset/parquet/parquet-column.ts'
import { type Compression, ParquetFile } from '../../../src/dataset/parquet/parquet-file.ts'
import { loadParquet } from '../../../src/dataset/parquet/parquet-form.ts'
import type { ColumnType } from '../../../src/dataset/tables.ts'
import { hasZstd } from '../../../src/dataset/zstd.ts'
import { query } from '../../support/duckdb.ts'
import { randomFrom } from '../../support/random.ts'

const COMPRESSION: Compression = hasZstd ? 'zstd' : 'snappy'
const NAME = 'blocks/000000001-000000002.parquet'

let dir: string
let path: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-parquet-file-'))
  await mkdir(join(dir, 'blocks'))
  path = join(dir, NAME)
})
afterEach(() => rm(dir, { recursive: true }))

const library = await loadParquet()
const create = (compression = COMPRESSION) => ParquetFile.create(library, dir, NAME, compression)

/** A column with values of this hex, null for an empty one. */
function columnOf(name: string, type: ColumnType, values: readonly string[]): ParquetColumn {
  const column = new ParquetColumn(name, type)
  for (const value of values) {
    const json = Buffer.from(`"0x${value}"`)
    if (value === '') column.addNull()
    else expect(column.add(json, 0, json.length)).toBe(true)
  }
  return column
}

const random = randomFrom(7)
const noise = (bytes: number) => Buffer.from(Array.from({ length: bytes }, () => random() * 256)).toString('hex')

/** A row group: numbers, bytes that repeat and are null at times, hashes, and a column of nulls. */
function groupOf(rows: number, first: number): ParquetColumn[] {
  const values = <T>(make: (row: number) => T) => Array.from({ length: rows }, (_, i) => make(first + i))
  return [
    columnOf(
      'number',
      'int64',
      values((row) => row.toString(16)),
    ),
    columnOf(
      'input',
      'bytes',
      values((row) => (row % 3 === 0 ? '' : 'ab'.repeat(50))),
    ),
    columnOf(
      'hash',
      'bytes32',
      values(() => noise(32)),
    ),
    columnOf(
      'root',
      'bytes32',
      values(() => ''),
    ),
  ]
}

async function written(groups: readonly ParquetColumn[][], columns = groupOf(0, 0), compression = COMPRESSION) {
  const file = await create(compression)
  for (const group of groups) await file.writeGroup(group)
  const entry = await file.finish(columns)
  await file.publish()
  const bytes = await readFile(path)
  const footer = parquetMetadata(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
  const chunks = footer.row_groups.map((group) => group.columns.map((each) => each.meta_data as ColumnMetaData))
  return { entry, bytes, footer, chunks }
}

describe('a file', () => {
  it('has its name when it is published, and what the manifest says of it', async () => {
    const file = await create()
    await file.writeGroup(groupOf(5, 0))
    await file.writeGroup(groupOf(7, 5))
    const entry = await file.finish(groupOf(0, 0))
    expect(await readdir(join(dir, 'blocks'))).not.toContain('000000001-000000002.parquet')
    await file.publish()
    expect(await readdir(join(dir, 'blocks'))).toEqual(['000000001-000000002.parquet'])
    const bytes = await readFile(path)
    expect(entry).toEqual({ name: NAME, rows: 12, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })
  })

  it('that is abandoned leaves nothing', async () => {
    const file = await create()
    await file.writeGroup(groupOf(5, 0))
    await file.abandon()
    expect(await readdir(join(dir, 'blocks'))).toEqual([])
  })

  it('without rows is one with its columns', async () => {
    const { entry, footer } = await written([])
    expect([entry.rows, footer.num_rows, footer.row_groups]).toEqual([0, 0n, []])
    expect(await query(`select count(*)::int as n, max(number) as number, max(hash) as hash from '${path}'`)).toEqual([{ n: 0, number: null, hash: null }])
  })

  it('has the rows of its groups in order', async () => {
    const groups = [groupOf(1000, 0), groupOf(1, 1000), groupOf(500, 1001)]
    const hashes = groups.flatMap((group) => group[2]?.data.toString('hex').match(/.{64}/g) ?? [])
    await written(groups)
    const rows = await query(`select number::int as number, lower(hex(input)) as input, lower(hex(hash)) as hash, root from '${path}'`)
    expect(rows).toEqual(hashes.map((hash, number) => ({ number, input: number % 3 === 0 ? null : 'ab'.repeat(50), hash, root: null })))
  })
})

describe('the footer', () => {
  it('says where each page is, and how large', async () => {
    const { bytes, footer, chunks } = await written([groupOf(300, 0), groupOf(20, 300)])
    expect(footer).toMatchObject({ version: 2, num_rows: 320n, created_by: expect.stringMatching(/^hexline \d/) })
    let at = 4n
    for (const [i, group] of footer.row_groups.entries()) {
      const own = chunks[i] as ColumnMetaData[]
      const sumOf = (size: 'total_compressed_size' | 'total_uncompressed_size') => own.reduce((sum, chunk) => sum + chunk[size], 0n)
      expect(group.num_rows).toBe([300n, 20n][i])
      expect(group.total_compressed_size).toBe(sumOf('total_compressed_size'))
      expect(group.total_byte_size).toBe(sumOf('total_uncompressed_size'))
      for (const chunk of own) {
        expect([chunk.data_page_offset, chunk.num_values]).toEqual([at, group.num_rows])
        at += chunk.total_compressed_size
      }
    }
    // What follows is the footer itself, its length, and the magic bytes.
    expect(at).toBe(BigInt(bytes.length - footer.metadata_length - 8))
  })

  it('has nulls, and the smallest and largest number', async () => {
    const { chunks } = await written([groupOf(300, 5)])
    expect(chunks[0]?.map(({ statistics }) => statistics)).toEqual([
      ...[expect.objectContaining({ null_count: 0n, min_value: 5n, max_value: 304n })],
      ...[expect.objectContaining({ null_count: 100n })],
      ...[expect.objectContaining({ null_count: 0n })],
      ...[expect.objectContaining({ null_count: 300n })],
    ])
    for (const chunk of chunks[0]?.slice(1) ?? []) expect(chunk.statistics?.max_value).toBeUndefined()
  })
})

it('the header of each page has its sizes, its nulls and the CRC-32 of what is stored', async () => {
  const { bytes, chunks } = await written([groupOf(300, 0)])
  for (const [i, { codec, data_page_offset, total_compressed_size, total_uncompressed_size }] of chunks.flat().entries()) {
    const from = Number(data_page_offset)
    const chunk = bytes.subarray(from, from + Number(total_compressed_size))
    const reader = { view: new DataView(chunk.buffer, chunk.byteOffset, chunk.length), offset: 0 }
    const { field_2: size, field_3: stored, field_4: crc, field_8: header } = deserializeTCompactProtocol(reader) as Record<string, unknown>
    const page = chunk.subarray(reader.offset)
    expect(size).toBe(Number(total_uncompressed_size) - reader.offset)
    if (codec === 'UNCOMPRESSED') expect(size).toBe(page.length)
    expect([stored, crc]).toEqual([page.length, zlib.crc32(page) | 0])
    expect(header).toMatchObject({ field_1: 300, field_2: [0, 100, 0, 300][i], field_3: 300 })
  }
})

describe('compression', () => {
  const codecs: Compression[] = hasZstd ? ['zstd', 'snappy'] : ['snappy']

  it.each(codecs)('%s: of columns that become smaller, and of no other', async (compression) => {
    const { chunks } = await written([groupOf(300, 0)], undefined, compression)
    const codec = compression.toUpperCase()
    expect(chunks[0]?.map((chunk) => chunk.codec)).toEqual([codec, codec, 'UNCOMPRESSED', 'UNCOMPRESSED'])
    for (const chunk of chunks[0] ?? []) expect(chunk.total_compressed_size < chunk.total_uncompressed_size).toBe(chunk.codec === codec)
    expect(await query(`select sum(number)::int as numbers, count(input)::int as inputs from '${path}'`)).toEqual([{ numbers: 44_850, inputs: 200 }])
  })

  it('of a large column is decided by its middle, and by what it saves in all', async () => {
    const KiB = 1024
    const codecOf = async (...parts: readonly string[]) => {
      const columns = [columnOf('input', 'bytes', parts)]
      const { chunks } = await written([columns], columns)
      return chunks[0]?.[0]?.codec
    }
    const zeros = (bytes: number) => '00'.repeat(bytes)
    // The middle is noise: all is taken for it, though most of it is not.
    expect(await codecOf(zeros(60 * KiB), noise(40 * KiB), zeros(60 * KiB))).toBe('UNCOMPRESSED')
    expect(await codecOf(zeros(60 * KiB), zeros(40 * KiB), zeros(60 * KiB))).toBe(COMPRESSION.toUpperCase())
    // The middle looks well, but the whole saves less than a tenth.
    expect(await codecOf(noise(150 * KiB), zeros(24 * KiB), noise(150 * KiB))).toBe('UNCOMPRESSED')
    // A small one is tried as it is.
    expect(await codecOf(zeros(28 * KiB), noise(20 * KiB), zeros(12 * KiB))).toBe(COMPRESSION.toUpperCase())
  })
})

it('that cannot be begun leaves nothing behind', async () => {
  const other = await open(join(dir, 'other'), 'w')
  const handles = Object.getPrototypeOf(other) as typeof other
  await other.close()
  vi.spyOn(handles, 'write').mockRejectedValueOnce(Object.assign(new Error('full'), { code: 'ENOSPC' }))
  await expect(create()).rejects.toThrow('no space left on the disk')
  expect(await readdir(join(dir, 'blocks'))).toEqual([])
  vi.restoreAllMocks()
})
