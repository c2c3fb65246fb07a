import { under } from '../../eth/codec/codec-path.ts'
import { decodeQuantity } from '../../eth/codec/quantity.ts'
import type { Decode } from '../../eth/codec/schema.ts'
import { plain } from '../../verify/mismatch.ts'
import { falsehood, type Place } from '../falsehood.ts'
import { withExactNumbers } from '../rows/exact-numbers.ts'
import { type Column, type DatasetTable, fieldsElsewhere, placeFields, tables } from '../tables.ts'
import { type Cell, cellOf } from './column-cells.ts'
import type { ColumnPage } from './column-page.ts'
import { isHex } from './hex-values.ts'
import { ParquetColumn } from './parquet-column.ts'
import { isNumber, LARGEST_DECIMAL } from './parquet-types.ts'
import type { ColumnValues } from './read-parquet.ts'

/**
 * The decoded fields of a row; undefined or absent where they are null or their column is not
 * stored.
 */
export type Fields = Record<string, unknown>

/** The decoders of fields by their names; a field without one stays as sent. */
export type FieldDecoders = ReadonlyMap<string, Decode<unknown>>

/** How the value of a column becomes one of a field. */
interface Plan {
  readonly column: Column
  /** The place of the column among all. */
  readonly index: number
  readonly cell: Cell
  readonly field: string
  /** Whether a null stays one, and is not taken for a column that is not stored. */
  readonly isKept: boolean
}

/** The same for the pages of a row group. */
interface Bound extends Plan {
  readonly page: ColumnPage
}

/**
 * Makes the fields of rows from the values of their columns, decoded. What a column cannot hold is
 * in `extra`, and nothing else may be there, nor any value twice: otherwise a reader of the column
 * would see a value other than the one that is verified.
 */
export class ColumnRows {
  readonly #table: DatasetTable
  readonly #decoders: FieldDecoders
  readonly #plans: readonly Plan[]
  readonly #byField: ReadonlyMap<string, readonly Column[]>
  readonly #hasExtra: boolean
  #values: ColumnValues | undefined
  /** Columns that are fields, or the first item of one. */
  #plain: readonly Bound[] = []
  /** Columns of further items of a list. */
  #items: readonly Bound[] = []
  #copies: readonly Bound[] = []
  #extra: Bound | undefined
  /** Values that a DECIMAL could not hold, by `table.column`. */
  readonly nulls: Record<string, number> = {}
  /** Columns, as `table.column`, that are null in a row whose value is in `extra`. */
  readonly misfits = new Set<string>()

  constructor(table: DatasetTable, columns: readonly Column[], decoders: FieldDecoders) {
    this.#table = table
    this.#decoders = decoders
    const known = tables[table].flatMap(({ source }) => (source.from === 'field' ? [source.field] : []))
    this.#byField = new Map(known.map((field) => [field, columns.filter(({ source, isCopy }) => source.from === 'field' && source.field === field && !isCopy)]))
    const all = columns.map((column, index): Plan => {
      const field = column.source.from === 'field' ? column.source.field : column.name
      const isKept = column.source.from === 'field' ? placeFields[table].includes(field) : column.source.from !== 'extra'
      return { column, index, field, isKept, cell: cellOf(column, column.isCopy ? decodeQuantity : decoders.get(field)) }
    })
    // Some items of a list alone do not determine its others.
    this.#plans = all.filter(({ column, field }) => itemOf(column) === undefined || this.#byField.get(field)?.length === columnsOfField(table, field))
    this.#hasExtra = columns.some(({ source }) => source.from === 'extra')
  }

  /** Whether `nulls` counts this column's. */
  counts({ source, isCopy = false }: Column): boolean {
    if (source.from !== 'field') return false
    return isCopy ? (this.#byField.get(source.field)?.length ?? 0) > 0 : this.#hasExtra
  }

  /**
   * Throws `IntegrityError` for a row that the writer would not have made, and `CodecError` for a
   * field that cannot be decoded.
   */
  fieldsOf(place: Place, values: ColumnValues, row: number): Fields {
    if (values !== this.#values) this.#bind(values)
    const fields: Fields = {}
    for (const { column, cell, field, isKept, page } of this.#plain) {
      const value = cell(place, page, row)
      // The same fields in each row, so that all have one shape.
      if (itemOf(column) === 0) fields[field] = value === null ? [] : [value]
      else fields[field] = value === null && !isKept ? undefined : value
    }
    for (const { column, cell, page } of this.#items) {
      const value = cell(place, page, row)
      if (value !== null) this.#addItem(place, fields, column, value)
    }
    const extra = this.#extra === undefined ? null : this.#extra.cell(place, this.#extra.page, row)
    const numbers = extra === null ? [] : this.#addExtra(place, fields, this.#checkExtra(place, extra), row)
    for (const plan of this.#copies) this.#checkCopy(place, fields, plan, plan.cell(place, plan.page, row), numbers.includes(plan.field))
    return fields
  }

  /** Takes the pages of a row group. Many columns have no value in all of it. */
  #bind(values: ColumnValues): void {
    this.#values = values
    const bound = this.#plans.map((plan): Bound => ({ ...plan, page: values.columns[plan.index] as ColumnPage }))
    const some = bound.filter(({ column, isKept, page }) => page.nulls < page.rows || column.isCopy || isKept || itemOf(column) === 0)
    this.#extra = some.find(({ column }) => column.source.from === 'extra')
    this.#copies = some.filter(({ column }) => column.isCopy)
    this.#items = some.filter(({ column }) => (itemOf(column) ?? 0) > 0)
    this.#plain = some.filter(({ column }) => column.source.from !== 'extra' && !column.isCopy && (itemOf(column) ?? 0) === 0)
  }

  #addItem(place: Place, fields: Fields, { name, source }: Column, value: unknown): void {
    const { field, item } = source as { field: string; item: number }
    fields[field] ??= []
    const items = fields[field] as unknown[]
    if (items.length !== item) throw falsehood(place, name, plain('null, as the item before it'), value)
    items.push(value)
  }

  #checkExtra(place: Place, value: unknown): Fields {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw falsehood(place, 'extra', plain('an object'), value)
    return value as Fields
  }

  /** Returns the fields whose columns are null because they are JSON numbers. */
  #addExtra(place: Place, fields: Fields, extra: Fields, row: number): readonly string[] {
    const numbers: string[] = []
    for (const [field, value] of Object.entries(extra)) {
      const columns = this.#byField.get(field)
      if (columns !== undefined || fieldsElsewhere[this.#table].includes(field)) {
        if (columns === undefined || columns.length === 0) throw falsehood(place, `extra.${field}`, plain('nothing, since it has its place elsewhere'), value)
        const there = fields[field]
        const isThere = Array.isArray(there) && columns.length > 1 ? there.length > 0 : there !== undefined && there !== null
        if (isThere || fits(columns, value)) throw falsehood(place, `extra.${field}`, plain('nothing, since its column holds it'), value)
        for (const { name, type } of columns) {
          this.misfits.add(`${this.#table}.${name}`)
          if (type === 'decimal') this.#countNull(name)
        }
        if (isNumberOf(columns, value)) {
          numbers.push(field)
          if (!Number.isSafeInteger(value) || (value as number) < 0) {
            fields[field] = this.#exact(field, row) ?? fields[field]
            continue
          }
        }
      }
      const decoded = this.#decoded(field, value)
      // A plain assignment of `__proto__` would give the row fields that it does not have.
      if (field === '__proto__') Object.defineProperty(fields, field, { value: decoded, enumerable: true })
      else fields[field] = decoded
    }
    return numbers
  }

  /**
   * A number that JSON.parse rounds, from its text in `extra`; undefined for one that the field
   * cannot have, such as a fraction.
   */
  #exact(field: string, row: number): unknown {
    const { page } = this.#extra as Bound
    const start = page.startOf(row)
    const value = JSON.parse(withExactNumbers(page.bytes.toString('utf8', start, page.endOf(start))))[field]
    try {
      return this.#decoded(field, value)
    } catch {
      return undefined
    }
  }

  #decoded(field: string, value: unknown): unknown {
    const decode = this.#decoders.get(field)
    if (decode === undefined || value === undefined || value === null) return value
    try {
      return decode(value)
    } catch (error) {
      throw under(error, field)
    }
  }

  #checkCopy(place: Place, fields: Fields, { column: { name }, field }: Plan, found: unknown, isNumber: boolean): void {
    const original = fields[field]
    if (isNumber) {
      this.#countNull(name)
      if (found !== null) throw falsehood(place, name, null, found)
      return
    }
    if (typeof original !== 'bigint') {
      // Nothing else holds it.
      if (found !== null) fields[name] = found
      return
    }
    const isTooLarge = original > LARGEST_DECIMAL
    if (isTooLarge) this.#countNull(name)
    const expected = isTooLarge ? null : original
    if (found !== expected) throw falsehood(place, name, expected, found)
  }

  #countNull(name: string): void {
    const key = `${this.#table}.${name}`
    this.nulls[key] = (this.nulls[key] ?? 0) + 1
  }
}

/** The item of a list that a column has. */
function itemOf({ source }: Column): number | undefined {
  return source.from === 'field' ? source.item : undefined
}

/** The number of columns that a field has when all are stored. */
function columnsOfField(table: DatasetTable, field: string): number {
  return tables[table].filter(({ source, isCopy }) => source.from === 'field' && source.field === field && !isCopy).length
}

/** Whether a value is a JSON number in place of a quantity. */
function isNumberOf([column]: readonly Column[], value: unknown): boolean {
  return typeof value === 'number' && column !== undefined && isNumber[column.type]
}

/**
 * Whether the columns of a field have to hold this value. A JSON number may be in `extra`: one
 * that is not exact is, and older versions left all of them there.
 */
function fits(columns: readonly Column[], value: unknown): boolean {
  const [{ name, type, source }] = columns as [Column]
  if (value === null) return true
  if (isNumberOf(columns, value)) return false
  if (source.from === 'field' && source.item !== undefined) {
    if (!Array.isArray(value) || value.length > columns.length) return false
    return value.every((each) => typeof each === 'string' && each.length === 66 && isHex(Buffer.from(each), 0, 66))
  }
  const json = Buffer.from(JSON.stringify(value))
  return new ParquetColumn(name, type).add(json, 0, json.length)
}
