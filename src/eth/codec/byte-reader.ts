import { isPlain, plainEnd, skipValue, viewOf } from '../../json/scan.ts'
import { type Likeness, skipItems } from './likeness.ts'
import {
  ANY,
  ANYTHING,
  ARRAY,
  CODEC,
  type Fields,
  isAgain,
  leadsTo,
  MOST_WORTH,
  makerOf,
  NUMBER,
  OBJECT,
  type Place,
  placeBehind,
  QUANTITY,
  type Reading,
  readingOf,
  SKIP,
  SKIPPED,
  STRING,
  startOf,
  UNUSUAL,
  WORTH_OF_A_HIT,
} from './read-plan.ts'
import type { Decode } from './schema.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SMALL_N = 0x6e

/** What `toString('latin1', …)` calls, for half the cost on short strings. */
interface Bytes extends Buffer {
  latin1Slice(start: number, end: number): string
}

const NOTHING = Buffer.alloc(0) as Bytes
const NO_VIEW = new DataView(new ArrayBuffer(0))

/** Keys of one object, different keys in one place, and places in all, that are remembered: what is written otherwise each time is read the long way. */
const MOST_KEYS = 128
const MOST_NEXT = 16
const MOST_PLACES = 4096
/** Deeper ones, of those that are made, would end in a stack overflow. */
const DEEPEST = 100

/**
 * Reads values of one kind from plain bytes (`isPlain` in rpc/scan.ts) without white space in one go, decoded: quantities from their
 * digits, objects by a literal with the keys that others had in the same order. Learns the keys from what it reads.
 */
export class PlainReader<T> {
  readonly #reading: Reading
  /** Objects that nothing is known about. */
  readonly #unknown: Reading = { kind: OBJECT, root: startOf(), fields: { identity: [], of: () => ANYTHING } }
  #bytes: Bytes = NOTHING
  #view: DataView = NO_VIEW
  #at = 0
  #depth = 0
  #reads = 0
  #places = 0
  /** Values of the objects that are being read, one list for each depth. */
  #levels: unknown[][] = []

  constructor(decode: Decode<T>) {
    this.#reading = readingOf(decode)
  }

  /** The value that fills `bytes`. Throws `UNUSUAL` or a `SyntaxError` for anything but plain JSON without white space, or whatever a codec throws. */
  read(bytes: Buffer): T {
    this.#bytes = bytes as Bytes
    this.#view = viewOf(bytes)
    this.#at = 0
    this.#depth = 0
    this.#reads++
    try {
      const value = this.#value(this.#reading)
      if (this.#at !== bytes.length) throw UNUSUAL
      return value as T
    } finally {
      this.#bytes = NOTHING
      this.#view = NO_VIEW
      this.#levels = []
    }
  }

  #value(reading: Reading): unknown {
    switch (reading.kind) {
      case QUANTITY:
        return this.#quantity()
      case NUMBER:
        return this.#number()
      case STRING:
        return this.#string()
      case OBJECT:
        return this.#object(reading)
      case ARRAY:
        return this.#array(reading)
      case CODEC:
        return (reading.make as Decode<unknown>)(this.#any())
      default:
        return this.#any()
    }
  }

  #object(reading: Reading): unknown {
    const bytes = this.#bytes
    const view = this.#view
    let at = this.#at
    if (bytes[at++] !== OPEN_BRACE || ++this.#depth > DEEPEST) throw UNUSUAL
    // Objects inside this one have lists of their own.
    this.#levels[this.#depth] ??= []
    const values = this.#levels[this.#depth] as unknown[]
    let count = 0
    let place = reading.root as Place
    if (bytes[at] === CLOSE_BRACE) at++
    else
      for (;;) {
        const { next } = place
        place = next !== undefined && leadsTo(view, bytes.length, at, next) ? next : this.#otherNext(reading, place, at)
        at += place.length
        this.#at = at
        const of = place.reading
        const first = bytes[at]
        if (of.kind === SKIPPED) {
          this.#skip(place.items as Likeness)
        } else if (first === SMALL_N) {
          // Null stays null in every field.
          values[count++] = this.#literal('null', null)
        } else if (first === QUOTE && of.kind <= STRING && place.worth > 0) {
          if (place.read === this.#reads && isAgain(view, bytes.length, at, place)) {
            values[count++] = place.value
            this.#at = at + place.size
            place.worth = Math.min(MOST_WORTH, place.worth + WORTH_OF_A_HIT)
          } else {
            const value = of.kind === ANY ? this.#string() : this.#value(of)
            values[count++] = value
            // The first one in a read had nothing to be compared with.
            if (place.read === this.#reads) place.worth--
            // A long one seldom comes again, and would be held as long as the reader.
            if (this.#at - at <= SHORT) {
              place.value = value
              place.read = this.#reads
              place.at = at
              place.size = this.#at - at
            }
          }
        } else {
          values[count++] = of.kind === ANY && first === QUOTE ? this.#string() : this.#value(of)
        }
        at = this.#at
        const byte = bytes[at++]
        if (byte === CLOSE_BRACE) break
        if (byte !== COMMA) throw UNUSUAL
      }
    this.#at = at
    this.#depth--
    const object = (place.make ?? makerOf(place, (reading.fields as Fields).identity))(values)
    return reading.make === undefined ? object : reading.make(object)
  }

  /** The place behind a key that is not the one that comes first in mind. */
  #otherNext({ fields }: Reading, place: Place, at: number): Place {
    const bytes = this.#bytes
    for (const each of place.others) if (leadsTo(this.#view, bytes.length, at, each)) return each
    const end = bytes.indexOf(QUOTE, at + 1) + 1
    if (bytes[at] !== QUOTE || end === 0 || bytes[end] !== COLON) throw UNUSUAL
    const key = bytes.toString('latin1', at + 1, end - 1)
    // A key that means something to JavaScript, or stands elsewhere than it was written.
    if (key === '__proto__' || !/^[a-z_$][\w$]*$/i.test(key)) throw UNUSUAL
    if (place.seen.length >= MOST_KEYS || place.others.length >= MOST_NEXT || ++this.#places > MOST_PLACES) throw UNUSUAL
    const reading = (fields as Fields).of(key)
    const next = placeBehind(bytes.subarray(at, end + 1), reading, [...place.seen, key], reading === SKIP ? place.keys : [...place.keys, key])
    if (place.next === undefined) place.next = next
    else place.others.push(next)
    return next
  }

  #array({ item, make }: Reading): unknown {
    const bytes = this.#bytes
    if (item?.kind === STRING && make === undefined) return this.#strings()
    if (bytes[this.#at++] !== OPEN_BRACKET || ++this.#depth > DEEPEST) throw UNUSUAL
    const items: unknown[] = []
    if (bytes[this.#at] === CLOSE_BRACKET) this.#at++
    else
      for (;;) {
        items.push(this.#value(item as Reading))
        const byte = bytes[this.#at++]
        if (byte === CLOSE_BRACKET) break
        if (byte !== COMMA) throw UNUSUAL
      }
    this.#depth--
    return make === undefined ? items : make(items)
  }

  /** Many strings at once are what `JSON.parse` is faster at. */
  #strings(): unknown {
    const bytes = this.#bytes
    const start = this.#at
    if (bytes[start] !== OPEN_BRACKET) throw UNUSUAL
    // Where a string holds a bracket, this is too early, and no JSON.
    const end = bytes[start + 1] === CLOSE_BRACKET ? start + 2 : bytes.indexOf(CLOSE_BRACKET, start) + 1
    if (!isPlain(bytes.subarray(start, end))) throw UNUSUAL
    const items: unknown[] = JSON.parse(bytes.toString('latin1', start, end))
    // Two quotes and a comma or bracket each, and the other bracket: what is longer has white space.
    let length = items.length === 0 ? 2 : 1
    for (const item of items) {
      if (typeof item !== 'string') throw UNUSUAL
      length += item.length + 3
    }
    if (length !== end - start) throw UNUSUAL
    this.#at = end
    return items
  }

  #any(): unknown {
    const byte = this.#bytes[this.#at]
    if (byte === QUOTE) return this.#string()
    if (byte === OPEN_BRACE) return this.#object(this.#unknown)
    if (byte === OPEN_BRACKET) return this.#array(ARRAY_OF_ANYTHING)
    if (byte === SMALL_N) return this.#literal('null', null)
    if (byte === 0x74) return this.#literal('true', true)
    if (byte === 0x66) return this.#literal('false', false)
    return this.#jsonNumber()
  }

  #string(): string {
    const start = this.#at + 1
    this.#skipString()
    return this.#bytes.latin1Slice(start, this.#at - 1)
  }

  #skipString(): void {
    const bytes = this.#bytes
    if (bytes[this.#at] !== QUOTE) throw UNUSUAL
    const end = plainEnd(bytes, this.#view, this.#at + 1)
    if (bytes[end] !== QUOTE) throw UNUSUAL
    this.#at = end + 1
  }

  #quantity(): bigint {
    const bytes = this.#bytes
    const start = this.#at
    if (bytes[start] !== QUOTE || bytes[start + 1] !== 0x30 || bytes[start + 2] !== 0x78) throw UNUSUAL
    let at = start + 3
    let high = 0
    let low = 0
    let byte = bytes[at] as number
    for (;;) {
      const digit = DIGITS[byte] as number
      // Not `> 15`: behind the last byte there is no digit at all.
      if (!(digit <= 15)) break
      high = (high << 4) | (low >>> 28)
      low = (low << 4) | digit
      byte = bytes[++at] as number
    }
    const digits = at - start - 3
    if (byte !== QUOTE || digits === 0 || digits > 64) throw UNUSUAL
    this.#at = at + 1
    if (digits > 16) return BigInt(bytes.toString('latin1', start + 1, at))
    HALVES[LOW] = low
    HALVES[HIGH] = high
    return WHOLE[0] as bigint
  }

  #number(): number {
    const bytes = this.#bytes
    const start = this.#at
    if (bytes[start] !== QUOTE || bytes[start + 1] !== 0x30 || bytes[start + 2] !== 0x78) throw UNUSUAL
    let at = start + 3
    let value = 0
    let byte = bytes[at] as number
    for (;;) {
      const digit = DIGITS[byte] as number
      // Not `> 15`: behind the last byte there is no digit at all.
      if (!(digit <= 15)) break
      value = value * 16 + digit
      byte = bytes[++at] as number
    }
    const digits = at - start - 3
    // 13 digits are 52 bits, exact as a double.
    if (byte !== QUOTE || digits === 0 || digits > 13) throw UNUSUAL
    this.#at = at + 1
    return value
  }

  #literal<V>(text: string, value: V): V {
    for (let i = 0; i < text.length; i++) if (this.#bytes[this.#at + i] !== text.charCodeAt(i)) throw UNUSUAL
    this.#at += text.length
    return value
  }

  #jsonNumber(): number {
    const bytes = this.#bytes
    const start = this.#at
    let at = start
    while (at < bytes.length && isInNumber(bytes[at] as number)) at++
    this.#at = at
    const text = bytes.toString('latin1', start, at)
    if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) throw UNUSUAL
    return Number(text)
  }

  /** Passes over a value that is not wanted: seen to be JSON, and not made. */
  #skip(items: Likeness): void {
    const isArray = this.#bytes[this.#at] === OPEN_BRACKET
    this.#at = isArray ? skipItems(this.#bytes, this.#view, this.#at, items) : skipValue(this.#bytes, this.#view, this.#at, true)
    if (this.#at < 0) throw UNUSUAL
  }
}

const ARRAY_OF_ANYTHING: Reading = { kind: ARRAY, item: ANYTHING }
/** Longest value that is kept to be compared with the next one, in bytes. */
const SHORT = 128

/** Values of hex digits; 255 for what is none. */
const DIGITS = new Uint8Array(256).fill(255)
for (let i = 0; i < 16; i++) {
  const digit = i.toString(16)
  DIGITS[digit.charCodeAt(0)] = i
  DIGITS[digit.toUpperCase().charCodeAt(0)] = i
}

/** 64 bits as two halves and as a bigint: the cheapest way to make one. */
const WHOLE = new BigUint64Array(1)
const HALVES = new Uint32Array(WHOLE.buffer)
const LOW = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1
const HIGH = 1 - LOW

function isInNumber(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45 || byte === 0x65
}
