import { IntegrityError } from 'hexline'
import type { AsyncBuffer, RowGroup } from 'hyparquet'
import { beforeAll, expect, it } from 'vitest'
import { checkPages } from '../../../src/dataset/parquet/check-pages.ts'
import { loadParquet, type ParquetLibrary } from '../../../src/dataset/parquet/parquet-form.ts'

let library: ParquetLibrary
beforeAll(async () => {
  library = await loadParquet()
})

const PAGE = {
  num_values: 2,
  num_nulls: 0,
  num_rows: 2,
  encoding: 'PLAIN',
  definition_levels_byte_length: 2,
  repetition_levels_byte_length: 0,
  is_compressed: false,
} as const

interface Forged {
  readonly header?: object
  readonly page?: object
  readonly chunk?: object
  readonly rows?: bigint
  readonly columns?: number
}

/** Checks a group of two rows, as it is written but for what is forged. */
async function check({ header, page, chunk, rows = 2n, columns = 1 }: Forged): Promise<void> {
  const writer = library.newWriter()
  // Two bytes of levels, and two values.
  const content = Buffer.from([4, 1, ...Buffer.alloc(16)])
  const size = content.length
  library.writePageHeader(writer, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: size,
    compressed_page_size: size,
    data_page_header_v2: { ...PAGE, ...page },
    ...header,
  })
  const bytes = Buffer.concat([Buffer.from('PAR1'), Buffer.from(writer.getBytes()), content])
  const buffer: AsyncBuffer = { byteLength: bytes.length, slice: (from, to) => new Uint8Array(bytes.subarray(from, to)).buffer }
  const meta = {
    path_in_schema: ['number'],
    encodings: ['PLAIN', 'RLE'],
    codec: 'UNCOMPRESSED',
    data_page_offset: 4n,
    total_compressed_size: BigInt(bytes.length - 4),
    num_values: rows,
    ...chunk,
  }
  await checkPages('f', buffer, { num_rows: rows, columns: Array.from({ length: columns }, () => ({ meta_data: meta })) } as unknown as RowGroup)
}

it('a page as it is written is right', async () => {
  await check({})
  await check({ page: { num_nulls: 2 } })
})

it.each<[string, Forged, string]>([
  ['more rows than a group can have', { rows: 2n ** 40n }, 'rows of a group: expected at most 1048576, found 1099511627776'],
  ['fewer values than rows', { chunk: { num_values: 1n } }, 'number (values): expected 2, found 1n'],
  ['a page elsewhere', { chunk: { data_page_offset: 400n } }, 'number (place): expected a place in the file'],
  ['a page of no bytes', { chunk: { total_compressed_size: 0n } }, 'number (place)'],
  ['another encoding', { page: { encoding: 'DELTA_BINARY_PACKED' } }, 'number (encoding): expected PLAIN, found DELTA_BINARY_PACKED'],
  ['a page with more values than the group', { page: { num_values: 2 ** 30 } }, 'number (rows of the page): expected 2, found 1073741824'],
  ['a page with fewer rows than the group', { page: { num_rows: 1 } }, 'number (rows of the page): expected 2, found 1'],
  ['more nulls than rows', { page: { num_nulls: 3 } }, 'number (nulls of the page): expected at most 2, found 3'],
  ['lists', { page: { repetition_levels_byte_length: 2 } }, 'number (levels): expected no repetition, found 2'],
  ['levels beyond the page', { page: { definition_levels_byte_length: 40 } }, 'number (levels): expected bytes of the page, found 40'],
  ['something behind the page', { header: { compressed_page_size: 10 } }, 'number (size of the page): expected 18, found 10'],
  ['a page that is not compressed, and has two sizes', { header: { uncompressed_page_size: 19 } }, 'number (size of the page): expected 18, found 19'],
  [
    'encodings that no page has',
    { chunk: { encodings: ['PLAIN', 'RLE_DICTIONARY'] } },
    'number (encodings): expected PLAIN and RLE, found PLAIN,RLE_DICTIONARY',
  ],
  [
    'a page that claims to be huge',
    { page: { is_compressed: true }, chunk: { codec: 'ZSTD' }, header: { uncompressed_page_size: 2 ** 30 } },
    'size of a group: expected at most 536870912 bytes',
  ],
  [
    'pages that together claim it',
    { page: { is_compressed: true }, chunk: { codec: 'ZSTD' }, header: { uncompressed_page_size: 2 ** 28 }, columns: 3 },
    'size of a group: expected at most 536870912 bytes',
  ],
  [
    'a page of the first version',
    {
      header: { type: 'DATA_PAGE', data_page_header: { num_values: 2, encoding: 'PLAIN', definition_level_encoding: 'RLE', repetition_level_encoding: 'RLE' } },
    },
    'number (page): expected DATA_PAGE_V2, found DATA_PAGE',
  ],
])('%s is refused', async (_, forged, message) => {
  const error = await check(forged).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(IntegrityError)
  expect((error as Error).message).toContain(message)
})
