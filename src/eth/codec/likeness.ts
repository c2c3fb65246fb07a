import { plainEnd, skipValue, viewOf } from '../../json/scan.ts'

/*
 * Passes over the objects of an array, where they are alike, for less than `skipValue` costs. Nodes write the objects of an array with
 * the same keys in the same order. The text of one of them, without the contents of its strings, is a model of the others:
 *
 *     {"hash":"0x  ","nonce":"0x  ","accessList":[]}
 *
 * What has this text, and any plain characters where the gaps are, is JSON as the first one was. Each byte is still looked at: it is
 * compared with the model, or seen to be a plain character. Only the length of what is in a gap is guessed.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b

/** What the objects in one place look like, as far as they have been read. */
export interface Likeness {
  /** The one that fitted last comes first. */
  readonly models: Model[]
  /** Above 0 as long as models fit often enough to try them. */
  worth: number
}

interface Model {
  /** An object without the contents of the strings among its values; `0x` at their start is part of the text. */
  readonly text: DataView
  /** The sizes, in bytes, of a piece of the text, of what was in the gap behind it last, of the next piece, and so on to the last piece. */
  readonly sizes: number[]
}

const MOST_MODELS = 8
/** Longest text of a model, in bytes. */
const LONGEST = 4096
/** An object that fits a model pays for four that fit none. */
const WORTH_OF_A_HIT = 4
const MOST_WORTH = 64

export function newLikeness(): Likeness {
  return { models: [], worth: MOST_WORTH }
}

/** End of the array that opens at `at`, as `skipValue` finds it in plain bytes; negative, or a `SyntaxError` is thrown, where it has none. */
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

function skipObject(bytes: Buffer, view: DataView, at: number, likeness: Likeness): number {
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
  const end = skipValue(bytes, view, at, true)
  const model = modelOf(bytes, view, at, end)
  // The last place is for those that may never fit again, such as a transaction with a list of its own.
  if (model !== undefined) models[Math.min(models.length, MOST_MODELS - 1)] = model
  return end
}

/** The model of the plain JSON from `start` to `end`. Undefined when it is too long. */
function modelOf(bytes: Buffer, view: DataView, start: number, end: number): Model | undefined {
  const text = Buffer.allocUnsafe(LONGEST)
  const sizes: number[] = []
  let length = 0
  let from = start
  for (let i = start; i < end; i++) {
    if (bytes[i] !== QUOTE) continue
    const close = plainEnd(bytes, view, i + 1)
    // A string in front of a colon is a key.
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
 * Below, `| 0` says that sums are whole numbers of 32 bits. Without it each is checked for an overflow, which costs a tenth of all this.
 */

/** End of the object at `at`; negative when the model does not fit. */
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
      // What is no quote there is not what the text goes on with.
      const end = plainEnd(bytes, view, digitsEnd(view, length, i))
      sizes[k + 1] = end - i
      i = end
    }
  }
}

/** Whether `size` bytes of both are the same. Words at the end overlap those before. */
function isSame(view: DataView, at: number, text: DataView, from: number, size: number): boolean {
  if (size >= 8) {
    // As doubles, eight bytes are compared at once. Equal ones have the same bytes, since zero and minus zero are not among plain characters.
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
 * Whether all these bytes are hex digits in lower case. Of these, bit 6 differs from bit 4 and bit 7 from bit 5, and bit 7 is not set: which
 * also holds for some other plain characters, and for none that is not plain. Words at the end overlap those before.
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

/** A place at or after `at` up to which all bytes are such digits. The rest of them is shorter than a step: long data is passed over here. */
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
