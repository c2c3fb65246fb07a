import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { VERSION } from '../../version.ts'
import { DataFile } from '../folder/data-file.ts'
import type { FileEntry } from '../folder/manifest.ts'
import type { ParquetColumn } from './parquet-column.ts'
import {
  type ColumnChunk,
  columnChunk,
  fileSchema,
  footer,
  MAGIC,
  type PageForm,
  type ParquetLibrary,
  pageHeader,
  type RowGroup,
  rowGroup,
} from './parquet-form.ts'

export type Compression = 'zstd' | 'snappy'

type Zstd = ((bytes: Buffer, done: (error: Error | null, result: Buffer) => void) => void) | undefined

const zstdCompress = (zlib as { zstdCompress?: Zstd }).zstdCompress
const zstd = zstdCompress && promisify<Buffer, Buffer>(zstdCompress)

/**
 * A sample of this many bytes tells whether a column is worth compressing. Hashes and signatures
 * are not.
 */
const SAMPLE = 16 * 1024
const WORTH = 0.9

/** A Parquet file that is written row group by row group, with one page for each column. */
export class ParquetFile {
  readonly #library: ParquetLibrary
  readonly #file: DataFile
  readonly #compression: Compression
  readonly #groups: RowGroup[] = []
  #offset = 0
  #rows = 0

  private constructor(library: ParquetLibrary, file: DataFile, compression: Compression) {
    this.#library = library
    this.#file = file
    this.#compression = compression
  }

  static async create(library: ParquetLibrary, dir: string, name: string, compression: Compression): Promise<ParquetFile> {
    const file = new ParquetFile(library, await DataFile.create(dir, name), compression)
    try {
      await file.#write(MAGIC)
    } catch (error) {
      await file.abandon()
      throw error
    }
    return file
  }

  /** Writes the columns as a row group. They must not change until the promise resolves. */
  async writeGroup(columns: readonly ParquetColumn[]): Promise<void> {
    const rows = columns[0]?.rows ?? 0
    const pages = await Promise.all(columns.map((column) => this.#compressed(column.data)))
    const chunks: ColumnChunk[] = []
    for (const [i, column] of columns.entries()) chunks.push(await this.#writeColumn(column, pages[i] as Buffer | undefined))
    this.#rows += rows
    this.#groups.push(rowGroup(rows, chunks))
  }

  /** Writes the footer. */
  async finish(columns: readonly ParquetColumn[]): Promise<FileEntry> {
    await this.#write(footer(this.#library, fileSchema(columns), this.#groups, `hexline ${VERSION}`))
    return await this.#file.finish(this.#rows)
  }

  publish(): Promise<void> {
    return this.#file.publish()
  }

  abandon(): Promise<void> {
    return this.#file.abandon()
  }

  async #writeColumn(column: ParquetColumn, compressed: Buffer | undefined): Promise<ColumnChunk> {
    const { name, type, data, levels, rows, nulls, extremes } = column
    const stored = compressed ?? data
    const page: PageForm = {
      rows,
      nulls,
      levels: levels.length,
      values: data.length,
      stored: stored.length,
      codec: compressed === undefined ? 'UNCOMPRESSED' : this.#compression === 'zstd' ? 'ZSTD' : 'SNAPPY',
      crc: zlib.crc32(stored, zlib.crc32(levels)),
    }
    const header = pageHeader(this.#library, page)
    const start = this.#offset
    await this.#write(Buffer.concat([header, levels]))
    if (stored.length > 0) await this.#write(stored)
    return columnChunk({ name, type, start, header: header.length, page, extremes })
  }

  /** Undefined where compression saves little. */
  async #compressed(data: Buffer): Promise<Buffer | undefined> {
    if (data.length === 0) return undefined
    if (data.length > 4 * SAMPLE) {
      const middle = data.length >> 1
      const sample = data.subarray(middle, middle + SAMPLE)
      if ((await this.#compress(sample)).length > WORTH * SAMPLE) return undefined
    }
    const compressed = await this.#compress(data)
    return compressed.length < WORTH * data.length ? compressed : undefined
  }

  async #compress(data: Buffer): Promise<Buffer> {
    if (this.#compression === 'zstd') return await (zstd as NonNullable<typeof zstd>)(data)
    const { buffer, byteOffset, length } = this.#library.snappyCompress(data)
    return Buffer.from(buffer, byteOffset, length)
  }

  async #write(piece: Buffer): Promise<void> {
    this.#offset += piece.length
    await this.#file.write(piece)
  }
}
