import zlib from 'node:zlib'
import { snappyUncompress } from 'hyparquet'
import { parquetHeader } from 'hyparquet/src/column.js'
import { describe, expect, it } from 'vitest'
import { ColumnPage, readPage } from '../../../src/dataset/parquet/column-page.ts'
import { type Codec, loadParquet, pageHeader } from '../../../src/dataset/parquet/parquet-form.ts'
import { hasZstd } from '../../../src/dataset/zstd.ts'
import { pageOf, type Stored, storedIn } from '../../support/column-page.ts'

// Whole files are read in read-parquet.test.ts.

const valuesIn = (page: ColumnPage) => Array.from({ length: page.rows }, (_, row) => storedIn(page, row))

it.each<['bytes32' | 'bytes' | 'int32' | 'boolean', readonly Stored[]]>([
  ['bytes32', [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]],
  ['bytes32', [null, Buffer.alloc(32, 2), null, Buffer.alloc(32, 3)]],
  ['bytes', [Buffer.from('a'), Buffer.alloc(0), Buffer.from('bcd')]],
  ['bytes', [Buffer.from('a'), null, Buffer.from('bcd')]],
  ['int32', [5, null, 6]],
  ['boolean', [true, false, null, true, true, null, false, true, true, false, true]],
  ['boolean', [true, false, true]],
  ['int32', [null, null]],
  ['bytes', []],
])('%s: %o', (type, values) => {
  const page = pageOf(type, values)
  expect(valuesIn(page)).toEqual(values)
  expect(page.nulls).toBe(values.filter((value) => value === null).length)
})

it('values that do not fill the page', () => {
  expect(() => new ColumnPage('int32', 2, undefined, Buffer.alloc(9))).toThrow('a page of 2 values has 9 bytes instead of 8')
  expect(() => new ColumnPage('bytes', 1, undefined, Buffer.from([9, 0, 0, 0, 1]))).toThrow('a page of 1 values has 5 bytes instead of 13')
  expect(() => new ColumnPage('bytes', 1, undefined, Buffer.alloc(3))).toThrow(RangeError)
  expect(() => new ColumnPage('boolean', 9, undefined, Buffer.alloc(1))).toThrow('a page of 9 values has 1 bytes instead of 2')
})

describe('the levels of a page', () => {
  /** Reads a page of `rows` numbers, of which these are there. */
  async function read(rows: number, levels: readonly number[], values: readonly number[], num_nulls = rows - values.length, wrong = 0): Promise<ColumnPage> {
    const library = await loadParquet()
    const data = Buffer.from(Int32Array.from(values).buffer)
    const content = Buffer.concat([Buffer.from(levels), data])
    const sizes = { levels: levels.length, values: data.length, stored: data.length }
    const header = pageHeader(library, { rows, nulls: num_nulls, ...sizes, codec: 'UNCOMPRESSED', crc: zlib.crc32(content) ^ wrong })
    const chunk = { start: 4, bytes: Buffer.concat([header, content]), codec: 'UNCOMPRESSED' } as const
    return readPage({ ...library, parquetHeader, snappyUncompress }, { name: 'number', type: 'int32' }, rows, chunk).page
  }

  it('are one for all rows, or a bit for each', async () => {
    expect(valuesIn(await read(2, [4, 1], [7, 8]))).toEqual([7, 8])
    expect(valuesIn(await read(2, [4, 0], []))).toEqual([null, null])
    expect(valuesIn(await read(2, [3, 0b10], [8]))).toEqual([null, 8])
    expect(valuesIn(await read(9, [5, 0xff, 0], [1, 2, 3, 4, 5, 6, 7, 8]))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, null])
    expect((await read(200, [0x90, 0x03, 1], Array(200).fill(5))).nulls).toBe(0)
  })

  it.each([
    ['above the highest', [4, 64]],
    ['fewer than rows', [2, 1]],
    ['more than rows', [4, 1, 4, 1]],
    ['bits for more rows', [5, 3, 0]],
    ['bits for fewer rows', [1]],
    ['that never end', [132, 132]],
    ['longer than any count', [132, 128, 128, 128, 128, 1]],
  ])('%s are refused', async (_, levels) => {
    await expect(read(2, levels, [7, 8])).rejects.toThrow(/without levels|levels that the writer does not make/)
  })

  it('have as many nulls as the header says', async () => {
    await expect(read(2, [3, 0b10], [8], 0)).rejects.toThrow('a page has 1 nulls instead of 0')
  })

  it('and the values have the CRC-32 of the header', async () => {
    await expect(read(2, [4, 1], [7, 8], 0, 1)).rejects.toThrow('a page with a header or a CRC-32 that the writer does not make for it')
  })
})

describe('compressed values', async () => {
  const library = await loadParquet()
  const { zstdCompressSync } = zlib as unknown as { zstdCompressSync(bytes: Uint8Array): Buffer }
  const values = Array.from({ length: 5000 }, (_, i) => i % 3)
  const data = Buffer.from(Int32Array.from(values).buffer)
  const snappy = Buffer.from(library.snappyCompress(data))

  /** Reads a page of these values, stored in this way. */
  function read(codec: Codec, stored: Buffer): ColumnPage {
    const levels = Buffer.from([0x90, 0x4e, 1])
    const sizes = { levels: levels.length, values: data.length, stored: stored.length }
    const header = pageHeader(library, { rows: values.length, nulls: 0, ...sizes, codec, crc: zlib.crc32(stored, zlib.crc32(levels)) })
    const chunk = { start: 4, bytes: Buffer.concat([header, levels, stored]), codec }
    return readPage({ ...library, parquetHeader, snappyUncompress }, { name: 'number', type: 'int32' }, values.length, chunk).page
  }

  it('are read', () => {
    expect(valuesIn(read('SNAPPY', snappy))).toEqual(values)
    if (hasZstd) expect(valuesIn(read('ZSTD', zstdCompressSync(data)))).toEqual(values)
  })

  // 20,000 is 0xa0 0x9c 0x01.
  it.each([
    ['less', [0xa0, 0x1c]],
    ['more', [0xa0, 0x9c, 0x02]],
    ['the same in more bytes', [0xa0, 0x9c, 0x81, 0x00]],
    ['a number without an end', [0xa0, 0x9c, 0x81]],
  ])('of Snappy with another size at the start are refused: %s', (_, start) => {
    expect(snappy.subarray(0, 3)).toEqual(Buffer.from([0xa0, 0x9c, 0x01]))
    expect(() => read('SNAPPY', Buffer.concat([Buffer.from(start), snappy.subarray(3)]))).toThrow(
      'a page that does not begin with the size of its values, 20000',
    )
  })

  if (hasZstd)
    it('of Zstandard are one frame, with nothing after it', () => {
      const frame = zstdCompressSync(data)
      for (const more of [Buffer.from('more'), frame, zstdCompressSync(Buffer.alloc(0))])
        expect(() => read('ZSTD', Buffer.concat([frame, more]))).toThrow(`a page whose values end after ${frame.length} of ${frame.length + more.length} bytes`)
      expect(() => read('ZSTD', frame.subarray(0, -1))).toThrow()
    })
})
