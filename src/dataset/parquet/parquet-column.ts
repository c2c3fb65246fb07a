import { hexOfNumber, unescaped } from '../rows/usual-spelling.ts'
import type { ColumnType } from '../tables.ts'
import { Bits, encodeLevels } from './definition-levels.ts'
import { type Extremes, extremesOf } from './extremes.ts'
import { writeBytes, writeFixed } from './hex-values.ts'
import { isNumber, sizes } from './parquet-types.ts'

const QUOTE = 0x22
const ZERO = 0x30
const SMALL_X = 0x78
const SMALL_T = 0x74
const SMALL_F = 0x66

/**
 * A column of a row group, while its rows are added. It holds the page as Parquet stores it in
 * PLAIN encoding: the values that are not null, one after another, and a bit for each row that
 * tells whether it has a value. So a value is copied from the node's JSON to the page, and never
 * becomes an object.
 */
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

  /** The definition levels of the rows: which are null. */
  get levels(): Buffer {
    return encodeLevels(this.#present, this.#nulls)
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
    const usual = isNumber[this.type] && bytes[from] !== QUOTE ? hexOf(bytes.toString('latin1', from, to)) : unescaped(bytes, from, to)
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

  /** Puts a value in its usual spelling. False for any other. */
  #put(bytes: Buffer, from: number, to: number): boolean {
    const { type } = this
    if (type === 'json') return this.#putJson(bytes, from, to)
    if (type === 'boolean') return this.#putBoolean(bytes[from] as number)
    // A string that starts with 0x.
    if (bytes[from] !== QUOTE || bytes[from + 1] !== ZERO || bytes[from + 2] !== SMALL_X) return false
    const first = from + 3
    const last = to - 1
    if (type === 'bytes') return this.#putBytes(bytes, first, last)
    if (!writeFixed(type, this.#data, this.#size, bytes, first, last)) return false
    this.#size += this.#fixed
    return true
  }

  #putJson(bytes: Buffer, from: number, to: number): boolean {
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
    const digits = last - first
    if (digits % 2 !== 0) return false
    const at = this.#size
    this.#data.writeUInt32LE(digits / 2, at)
    if (!writeBytes(this.#data, at + 4, bytes, first, last)) return false
    this.#size += 4 + digits / 2
    return true
  }
}

/** The quantity that a JSON number is, as the JSON of its hex; undefined for anything else. */
function hexOf(json: string): Buffer | undefined {
  const hex = hexOfNumber(json)
  return hex === undefined ? undefined : Buffer.from(`"${hex}"`)
}
