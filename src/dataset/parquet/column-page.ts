import zlib from 'node:zlib'
import type { PageHeader } from 'hyparquet'
import type { Column, ColumnType } from '../tables.ts'
import { varint } from './definition-levels.ts'
import { extremesOf } from './extremes.ts'
import { type Codec, type ColumnChunk, columnChunk, type PageForm, type ParquetLibrary, pageHeader } from './parquet-form.ts'
import { sizes } from './parquet-types.ts'

/*
 * A column of a row group as the writer stores it (parquet-file.ts): one page in PLAIN encoding,
 * behind a level for each row. Values stay in the page until they are asked for: an object for each
 * of them would take several times as much memory and time.
 */

/** The parts of hyparquet that read a page, and of hyparquet-writer that make its header. */
export interface PageLibrary extends ParquetLibrary {
  readonly parquetHeader: (reader: { view: DataView; offset: number }) => PageHeader
  readonly snappyUncompress: (input: Uint8Array, output: Uint8Array) => void
}

/** The values of a column in a row group. */
export class ColumnPage {
  readonly type: ColumnType
  readonly rows: number
  readonly nulls: number
  /** The values that are not null, in PLAIN encoding. */
  readonly bytes: Buffer
  readonly #size: number
  /** Where the value of each row starts, -1 for null; undefined where that follows from the row. */
  readonly #starts: Int32Array | undefined

  /**
   * `present` has a bit for each row, the lowest first; undefined if no row is null. Throws for
   * other bytes.
   */
  constructor(type: ColumnType, rows: number, present: Uint8Array | undefined, bytes: Buffer) {
    this.type = type
    this.rows = rows
    this.bytes = bytes
    this.#size = sizes[type]
    const isVarying = type === 'bytes' || type === 'json'
    const starts = present === undefined && !isVarying ? undefined : new Int32Array(rows).fill(-1)
    let count = rows
    let at = 0
    if (starts !== undefined) {
      count = 0
      for (let row = 0; row < rows; row++) {
        if (present !== undefined && (((present[row >> 3] as number) >> (row & 7)) & 1) === 0) continue
        starts[row] = isVarying ? at + 4 : count * (type === 'boolean' ? 1 : this.#size)
        if (isVarying) at += 4 + bytes.readUInt32LE(at)
        count++
      }
    }
    const expected = isVarying ? at : type === 'boolean' ? (count + 7) >> 3 : count * this.#size
    if (bytes.length !== expected) throw new Error(`a page of ${count} values has ${bytes.length} bytes instead of ${expected}`)
    this.#starts = starts
    this.nulls = rows - count
  }

  /** Where the value of a row starts in `bytes`, in bits for a boolean; -1 if it is null. */
  startOf(row: number): number {
    return this.#starts === undefined ? row * (this.#size || 1) : (this.#starts[row] as number)
  }

  /** Where the value that starts here ends. */
  endOf(start: number): number {
    return start + (this.#size || this.bytes.readUInt32LE(start - 4))
  }
}

/**
 * Reads the column chunk that begins at `start`, whose page has passed `checkPages`, and makes what
 * the footer has to say of it. Throws an error for a header, levels and values that the writer does
 * not make, so that all readers see what is verified here.
 */
export function readPage(
  library: PageLibrary,
  { name, type }: Pick<Column, 'name' | 'type'>,
  rows: number,
  { start, bytes, codec }: { readonly start: number; readonly bytes: Buffer; readonly codec: Codec },
): { page: ColumnPage; chunk: ColumnChunk } {
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset: 0 }
  const { uncompressed_page_size, data_page_header_v2 } = library.parquetHeader(reader)
  const { definition_levels_byte_length: levels, num_nulls } = data_page_header_v2 as NonNullable<typeof data_page_header_v2>
  const header = reader.offset
  const content = bytes.subarray(header + levels)
  const size = uncompressed_page_size - levels
  const present = presentRows(bytes.subarray(header, header + levels), rows)
  const values = codec === 'UNCOMPRESSED' ? content : decompressed(content, size, codec, library.snappyUncompress)
  if (values.length !== size) throw new Error(`a page has ${values.length} bytes instead of ${size}`)
  const page = new ColumnPage(type, rows, present, values)
  if (page.nulls !== num_nulls) throw new Error(`a page has ${page.nulls} nulls instead of ${num_nulls}`)
  const crc = zlib.crc32(bytes.subarray(header))
  const form: PageForm = { rows, nulls: page.nulls, levels, values: size, stored: content.length, codec, crc }
  if (!pageHeader(library, form).equals(bytes.subarray(0, header))) throw new Error('a page with a header or a CRC-32 that the writer does not make for it')
  return { page, chunk: columnChunk({ name, type, start, header, page: form, extremes: extremesOf(type, values) }) }
}

/** The part of Node.js that types for Node.js 20 do not have. */
interface Zstd {
  zstdDecompressSync(
    input: Uint8Array,
    options: { readonly maxOutputLength: number; readonly info: true },
  ): { buffer: Buffer; engine: { bytesWritten: number } }
}

/**
 * Decompresses all of `bytes` to `size` bytes. Other readers refuse what follows a frame of
 * Zstandard, or read it, too; and they take the size from the start of Snappy.
 */
function decompressed(bytes: Buffer, size: number, codec: Codec, snappy: PageLibrary['snappyUncompress']): Buffer {
  if (codec === 'ZSTD') {
    const { buffer, engine } = (zlib as unknown as Zstd).zstdDecompressSync(bytes, { maxOutputLength: size, info: true })
    if (engine.bytesWritten !== bytes.length) throw new Error(`a page whose values end after ${engine.bytesWritten} of ${bytes.length} bytes`)
    return buffer
  }
  if (codec !== 'SNAPPY') throw new Error(`a page is compressed with ${codec satisfies 'UNCOMPRESSED'}`)
  const start = Buffer.from(varint(size))
  if (!bytes.subarray(0, start.length).equals(start)) throw new Error(`a page that does not begin with the size of its values, ${size}`)
  const output = Buffer.allocUnsafeSlow(size)
  snappy(bytes, output)
  return output
}

/**
 * A bit for each row, of levels that are all the same or bit-packed, as the writer has them;
 * undefined if no row is null.
 */
function presentRows(levels: Buffer, rows: number): Uint8Array | undefined {
  let head = 0
  let at = 0
  for (let shift = 0; ; shift += 7) {
    const byte = levels[at++]
    if (byte === undefined || shift > 28) throw new Error('a page without levels')
    head += (byte & 127) * 2 ** shift
    if (byte < 128) break
  }
  const count = Math.floor(head / 2)
  if (head % 2 === 1 && count === Math.ceil(rows / 8) && levels.length === at + count) return levels.subarray(at)
  if (head % 2 === 1 || count !== rows || levels.length !== at + 1 || (levels[at] as number) > 1)
    throw new Error('a page with levels that the writer does not make')
  return levels[at] === 1 ? undefined : new Uint8Array(Math.ceil(rows / 8))
}
