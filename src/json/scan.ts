/*
 * Finds where JSON values begin and end in bytes, without parsing them. Skipped values are
 * validated token by token exactly as `JSON.parse` does: a value has an end here if and only if
 * `JSON.parse` accepts it. Bytes that are not UTF-8 are accepted, since decoding them as text
 * replaces them.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * Calls `onItem` with the start and end of each item of the array at `at`. Returns the end of the
 * array. Throws `SyntaxError`.
 */
export function scanArray(bytes: Buffer, at: number, onItem: (start: number, end: number) => void): number {
  const view = viewOf(bytes)
  let i = skipSpace(bytes, expect(bytes, at, OPEN_BRACKET))
  if (bytes[i] === CLOSE_BRACKET) return i + 1
  for (;;) {
    const start = skipSpace(bytes, i)
    const end = skipValue(bytes, view, start)
    onItem(start, end)
    i = skipSpace(bytes, end)
    if (bytes[i] === CLOSE_BRACKET) return i + 1
    i = expect(bytes, i, COMMA)
  }
}

/**
 * Calls `onField` with the name of each field of the object at `at`, and the start and end of its
 * value. Returns the end of the object. Throws `SyntaxError`.
 */
export function scanObject(bytes: Buffer, at: number, onField: (name: string, start: number, end: number) => void): number {
  const view = viewOf(bytes)
  let i = skipSpace(bytes, expect(bytes, at, OPEN_BRACE))
  if (bytes[i] === CLOSE_BRACE) return i + 1
  for (;;) {
    const nameStart = skipSpace(bytes, i)
    const nameEnd = skipString(bytes, view, nameStart, false)
    const start = skipSpace(bytes, expect(bytes, skipSpace(bytes, nameEnd), COLON))
    const end = skipValue(bytes, view, start)
    onField(stringAt(bytes, nameStart, nameEnd), start, end)
    i = skipSpace(bytes, end)
    if (bytes[i] === CLOSE_BRACE) return i + 1
    i = expect(bytes, i, COMMA)
  }
}

/** Parses the value from `start` to `end`. */
export function parseAt(bytes: Buffer, start: number, end: number): unknown {
  return JSON.parse(bytes.toString('utf8', start, end))
}

/** Index of the first byte at or after `at` that is not white space. */
export function skipSpace(bytes: Buffer, at: number): number {
  let i = at
  while (isSpace(bytes[i])) i++
  return i
}

/**
 * The one value that fills `bytes`, without white space outside strings; `bytes` itself if there is
 * none to remove. Throws `SyntaxError`.
 */
export function compact(bytes: Buffer): Buffer {
  if (!SPACES.some((space) => bytes.includes(space))) return bytes
  const view = viewOf(bytes)
  const from = skipSpace(bytes, 0)
  const end = skipValue(bytes, view, from)
  if (skipSpace(bytes, end) !== bytes.length) throw unexpected(bytes, end)
  const out = Buffer.allocUnsafe(end - from)
  let to = 0
  for (let i = from; i < end; i = skipSpace(bytes, i)) {
    const start = i
    while (i < end && !isSpace(bytes[i])) i = bytes[i] === QUOTE ? skipString(bytes, view, i, false) : i + 1
    // Copying a short run byte by byte is cheaper than a call.
    if (i - start > SHORT_RUN) to += bytes.copy(out, to, start, i)
    else for (let at = start; at < i; at++) out[to++] = bytes[at] as number
  }
  return out.subarray(0, to)
}

const SHORT_RUN = 32

const SPACE = 0x20
const SPACES_OF_A_WORD = 0x20202020
const UPPER_BITS = 0x80808080

/**
 * Index after the value at `at`. Throws `SyntaxError` where `JSON.parse` does; with `isPlain`, also
 * at white space, escapes and bytes that are not ASCII. Nesting does not use the call stack:
 * `kinds` has one bit for each open bracket, which is set for a brace.
 */
export function skipValue(bytes: Buffer, view: DataView, at: number, isPlain = false): number {
  let i = at
  let depth = 0
  let kinds = 0
  let outer: number[] | undefined
  for (;;) {
    const first = bytes[i]
    if (first === QUOTE) i = skipString(bytes, view, i, isPlain)
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) {
      const isObject = first === OPEN_BRACE
      i++
      if (isSpace(bytes[i])) i = spaceEnd(bytes, i, isPlain)
      if (bytes[i] === (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) i++
      else {
        if (depth > 0 && (depth & 31) === 0) {
          outer ??= []
          outer.push(kinds)
        }
        depth++
        kinds = (kinds << 1) | (isObject ? 1 : 0)
        if (isObject) i = skipName(bytes, view, i, isPlain)
        continue
      }
    } else if (isSpace(first) && depth > 0) {
      i = spaceEnd(bytes, i, isPlain)
      continue
    } else i = skipScalar(bytes, i)
    // After a value comes the next one, or the closing brackets of what contains it.
    for (;;) {
      if (depth === 0) return i
      const byte = bytes[i]
      if (byte === COMMA) {
        i++
        if (kinds & 1) i = skipName(bytes, view, i, isPlain)
        break
      }
      if (byte === (kinds & 1 ? CLOSE_BRACE : CLOSE_BRACKET)) {
        i++
        depth--
        kinds = depth > 0 && (depth & 31) === 0 ? ((outer as number[]).pop() as number) : kinds >>> 1
      } else if (isSpace(byte)) i = spaceEnd(bytes, i, isPlain)
      else throw unexpected(bytes, i)
    }
  }
}

/**
 * Index where the value of a field begins. The field's name is at `at`, possibly after white space.
 */
function skipName(bytes: Buffer, view: DataView, at: number, isPlain: boolean): number {
  let i = skipString(bytes, view, isSpace(bytes[at]) ? spaceEnd(bytes, at, isPlain) : at, isPlain)
  if (isSpace(bytes[i])) i = spaceEnd(bytes, i, isPlain)
  return expect(bytes, i, COLON)
}

function spaceEnd(bytes: Buffer, at: number, isPlain: boolean): number {
  if (isPlain) throw unexpected(bytes, at)
  return skipSpace(bytes, at)
}

/** Index after the string at `at`. */
export function skipString(bytes: Buffer, view: DataView, at: number, isPlain: boolean): number {
  if (bytes[at] !== QUOTE) throw unexpected(bytes, at)
  const end = plainEnd(bytes, view, at + 1)
  if (bytes[end] === QUOTE) return end + 1
  if (isPlain) throw unexpected(bytes, end)
  return unusualStringEnd(bytes, view, end)
}

/** Index after a string, from its first byte at `at` that is not plain. */
function unusualStringEnd(bytes: Buffer, view: DataView, at: number): number {
  let i = at
  for (;;) {
    const byte = bytes[i] as number
    if (byte === QUOTE) return i + 1
    if (byte === BACKSLASH) i = skipEscape(bytes, i)
    else if (byte > 0x7f) i++
    else throw unexpected(bytes, i)
    // Bytes that are not plain usually come together.
    const next = bytes[i] as number
    if (next !== BACKSLASH && !(next > 0x7f)) i = plainEnd(bytes, view, i)
  }
}

function skipEscape(bytes: Buffer, at: number): number {
  const escaped = bytes[at + 1] as number
  if (escaped !== SMALL_U) {
    if (IS_ESCAPE[escaped] !== 1) throw unexpected(bytes, at + 1)
    return at + 2
  }
  for (let i = at + 2; i < at + 6; i++) if (IS_HEX[bytes[i] as number] !== 1) throw unexpected(bytes, i)
  return at + 6
}

const SMALL_U = 0x75
const IS_ESCAPE = tableOf('"\\/bfnrt')
const IS_HEX = tableOf('0123456789abcdefABCDEF')

/** A table with 1 for each of these characters. */
function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const character of characters) table[character.charCodeAt(0)] = 1
  return table
}

const QUOTES = 0x22222222
const BACKSLASHES = 0x5c5c5c5c
const ONES = 0x01010101
const BIT_6 = 0x40404040

/**
 * Index of the first byte at or after `at` that is not plain inside a string: a quote, a backslash,
 * a control character or not ASCII. `bytes.length` if there is none.
 */
export function plainEnd(bytes: Buffer, view: DataView, at: number): number {
  const { length } = bytes
  let i = at
  // Most bytes are hex digits. In a digit, bit 6 differs from bit 4 and bit 5 is set. The only
  // bytes that are not plain and also match are some that are not ASCII, whose upper bit is
  // checked.
  if (bytes[i] === 0x30 && bytes[i + 1] === 0x78) {
    i += 2
    for (const last = length - 16; i <= last; i += 16) {
      const a = view.getInt32(i, true)
      const b = view.getInt32(i + 4, true)
      const c = view.getInt32(i + 8, true)
      const d = view.getInt32(i + 12, true)
      const areDigits = (a ^ (a << 2)) & (a << 1) & (b ^ (b << 2)) & (b << 1) & (c ^ (c << 2)) & (c << 1) & (d ^ (d << 2)) & (d << 1) & BIT_6
      if (areDigits !== BIT_6 || ((a | b | c | d) & UPPER_BITS) !== 0) break
    }
  }
  for (const last = length - 4; i <= last; i += 4) {
    const word = view.getInt32(i, true)
    // Sets the upper bit of each byte that is searched for. After the XOR, such a byte is zero and
    // borrows when one is subtracted from each; a byte below a space borrows, too; one that is not
    // ASCII has the bit already. Bytes above the lowest match may be marked as well.
    const found = (((word ^ QUOTES) - ONES) | ((word ^ BACKSLASHES) - ONES) | (word - SPACES_OF_A_WORD) | word) & UPPER_BITS
    if (found !== 0) return i + ((31 - Math.clz32(found & -found)) >> 3)
  }
  while (i < length && isPlainByte(bytes[i] as number)) i++
  return i
}

function isPlainByte(byte: number): boolean {
  return byte >= SPACE && byte < 0x80 && byte !== QUOTE && byte !== BACKSLASH
}

/** A view for reading the bytes in words. */
export function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

/** Index after the number, `true`, `false` or `null` at `at`. */
function skipScalar(bytes: Buffer, at: number): number {
  const first = bytes[at]
  const word = first === 0x6e ? 'null' : first === 0x74 ? 'true' : first === 0x66 ? 'false' : undefined
  if (word === undefined) return skipNumber(bytes, at)
  for (let i = 1; i < word.length; i++) if (bytes[at + i] !== word.charCodeAt(i)) throw unexpected(bytes, at + i)
  return at + word.length
}

function skipNumber(bytes: Buffer, at: number): number {
  let i = bytes[at] === MINUS ? at + 1 : at
  i = bytes[i] === ZERO ? i + 1 : skipDigits(bytes, i)
  if (bytes[i] === POINT) i = skipDigits(bytes, i + 1)
  if (bytes[i] === SMALL_E || bytes[i] === LARGE_E) i = skipDigits(bytes, bytes[i + 1] === MINUS || bytes[i + 1] === PLUS ? i + 2 : i + 1)
  return i
}

function skipDigits(bytes: Buffer, at: number): number {
  let i = at
  while (isDigit(bytes[i])) i++
  if (i === at) throw unexpected(bytes, at)
  return i
}

const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const SMALL_E = 0x65
const LARGE_E = 0x45

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39
}

/** The string from `start` to `end`, quotes included. */
export function stringAt(bytes: Buffer, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i++) {
    const byte = bytes[i] as number
    if (byte === BACKSLASH || byte > 0x7e) return JSON.parse(bytes.toString('utf8', start, end))
  }
  return bytes.toString('latin1', start + 1, end - 1)
}

const SPACES = [0x20, 0x0a, 0x0d, 0x09]

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function expect(bytes: Buffer, at: number, wanted: number): number {
  if (bytes[at] !== wanted) throw unexpected(bytes, at)
  return at + 1
}

function unexpected(bytes: Buffer, at: number): SyntaxError {
  return new SyntaxError(at >= bytes.length ? 'unexpected end of JSON' : `unexpected byte 0x${(bytes[at] as number).toString(16)} in JSON at ${at}`)
}
