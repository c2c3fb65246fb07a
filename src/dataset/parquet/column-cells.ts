import { under } from '../../eth/codec/codec-path.ts'
import { decodeNumber, decodeQuantity } from '../../eth/codec/quantity.ts'
import type { Decode } from '../../eth/codec/schema.ts'
import { repeatedName } from '../../json/repeated-name.ts'
import { show } from '../../text.ts'
import { plain } from '../../verify/mismatch.ts'
import { falsehood, type Place } from '../falsehood.ts'
import type { Column, ColumnType } from '../tables.ts'
import type { ColumnPage } from './column-page.ts'
import { LARGEST_DECIMAL, sizes } from './parquet-types.ts'

/**
 * The value of a row in a page, decoded as the field of a node's JSON would be; null for null.
 * Throws `IntegrityError` for bytes that the writer does not make, and `CodecError` for a value
 * that the field cannot have.
 */
export type Cell = (place: Place, page: ColumnPage, row: number) => unknown

const MICROS = 1_000_000n
const TWO_32 = 2 ** 32

/**
 * Makes the cells of a column. `decode` is that of its field; undefined for one that stays as sent.
 */
export function cellOf({ name, type }: Column, decode: Decode<unknown> | undefined): Cell {
  switch (type) {
    case 'int32':
      return int32(name, fromNumber(name, decode))
    case 'int64':
      return int64(name, fromBigint(name, decode), decode === decodeNumber)
    case 'timestamp':
      return timestamp(name, fromBigint(name, decode))
    case 'boolean':
      return boolean
    case 'json':
      return json(name, decode)
    case 'uint256':
    case 'decimal':
      return decode === decodeQuantity ? wide(name, type) : digits(name, type, decode)
    case 'bytes':
      return (_, page, row) => {
        const start = page.startOf(row)
        return start < 0 ? null : `0x${page.bytes.toString('hex', start, page.endOf(start))}`
      }
    default:
      return fixed(type)
  }
}

/** What makes the field of a number: its decoder takes hex. */
function fromNumber(name: string, decode: Decode<unknown> | undefined): (value: number) => unknown {
  if (decode === decodeNumber) return (value) => value
  if (decode === decodeQuantity) return BigInt
  return (value) => decoded(name, decode, `0x${value.toString(16)}`)
}

function fromBigint(name: string, decode: Decode<unknown> | undefined): (value: bigint) => unknown {
  if (decode === decodeQuantity) return (value) => value
  return (value) => decoded(name, decode, `0x${value.toString(16)}`)
}

function decoded(name: string, decode: Decode<unknown> | undefined, value: unknown): unknown {
  if (decode === undefined) return value
  try {
    return decode(value)
  } catch (error) {
    throw under(error, name)
  }
}

function int32(name: string, make: (value: number) => unknown): Cell {
  return (place, page, row) => {
    const start = page.startOf(row)
    if (start < 0) return null
    const value = page.bytes.readInt32LE(start)
    if (value < 0) throw falsehood(place, name, plain('no negative number'), value)
    return make(value)
  }
}

/** Most rows have the value of the one before, such as that of their block. */
function int64(name: string, make: (value: bigint) => unknown, isNumber: boolean): Cell {
  let [lastLow, lastHigh] = [-1, -1]
  let last: unknown
  return (place, page, row) => {
    const start = page.startOf(row)
    if (start < 0) return null
    const { bytes } = page
    const low = bytes.readUInt32LE(start)
    const high = bytes.readInt32LE(start + 4)
    if (high < 0) throw falsehood(place, name, plain('no negative number'), bytes.readBigInt64LE(start))
    // Below 2^53.
    if (isNumber && high < 2 ** 21) return high * TWO_32 + low
    if (low !== lastLow || high !== lastHigh) {
      last = make(bytes.readBigInt64LE(start))
      lastLow = low
      lastHigh = high
    }
    return last
  }
}

function timestamp(name: string, make: (value: bigint) => unknown): Cell {
  let lastMicros: bigint | undefined
  let last: unknown
  return (place, page, row) => {
    const start = page.startOf(row)
    if (start < 0) return null
    const micros = page.bytes.readBigInt64LE(start)
    if (micros === lastMicros) return last
    if (micros % MICROS !== 0n) throw falsehood(place, name, plain('whole seconds'), micros, ' microseconds')
    if (micros < 0n) throw falsehood(place, name, plain('no negative number'), micros / MICROS)
    last = make(micros / MICROS)
    lastMicros = micros
    return last
  }
}

const boolean: Cell = (_, page, row) => {
  const bit = page.startOf(row)
  return bit < 0 ? null : (((page.bytes[bit >> 3] as number) >> (bit & 7)) & 1) === 1
}

function json(name: string, decode: Decode<unknown> | undefined): Cell {
  return (place, page, row) => {
    const start = page.startOf(row)
    return start < 0 ? null : decoded(name, decode, parsed(place, name, page.bytes.subarray(start, page.endOf(start))))
  }
}

function parsed(place: Place, name: string, json: Buffer): unknown {
  let value: unknown
  try {
    value = JSON.parse(json.toString())
  } catch (error) {
    throw falsehood(place, name, plain('JSON'), plain((error as Error).message))
  }
  // Readers differ on which value counts.
  const twice = repeatedName(json)
  if (twice !== undefined) throw falsehood(place, name, plain('each name once'), plain(`${show(twice)} twice`))
  return value
}

/** A number of several words, as a bigint. */
function wide(name: string, type: ColumnType): Cell {
  const size = sizes[type]
  return (place, page, row) => {
    const start = page.startOf(row)
    if (start < 0) return null
    let value = 0n
    for (let at = start; at < start + size; at += 8) {
      const word = page.bytes.readBigUInt64BE(at)
      value = value === 0n ? word : (value << 64n) | word
    }
    // The highest bit of a decimal is its sign.
    if (type === 'decimal' && value > LARGEST_DECIMAL) throw falsehood(place, name, plain('at most 38 digits'), value)
    return value
  }
}

/** The same, in hex without leading zeros. */
function digits(name: string, type: ColumnType, decode: Decode<unknown> | undefined): Cell {
  const read = wide(name, type)
  return (place, page, row) => {
    const value = read(place, page, row) as bigint | null
    return value === null ? null : decoded(name, decode, `0x${value.toString(16)}`)
  }
}

/** Values whose text is made at a time. */
const AT_ONCE = 64

/**
 * A value of a fixed number of bytes, as hex. The text of several is made at once: a third less
 * work than a text of its own for each.
 */
function fixed(type: ColumnType): Cell {
  const size = sizes[type]
  let page: ColumnPage | undefined
  let [from, to] = [0, 0]
  let text = ''
  return (_, of, row) => {
    const start = of.startOf(row)
    if (start < 0) return null
    if (of !== page || start < from || start >= to) {
      page = of
      from = start
      to = Math.min(start + AT_ONCE * size, of.bytes.length)
      text = of.bytes.toString('hex', from, to)
    }
    const at = 2 * (start - from)
    return `0x${text.slice(at, at + 2 * size)}`
  }
}
