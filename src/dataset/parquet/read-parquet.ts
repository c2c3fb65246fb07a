import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { AsyncBuffer, ColumnMetaData, FileMetaData, SchemaElement } from 'hyparquet'
import { IntegrityError } from '../../errors.ts'
import { plain } from '../../verify/mismatch.ts'
import { falsehood } from '../falsehood.ts'
import { cannotRead, reading } from '../folder/disk.ts'
import type { Column } from '../tables.ts'
import { checkPages } from './check-pages.ts'
import { type ColumnPage, type PageLibrary, readPage } from './column-page.ts'
import { type Codec, type ColumnChunk, fileSchema, footer, loadParquet, MAGIC, type RowGroup, rowGroup } from './parquet-form.ts'

/** Rows of a file, column by column, in the order of the columns. */
export interface ColumnValues {
  readonly rows: number
  readonly columns: readonly ColumnPage[]
}

/**
 * The rows of a Parquet file, a row group at a time. The file must have these columns, and all that
 * stands around the values has to be what the writer makes for them: by it, readers find the values
 * and give them types, and databases skip groups. Throws `IntegrityError` for any other file; what
 * is wrong in the footer as a whole, after the last rows.
 */
export async function* readParquet(dir: string, file: string, columns: readonly Column[]): AsyncGenerator<ColumnValues> {
  const path = join(dir, file)
  const handle = await reading(path, () => open(path, 'r'))
  try {
    const buffer = await bufferOf(handle)
    const metadata = await parsing(path, file, () => metadataOf(buffer))
    const schema = fileSchema(columns)
    checkSchema(file, metadata, schema)
    const library = await loadReader()
    const groups: RowGroup[] = []
    let offset = MAGIC.length
    for (const group of metadata.row_groups) {
      const rows = Number(group.num_rows)
      checkChunks(file, group, columns)
      await parsing(path, file, () => checkPages(file, buffer, group))
      const pages = await parsing(path, file, () => readGroup(library, buffer, group, columns, offset))
      const made = rowGroup(
        rows,
        pages.map(({ chunk }) => chunk),
      )
      checkStatistics(file, group, made)
      yield { rows, columns: pages.map(({ page }) => page) }
      groups.push(made)
      offset += Number(made.total_compressed_size)
    }
    const count = groups.reduce((sum, { num_rows }) => sum + num_rows, 0n)
    if (count !== metadata.num_rows) throw falsehood({ file }, 'rows', count, metadata.num_rows, ' in the footer')
    const { created_by = '' } = metadata
    // By this, too, some readers tell how to read.
    const createdBy = /^hexline [\w.+-]+$/.test(created_by) ? created_by : 'hexline'
    await parsing(path, file, () => checkAround(file, buffer, offset, footer(library, schema, groups, createdBy)))
  } finally {
    await handle.close()
  }
}

/** Throws what a reader throws for bytes that are not Parquet as `IntegrityError`. */
async function parsing<T>(path: string, file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw cannotRead(path, error)
    if (error instanceof IntegrityError) throw error
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
  const [{ parquetHeader }, { snappyUncompress }, library] = await Promise.all([import('hyparquet/src/column.js'), import('hyparquet'), loadParquet()])
  return { ...library, parquetHeader, snappyUncompress }
}

/**
 * Checks the start of a file, and that its pages, which end at `offset`, are followed by this
 * footer alone.
 */
async function checkAround(file: string, buffer: AsyncBuffer, offset: number, expected: Buffer): Promise<void> {
  const start = Buffer.from(await buffer.slice(0, MAGIC.length))
  if (!start.equals(MAGIC)) throw falsehood({ file }, 'content', plain(`${MAGIC}`), plain(`0x${start.toString('hex')}`), ' at its start')
  const found = Buffer.from(await buffer.slice(Math.min(offset, buffer.byteLength)))
  if (found.equals(expected)) return
  const at = offset + expected.findIndex((byte, i) => byte !== found[i])
  throw falsehood(
    { file },
    'footer',
    plain('the one that hexline writes for these pages'),
    plain(`another one from byte ${at} on`),
    ', which readers may take for other values',
  )
}

/** Reads the pages of a group, which stand one after another from `offset` on. */
async function readGroup(
  library: PageLibrary,
  file: AsyncBuffer,
  { columns: chunks, num_rows }: RowGroup,
  columns: readonly Column[],
  offset: number,
): Promise<{ page: ColumnPage; chunk: ColumnChunk }[]> {
  const pages: { page: ColumnPage; chunk: ColumnChunk }[] = []
  let start = offset
  for (const [i, column] of columns.entries()) {
    const { data_page_offset, total_compressed_size, codec } = metadataOfChunk(chunks[i])
    try {
      if (Number(data_page_offset) !== start) throw new Error(`a page at ${data_page_offset} instead of ${start}`)
      const bytes = Buffer.from(await file.slice(start, start + Number(total_compressed_size)))
      pages.push(readPage(library, column, Number(num_rows), { start, bytes, codec: codec as Codec }))
      start += bytes.length
    } catch (error) {
      throw new Error(`${column.name}: ${(error as Error).message}`)
    }
  }
  return pages
}

function checkSchema(file: string, { schema, key_value_metadata }: FileMetaData, expected: readonly SchemaElement[]): void {
  // Arrow and GeoParquet keep other types of the columns there.
  const [note] = key_value_metadata ?? []
  if (note !== undefined) throw falsehood({ file }, 'metadata', plain('none'), note.key)
  for (let i = 1; i < Math.max(schema.length, expected.length); i++) {
    const [wanted, got] = [described(expected[i]), described(schema[i])]
    if (wanted !== got) throw falsehood({ file }, 'schema', plain(wanted), plain(got))
  }
  const [count, found] = [expected[0]?.num_children, schema[0]?.num_children]
  if (found !== count) throw falsehood({ file }, 'schema', plain(`${count} columns`), plain(`${found}`))
}

/** What of a column's declaration changes what its values mean. */
function described(element: SchemaElement | undefined): string {
  if (element === undefined) return 'no more columns'
  const { name, type, repetition_type, type_length, converted_type, logical_type, scale = 0, precision, num_children } = element
  const parts = [name, repetition_type, type, type_length, converted_type, converted_type === 'DECIMAL' ? `(${precision},${scale})` : undefined, num_children]
  return [...parts, logical_type === undefined ? undefined : Object.entries(logical_type).sort().join(' ')].filter((part) => part !== undefined).join(' ')
}

/** Checks that a row group has these columns. */
function checkChunks(file: string, { columns: chunks }: RowGroup, columns: readonly Column[]): void {
  for (let i = 0; i < Math.max(chunks.length, columns.length); i++) {
    const [chunk, column] = [chunks[i], columns[i]]
    const name = column?.name
    const path = chunk?.meta_data?.path_in_schema.join('.')
    if (chunk === undefined || column === undefined || path !== name) throw falsehood({ file }, 'columns', name, path)
  }
}

/** The metadata of a chunk that was checked. */
function metadataOfChunk(chunk: ColumnChunk | undefined): ColumnMetaData {
  return (chunk as ColumnChunk).meta_data as ColumnMetaData
}

/** Checks the statistics of a group, by which databases skip rows. */
function checkStatistics(file: string, { columns: chunks }: RowGroup, { columns: made }: RowGroup): void {
  for (const [i, chunk] of made.entries()) {
    const { path_in_schema, statistics: { null_count, min_value, max_value } = {} } = metadataOfChunk(chunk)
    const { statistics: found } = metadataOfChunk(chunks[i])
    const of = (what: string) => `${path_in_schema.join('.')} (${what})`
    if (found?.null_count !== null_count) throw falsehood({ file }, of('nulls'), null_count, found?.null_count)
    if (found?.min_value !== min_value) throw falsehood({ file }, of('smallest value'), min_value, found?.min_value)
    if (found?.max_value !== max_value) throw falsehood({ file }, of('largest value'), max_value, found?.max_value)
  }
}
