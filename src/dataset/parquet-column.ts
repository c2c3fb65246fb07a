import type { ParquetWriteOptions } from 'hyparquet-writer'
import type { ColumnType } from './tables.ts'

/*
 * A column of a row group while its rows are added. Its memory is the page as Parquet stores it in
 * PLAIN encoding: the values that are not null, one after another, and a bit for each row that says
 * which are. So no value becomes anything but its bytes.
 */

const QUOTE = 0x22
const ZERO = 0x30
const SMALL_X = 0x78
const SMALL_T = 0x74
const SMALL_F = 0x66
const BACKSLASH = 0x5c

/** Bytes of a value in a page; 0 where they vary, and for the bits of a boolean. */
export const sizes: Readonly<Record<ColumnType, number>> = {
  bytes32: 32,
  bytes20: 20,
  bytes256: 256,
  bytes8: 8,
  bytes: 0,
  uint256: 32,
  decimal: 16,
  int32: 4,
  int64: 8,
  boolean: 0,
  timestamp: 8,
  json: 0,
}

/** The types of columns of quantities, which a node may send as JSON numbers. */
export const IS_NUMBER: Readonly<Partial<Record<ColumnType, boolean>>> = { uint256: true, decimal: true, int32: true, int64: true, timestamp: true }

/** A column in the schema of a file. */
export type SchemaElement = NonNullable<ParquetWriteOptions['schema']>[number]

/** The types of Parquet in which values are stored. */
export const physicalTypes: Readonly<Record<ColumnType, NonNullable<SchemaElement['type']>>> = {
  bytes32: 'FIXED_LEN_BYTE_ARRAY',
  bytes20: 'FIXED_LEN_BYTE_ARRAY',
  bytes256: 'FIXED_LEN_BYTE_ARRAY',
  bytes8: 'FIXED_LEN_BYTE_ARRAY',
  bytes: 'BYTE_ARRAY',
  uint256: 'FIXED_LEN_BYTE_ARRAY',
  decimal: 'FIXED_LEN_BYTE_ARRAY',
  int32: 'INT32',
  int64: 'INT64',
  boolean: 'BOOLEAN',
  timestamp: 'INT64',
  json: 'BYTE_ARRAY',
}

/** How a column is declared. */
export function schemaOf(name: string, type: ColumnType): SchemaElement {
  const element: SchemaElement = { name, repetition_type: 'OPTIONAL', type: physicalTypes[type] }
  switch (type) {
    case 'timestamp':
      return { ...element, converted_type: 'TIMESTAMP_MICROS', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' } }
    case 'decimal':
      return {
        ...element,
        type_length: sizes[type],
        converted_type: 'DECIMAL',
        precision: 38,
        scale: 0,
        logical_type: { type: 'DECIMAL', precision: 38, scale: 0 },
      }
    case 'json':
      return { ...element, converted_type: 'UTF8', logical_type: { type: 'STRING' } }
    default:
      return element.type === 'FIXED_LEN_BYTE_ARRAY' ? { ...element, type_length: sizes[type] } : element
  }
}

/** Values of two hex digits, read as a 16-bit number, big-endian; -1 for anything else. */
const PAIRS = new Int16Array(65536).fill(-1)
/** Values of hex digits; 255 for any other byte. */
const DIGITS = new Uint8Array(256).fill(255)
for (let i = 0; i < 16; i++) for (const digit of [i.toString(16), i.toString(16).toUpperCase()]) DIGITS[digit.charCodeAt(0)] = i
for (let high = 0; high < 256; high++)
  for (let low = 0; low < 256; low++) {
    const [a, b] = [DIGITS[high] as number, DIGITS[low] as number]
    if (a < 16 && b < 16) PAIRS[(high << 8) | low] = (a << 4) | b
  }

const LARGEST_DECIMAL = 10n ** 38n - 1n
/** Hex digits whose value certainly is a decimal of 38 digits. */
const SAFE_DIGITS = 31
/** Microseconds are exact as a double up to this second, in the year 2255. */
const LAST_SECOND = Math.floor(Number.MAX_SAFE_INTEGER / 1e6)

/** Bits, the lowest of each byte first. */
export class Bits {
  #bytes = Buffer.alloc(1024)
  count = 0

  push(bit: boolean): void {
    const at = this.count++
    if (at >> 3 === this.#bytes.length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(this.#bytes.length)])
    if (bit) this.#bytes[at >> 3] = (this.#bytes[at >> 3] as number) | (1 << (at & 7))
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, (this.count + 7) >> 3)
  }

  clear(): void {
    this.bytes.fill(0)
    this.count = 0
  }
}

/** Smallest and largest value, as statistics have them. */
export interface Extremes {
  readonly min: number | bigint
  readonly max: number | bigint
}

/**
 * The extremes of values in PLAIN encoding. Undefined for a column of bytes, and for no values.
 */
export function extremesOf(type: ColumnType, data: Buffer): Extremes | undefined {
  if ((type !== 'int32' && type !== 'int64' && type !== 'timestamp') || data.length === 0) return undefined
  const size = sizes[type]
  let [min, max] = [0, 0]
  const isBelow = (a: number, b: number) => {
    if (size === 4) return data.readInt32LE(a) < data.readInt32LE(b)
    const [high, other] = [data.readInt32LE(a + 4), data.readInt32LE(b + 4)]
    return high < other || (high === other && data.readUInt32LE(a) < data.readUInt32LE(b))
  }
  for (let at = size; at < data.length; at += size) {
    if (isBelow(at, min)) min = at
    else if (isBelow(max, at)) max = at
  }
  const valueAt = (at: number) => (size === 4 ? data.readInt32LE(at) : data.readBigInt64LE(at))
  return { min: valueAt(min), max: valueAt(max) }
}

export class ParquetColumn {
  readonly name: string
  readonly type: ColumnType
  readonly #fixed: number
  #data = Buffer.allocUnsafeSlow(64 * 1024)
  #size = 0
  readonly #booleans = new Bits()
  readonly #present = new Bits()
  #nulls = 0

  constructor(name: string, type: ColumnType) {
    this.name = name
    this.type = type
    this.#fixed = sizes[type]
  }

  get rows(): number {
    return this.#present.count
  }

  get nulls(): number {
    return this.#nulls
  }

  /** Size of the values, in bytes. */
  get size(): number {
    return this.#size
  }

  /** The values that are not null, in PLAIN encoding; valid until the next one is added. */
  get data(): Buffer {
    return this.type === 'boolean' ? this.#booleans.bytes : this.#data.subarray(0, this.#size)
  }

  /** One level for each row, in the RLE and bit-packing hybrid encoding with a width of one bit. */
  get levels(): Buffer {
    const { rows } = this
    const isSame = this.#nulls === 0 || this.#nulls === rows
    if (isSame) return Buffer.from([...varint(rows * 2), this.#nulls === 0 ? 1 : 0])
    return Buffer.concat([Buffer.from(varint(Math.ceil(rows / 8) * 2 + 1)), this.#present.bytes])
  }

  /** Undefined for a column of bytes, and where all values are null. */
  get extremes(): Extremes | undefined {
    return extremesOf(this.type, this.data)
  }

  clear(): void {
    this.#size = 0
    this.#nulls = 0
    this.#present.clear()
    this.#booleans.clear()
  }

  addNull(): void {
    this.#present.push(false)
    this.#nulls++
  }

  /**
   * Adds the value whose JSON is in `bytes` from `from` to `to`, however it is spelled. False if
   * the column cannot hold it: then nothing was added.
   */
  add(bytes: Buffer, from: number, to: number): boolean {
    this.#ensure(this.#fixed === 0 ? to - from + 4 : this.#fixed)
    const isAdded = this.#put(bytes, from, to) || this.#putOther(bytes, from, to)
    if (isAdded) this.#present.push(true)
    return isAdded
  }

  /** Puts a value that is spelled in another way than usual. */
  #putOther(bytes: Buffer, from: number, to: number): boolean {
    const usual = IS_NUMBER[this.type] && bytes[from] !== QUOTE ? hexOf(bytes.toString('latin1', from, to)) : unescaped(bytes, from, to)
    return usual !== undefined && this.#put(usual, 0, usual.length)
  }

  /** Adds the last value again, `times` times. */
  repeat(times: number): void {
    const isNull = this.rows > 0 && !this.#isLastPresent
    const size = this.#fixed
    this.#ensure(size * times)
    for (let i = 0; i < times; i++) {
      if (isNull) this.addNull()
      else {
        this.#data.copyWithin(this.#size, this.#size - size, this.#size)
        this.#size += size
        this.#present.push(true)
      }
    }
  }

  get #isLastPresent(): boolean {
    const at = this.rows - 1
    return (((this.#present.bytes[at >> 3] as number) >> (at & 7)) & 1) === 1
  }

  /** Adds a whole number below 2^31. */
  addNumber(value: number): void {
    this.#ensure(4)
    this.#data.writeInt32LE(value, this.#size)
    this.#size += 4
    this.#present.push(true)
  }

  #ensure(size: number): void {
    if (this.#size + size <= this.#data.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#data.length, this.#size + size))
    this.#data.copy(larger, 0, 0, this.#size)
    this.#data = larger
  }

  #put(bytes: Buffer, from: number, to: number): boolean {
    const { type } = this
    if (type === 'json') return this.#putRaw(bytes, from, to)
    if (type === 'boolean') return this.#putBoolean(bytes[from] as number)
    // A string that starts with 0x.
    if (bytes[from] !== QUOTE || bytes[from + 1] !== ZERO || bytes[from + 2] !== SMALL_X) return false
    const first = from + 3
    const last = to - 1
    if (type === 'bytes') return this.#putBytes(bytes, first, last)
    if (type === 'int64') return this.#putInt64(bytes, first, last)
    if (type === 'int32') return this.#putInt32(bytes, first, last)
    if (type === 'timestamp') return this.#putTimestamp(bytes, first, last)
    if (type === 'uint256' || type === 'decimal') return this.#putWide(bytes, first, last)
    return last - first === 2 * this.#fixed && this.#putPairs(bytes, first, last)
  }

  #putRaw(bytes: Buffer, from: number, to: number): boolean {
    const data = this.#data
    data.writeUInt32LE(to - from, this.#size)
    bytes.copy(data, this.#size + 4, from, to)
    this.#size += 4 + to - from
    return true
  }

  #putBoolean(first: number): boolean {
    if (first !== SMALL_T && first !== SMALL_F) return false
    this.#booleans.push(first === SMALL_T)
    return true
  }

  #putBytes(bytes: Buffer, first: number, last: number): boolean {
    const length = (last - first) >> 1
    if (((last - first) & 1) === 1) return false
    const at = this.#size
    this.#data.writeUInt32LE(length, at)
    this.#size += 4
    if (this.#putPairs(bytes, first, last)) return true
    this.#size = at
    return false
  }

  /** Pairs of hex digits. */
  #putPairs(bytes: Buffer, first: number, last: number): boolean {
    const data = this.#data
    let to = this.#size
    let wrong = 0
    for (let i = first; i < last; i += 2) {
      const pair = PAIRS[((bytes[i] as number) << 8) | (bytes[i + 1] as number)] as number
      wrong |= pair
      data[to++] = pair
    }
    if (wrong < 0) return false
    this.#size = to
    return true
  }

  #putInt64(bytes: Buffer, first: number, last: number): boolean {
    if (last === first) return false
    let high = 0
    let low = 0
    for (let i = first; i < last; i++) {
      const digit = DIGITS[bytes[i] as number] as number
      // It would not fit with this digit: the highest bit is the sign.
      if (digit > 15 || high >>> 27 !== 0) return false
      high = (high << 4) | (low >>> 28)
      low = (low << 4) | digit
    }
    const data = this.#data
    data.writeInt32LE(low, this.#size)
    data.writeInt32LE(high, this.#size + 4)
    this.#size += 8
    return true
  }

  #putInt32(bytes: Buffer, first: number, last: number): boolean {
    if (last === first) return false
    let value = 0
    for (let i = first; i < last; i++) {
      const digit = DIGITS[bytes[i] as number] as number
      if (digit > 15 || value >>> 27 !== 0) return false
      value = (value << 4) | digit
    }
    this.#data.writeInt32LE(value, this.#size)
    this.#size += 4
    return true
  }

  #putTimestamp(bytes: Buffer, first: number, last: number): boolean {
    if (last === first) return false
    let seconds = 0
    for (let i = first; i < last; i++) {
      const digit = DIGITS[bytes[i] as number] as number
      if (digit > 15) return false
      seconds = seconds * 16 + digit
    }
    if (seconds > LAST_SECOND) return false
    this.#data.writeBigInt64LE(BigInt(seconds * 1e6), this.#size)
    this.#size += 8
    return true
  }

  /** A number of several words, big-endian. */
  #putWide(bytes: Buffer, start: number, last: number): boolean {
    let first = start
    while (first < last - 1 && bytes[first] === ZERO) first++
    const digits = last - first
    if (digits === 0 || digits > 2 * this.#fixed) return false
    if (this.type === 'decimal' && digits > SAFE_DIGITS && !isDecimal(bytes.toString('latin1', first, last))) return false
    const data = this.#data
    const from = this.#size
    let to = from + this.#fixed
    let wrong = 0
    let i = last
    for (; i > first + 1; i -= 2) {
      const pair = PAIRS[((bytes[i - 2] as number) << 8) | (bytes[i - 1] as number)] as number
      wrong |= pair
      data[--to] = pair
    }
    if (i > first) {
      const digit = DIGITS[bytes[first] as number] as number
      if (digit > 15) return false
      data[--to] = digit
    }
    if (wrong < 0) return false
    while (to > from) data[--to] = 0
    this.#size = from + this.#fixed
    return true
  }
}

/** The quantity that a JSON number is, as the JSON of its hex; undefined for anything else. */
function hexOf(json: string): Buffer | undefined {
  const hex = hexOfNumber(json)
  return hex === undefined ? undefined : Buffer.from(`"${hex}"`)
}

/** Any decimal with this many digits is a double of its own. */
const EXACT_DIGITS = 15

/**
 * The hex of a JSON number that is a quantity, in any spelling; undefined for anything else, and
 * where a double could be another number than the one that is spelled.
 */
export function hexOfNumber(json: string): string | undefined {
  const value = json === '' ? Number.NaN : Number(json)
  if (!Number.isSafeInteger(value) || value < 0) return undefined
  const digits = json.replace(/[eE].*/, '').replace(/\D/g, '')
  const isExact = /^\d+$/.test(json) || (digits.length <= EXACT_DIGITS && (value !== 0 || /^0+$/.test(digits)))
  return isExact ? `0x${value.toString(16)}` : undefined
}

/**
 * The JSON from `from` to `to` without escapes that it does not need; undefined if it has none.
 */
export function unescaped(bytes: Buffer, from: number, to: number): Buffer | undefined {
  const json = bytes.subarray(from, to)
  return json.includes(BACKSLASH) ? Buffer.from(JSON.stringify(JSON.parse(json.toString('utf8')))) : undefined
}

/** Whether these bytes are `0x` and digits. */
export function isHex(bytes: Buffer, from: number, to: number): boolean {
  if (bytes[from] !== ZERO || bytes[from + 1] !== SMALL_X) return false
  for (let i = from + 2; i < to; i++) if ((DIGITS[bytes[i] as number] as number) > 15) return false
  return true
}

function isDecimal(digits: string): boolean {
  return /^[0-9a-fA-F]+$/.test(digits) && BigInt(`0x${digits}`) <= LARGEST_DECIMAL
}

/** An unsigned number in groups of seven bits, the lowest first. */
export function varint(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  return [...bytes, rest]
}
