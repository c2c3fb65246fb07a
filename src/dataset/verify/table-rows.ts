import { CodecError } from '../../errors.ts'
import { decodeQuantity } from '../../eth/codec/quantity.ts'
import { createStrictReader } from '../../eth/codec/reader.ts'
import type { Decode } from '../../eth/codec/schema.ts'
import { decodeLog, decodeReceipt, decodeTransaction, decodeUncle, decodeWithdrawal } from '../../eth/objects.ts'
import { plain } from '../../verify/mismatch.ts'
import { falsehood, type Place, undecodable } from '../falsehood.ts'
import { type DatasetHeader, type FileEntry, MANIFEST, type RangeEntry } from '../folder/manifest.ts'
import { readLines } from '../ndjson/read-lines.ts'
import { ColumnRows, type FieldDecoders, type Fields } from '../parquet/column-rows.ts'
import { readParquet } from '../parquet/read-parquet.ts'
import { withExactNumbers } from '../rows/exact-numbers.ts'
import { type DatasetTable, listsApart, numberColumn, placeFields, tables } from '../tables.ts'

/** A row with its fields decoded; those of columns that are not stored are absent. */
export interface Row {
  /** Number of its block. */
  readonly number: bigint
  readonly fields: Fields
}

/** The file of a table and range. */
export interface TableSource {
  readonly dir: string
  readonly header: DatasetHeader
  readonly range: RangeEntry
  readonly table: DatasetTable
  readonly file: FileEntry
  /** Called at the end with each column that could not hold a value. */
  readonly onMisfit?: ((column: string) => void) | undefined
}

const decoders = {
  blocks: decodeUncle,
  transactions: decodeTransaction,
  receipts: decodeReceipt,
  logs: decodeLog,
  withdrawals: decodeWithdrawal,
} as const satisfies Record<DatasetTable, Decode<object>>

/** Rows that are made at a time. */
const BATCH = 256

/** Whether the rows of a table say which block they are of. */
export function isPlaced({ columns }: DatasetHeader, table: DatasetTable): boolean {
  return columns === null || (columns[table] ?? []).includes(numberColumn(table))
}

/**
 * The rows of a file, some at a time. Throws `IntegrityError` for what a row cannot hold, and if
 * there are more or fewer rows than the manifest says.
 */
export async function* readRows(source: TableSource): AsyncGenerator<readonly Row[]> {
  let rows = 0
  for await (const some of source.header.columns === null ? rowsOfLines(source) : rowsOfColumns(source)) {
    rows += some.length
    yield some
  }
  if (rows !== source.file.rows) throw falsehood({ file: source.file.name }, 'rows', source.file.rows, rows)
}

async function* rowsOfLines({ dir, header, table, file }: TableSource): AsyncGenerator<readonly Row[]> {
  const readExact = createStrictReader(decoders[table] as Decode<object>)
  const read = (line: Buffer): object => {
    try {
      return readExact(line)
    } catch (error) {
      const exact = error instanceof CodecError ? withExactNumbers(`${line}`) : undefined
      if (exact === undefined || exact === `${line}`) throw error
      return readExact(Buffer.from(exact))
    }
  }
  const place = { file: file.name }
  const apart = listsApart(table, header.tables)
  let row = 0
  for await (const lines of readLines(dir, file.name, header.format)) {
    const rows: Row[] = []
    for (const line of lines) {
      const fields = decoding(place, row++, () => read(line) as Fields)
      for (const field of apart)
        if (fields[field] !== undefined && fields[field] !== null)
          throw falsehood(place, `row ${row - 1}: ${field}`, plain('nothing, since it has a table'), fields[field])
      for (const field of placeFields[table]) fields[field] ??= null
      rows.push(numbered(place, table, row - 1, fields))
    }
    yield rows
  }
}

async function* rowsOfColumns({ dir, header, range, table, file, onMisfit }: TableSource): AsyncGenerator<readonly Row[]> {
  const names = header.columns?.[table] ?? []
  const columns = tables[table].filter(({ name }) => names.includes(name))
  const make = new ColumnRows(table, columns, fieldDecoders(table))
  const isNumbered = isPlaced(header, table)
  const place = { file: file.name }
  let first = 0
  for await (const values of readParquet(dir, file.name, columns)) {
    for (let from = 0; from < values.rows; from += BATCH) {
      const rows: Row[] = []
      let i = from
      try {
        for (; i < Math.min(from + BATCH, values.rows); i++) {
          const fields = make.fieldsOf(place, values, i)
          rows.push(isNumbered ? numbered(place, table, first + i, fields) : { number: -1n, fields })
        }
      } catch (error) {
        throw undecodable(place, `row ${first + i}`, error)
      }
      yield rows
    }
    first += values.rows
  }
  for (const column of make.misfits) onMisfit?.(column)
  for (const column of columns) {
    const name = `${table}.${column.name}`
    const [said = 0, counted = 0] = [range.nulls[name], make.nulls[name]]
    if (make.counts(column) && said !== counted) throw falsehood({ file: MANIFEST }, `ranges.nulls.${name}`, counted, said, `, for ${file.name}`)
  }
}

/** Runs `decode` for a row. Throws what is wrong as `IntegrityError`. */
function decoding(place: Place, row: number, decode: () => Fields): Fields {
  try {
    return decode()
  } catch (error) {
    if (error instanceof SyntaxError) throw falsehood(place, `row ${row}`, plain('JSON'), plain(error.message))
    throw undecodable(place, `row ${row}`, error)
  }
}

/**
 * The decoders of a table's fields. A table may be stored without the fields that identify its
 * objects, which the decoder of whole ones needs.
 */
function fieldDecoders(table: DatasetTable): FieldDecoders {
  const { schema } = decoders[table] as Decode<object>
  return schema?.is === 'object' ? schema.decoders : new Map()
}

function numbered(place: Place, table: DatasetTable, row: number, fields: Fields): Row {
  const name = numberColumn(table)
  const value = fields[name]
  const number = typeof value === 'bigint' ? value : decoding(place, row, () => ({ number: decodeQuantity(value) })).number
  return { number: number as bigint, fields }
}
