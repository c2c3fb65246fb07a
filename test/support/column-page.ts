import { ColumnPage } from '../../src/dataset/parquet/column-page.ts'
import { Bits } from '../../src/dataset/parquet/definition-levels.ts'
import type { ColumnType } from '../../src/dataset/tables.ts'

/** A value of a column as it is stored: bytes; a number or bigint; true or false; null. */
export type Stored = Uint8Array | number | bigint | boolean | null

/** A page with these values, also with some that the writer never makes. */
export function pageOf(type: ColumnType, values: readonly Stored[]): ColumnPage {
  const present = new Bits()
  const booleans = new Bits()
  const parts: Uint8Array[] = []
  for (const value of values) {
    present.push(value !== null)
    if (typeof value === 'boolean') booleans.push(value)
    else if (value !== null) parts.push(bytesOf(type, value))
  }
  const bytes = type === 'boolean' ? Buffer.from(booleans.bytes) : Buffer.concat(parts)
  return new ColumnPage(type, values.length, values.includes(null) ? present.bytes : undefined, bytes)
}

function bytesOf(type: ColumnType, value: Uint8Array | number | bigint): Uint8Array {
  const number = Buffer.alloc(type === 'int32' ? 4 : 8)
  if (typeof value === 'number') number.writeInt32LE(value)
  else if (typeof value === 'bigint') number.writeBigInt64LE(value)
  else if (type !== 'bytes' && type !== 'json') return value
  else {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(value.length)
    return Buffer.concat([length, value])
  }
  return number
}

/** The value of a row in a page. */
export function storedIn(page: ColumnPage, row: number): Stored {
  const { type, bytes } = page
  const start = page.startOf(row)
  if (start < 0) return null
  if (type === 'boolean') return (((bytes[start >> 3] as number) >> (start & 7)) & 1) === 1
  if (type === 'int32') return bytes.readInt32LE(start)
  if (type === 'int64' || type === 'timestamp') return bytes.readBigInt64LE(start)
  return bytes.subarray(start, page.endOf(start))
}
