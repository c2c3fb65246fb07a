import { isAscii } from 'node:buffer'
import { plainEnd, skipValue, viewOf } from '../../json/scan.ts'
import { type Likeness, skipItems } from './likeness.ts'
import {
  ANY,
  ARRAY,
  CODEC,
  type FieldPlans,
  isRepeated,
  keyIsAt,
  MOST_WORTH,
  makerOf,
  NUMBER,
  OBJECT,
  type Place,
  placeAfter,
  planOf,
  QUANTITY,
  READ_ANY,
  type ReadPlan,
  SKIP,
  SKIPPED,
  STRING,
  startPlace,
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

/**
 * Node's own method under `toString('latin1', …)`; called directly, it costs half on short strings.
 */
interface Bytes extends Buffer {
  latin1Slice(start: number, end: number): string
}

const NOTHING = Buffer.alloc(0) as Bytes
const NO_VIEW = new DataView(new ArrayBuffer(0))

/**
 * Bounds on what is remembered: keys of one object, keys that follow one place, and places in all.
 * Beyond them, bytes are parsed.
 */
const MOST_KEYS = 128
const MOST_NEXT = 16
const MOST_PLACES = 4096
/** Deepest nesting that is read here, far from a stack overflow. */
const DEEPEST = 100

/**
 * Decodes values of one kind straight from the bytes of plain JSON (ASCII without escapes) without
 * white space between tokens: quantities from their digits, and objects by a literal with all keys
 * at once. It learns the order of the keys from what it reads:
 *
 *     {"hash":"0x8f…","number":"0x10","size":"0x2a"}
 *     {"hash":"0x3c…","number":"0x11","size":"0x2b"}
 *     {"hash":"0x77…","size":"0x2c"}
 *
 *     start ─"hash":─▶ place ─"number":─▶ place ─"size":─▶ place, make: { hash, number, size }
 *                        │ others
 *                        └─"size":─▶ place, make: { hash, size }
 *
 * Each `Place` knows the bytes of the key that leads to it, how the value after that key is read,
 * and `next`, the place that followed the first time. So a known key costs a comparison of its
 * bytes with those of `next`; where they differ, `others` are tried, and a key that is new adds a
 * place. At the closing brace, `make` turns the values into the object.
 */
export class ByteReader<T> {
  readonly #plan: ReadPlan
  /** For objects without a schema. */
  readonly #unknown: ReadPlan = { kind: OBJECT, start: startPlace(), fields: { identity: [], of: () => READ_ANY } }
  #bytes: Bytes = NOTHING
  #view: DataView = NO_VIEW
  #at = 0
  #depth = 0
  #reads = 0
  #places = 0
  /** The values of the objects that are open, one list for each depth. */
  #levels: unknown[][] = []

  constructor(decode: Decode<T>) {
    this.#plan = planOf(decode)
  }

  /**
   * Decodes `bytes`, which are one value. Throws `UNUSUAL` or `SyntaxError` for anything but plain
   * JSON without white space, and what a codec throws.
   */
  read(bytes: Buffer): T {
    this.#bytes = bytes as Bytes
    this.#view = viewOf(bytes)
    this.#at = 0
    this.#depth = 0
    this.#reads++
    try {
      const value = this.#value(this.#plan)
      if (this.#at !== bytes.length) throw UNUSUAL
      return value as T
    } finally {
      this.#bytes = NOTHING
      this.#view = NO_VIEW
      this.#levels = []
    }
  }

  #value(plan: ReadPlan): unknown {
    switch (plan.kind) {
      case QUANTITY:
        return this.#quantity()
      case NUMBER:
        return this.#number()
      case STRING:
        return this.#string()
      case OBJECT:
        return this.#object(plan)
      case ARRAY:
        return this.#array(plan)
      case CODEC:
        return (plan.make as Decode<unknown>)(this.#any())
      default:
        return this.#any()
    }
  }

  #object(plan: ReadPlan): unknown {
    const bytes = this.#bytes
    const view = this.#view
    let at = this.#at
    if (bytes[at++] !== OPEN_BRACE || ++this.#depth > DEEPEST) throw UNUSUAL
    // Inner objects use the lists of their depths.
    this.#levels[this.#depth] ??= []
    const values = this.#levels[this.#depth] as unknown[]
    let count = 0
    let place = plan.start as Place
    if (bytes[at] === CLOSE_BRACE) at++
    else
      for (;;) {
        const { next } = place
        place = next !== undefined && keyIsAt(view, bytes.length, at, next) ? next : this.#otherNext(plan, place, at)
        at += place.length
        this.#at = at
        const of = place.plan
        const first = bytes[at]
        if (of.kind === SKIPPED) {
          this.#skip(place.items as Likeness)
        } else if (first === SMALL_N) {
          // Null stays null in every field.
          values[count++] = this.#literal('null', null)
        } else if (first === QUOTE && of.kind <= STRING && place.worth > 0) {
          if (place.lastRead === this.#reads && isRepeated(view, bytes.length, at, place)) {
            values[count++] = place.lastValue
            this.#at = at + place.lastSize
            place.worth = Math.min(MOST_WORTH, place.worth + WORTH_OF_A_HIT)
          } else {
            const value = of.kind === ANY ? this.#string() : this.#value(of)
            values[count++] = value
            // The first value in a read had nothing to be compared with.
            if (place.lastRead === this.#reads) place.worth--
            // A long value is seldom repeated, and would be kept as long as the reader.
            if (this.#at - at <= SHORT) {
              place.lastValue = value
              place.lastRead = this.#reads
              place.lastAt = at
              place.lastSize = this.#at - at
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
    const object = (place.make ?? makerOf(place, (plan.fields as FieldPlans).identity))(values)
    return plan.make === undefined ? object : plan.make(object)
  }

  /** The place after a key that `next` does not have: one of `others`, or a new one. */
  #otherNext({ fields }: ReadPlan, place: Place, at: number): Place {
    const bytes = this.#bytes
    for (const each of place.others) if (keyIsAt(this.#view, bytes.length, at, each)) return each
    const end = bytes.indexOf(QUOTE, at + 1) + 1
    if (bytes[at] !== QUOTE || end === 0 || bytes[end] !== COLON) throw UNUSUAL
    const key = bytes.toString('latin1', at + 1, end - 1)
    // JavaScript treats `__proto__` specially, and orders keys that are numbers before the others.
    if (key === '__proto__' || !/^[a-z_$][\w$]*$/i.test(key)) throw UNUSUAL
    // Which of two values counts is up to `JSON.parse`.
    if (place.seen.includes(key)) throw UNUSUAL
    if (place.seen.length >= MOST_KEYS || place.others.length >= MOST_NEXT || ++this.#places > MOST_PLACES) throw UNUSUAL
    const plan = (fields as FieldPlans).of(key)
    const next = placeAfter(bytes.subarray(at, end + 1), plan, [...place.seen, key], plan === SKIP ? place.keys : [...place.keys, key])
    if (place.next === undefined) place.next = next
    else place.others.push(next)
    return next
  }

  #array({ item, make }: ReadPlan): unknown {
    const bytes = this.#bytes
    if (item?.kind === STRING && make === undefined) return this.#strings()
    if (bytes[this.#at++] !== OPEN_BRACKET || ++this.#depth > DEEPEST) throw UNUSUAL
    const items: unknown[] = []
    if (bytes[this.#at] === CLOSE_BRACKET) this.#at++
    else
      for (;;) {
        items.push(item?.kind === ANY && bytes[this.#at] === QUOTE ? this.#string() : this.#value(item as ReadPlan))
        const byte = bytes[this.#at++]
        if (byte === CLOSE_BRACKET) break
        if (byte !== COMMA) throw UNUSUAL
      }
    this.#depth--
    return make === undefined ? items : make(items)
  }

  /**
   * An array of strings, which `JSON.parse` reads faster. It accepts two things that are refused
   * here: other characters than ASCII, which are looked for first, and white space between tokens,
   * which shows in the length of its result.
   */
  #strings(): unknown {
    const bytes = this.#bytes
    const start = this.#at
    if (bytes[start] !== OPEN_BRACKET) throw UNUSUAL
    // Where a string contains a bracket, this is too early, and what it ends is not JSON.
    const end = bytes[start + 1] === CLOSE_BRACKET ? start + 2 : bytes.indexOf(CLOSE_BRACKET, start) + 1
    if (!isAscii(bytes.subarray(start, end))) throw UNUSUAL
    const items: unknown[] = JSON.parse(bytes.latin1Slice(start, end))
    // Each string has two quotes and a comma or bracket after it; the opening bracket is one more.
    // An escape is longer than its character, and white space adds to the bytes alone.
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
    if (byte === OPEN_BRACKET) return this.#array(ARRAY_OF_ANY)
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
      // Not `> 15`: past the last byte, `digit` is undefined.
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
      // Not `> 15`: past the last byte, `digit` is undefined.
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

  /**
   * Skips a value that is not picked: its bytes are checked to be JSON, and nothing is made of
   * them.
   */
  #skip(items: Likeness): void {
    const isArray = this.#bytes[this.#at] === OPEN_BRACKET
    this.#at = isArray ? skipItems(this.#bytes, this.#view, this.#at, items) : skipValue(this.#bytes, this.#view, this.#at, true)
    if (this.#at < 0) throw UNUSUAL
  }
}

const ARRAY_OF_ANY: ReadPlan = { kind: ARRAY, item: READ_ANY }
/** Longest value that is kept for comparison, in bytes. */
const SHORT = 128

/** Values of hex digits; 255 for any other byte. */
const DIGITS = new Uint8Array(256).fill(255)
for (let i = 0; i < 16; i++) {
  const digit = i.toString(16)
  DIGITS[digit.charCodeAt(0)] = i
  DIGITS[digit.toUpperCase().charCodeAt(0)] = i
}

/** 64 bits as two halves and as a bigint: the cheapest way to make a bigint. */
const WHOLE = new BigUint64Array(1)
const HALVES = new Uint32Array(WHOLE.buffer)
const LOW = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 0 : 1
const HIGH = 1 - LOW

function isInNumber(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2b || byte === 0x2d || byte === 0x2e || byte === 0x45 || byte === 0x65
}
