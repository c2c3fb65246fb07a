/*
 * JSON read as bytes: where values begin and end, without making them. Runs from quote to quote, since nearly all of a
 * node's reply is strings. Text that is not JSON is found out where it matters to know the ends (brackets, quotes, commas);
 * tokens themselves are copied, not judged.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Calls `onItem` with start and end of each item of the array at `at`; gives its end. Throws `SyntaxError`. */
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
 * Calls `onField` with the name, and start and end of the value, of each field of the object at `at`; gives its end, or
 * where it was when `onField` gave `false`. Throws `SyntaxError`.
 */
export function scanObject(bytes: Buffer, at: number, onField: (name: string, start: number, end: number) => unknown): number {
  const view = viewOf(bytes)
  let i = skipSpace(bytes, expect(bytes, at, OPEN_BRACE))
  if (bytes[i] === CLOSE_BRACE) return i + 1
  for (;;) {
    const nameStart = skipSpace(bytes, i)
    if (bytes[nameStart] !== QUOTE) throw unexpected(bytes, nameStart)
    const nameEnd = skipString(bytes, view, nameStart)
    const start = skipSpace(bytes, expect(bytes, skipSpace(bytes, nameEnd), COLON))
    const end = skipValue(bytes, view, start)
    if (onField(nameOf(bytes, nameStart, nameEnd), start, end) === false) return end
    i = skipSpace(bytes, end)
    if (bytes[i] === CLOSE_BRACE) return i + 1
    i = expect(bytes, i, COMMA)
  }
}

/** Calls `onValue` with start and end of the value at `at`; gives its end. Throws `SyntaxError`. */
export function scanValue(bytes: Buffer, at: number, onValue: (start: number, end: number) => void): number {
  const end = skipValue(bytes, viewOf(bytes), at)
  onValue(at, end)
  return end
}

/** The value at `start`, parsed. */
export function parseAt(bytes: Buffer, start: number, end: number): unknown {
  return JSON.parse(bytes.toString('utf8', start, end))
}

/** First byte that is no white space, at or after `at`. */
export function skipSpace(bytes: Buffer, at: number): number {
  let i = at
  while (isSpace(bytes[i])) i++
  return i
}

/** The same value without white space outside strings; the very bytes when there is none at all. Throws `SyntaxError`. */
export function compact(bytes: Buffer): Buffer {
  if (!SPACES.some((space) => bytes.includes(space))) return bytes
  const view = viewOf(bytes)
  const out = Buffer.allocUnsafe(bytes.length)
  let to = 0
  let depth = 0
  let isClosed = false
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i]
    const end = byte === QUOTE ? skipString(bytes, view, i) : i + 1
    // A line break in a string is no JSON, and would make two lines of one.
    for (let at = i + 1; at < end; at++) if ((bytes[at] as number) < 0x20) throw unexpected(bytes, at)
    if (!isSpace(byte)) {
      // What stands behind the value belongs to its envelope.
      if (isClosed) throw unexpected(bytes, i)
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) isClosed = --depth === 0
      to += bytes.copy(out, to, i, end)
    }
    i = end
  }
  return out.subarray(0, to)
}

/**
 * Whether these are bytes as nodes write them: ASCII without escapes, so that a quote begins or ends a string wherever it stands, and without
 * control characters, which JSON does not have in strings.
 */
export function isPlain(bytes: Buffer): boolean {
  return !bytes.includes(BACKSLASH) && isPrintable(bytes)
}

const SPACE = 0x20
const SPACES_OF_A_WORD = 0x20202020
const UPPER_BITS = 0x80808080

/** Whether all bytes are ASCII from the space on: one pass, in words of four bytes, for less than `isAscii` and a look at each string cost. */
function isPrintable(bytes: Buffer): boolean {
  const { buffer, byteOffset, length } = bytes
  // Words lie at multiples of four.
  const first = Math.min(length, -byteOffset & 3)
  const end = length - ((length - first) & 3)
  // A byte that is not ASCII has its upper bit set; of those below a space, the lowest in a word borrows in the difference from four spaces.
  let odd = 0
  for (let i = 0; i < first; i++) odd |= (bytes[i] as number) | ((bytes[i] as number) - SPACE)
  for (let i = end; i < length; i++) odd |= (bytes[i] as number) | ((bytes[i] as number) - SPACE)
  if (first < end) {
    const words = new Int32Array(buffer, byteOffset + first, (end - first) >> 2)
    const byFour = words.length & ~3
    for (let i = 0; i < byFour; i += 4) {
      const a = words[i] as number
      const b = words[i + 1] as number
      const c = words[i + 2] as number
      const d = words[i + 3] as number
      odd |= a | (a - SPACES_OF_A_WORD) | b | (b - SPACES_OF_A_WORD) | c | (c - SPACES_OF_A_WORD) | d | (d - SPACES_OF_A_WORD)
    }
    for (let i = byFour; i < words.length; i++) odd |= (words[i] as number) | ((words[i] as number) - SPACES_OF_A_WORD)
  }
  return (odd & UPPER_BITS) === 0
}

/** How far back `seemsOneValue` looks for what else there may be. */
const LOOK_BACK = 1024

/**
 * Whether one value fills `start` to `end`. Of a long array or object only the end is looked at: whether its last bracket belongs to something that stands
 * behind the value, such as one more field of an envelope. Behind a long array another one that is as long is not noticed: `wholeValue` does.
 */
export function seemsOneValue(bytes: Buffer, start: number, end: number): boolean {
  if (end <= start) return false
  const first = bytes[start]
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return endsAt(bytes, start, end)
  if (bytes[end - 1] !== (first === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET)) return false
  const stop = Math.max(start, end - LOOK_BACK)
  let depth = 0
  let isInString = false
  for (let i = end - 1; i >= stop; i--) {
    const byte = bytes[i] as number
    // Most are digits.
    if (IS_STRUCTURE[byte] === 0) continue
    if (byte === QUOTE) {
      let before = i - 1
      while (bytes[before] === BACKSLASH) before--
      if ((i - before) % 2 === 1) isInString = !isInString
    } else if (!isInString) {
      if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth++
      else if (--depth === 0) return i === start
    }
  }
  // All of a short one has been seen, and its first bracket is not closed by its last.
  if (depth <= 0 || stop === start) return false
  // The last bracket belongs to something longer than that: to the value, most often. An object seldom has what may stand behind it inside; receipts have it everywhere.
  return first === OPEN_BRACKET || !bytes.subarray(start, end).includes(NEXT_AFTER_OBJECT) || endsAt(bytes, start, end)
}

/** The array that `bytes` begin with, where another one of the envelope may stand behind it; any other bytes as they are. Throws `SyntaxError`. */
export function wholeValue(bytes: Buffer): Buffer {
  if (bytes[0] !== OPEN_BRACKET || !bytes.includes(NEXT_AFTER_ARRAY)) return bytes
  return bytes.subarray(0, skipValue(bytes, viewOf(bytes), 0))
}

const NEXT_AFTER_OBJECT = Buffer.from('},"')
const NEXT_AFTER_ARRAY = Buffer.from('],"')

function endsAt(bytes: Buffer, start: number, end: number): boolean {
  try {
    return skipValue(bytes, viewOf(bytes), start) === end
  } catch {
    return false
  }
}

/** One for quotes and brackets. */
const IS_STRUCTURE = new Uint8Array(256)
for (const byte of [QUOTE, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET]) IS_STRUCTURE[byte] = 1

/** End of the value at `at`. */
function skipValue(bytes: Buffer, view: DataView, at: number): number {
  const first = bytes[at]
  if (first === QUOTE) return skipString(bytes, view, at)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(bytes, view, at)
  let i = at
  // A number, true, false or null ends where the structure goes on.
  while (isScalar(bytes[i])) i++
  if (i === at) throw unexpected(bytes, at)
  return i
}

/** End of the array or object at `at`: where the brackets opened since then are closed. */
function skipNested(bytes: Buffer, view: DataView, at: number): number {
  const { length } = bytes
  let depth = 0
  for (let i = at; i < length; ) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      i = skipString(bytes, view, i)
      continue
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return i + 1
    i++
  }
  throw unexpected(bytes, length)
}

/** Strings up to this length are looked through here, in words of four bytes; a longer one is searched by `indexOf`, which is faster and slower to begin. */
const SHORT = 128
const QUOTES = 0x22222222
const BACKSLASHES = 0x5c5c5c5c
const ONES = 0x01010101

/** End of the string at `at`. */
function skipString(bytes: Buffer, view: DataView, at: number): number {
  const { length } = bytes
  const stop = Math.min(length - 4, at + SHORT)
  let i = at + 1
  while (i <= stop) {
    const word = view.getInt32(i, true)
    const found = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES)
    if (found === 0) {
      i += 4
      continue
    }
    i += (31 - Math.clz32(found & -found)) >> 3
    if (bytes[i] === QUOTE) return i + 1
    i += 2
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE, i)
    if (quote < 0) throw unexpected(bytes, length)
    // A quote behind an odd number of backslashes is part of the string.
    let before = quote - 1
    while (before >= i && bytes[before] === BACKSLASH) before--
    if ((quote - before) % 2 === 1) return quote + 1
    i = quote + 1
  }
}

/** The upper bit of each byte of a word that is zero: one is taken from each, and those borrow. Above the lowest one, others may be marked, too. */
export function zeros(word: number): number {
  return (word - ONES) & ~word & UPPER_BITS
}

/** Bytes to read in words. */
export function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}

function nameOf(bytes: Buffer, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i++) {
    const byte = bytes[i] as number
    if (byte === BACKSLASH || byte > 0x7e) return JSON.parse(bytes.toString('utf8', start, end))
  }
  return bytes.toString('latin1', start + 1, end - 1)
}

const SPACES = [0x20, 0x0a, 0x0d, 0x09]

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** Letters, digits, plus, minus, point: what numbers and the three words are made of. */
function isScalar(byte: number | undefined): boolean {
  return (
    byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x2d || byte === 0x2b || byte === 0x2e || byte === 0x45)
  )
}

function expect(bytes: Buffer, at: number, wanted: number): number {
  if (bytes[at] !== wanted) throw unexpected(bytes, at)
  return at + 1
}

function unexpected(bytes: Buffer, at: number): SyntaxError {
  return new SyntaxError(at >= bytes.length ? 'JSON ends too early' : `unexpected byte 0x${(bytes[at] as number).toString(16)} in JSON at ${at}`)
}
