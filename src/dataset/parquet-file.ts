import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { Writer } from 'hyparquet-writer/src/types.js'
import { VERSION } from '../version.ts'
import { DataFile } from './data-file.ts'
import type { FileEntry } from './manifest.ts'
import { type ParquetColumn, type SchemaElement, schemaOf } from './parquet-column.ts'

/** The part of hyparquet-writer that is used: the container. Columns are encoded here. */
export interface ParquetLibrary {
  readonly newWriter: () => Writer & { getBytes(): Uint8Array }
  readonly writePageHeader: typeof import('hyparquet-writer/src/datapage.js').writePageHeader
  readonly writeMetadata: typeof import('hyparquet-writer/src/metadata.js').writeMetadata
  readonly snappyCompress: typeof import('hyparquet-writer/src/snappy.js').snappyCompress
}

type RowGroup = Parameters<ParquetLibrary['writeMetadata']>[1]['row_groups'][number]
type ColumnChunk = RowGroup['columns'][number]

/** Loads hyparquet-writer, which only exports to Parquet need. */
export async function loadParquet(): Promise<ParquetLibrary> {
  const [{ ByteWriter }, { writePageHeader }, { writeMetadata }, { snappyCompress }] = await Promise.all([
    import('hyparquet-writer'),
    import('hyparquet-writer/src/datapage.js'),
    import('hyparquet-writer/src/metadata.js'),
    import('hyparquet-writer/src/snappy.js'),
  ])
  return { newWriter: () => new ByteWriter(), writePageHeader, writeMetadata, snappyCompress }
}

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

const MAGIC = Buffer.from('PAR1')

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
    const start = this.#offset
    const pages = await Promise.all(columns.map((column) => this.#compressed(column.data)))
    const chunks: ColumnChunk[] = []
    let total = 0n
    for (const [i, column] of columns.entries()) {
      const chunk = await this.#writeColumn(column, pages[i] as Buffer | undefined)
      total += chunk.meta_data?.total_uncompressed_size ?? 0n
      chunks.push(chunk)
    }
    this.#rows += rows
    this.#groups.push({ columns: chunks, total_byte_size: total, num_rows: BigInt(rows), total_compressed_size: BigInt(this.#offset - start) })
  }

  /** Writes the footer. */
  async finish(columns: readonly ParquetColumn[]): Promise<FileEntry> {
    const schema: SchemaElement[] = [{ name: 'root', num_children: columns.length }, ...columns.map(({ name, type }) => schemaOf(name, type))]
    const writer = this.#library.newWriter()
    this.#library.writeMetadata(writer, {
      version: 2,
      created_by: `hexline ${VERSION}`,
      schema,
      num_rows: BigInt(this.#rows),
      row_groups: this.#groups,
      metadata_length: 0,
    })
    await this.#write(Buffer.from(writer.getBytes()))
    await this.#write(MAGIC)
    return await this.#file.finish(this.#rows)
  }

  publish(): Promise<void> {
    return this.#file.publish()
  }

  abandon(): Promise<void> {
    return this.#file.abandon()
  }

  async #writeColumn(column: ParquetColumn, compressed: Buffer | undefined): Promise<ColumnChunk> {
    const { data, levels, rows, nulls, extremes } = column
    const page = compressed ?? data
    const { type } = schemaOf(column.name, column.type)
    const writer = this.#library.newWriter()
    this.#library.writePageHeader(writer, {
      type: 'DATA_PAGE_V2',
      uncompressed_page_size: levels.length + data.length,
      compressed_page_size: levels.length + page.length,
      crc: zlib.crc32(page, zlib.crc32(levels)) | 0,
      data_page_header_v2: {
        num_values: rows,
        num_nulls: nulls,
        num_rows: rows,
        encoding: 'PLAIN',
        definition_levels_byte_length: levels.length,
        repetition_levels_byte_length: 0,
        is_compressed: compressed !== undefined,
      },
    })
    const header = Buffer.from(writer.getBytes())
    const start = this.#offset
    await this.#write(Buffer.concat([header, levels]))
    if (page.length > 0) await this.#write(page)
    return {
      file_offset: BigInt(start),
      meta_data: {
        type: type as NonNullable<typeof type>,
        encodings: ['PLAIN', 'RLE'],
        path_in_schema: [column.name],
        codec: compressed === undefined ? 'UNCOMPRESSED' : this.#compression === 'zstd' ? 'ZSTD' : 'SNAPPY',
        num_values: BigInt(rows),
        total_uncompressed_size: BigInt(header.length + levels.length + data.length),
        total_compressed_size: BigInt(this.#offset - start),
        data_page_offset: BigInt(start),
        statistics: { null_count: BigInt(nulls), ...(extremes && { min_value: extremes.min, max_value: extremes.max }) },
      },
    }
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
