import type { FileMetaData } from 'hyparquet'
import type { Writer } from 'hyparquet-writer/src/types.js'
import type { Column, ColumnType } from '../tables.ts'
import type { Extremes } from './extremes.ts'
import { physicalTypes, type SchemaElement, schemaOf } from './parquet-types.ts'

/*
 * What stands around the values of a Parquet file, stated once: it is written by ParquetFile, and a
 * file is verified by making it again. Thrift, in which it is encoded, lets one text be read in
 * several ways: readers differ on a field that stands twice, or has another type than it should. So
 * only these bytes are right, and all readers find the same in them.
 */

/** The part of hyparquet-writer that is used: the container. Columns are encoded here. */
export interface ParquetLibrary {
  /** `size` is its memory at first, in bytes. */
  readonly newWriter: (size?: number) => Writer & { getBytes(): Uint8Array }
  readonly writePageHeader: typeof import('hyparquet-writer/src/datapage.js').writePageHeader
  readonly writeMetadata: typeof import('hyparquet-writer/src/metadata.js').writeMetadata
  readonly snappyCompress: typeof import('hyparquet-writer/src/snappy.js').snappyCompress
}

export type RowGroup = FileMetaData['row_groups'][number]
export type ColumnChunk = RowGroup['columns'][number]
export type Codec = 'UNCOMPRESSED' | 'SNAPPY' | 'ZSTD'

/** Loads hyparquet-writer, which only Parquet needs. */
export async function loadParquet(): Promise<ParquetLibrary> {
  const [{ ByteWriter }, { writePageHeader }, { writeMetadata }, { snappyCompress }] = await Promise.all([
    import('hyparquet-writer'),
    import('hyparquet-writer/src/datapage.js'),
    import('hyparquet-writer/src/metadata.js'),
    import('hyparquet-writer/src/snappy.js'),
  ])
  return { newWriter: (size) => new ByteWriter(size), writePageHeader, writeMetadata, snappyCompress }
}

/** A file begins with it and ends with it. */
export const MAGIC: Buffer = Buffer.from('PAR1')

/** A page, which is all of a column in a row group. Sizes are in bytes. */
export interface PageForm {
  readonly rows: number
  readonly nulls: number
  /** Size of the levels, which are not compressed. */
  readonly levels: number
  /** Size of the values. */
  readonly values: number
  /** Size of the values as they are stored. */
  readonly stored: number
  readonly codec: Codec
  /** Of the levels and the values as they are stored. */
  readonly crc: number
}

/** Longer than most headers of pages, in bytes. */
const HEADER = 64

export function pageHeader({ newWriter, writePageHeader }: ParquetLibrary, { rows, nulls, levels, values, stored, codec, crc }: PageForm): Buffer {
  const writer = newWriter(HEADER)
  writePageHeader(writer, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: levels + values,
    compressed_page_size: levels + stored,
    crc: crc | 0,
    data_page_header_v2: {
      num_values: rows,
      num_nulls: nulls,
      num_rows: rows,
      encoding: 'PLAIN',
      definition_levels_byte_length: levels,
      repetition_levels_byte_length: 0,
      is_compressed: codec !== 'UNCOMPRESSED',
    },
  })
  return Buffer.from(writer.getBytes())
}

/** A page that stands in a file, and what the footer tells of it. */
export interface PlacedPage {
  readonly name: string
  readonly type: ColumnType
  /** Where its header, of `header` bytes, begins. */
  readonly start: number
  readonly header: number
  readonly page: PageForm
  readonly extremes: Extremes | undefined
}

export function columnChunk({ name, type, start, header, page, extremes }: PlacedPage): ColumnChunk {
  const { rows, nulls, levels, values, stored, codec } = page
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: physicalTypes[type],
      encodings: ['PLAIN', 'RLE'],
      path_in_schema: [name],
      codec,
      num_values: BigInt(rows),
      total_uncompressed_size: BigInt(header + levels + values),
      total_compressed_size: BigInt(header + levels + stored),
      data_page_offset: BigInt(start),
      statistics: { null_count: BigInt(nulls), ...(extremes && { min_value: extremes.min, max_value: extremes.max }) },
    },
  }
}

export function rowGroup(rows: number, columns: ColumnChunk[]): RowGroup {
  let [size, stored] = [0n, 0n]
  for (const { meta_data } of columns) {
    size += meta_data?.total_uncompressed_size ?? 0n
    stored += meta_data?.total_compressed_size ?? 0n
  }
  return { columns, total_byte_size: size, num_rows: BigInt(rows), total_compressed_size: stored }
}

/** The schema of a file with these columns. */
export function fileSchema(columns: readonly Pick<Column, 'name' | 'type'>[]): SchemaElement[] {
  return [{ name: 'root', num_children: columns.length }, ...columns.map(({ name, type }) => schemaOf(name, type))]
}

/** All that follows the pages. */
export function footer({ newWriter, writeMetadata }: ParquetLibrary, schema: SchemaElement[], groups: RowGroup[], createdBy: string): Buffer {
  const rows = groups.reduce((sum, { num_rows }) => sum + num_rows, 0n)
  const writer = newWriter()
  writeMetadata(writer, { version: 2, created_by: createdBy, schema, num_rows: rows, row_groups: groups, metadata_length: 0 })
  return Buffer.concat([writer.getBytes(), MAGIC])
}
