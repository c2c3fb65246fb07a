import { plainEnd, skipValue, viewOf } from '../../json/scan.ts'

/*
 * Skips similar objects of an array at a lower cost than `skipValue`. Nodes write the objects of an
 * array with the same keys in the same order. The text of one object, without the contents of its
 * strings, is a model of the others:
 *
 *     {"hash":"0x  ","nonce":"0x  ","accessList":[]}
 *
 * Bytes with the same text, and with any plain characters in the gaps, are valid JSON because the
 * first object was. Each byte is still checked: it either equals the model's or is a plain
 * character. Only the length of each gap is guessed.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b

/** The models of the objects in one place, as far as they have been read. */
export interface Likeness {
  /** The model that matched last comes first. */
  readonly models: Model[]
  /** Above 0 while models match often enough to be worth trying. */
  worth: number
}

interface Model {
  /** The object without the contents of its string values. A leading `0x` belongs to the text. */
  readonly text: DataView
  /**
   * Sizes in bytes, alternating: a piece of the text, the last content of the gap after it, the
   * next piece, and so on, up to the last piece.
   */
  readonly sizes: number[]
}

const MOST_MODELS = 8
/** Maximum size of a model's text, in bytes. */
const LONGEST = 4096
/** One object that matches a model makes up for four that match none. */
const WORTH_OF_A_HIT = 4
const MOST_WORTH = 64

export function newLikeness(): Likeness {
  return { models: [], worth: MOST_WORTH }
}

/**
 * Index after the array that opens at `at`, as `skipValue` finds it in plain bytes. If there is
 * none, a negative number or a `SyntaxError`.
 */
export function skipItems(bytes: Buffer, view: DataView, at: number, likeness: Likeness): number {
  let i = at + 1
  if (bytes[i] === CLOSE_BRACKET) return i + 1
  for (;;) {
    i = bytes[i] === OPEN_BRACE && likeness.worth > 0 ? skipObject(bytes, view, i, likeness) : skipValue(bytes, view, i, true)
    const byte = bytes[i++]
    if (byte === CLOSE_BRACKET) return i
    if (byte !== COMMA) return -1
  }
}

/**
 * Index after the object at `at`, in plain bytes. Throws `SyntaxError`. `skip` skips an object that
 * is like none before; those that it refuses become no models.
 */
export function skipObject(bytes: Buffer, view: DataView, at: number, likeness: Likeness, skip: typeof skipValue = skipValue): number {
  const { models } = likeness
  for (let k = 0; k < models.length; k++) {
    const model = models[k] as Model
    const end = endByModel(bytes, view, at, model)
    if (end < 0) continue
    models[k] = models[0] as Model
    models[0] = model
    likeness.worth = Math.min(MOST_WORTH, likeness.worth + WORTH_OF_A_HIT)
    return end
  }
  likeness.worth--
  const end = skip(bytes, view, at, true)
  const model = modelOf(bytes, view, at, end)
  // The last slot is for models that may never match again, such as a transaction with an access
  // list.
  if (model !== undefined) models[Math.min(models.length, MOST_MODELS - 1)] = model
  return end
}

/** The model of the plain JSON from `start` to `end`; undefined if it is too long. */
function modelOf(bytes: Buffer, view: DataView, start: number, end: number): Model | undefined {
  const text = Buffer.allocUnsafe(LONGEST)
  const sizes: number[] = []
  let length = 0
  let from = start
  for (let i = start; i < end; i++) {
    if (bytes[i] !== QUOTE) continue
    const close = plainEnd(bytes, view, i + 1)
    // A string before a colon is a key.
    if (bytes[close + 1] !== COLON) {
      const gap = bytes[i + 1] === 0x30 && bytes[i + 2] === 0x78 ? i + 3 : i + 1
      if (length + gap - from > LONGEST) return undefined
      length += bytes.copy(text, length, from, gap)
      sizes.push(gap - from, close - gap)
      from = close
    }
    i = close
  }
  if (length + end - from > LONGEST) return undefined
  length += bytes.copy(text, length, from, end)
  sizes.push(end - from)
  return { text: viewOf(Buffer.from(text.subarray(0, length))), sizes }
}

/*
 * Below, `| 0` marks sums as 32-bit integers. Without it, each sum is checked for overflow, which
 * costs a tenth of the time.
 */

/** Index after the object at `at`; negative if the model does not match. */
function endByModel(bytes: Buffer, view: DataView, at: number, { text, sizes }: Model): number {
  const { length } = bytes
  const last = sizes.length - 1
  let from = 0
  let i = at | 0
  for (let k = 0; ; k += 2) {
    const size = (sizes[k] as number) | 0
    if (((i + size) | 0) > length || !isSame(view, i, text, from, size)) return -1
    from = (from + size) | 0
    i = (i + size) | 0
    if (k === last) return i
    const guess = (i + (sizes[k + 1] as number)) | 0
    if (guess < length && bytes[guess] === QUOTE && areDigits(bytes, view, i, guess)) i = guess
    else {
      // If the gap does not end with a quote, the next piece of the text will not match.
      const end = plainEnd(bytes, view, digitsEnd(view, length, i))
      sizes[k + 1] = end - i
      i = end
    }
  }
}

/** Whether `size` bytes are the same in both. The last word may overlap the one before. */
function isSame(view: DataView, at: number, text: DataView, from: number, size: number): boolean {
  if (size >= 8) {
    // Compares eight bytes at once as doubles. Equal doubles have equal bytes here, since plain
    // characters make neither zero nor minus zero.
    const last = (size - 8) | 0
    for (let i = 0; i < last; i = (i + 8) | 0) if (view.getFloat64((at + i) | 0, true) !== text.getFloat64((from + i) | 0, true)) return false
    return view.getFloat64((at + last) | 0, true) === text.getFloat64((from + last) | 0, true)
  }
  for (let i = 0; i < size; i++) if (view.getInt8((at + i) | 0) !== text.getInt8((from + i) | 0)) return false
  return true
}

const UPPER_BITS = 0x80808080
const UPPER_TWO = 0xc0c0c0c0 | 0

/**
 * Whether all these bytes are hex digits in lower case. In a digit, bit 6 differs from bit 4, bit 7
 * differs from bit 5, and bit 7 is clear. Some other plain characters match as well, but none that
 * is not plain. The last word may overlap the one before.
 */
function areDigits(bytes: Buffer, view: DataView, from: number, to: number): boolean {
  const size = (to - from) | 0
  if (size >= 16) {
    for (let i = from, last = (to - 16) | 0; ; i = Math.min((i + 16) | 0, last)) {
      const a = view.getInt32(i, true)
      const b = view.getInt32((i + 4) | 0, true)
      const c = view.getInt32((i + 8) | 0, true)
      const d = view.getInt32((i + 12) | 0, true)
      const differing = (a ^ (a << 2)) & (b ^ (b << 2)) & (c ^ (c << 2)) & (d ^ (d << 2)) & UPPER_TWO
      if (differing !== UPPER_TWO || ((a | b | c | d) & UPPER_BITS) !== 0) return false
      if (i === last) return true
    }
  }
  if (size >= 4) {
    for (let i = from, last = (to - 4) | 0; ; i = Math.min((i + 4) | 0, last)) {
      const a = view.getInt32(i, true)
      if (((a ^ (a << 2)) & UPPER_TWO) !== UPPER_TWO || (a & UPPER_BITS) !== 0) return false
      if (i === last) return true
    }
  }
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    if (((byte ^ (byte << 2)) & 0xc0) !== 0xc0 || byte > 0x7f) return false
  }
  return true
}

/**
 * An index at or after `at` with only such digits before it. Used to skip long data; the rest of
 * the digits is shorter than one step.
 */
function digitsEnd(view: DataView, length: number, at: number): number {
  let i = at
  for (const last = length - 32; i <= last; i = (i + 32) | 0) {
    const a = view.getInt32(i, true)
    const b = view.getInt32((i + 4) | 0, true)
    const c = view.getInt32((i + 8) | 0, true)
    const d = view.getInt32((i + 12) | 0, true)
    const e = view.getInt32((i + 16) | 0, true)
    const f = view.getInt32((i + 20) | 0, true)
    const g = view.getInt32((i + 24) | 0, true)
    const h = view.getInt32((i + 28) | 0, true)
    const first = (a ^ (a << 2)) & (b ^ (b << 2)) & (c ^ (c << 2)) & (d ^ (d << 2))
    const second = (e ^ (e << 2)) & (f ^ (f << 2)) & (g ^ (g << 2)) & (h ^ (h << 2))
    if ((first & second & UPPER_TWO) !== UPPER_TWO || ((a | b | c | d | e | f | g | h) & UPPER_BITS) !== 0) break
  }
  return i
}
