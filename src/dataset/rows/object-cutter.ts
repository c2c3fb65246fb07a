import { under } from '../../eth/codec/codec-path.ts'
import { type Likeness, newLikeness, skipObject } from '../../eth/codec/likeness.ts'
import { keyIsAt, UNUSUAL } from '../../eth/codec/read-plan.ts'
import { findRepeatedName, repeatedName } from '../../json/repeated-name.ts'
import { plainEnd, skipString, skipValue } from '../../json/scan.ts'
import { type CutField, Rows, type Text } from './cut-rows.ts'
import { type Key, KnownKeys, repeated, start } from './known-keys.ts'

/*
 * Cuts JSON into pieces without decoding any: where each object of a list begins and ends, and
 * where the values of its fields are.
 *
 *     [{"hash":"0x8f…","size":"0x2a"},{"hash":"0x3c…","size":"0x2b"}]
 *      └ row 0 ──────────────────────┘└ row 1 ──────────────────────┘
 *               └ hash ┘       └size┘          └ hash ┘       └size┘
 *
 * All bytes are checked to be JSON, in which no object has a name twice: readers differ on which of
 * the values counts. The order of the keys is learnt (known-keys.ts), as in byte-reader.ts: a known
 * key costs a comparison of its bytes.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Nested deeper than any value that nodes send. */
const DEEPEST = 16

export interface CutterOptions {
  /** Cut the values of some fields further. */
  readonly cuts?: Readonly<Record<string, CutField>>
  /** Fields whose lists are noted with their keys (`Rows.apart`). */
  readonly apart?: readonly string[]
  /** Fields without a name are noted (`Rows.others`). */
  readonly keepsOthers?: boolean
}

/** Cuts objects of one kind. */
export class ObjectCutter {
  /** Those that are cut now. */
  rows: Rows
  /** Those that nobody uses any more. */
  readonly #unused: Rows[] = []
  readonly #keys: KnownKeys
  readonly #keepsOthers: boolean
  /** No field is wanted: whole objects can be compared with one another. */
  readonly #isWhole: boolean
  readonly #likeness: Likeness = newLikeness()
  readonly #skipUnlike = (bytes: Buffer, view: DataView, at: number): number => this.#skipNested({ bytes, view, isPlain: true }, at, this.#keys.start, 1)

  /** `names` are the fields to find. */
  constructor(names: readonly string[], { cuts = {}, apart = [], keepsOthers = false }: CutterOptions = {}) {
    this.rows = new Rows(names)
    this.#keys = new KnownKeys(names, cuts, apart)
    this.#keepsOthers = keepsOthers
    this.#isWhole = names.length + Object.keys(cuts).length + apart.length === 0 && !keepsOthers
  }

  /** The rows that have been cut, which stay as they are until they are given back. */
  takeRows(): Rows {
    const { rows } = this
    this.rows = this.#unused.pop() ?? new Rows(rows.names)
    return rows
  }

  giveBack(rows: Rows): void {
    rows.cutTo(0)
    this.#unused.push(rows)
  }

  /**
   * Adds the objects of the array at `at` to the rows; any other item is a row without fields.
   * Returns the index after the array. Throws `UNUSUAL` or `SyntaxError` for anything but an array
   * without white space between tokens, and `CodecError` for an object with a name twice.
   */
  cutArray(text: Text, at: number): number {
    const { bytes, view, isPlain } = text
    if (bytes[at] !== OPEN_BRACKET) throw UNUSUAL
    let i = at + 1
    if (bytes[i] === CLOSE_BRACKET) return i + 1
    for (;;) {
      if (bytes[i] === OPEN_BRACE) i = this.cutObject(text, i)
      else {
        const row = this.rows.add()
        this.rows.places[row] = i
        i = skipValue(bytes, view, i, isPlain)
        this.rows.places[row + 1] = i
      }
      const byte = bytes[i++]
      if (byte === CLOSE_BRACKET) return i
      if (byte !== COMMA) throw UNUSUAL
    }
  }

  /** Adds the object at `at` to the rows. Returns the index after it. Throws as `cutArray` does. */
  cutObject(text: Text, at: number): number {
    const { rows } = this
    const row = rows.add()
    const end =
      this.#isWhole && text.isPlain && this.#likeness.worth > 0
        ? skipObject(text.bytes, text.view, at, this.#likeness, this.#skipUnlike)
        : this.#cutFields(text, at, row)
    rows.places[row] = at
    rows.places[row + 1] = end
    return end
  }

  #cutFields(text: Text, at: number, row: number): number {
    const { bytes, view, isPlain } = text
    const { length } = bytes
    const { rows } = this
    const index = rows.count - 1
    let i = at + 1
    if (bytes[at] !== OPEN_BRACE) throw UNUSUAL
    if (bytes[i] === CLOSE_BRACE) return i + 1
    let key = this.#keys.start
    for (;;) {
      const { next } = key
      const keyAt = i
      key = next !== undefined && keyIsAt(view, length, i, next.place) ? next : this.#keys.otherNext(text, key, i)
      i += key.place.length
      const from = i
      if (key.cut !== undefined) i = key.cut(text, i)
      else if (bytes[i] === QUOTE) {
        i = plainEnd(bytes, view, i + 1)
        if (bytes[i] === QUOTE) i++
        else if (isPlain) throw UNUSUAL
        else i = skipString(bytes, view, from, false)
      } else if (bytes[i] === OPEN_BRACE || bytes[i] === OPEN_BRACKET) i = this.#skipNested(text, i, key, 1)
      else i = skipValue(bytes, view, i, isPlain)
      if (key.field >= 0) {
        // A cut of the field may have made the rows longer.
        const { places } = rows
        const place = row + 2 * (key.field + 1)
        places[place] = from
        places[place + 1] = i
      } else if (this.#keepsOthers) rows.others.push(index, keyAt, i)
      if (key.isApart && bytes[from] === OPEN_BRACKET) rows.apart.push(index, keyAt, i)
      const byte = bytes[i++]
      if (byte === CLOSE_BRACE) {
        if (key.isStray) checkNames(bytes, at, i)
        return i
      }
      if (byte !== COMMA) throw UNUSUAL
    }
  }

  /** Index after the list or object at `at`, in the value of a key. */
  #skipNested(text: Text, at: number, of: Key, depth: number): number {
    const { bytes, view, isPlain } = text
    if (depth > DEEPEST) {
      const end = skipValue(bytes, view, at, isPlain)
      checkNames(bytes, at, end)
      return end
    }
    const isObject = bytes[at] === OPEN_BRACE
    const close = isObject ? CLOSE_BRACE : CLOSE_BRACKET
    let i = at + 1
    if (bytes[i] === close) return i + 1
    of.inner ??= start()
    let key = of.inner
    for (;;) {
      if (isObject) {
        const { next } = key
        key = next !== undefined && keyIsAt(view, bytes.length, i, next.place) ? next : this.#keys.otherNext(text, key, i)
        i += key.place.length
      }
      const from = i
      if (bytes[i] === QUOTE) {
        i = plainEnd(bytes, view, i + 1)
        if (bytes[i] === QUOTE) i++
        else i = skipString(bytes, view, from, isPlain)
      } else if (bytes[i] === OPEN_BRACE || bytes[i] === OPEN_BRACKET) i = this.#skipNested(text, i, key, depth + 1)
      else i = skipValue(bytes, view, i, isPlain)
      const byte = bytes[i++]
      if (byte === close) {
        if (key.isStray) checkNames(bytes, at, i)
        return i
      }
      if (byte !== COMMA) throw UNUSUAL
    }
  }
}

function checkNames(bytes: Buffer, from: number, to: number): void {
  const name = repeatedName(bytes.subarray(from, to))
  if (name !== undefined) throw repeated(name)
}

/** Steps of a path that an error states: a server chooses the others, and their length. */
const USUAL_STEP = /^\w{1,64}$/
const MOST_STEPS = 8

/**
 * The error for a name that an object in this JSON has twice; undefined if there is none. Its path
 * ends before a step that is not usual.
 */
export function repeatedFault(json: Buffer): unknown {
  const found = findRepeatedName(json)
  if (found === undefined) return undefined
  const odd = found.path.findIndex((step, i) => i === MOST_STEPS || !USUAL_STEP.test(`${step}`))
  return found.path.slice(0, odd < 0 ? undefined : odd).reduceRight<unknown>((error, step) => under(error, step), repeated(found.name))
}
