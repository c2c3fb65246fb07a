import type { AsyncBuffer, ColumnChunk, RowGroup } from 'hyparquet'
import { plain } from '../../verify/mismatch.ts'
import { falsehood } from '../falsehood.ts'

/** More rows than a row group can have: it ends after the block with which it has 122,880. */
const MOST_ROWS = 1024 * 1024
/** And more bytes, decompressed: it ends after the block with which it has 16 MiB. */
const MOST_BYTES = 512 * 1024 * 1024
/** Longer than the header of any page that is written. */
const HEADER = 128

/**
 * Checks by the headers that each column of a row group is one page as `ParquetFile` writes it,
 * with a value or null for each row, before any of them is read. In another form, a reader could
 * find other values than the ones that are verified, or a small file could claim more than fits
 * into memory. Throws `IntegrityError`; and what a reader throws for bytes that are not a page.
 */
export async function checkPages(file: string, buffer: AsyncBuffer, { columns, num_rows }: RowGroup): Promise<void> {
  const { parquetHeader } = await import('hyparquet/src/column.js')
  const rows = Number(num_rows)
  const check = (isRight: boolean, field: string, expected: string, found: unknown) => {
    if (!isRight) throw falsehood({ file }, field, plain(expected), found)
  }
  check(rows >= 0 && rows <= MOST_ROWS, 'rows of a group', `at most ${MOST_ROWS}`, rows)
  let total = 0
  for (const { meta_data } of columns) {
    const { path_in_schema, data_page_offset, total_compressed_size, num_values, encodings, codec } = meta_data as NonNullable<ColumnChunk['meta_data']>
    const of = (what: string) => `${path_in_schema.join('.')} (${what})`
    check(
      encodings.every((each) => each === 'PLAIN' || each === 'RLE'),
      of('encodings'),
      'PLAIN and RLE',
      plain(encodings.join()),
    )
    check(num_values === num_rows, of('values'), `${num_rows}`, num_values)
    const start = Number(data_page_offset)
    const size = Number(total_compressed_size)
    check(start >= 0 && size > 0 && start + size <= buffer.byteLength, of('place'), 'a place in the file', `${start} to ${start + size}`)
    const reader = { view: new DataView(await buffer.slice(start, start + Math.min(size, HEADER))), offset: 0 }
    const { type, uncompressed_page_size, compressed_page_size, data_page_header_v2 } = parquetHeader(reader)
    if (type !== 'DATA_PAGE_V2' || data_page_header_v2 === undefined) throw falsehood({ file }, of('page'), plain('DATA_PAGE_V2'), plain(`${type}`))
    const { num_values: values, num_nulls, num_rows: ofPage, encoding, definition_levels_byte_length, repetition_levels_byte_length } = data_page_header_v2
    check(encoding === 'PLAIN', of('encoding'), 'PLAIN', plain(`${encoding}`))
    check(values === rows && ofPage === rows, of('rows of the page'), `${rows}`, ofPage === rows ? values : ofPage)
    check(num_nulls >= 0 && num_nulls <= rows, of('nulls of the page'), `at most ${rows}`, num_nulls)
    const isCompressed = codec !== 'UNCOMPRESSED' && data_page_header_v2.is_compressed !== false
    check(compressed_page_size === size - reader.offset, of('size of the page'), `${size - reader.offset}`, compressed_page_size)
    check(isCompressed || uncompressed_page_size === compressed_page_size, of('size of the page'), `${compressed_page_size}`, uncompressed_page_size)
    check(repetition_levels_byte_length === 0, of('levels'), 'no repetition', repetition_levels_byte_length)
    const ofLevels = definition_levels_byte_length
    check(ofLevels > 0 && ofLevels <= Math.min(compressed_page_size, uncompressed_page_size), of('levels'), 'bytes of the page', ofLevels)
    total += uncompressed_page_size
    check(total <= MOST_BYTES, 'size of a group', `at most ${MOST_BYTES} bytes`, total)
  }
}
