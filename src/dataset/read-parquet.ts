import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import zlib from 'node:zlib'
import type { AsyncBuffer, ColumnChunk, Compressors, FileMetaData, RowGroup, SchemaElement } from 'hyparquet'
import { IntegrityError } from '../errors.ts'
import { checkPages } from './check-pages.ts'
import { falsehood, plain } from './falsehood.ts'
import { schemaOf } from './parquet-column.ts'
import type { Column } from './tables.ts'

/**
 * A value of a column as it is stored: bytes; a number or bigint; true or false; null. Dates,
 * decimals and text are not made of it.
 */
export type Stored = Uint8Array | number | bigint | boolean | null

/** Rows of a file, column by column, in the order of the columns. */
export interface ColumnValues {
  readonly rows: number
  readonly columns: readonly ArrayLike<Stored | undefined>[]
}

/**
 * The rows of a Parquet file, a row group at a time. The file must have these columns, and the
 * statistics of each group must be those of its values: databases skip groups by them. For the same
 * reason, no index may be there, since none is written, nor anything else that tells readers of types. Throws `IntegrityError` for any other file.
 */
export async function* readParquet(dir: string, file: string, columns: readonly Column[]): AsyncGenerator<ColumnValues> {
  const handle = await open(join(dir, file), 'r')
  try {
    const buffer = await bufferOf(handle)
    const metadata = await reading(file, () => metadataOf(buffer))
    checkSchema(file, metadata, columns)
    // Without the types that dates, decimals and text have.
    const raw = { ...metadata, schema: metadata.schema.map(withoutMeaning) }
    let start = 0
    for (const group of metadata.row_groups) {
      const rows = Number(group.num_rows)
      checkChunks(file, group, columns)
      await reading(file, () => checkPages(file, buffer, group))
      const values = await reading(file, () => readGroup(buffer, raw, start, rows, columns))
      checkStatistics(file, group, columns, values)
      yield { rows, columns: values }
      start += rows
    }
    if (BigInt(start) !== metadata.num_rows) throw falsehood({ file }, 'rows', start, metadata.num_rows, ' in the footer')
  } finally {
    await handle.close()
  }
}

/** Throws what a reader throws for bytes that are no Parquet as `IntegrityError`. */
async function reading<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined || error instanceof IntegrityError) throw error
    throw falsehood({ file }, 'content', plain('Parquet'), plain((error as Error).message))
  }
}

async function bufferOf(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat()
  return {
    byteLength: size,
    async slice(start, end = size) {
      const bytes = new Uint8Array(end - start)
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at)
        if (bytesRead === 0) throw new Error('the file ends before its parts')
        at += bytesRead
      }
      return bytes.buffer
    },
  }
}

async function metadataOf(buffer: AsyncBuffer): Promise<FileMetaData> {
  const { parquetMetadataAsync } = await import('hyparquet')
  return await parquetMetadataAsync(buffer, { geoparquet: false, parsers: { timestampFromMicroseconds: (micros) => micros } })
}

const compressors: Compressors = {
  ZSTD: (input, size) =>
    (zlib as unknown as { zstdDecompressSync(input: Uint8Array, options: object): Buffer }).zstdDecompressSync(input, { maxOutputLength: size }),
}

async function readGroup(file: AsyncBuffer, metadata: FileMetaData, start: number, rows: number, columns: readonly Column[]) {
  const { parquetRead } = await import('hyparquet')
  const chunks = new Map<string, ArrayLike<Stored | undefined>[]>(columns.map(({ name }) => [name, []]))
  const names = columns.map(({ name }) => name)
  await parquetRead({
    ...{ file, metadata, columns: names, rowStart: start, rowEnd: start + rows, compressors, utf8: false, geoparquet: false },
    onChunk: ({ columnName, columnData }) => chunks.get(columnName)?.push(columnData as ArrayLike<Stored | undefined>),
  })
  return names.map((name) => {
    const parts = chunks.get(name) as ArrayLike<Stored | undefined>[]
    const whole = parts.length === 1 ? (parts[0] as ArrayLike<Stored | undefined>) : parts.flatMap((part) => Array.from(part))
    if (whole.length !== rows) throw new Error(`${name} has ${whole.length} values in a group of ${rows} rows`)
    return whole
  })
}

function checkSchema(file: string, { schema, key_value_metadata }: FileMetaData, columns: readonly Column[]): void {
  // Arrow and GeoParquet keep other types of the columns there.
  const [note] = key_value_metadata ?? []
  if (note !== undefined) throw falsehood({ file }, 'metadata', plain('none'), note.key)
  const expected = [undefined, ...columns].map((column) => (column === undefined ? undefined : schemaOf(column.name, column.type)))
  for (let i = 1; i < Math.max(schema.length, expected.length); i++) {
    const [wanted, got] = [described(expected[i]), described(schema[i])]
    if (wanted !== got) throw falsehood({ file }, 'schema', plain(wanted), plain(got))
  }
  if (schema[0]?.num_children !== columns.length) throw falsehood({ file }, 'schema', plain(`${columns.length} columns`), plain(`${schema[0]?.num_children}`))
}

/** What of a column's declaration changes what its values mean. */
function described(element: SchemaElement | undefined): string {
  if (element === undefined) return 'no more columns'
  const { name, type, repetition_type, type_length, converted_type, logical_type, scale = 0, precision, num_children } = element
  const parts = [name, repetition_type, type, type_length, converted_type, converted_type === 'DECIMAL' ? `(${precision},${scale})` : undefined, num_children]
  return [...parts, logical_type === undefined ? undefined : Object.entries(logical_type).sort().join(' ')].filter((part) => part !== undefined).join(' ')
}

function withoutMeaning({ converted_type: _, logical_type: __, ...element }: SchemaElement): SchemaElement {
  return element
}

/** Each column is where its name is, in this file, without a dictionary or an index. */
function checkChunks(file: string, { columns: chunks }: RowGroup, columns: readonly Column[]): void {
  if (chunks.length !== columns.length) throw falsehood({ file }, 'columns', columns.length, chunks.length)
  for (const [i, { name, type }] of columns.entries()) {
    const chunk = chunks[i] as ColumnChunk
    if (chunk.meta_data?.path_in_schema.join('.') !== name) throw falsehood({ file }, 'columns', name, chunk.meta_data?.path_in_schema.join('.'))
    for (const part of ['file_path', 'column_index_offset', 'offset_index_offset'] as const)
      if (chunk[part] !== undefined) throw falsehood({ file }, `${name} (${part})`, undefined, chunk[part])
    const { bloom_filter_offset, dictionary_page_offset, type: stored } = chunk.meta_data
    const { type: declared } = schemaOf(name, type)
    if (stored !== declared) throw falsehood({ file }, `${name} (type)`, declared, stored)
    for (const [part, found] of Object.entries({ bloom_filter_offset, dictionary_page_offset }))
      if (found !== undefined) throw falsehood({ file }, `${name} (${part})`, undefined, found)
  }
}

function checkStatistics(file: string, { columns: chunks }: RowGroup, columns: readonly Column[], values: readonly ArrayLike<Stored | undefined>[]): void {
  for (const [i, { name }] of columns.entries()) {
    const { statistics } = (chunks[i] as ColumnChunk).meta_data as NonNullable<ColumnChunk['meta_data']>
    if (statistics === undefined) continue
    let nulls = 0
    let min: number | bigint | undefined
    let max: number | bigint | undefined
    const column = values[i] as ArrayLike<Stored | undefined>
    for (let row = 0; row < column.length; row++) {
      const value = column[row] ?? null
      if (value === null) nulls++
      else if (typeof value === 'number' || typeof value === 'bigint') {
        if (min === undefined || value < min) min = value
        if (max === undefined || value > max) max = value
      }
    }
    const { null_count = BigInt(nulls), min_value = min, max_value = max, min: oldMin = min, max: oldMax = max } = statistics
    const of = (what: string) => `${name} (${what})`
    if (null_count !== BigInt(nulls)) throw falsehood({ file }, of('nulls'), nulls, null_count)
    for (const found of [min_value, oldMin]) if (found !== min) throw falsehood({ file }, of('smallest value'), min, found)
    for (const found of [max_value, oldMax]) if (found !== max) throw falsehood({ file }, of('largest value'), max, found)
  }
}
