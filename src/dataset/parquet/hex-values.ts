import type { ColumnType } from '../tables.ts'
import { LARGEST_DECIMAL, LAST_SECOND, sizes } from './parquet-types.ts'

/*
 * Writes the values of hex digits in PLAIN encoding. Each function reads the digits from `first` to
 * before `last` in `bytes`, without `0x`, and writes the value to `data` at `at`. It returns false
 * for anything but digits, and for a number that is too large; what it has written by then does not
 * count.
 *
 * The tables stay in this file: V8 knows a table of the same module, and looks up an imported one
 * for each digit, which makes a hash 15 % slower.
 */

const ZERO = 0x30
const SMALL_X = 0x78

/** Byte of two hex digits, by their characters as a big-endian 16-bit number; else -1. */
const PAIRS = new Int16Array(65536).fill(-1)
/** Value of a hex digit, by its character; 255 for any other byte. */
const DIGITS = new Uint8Array(256).fill(255)
for (let i = 0; i < 16; i++) for (const digit of [i.toString(16), i.toString(16).toUpperCase()]) DIGITS[digit.charCodeAt(0)] = i
for (let high = 0; high < 256; high++)
  for (let low = 0; low < 256; low++) {
    const [a, b] = [DIGITS[high] as number, DIGITS[low] as number]
    if (a < 16 && b < 16) PAIRS[(high << 8) | low] = (a << 4) | b
  }

/** Any number of this many hex digits has at most 38 decimal digits. */
const SAFE_DIGITS = 31

/** Writes a value of a type with a fixed size, of `sizes[type]` bytes. */
export function writeFixed(type: ColumnType, data: Buffer, at: number, bytes: Buffer, first: number, last: number): boolean {
  if (type === 'int64') return writeInt64(data, at, bytes, first, last)
  if (type === 'int32') return writeInt32(data, at, bytes, first, last)
  if (type === 'timestamp') return writeTimestamp(data, at, bytes, first, last)
  if (type === 'uint256' || type === 'decimal') return writeWide(data, at, bytes, first, last, sizes[type], type === 'decimal')
  return last - first === 2 * sizes[type] && writeBytes(data, at, bytes, first, last)
}

/** Writes a byte for each pair of digits. Their number is even. */
export function writeBytes(data: Buffer, at: number, bytes: Buffer, first: number, last: number): boolean {
  let to = at
  let wrong = 0
  for (let i = first; i < last; i += 2) {
    const pair = PAIRS[((bytes[i] as number) << 8) | (bytes[i + 1] as number)] as number
    wrong |= pair
    data[to++] = pair
  }
  return wrong >= 0
}

/** Writes an `int64`: at most 2^63 - 1. */
function writeInt64(data: Buffer, at: number, bytes: Buffer, first: number, last: number): boolean {
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
  data.writeInt32LE(low, at)
  data.writeInt32LE(high, at + 4)
  return true
}

/** Writes an `int32`: at most 2^31 - 1. */
function writeInt32(data: Buffer, at: number, bytes: Buffer, first: number, last: number): boolean {
  if (last === first) return false
  let value = 0
  for (let i = first; i < last; i++) {
    const digit = DIGITS[bytes[i] as number] as number
    if (digit > 15 || value >>> 27 !== 0) return false
    value = (value << 4) | digit
  }
  data.writeInt32LE(value, at)
  return true
}

/** Writes seconds as a `timestamp`, which is in microseconds. */
function writeTimestamp(data: Buffer, at: number, bytes: Buffer, first: number, last: number): boolean {
  if (last === first) return false
  let seconds = 0
  for (let i = first; i < last; i++) {
    const digit = DIGITS[bytes[i] as number] as number
    if (digit > 15) return false
    seconds = seconds * 16 + digit
  }
  if (seconds > LAST_SECOND) return false
  data.writeBigInt64LE(BigInt(seconds * 1e6), at)
  return true
}

/** Writes a `uint256` or a `decimal`: a big-endian number of `size` bytes. */
function writeWide(data: Buffer, at: number, bytes: Buffer, start: number, last: number, size: number, isDecimal: boolean): boolean {
  let first = start
  while (first < last - 1 && bytes[first] === ZERO) first++
  const digits = last - first
  if (digits === 0 || digits > 2 * size) return false
  if (isDecimal && digits > SAFE_DIGITS && !fitsDecimal(bytes.toString('latin1', first, last))) return false
  let to = at + size
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
  while (to > at) data[--to] = 0
  return true
}

function fitsDecimal(digits: string): boolean {
  return /^[0-9a-fA-F]+$/.test(digits) && BigInt(`0x${digits}`) <= LARGEST_DECIMAL
}

/** Whether the bytes from `from` to `to` are `0x` and hex digits. */
export function isHex(bytes: Buffer, from: number, to: number): boolean {
  if (bytes[from] !== ZERO || bytes[from + 1] !== SMALL_X) return false
  for (let i = from + 2; i < to; i++) if ((DIGITS[bytes[i] as number] as number) > 15) return false
  return true
}
