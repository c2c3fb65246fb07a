import { repeatedName } from '../json/scan.ts'
import { show } from '../text.ts'
import { falsehood, type Place, plain } from './falsehood.ts'
import { isHex, ParquetColumn } from './parquet-column.ts'
import type { ColumnValues, Stored } from './read-parquet.ts'
import { type Column, type DatasetTable, fieldsElsewhere, tables } from './tables.ts'

/** The fields of a row, as a node's JSON has them; a field whose column is not stored is absent. */
export type Fields = Record<string, unknown>

const LARGEST_DECIMAL = 10n ** 38n - 1n
const MICROS = 1_000_000n

/** Fields that say where a row belongs. Null where they are null, so that they are not taken for columns that are not stored. */
const PLACE: ReadonlySet<string> = new Set(['number', 'hash', 'parentHash', 'transactionIndex', 'transactionHash', 'logIndex', 'index'])

/**
 * Makes the fields of rows from the values of their columns, as they were in the node's JSON. What
 * a column cannot hold is in `extra`, and nothing else may be there, nor anywhere twice: otherwise a
 * reader of the column would see another value than the one that is verified.
 */
export class ColumnRows {
  readonly #table: DatasetTable
  readonly #columns: readonly Column[]
  readonly #byField: ReadonlyMap<string, readonly Column[]>
  /** Values that a DECIMAL could not hold, by `table.column`. */
  readonly nulls: Record<string, number> = {}
  readonly #hasExtra: boolean

  constructor(table: DatasetTable, columns: readonly Column[]) {
    this.#table = table
    this.#columns = columns
    const known = tables[table].flatMap(({ source }) => (source.from === 'field' ? [source.field] : []))
    this.#byField = new Map(known.map((field) => [field, columns.filter(({ source, isCopy }) => source.from === 'field' && source.field === field && !isCopy)]))
    this.#hasExtra = columns.some(({ source }) => source.from === 'extra')
  }

  /** Whether `nulls` counts this column's. */
  counts({ source, isCopy = false }: Column): boolean {
    if (source.from !== 'field') return false
    return isCopy ? (this.#byField.get(source.field)?.length ?? 0) > 0 : this.#hasExtra
  }

  /** Throws `IntegrityError` for a row that the writer would not have made. */
  fieldsOf(place: Place, values: ColumnValues, row: number): Fields {
    const fields: Fields = {}
    let copies: [Column, string | null][] | undefined
    let extra: Fields | undefined
    for (const [i, column] of this.#columns.entries()) {
      const stored = values.columns[i]?.[row] ?? null
      const { source } = column
      const value = stored === null ? null : fieldOf(place, column, stored)
      if (source.from === 'block') fields[column.name] = value
      else if (source.from === 'transactionCount') fields.transactionCount = value
      else if (source.from === 'extra') extra = value === null ? undefined : this.#checkExtra(place, value)
      else if (column.isCopy) {
        copies ??= []
        copies.push([column, value as string | null])
      } else if (source.item === undefined) {
        if (value !== null || PLACE.has(source.field)) fields[source.field] = value
      } else if (source.item === 0) fields[source.field] = value === null ? [] : [value]
      else if (value !== null) this.#addItem(place, fields, column, source.item, value)
    }
    if (extra !== undefined) this.#addExtra(place, fields, extra)
    for (const [column, value] of copies ?? []) this.#checkCopy(place, fields, column, value)
    return fields
  }

  #addItem(place: Place, fields: Fields, { name, source }: Column, item: number, value: unknown): void {
    const { field } = source as { field: string }
    fields[field] ??= []
    const items = fields[field] as unknown[]
    if (items.length !== item) throw falsehood(place, name, plain('null, as the item before it'), value)
    items.push(value)
  }

  #checkExtra(place: Place, value: unknown): Fields {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw falsehood(place, 'extra', plain('an object'), value)
    return value as Fields
  }

  #addExtra(place: Place, fields: Fields, extra: Fields): void {
    for (const [field, value] of Object.entries(extra)) {
      const columns = this.#byField.get(field)
      if (columns !== undefined || fieldsElsewhere[this.#table].includes(field)) {
        if (columns === undefined || columns.length === 0) throw falsehood(place, `extra.${field}`, plain('nothing, since it has its place elsewhere'), value)
        const there = fields[field]
        const isThere = Array.isArray(there) && columns.length > 1 ? there.length > 0 : there !== undefined
        if (isThere || fits(columns, value)) throw falsehood(place, `extra.${field}`, plain('nothing, since its column holds it'), value)
        for (const { name, type } of columns) if (type === 'decimal') this.#countNull(name)
      }
      // A plain assignment of `__proto__` would give the row fields that it does not have.
      if (field === '__proto__') Object.defineProperty(fields, field, { value, enumerable: true })
      else fields[field] = value
    }
  }

  #checkCopy(place: Place, fields: Fields, { name, source }: Column, value: string | null): void {
    const { field } = source as { field: string }
    const original = fields[field]
    if (typeof original !== 'string' || !/^0x[0-9a-fA-F]+$/.test(original)) return
    const isTooLarge = BigInt(original) > LARGEST_DECIMAL
    if (isTooLarge) this.#countNull(name)
    const expected = isTooLarge ? null : BigInt(original)
    const found = value === null ? null : BigInt(value)
    if (found !== expected) throw falsehood(place, name, expected, found)
  }

  #countNull(name: string): void {
    const key = `${this.#table}.${name}`
    this.nulls[key] = (this.nulls[key] ?? 0) + 1
  }
}

/** Whether the columns of a field hold this value. */
function fits(columns: readonly Column[], value: unknown): boolean {
  const [{ name, type, source }] = columns as [Column]
  if (value === null) return true
  if (source.from === 'field' && source.item !== undefined) {
    if (!Array.isArray(value) || value.length > columns.length) return false
    return value.every((each) => typeof each === 'string' && each.length === 66 && isHex(Buffer.from(each), 0, 66))
  }
  const json = Buffer.from(JSON.stringify(value))
  return new ParquetColumn(name, type).add(json, 0, json.length)
}

/** A stored value as a node's JSON has it. */
function fieldOf(place: Place, { name, type }: Column, stored: Exclude<Stored, null>): unknown {
  switch (type) {
    case 'int32':
    case 'int64':
      return quantity(place, name, stored as number | bigint)
    case 'timestamp': {
      const micros = stored as bigint
      if (micros % MICROS !== 0n) throw falsehood(place, name, plain('whole seconds'), micros, ' microseconds')
      return quantity(place, name, micros / MICROS)
    }
    case 'boolean':
      return stored
    case 'json':
      return parsed(place, name, stored as Uint8Array)
    case 'uint256':
    case 'decimal': {
      const value = BigInt(hexOf(stored as Uint8Array))
      // The highest bit of a decimal is its sign.
      if (type === 'decimal' && value > LARGEST_DECIMAL) throw falsehood(place, name, plain('at most 38 digits'), value)
      return `0x${value.toString(16)}`
    }
    default:
      return hexOf(stored as Uint8Array)
  }
}

function quantity(place: Place, name: string, value: number | bigint): string {
  if (value < 0) throw falsehood(place, name, plain('no negative number'), value)
  return `0x${value.toString(16)}`
}

function parsed(place: Place, name: string, bytes: Uint8Array): unknown {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let value: unknown
  try {
    value = JSON.parse(json.toString('utf8'))
  } catch (error) {
    throw falsehood(place, name, plain('JSON'), plain((error as Error).message))
  }
  // Readers differ on which value counts.
  const twice = repeatedName(json)
  if (twice !== undefined) throw falsehood(place, name, plain('each name once'), plain(`${show(twice)} twice`))
  return value
}

function hexOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return `0x${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}`
}
