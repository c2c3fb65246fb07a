import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { AsyncBuffer, ColumnChunk, ColumnMetaData, FileMetaData, RowGroup, SchemaElement } from 'hyparquet'
import { IntegrityError } from '../errors.ts'
import { plain } from '../verify/mismatch.ts'
import { checkPages } from './check-pages.ts'
import { type ColumnPage, type PageLibrary, readPage } from './column-page.ts'
import { falsehood } from './falsehood.ts'
import { extremesOf, schemaOf } from './parquet-column.ts'
import type { Column } from './tables.ts'

/** Rows of a file, column by column, in the order of the columns. */
export interface ColumnValues {
  readonly rows: number
  readonly columns: readonly ColumnPage[]
}

/**
 * The rows of a Parquet file, a row group at a time. The file must have these columns, and the
 * statistics of each group must be those of its values: databases skip groups by them. For the same
 * reason, the file must have no index, since none is written, and nothing else that gives readers
 * types. Throws `IntegrityError` for any other file.
 */
export async function* readParquet(dir: string, file: string, columns: readonly Column[]): AsyncGenerator<ColumnValues> {
  const handle = await open(join(dir, file), 'r')
  try {
    const buffer = await bufferOf(handle)
    const metadata = await reading(file, () => metadataOf(buffer))
    checkSchema(file, metadata, columns)
    const library = await loadReader()
    let count = 0
    for (const group of metadata.row_groups) {
      const rows = Number(group.num_rows)
      checkChunks(file, group, columns)
      await reading(file, () => checkPages(file, buffer, group))
      const pages = await reading(file, () => readGroup(library, buffer, group, rows, columns))
      checkStatistics(file, group, columns, pages)
      yield { rows, columns: pages }
      count += rows
    }
    if (BigInt(count) !== metadata.num_rows) throw falsehood({ file }, 'rows', count, metadata.num_rows, ' in the footer')
  } finally {
    await handle.close()
  }
}

/** Throws what a reader throws for bytes that are not Parquet as `IntegrityError`. */
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
      if (end > size) throw new Error('the file ends before its parts')
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

async function loadReader(): Promise<PageLibrary> {
  const [{ parquetHeader }, { snappyUncompress }] = await Promise.all([import('hyparquet/src/column.js'), import('hyparquet')])
  return { parquetHeader, snappyUncompress }
}

async function readGroup(
  library: PageLibrary,
  file: AsyncBuffer,
  { columns: chunks }: RowGroup,
  rows: number,
  columns: readonly Column[],
): Promise<ColumnPage[]> {
  const pages: ColumnPage[] = []
  for (const [i, { name, type }] of columns.entries()) {
    const meta_data = metadataOfChunk(chunks[i])
    const start = Number(meta_data.data_page_offset)
    const bytes = Buffer.from(await file.slice(start, start + Number(meta_data.total_compressed_size)))
    try {
      pages.push(readPage(library, type, rows, bytes, meta_data))
    } catch (error) {
      throw new Error(`${name}: ${(error as Error).message}`)
    }
  }
  return pages
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

/** Checks that a row group has these columns, and nothing but their pages. */
function checkChunks(file: string, { columns: chunks }: RowGroup, columns: readonly Column[]): void {
  for (let i = 0; i < Math.max(chunks.length, columns.length); i++) {
    const [chunk, column] = [chunks[i], columns[i]]
    const name = column?.name
    const path = chunk?.meta_data?.path_in_schema.join('.')
    if (chunk === undefined || column === undefined || path !== name) throw falsehood({ file }, 'columns', name, path)
    const { bloom_filter_offset, dictionary_page_offset, type: stored } = metadataOfChunk(chunk)
    const { type: declared } = schemaOf(column.name, column.type)
    if (stored !== declared) throw falsehood({ file }, `${name} (type)`, declared, stored)
    const { file_path, column_index_offset, offset_index_offset } = chunk
    for (const [part, found] of Object.entries({ file_path, column_index_offset, offset_index_offset, bloom_filter_offset, dictionary_page_offset }))
      if (found !== undefined) throw falsehood({ file }, `${name} (${part})`, undefined, found)
  }
}

/** The metadata of a chunk that was checked. */
function metadataOfChunk(chunk: ColumnChunk | undefined): ColumnMetaData {
  return (chunk as ColumnChunk).meta_data as ColumnMetaData
}

function checkStatistics(file: string, { columns: chunks }: RowGroup, columns: readonly Column[], pages: readonly ColumnPage[]): void {
  for (const [i, { name, type }] of columns.entries()) {
    const { statistics } = metadataOfChunk(chunks[i])
    if (statistics === undefined) continue
    const { nulls, bytes } = pages[i] as ColumnPage
    const { min, max } = extremesOf(type, bytes) ?? {}
    const { null_count = BigInt(nulls), min_value = min, max_value = max, min: oldMin = min, max: oldMax = max } = statistics
    const of = (what: string) => `${name} (${what})`
    if (null_count !== BigInt(nulls)) throw falsehood({ file }, of('nulls'), nulls, null_count)
    for (const found of [min_value, oldMin]) if (found !== min) throw falsehood({ file }, of('smallest value'), min, found)
    for (const found of [max_value, oldMax]) if (found !== max) throw falsehood({ file }, of('largest value'), max, found)
  }
}
