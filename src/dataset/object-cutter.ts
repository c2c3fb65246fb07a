import { fault, under } from '../eth/codec/codec-path.ts'
import { type Likeness, newLikeness, skipObject } from '../eth/codec/likeness.ts'
import { keyIsAt, type Place, placeAfter, READ_ANY, UNUSUAL } from '../eth/codec/read-plan.ts'
import { findRepeatedName, plainEnd, repeatedName, skipString, skipValue, viewOf } from '../json/scan.ts'

/*
 * Cuts JSON into pieces without decoding any: where each object of a list begins and ends, and
 * where the values of its fields are.
 *
 *     [{"hash":"0x8f…","size":"0x2a"},{"hash":"0x3c…","size":"0x2b"}]
 *      └ row 0 ──────────────────────┘└ row 1 ──────────────────────┘
 *               └ hash ┘       └size┘          └ hash ┘       └size┘
 *
 * All bytes are checked to be JSON, in which no object has a name twice: readers differ on which of
 * the values counts. The order of the keys is learnt, as in byte-reader.ts: a known key costs a
 * comparison of its bytes. Each known key follows one other, so what leads to it is known to have
 * each name once.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** The bytes to cut: one value, without white space between tokens. */
export interface Text {
  readonly bytes: Buffer
  readonly view: DataView
  /** Only ASCII without escapes is accepted, which is faster; anything else throws. */
  readonly isPlain: boolean
}

/** The rows that were cut, and where their fields are. */
export class Rows {
  /** The fields whose places are found. */
  readonly names: readonly string[]
  /** Places in a row: its own, and those of its fields. */
  readonly width: number
  count = 0
  /**
   * For each row `2 * width` numbers: its start and end, and those of each field's value, in the
   * order of the names; -1 where the row does not have the field.
   */
  places: Int32Array
  /**
   * Of each field without a name in the cutter: its row, the start of its key, the end of its
   * value.
   */
  readonly others: number[] = []
  /** The same of each field that is apart. */
  readonly apart: number[] = []

  constructor(names: readonly string[]) {
    this.names = names
    this.width = names.length + 1
    this.places = new Int32Array(2 * this.width * 256)
  }

  /** Drops the rows from `count` on. */
  cutTo(count: number): void {
    this.count = count
    for (const list of [this.others, this.apart]) while (list.length > 0 && (list.at(-3) as number) >= count) list.length -= 3
  }

  /** Index in `places` of a new row. */
  add(): number {
    const at = 2 * this.width * this.count++
    if (at === this.places.length) {
      const larger = new Int32Array(2 * at)
      larger.set(this.places)
      this.places = larger
    }
    this.places.fill(-1, at, at + 2 * this.width)
    return at
  }

  start(row: number): number {
    return this.places[2 * this.width * row] as number
  }

  end(row: number): number {
    return this.places[2 * this.width * row + 1] as number
  }

  /** Start of the value of a field, by its index among the names; -1 if there is none. */
  from(row: number, field: number): number {
    return this.places[2 * (this.width * row + field + 1)] as number
  }

  to(row: number, field: number): number {
    return this.places[2 * (this.width * row + field + 1) + 1] as number
  }
}

/** Cuts the value at `at`, and returns the index after it. */
export type CutField = (text: Text, at: number) => number

/** A key that was found, and what to do with its value. */
class Key {
  readonly place: Place
  /** Undefined before the first one. */
  readonly name: string | undefined
  readonly before: Key | undefined
  /** Whether it is not remembered, nor are those after it. */
  readonly isStray: boolean
  /** Index among the names; -1 for any other field. */
  readonly field: number
  readonly cut: CutField | undefined
  readonly isApart: boolean
  next: Key | undefined = undefined
  readonly others: Key[] = []
  /** Before the first key of the objects in its value. */
  inner: Key | undefined = undefined

  constructor(place: Place, name: string | undefined, before: Key | undefined, isStray: boolean, field = -1, cut?: CutField, isApart = false) {
    this.place = place
    this.name = name
    this.before = before
    this.isStray = isStray
    this.field = field
    this.cut = cut
    this.isApart = isApart
  }
}

/** Nested deeper than any value that nodes send. */
const DEEPEST = 16

function start(): Key {
  return new Key(placeAfter(Buffer.alloc(4), READ_ANY, [], []), undefined, undefined, false)
}

/** Bounds on the keys that are remembered: in all, and after one other. */
const MOST_KEYS = 4096
const MOST_OTHERS = 16

export interface CutterOptions {
  readonly cuts?: Readonly<Record<string, CutField>>
  readonly apart?: readonly string[]
  readonly keepsOthers?: boolean
}

/** Cuts objects of one kind. */
export class ObjectCutter {
  /** Those that are cut now. */
  rows: Rows
  /** Those that nobody uses any more. */
  readonly #unused: Rows[] = []
  readonly #names: ReadonlyMap<string, number>
  readonly #cuts: ReadonlyMap<string, CutField>
  readonly #apart: readonly string[]
  readonly #keepsOthers: boolean
  readonly #start: Key = start()
  readonly #likeness: Likeness = newLikeness()
  readonly #skipUnlike = (bytes: Buffer, view: DataView, at: number): number => this.#skipNested({ bytes, view, isPlain: true }, at, this.#start, 1)
  #keys = 0

  /**
   * `names` are the fields to find; `cuts` cut the values of some fields further; lists that are
   * `apart`, with their keys, and with `keepsOthers` the fields without a name are noted.
   */
  constructor(names: readonly string[], { cuts = {}, apart = [], keepsOthers = false }: CutterOptions = {}) {
    this.rows = new Rows(names)
    this.#names = new Map(names.map((name, i) => [name, i]))
    this.#cuts = new Map(Object.entries(cuts))
    this.#apart = apart
    this.#keepsOthers = keepsOthers
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
    const end = this.#isWhole && text.isPlain ? skipObject(text.bytes, text.view, at, this.#likeness, this.#skipUnlike) : this.#cutFields(text, at, row)
    rows.places[row] = at
    rows.places[row + 1] = end
    return end
  }

  /** No field is wanted: whole objects can be compared with one another. */
  get #isWhole(): boolean {
    return this.rows.width === 1 && this.#cuts.size === 0 && this.#apart.length === 0 && !this.#keepsOthers && this.#likeness.worth > 0
  }

  #cutFields(text: Text, at: number, row: number): number {
    const { bytes, view, isPlain } = text
    const { length } = bytes
    const { rows } = this
    const index = rows.count - 1
    let i = at + 1
    if (bytes[at] !== OPEN_BRACE) throw UNUSUAL
    if (bytes[i] === CLOSE_BRACE) return i + 1
    let key = this.#start
    for (;;) {
      const { next } = key
      const keyAt = i
      key = next !== undefined && keyIsAt(view, length, i, next.place) ? next : this.#otherNext(text, key, i)
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
        key = next !== undefined && keyIsAt(view, bytes.length, i, next.place) ? next : this.#otherNext(text, key, i)
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

  /** The key at `at`, which is not the one that followed first. */
  #otherNext({ bytes, view, isPlain }: Text, after: Key, at: number): Key {
    for (const each of after.others) if (keyIsAt(view, bytes.length, at, each.place)) return each
    const end = skipString(bytes, view, at, isPlain)
    if (bytes[end] !== COLON) throw UNUSUAL
    const edge = Buffer.from(bytes.subarray(at, end + 1))
    const isShort = edge.length < 4
    const name: string = JSON.parse(edge.toString('utf8', 0, edge.length - 1))
    const isStray = after.isStray || isShort || this.#keys >= MOST_KEYS || after.others.length >= MOST_OTHERS
    const place = isShort ? { ...this.#start.place, length: edge.length } : placeAfter(edge, READ_ANY, [], [])
    const key = new Key(place, name, after, isStray, this.#names.get(name), this.#cuts.get(name), this.#apart.includes(name))
    // The names of an object with more keys than are remembered are checked at its end.
    if (isStray) return key
    for (let each: Key | undefined = after; each !== undefined; each = each.before) if (each.name === name) throw repeated(name)
    this.#keys++
    if (after.next === undefined) after.next = key
    else after.others.push(key)
    return key
  }
}

function checkNames(bytes: Buffer, from: number, to: number): void {
  const name = repeatedName(bytes.subarray(from, to))
  if (name !== undefined) throw repeated(name)
}

function repeated(name: string): unknown {
  return fault('each name once', name, undefined, ' twice')
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

/** The text of plain bytes. */
export function plainText(bytes: Buffer): Text {
  return { bytes, view: viewOf(bytes), isPlain: true }
}
