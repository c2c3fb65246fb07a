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
export function scanArray(bytes: Uint8Array, at: number, onItem: (start: number, end: number) => void): number {
  let i = skipSpace(bytes, expect(bytes, at, OPEN_BRACKET))
  if (bytes[i] === CLOSE_BRACKET) return i + 1
  for (;;) {
    const start = skipSpace(bytes, i)
    const end = skipValue(bytes, start)
    onItem(start, end)
    i = skipSpace(bytes, end)
    if (bytes[i] === CLOSE_BRACKET) return i + 1
    i = expect(bytes, i, COMMA)
  }
}

/** Calls `onField` with the name, and start and end of the value, of each field of the object at `at`; gives its end. Throws `SyntaxError`. */
export function scanObject(bytes: Uint8Array, at: number, onField: (name: string, start: number, end: number) => void): number {
  let i = skipSpace(bytes, expect(bytes, at, OPEN_BRACE))
  if (bytes[i] === CLOSE_BRACE) return i + 1
  for (;;) {
    const nameStart = skipSpace(bytes, i)
    if (bytes[nameStart] !== QUOTE) throw unexpected(bytes, nameStart)
    const nameEnd = skipString(bytes, nameStart)
    const start = skipSpace(bytes, expect(bytes, skipSpace(bytes, nameEnd), COLON))
    const end = skipValue(bytes, start)
    onField(nameOf(bytes, nameStart, nameEnd), start, end)
    i = skipSpace(bytes, end)
    if (bytes[i] === CLOSE_BRACE) return i + 1
    i = expect(bytes, i, COMMA)
  }
}

/** Calls `onValue` with start and end of the value at `at`; gives its end. Throws `SyntaxError`. */
export function scanValue(bytes: Uint8Array, at: number, onValue: (start: number, end: number) => void): number {
  const end = skipValue(bytes, at)
  onValue(at, end)
  return end
}

/** The value at `start`, parsed. */
export function parseAt(bytes: Uint8Array, start: number, end: number): unknown {
  return JSON.parse(textAt(bytes, start, end))
}

/** First byte that is no white space, at or after `at`. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  let i = at
  while (isSpace(bytes[i])) i++
  return i
}

/** The same JSON without white space outside strings; the very bytes when there is none. */
export function compact(bytes: Uint8Array): Uint8Array {
  const { length } = bytes
  let first = 0
  while (first < length && !isSpace(bytes[first])) first = bytes[first] === QUOTE ? skipString(bytes, first) : first + 1
  if (first >= length) return bytes
  const out = new Uint8Array(length)
  out.set(bytes.subarray(0, first))
  let to = first
  for (let i = first; i < length; ) {
    if (bytes[i] === QUOTE) {
      const end = skipString(bytes, i)
      out.set(bytes.subarray(i, end), to)
      to += end - i
      i = end
    } else {
      if (!isSpace(bytes[i])) out[to++] = bytes[i] as number
      i++
    }
  }
  return out.subarray(0, to)
}

/** End of the value at `at`. */
function skipValue(bytes: Uint8Array, at: number): number {
  const first = bytes[at]
  if (first === QUOTE) return skipString(bytes, at)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(bytes, at)
  let i = at
  // A number, true, false or null ends where the structure goes on.
  while (isScalar(bytes[i])) i++
  if (i === at) throw unexpected(bytes, at)
  return i
}

/** End of the array or object at `at`: where the brackets opened since then are closed. */
function skipNested(bytes: Uint8Array, at: number): number {
  const { length } = bytes
  let depth = 0
  for (let i = at; i < length; ) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      i = skipString(bytes, i)
      continue
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return i + 1
    i++
  }
  throw unexpected(bytes, length)
}

/** End of the string at `at`. */
function skipString(bytes: Uint8Array, at: number): number {
  let i = at + 1
  for (;;) {
    const byte = bytes[i]
    if (byte === QUOTE) return i + 1
    if (byte === undefined) throw unexpected(bytes, bytes.length)
    i += byte === BACKSLASH ? 2 : 1
  }
}

function nameOf(bytes: Uint8Array, start: number, end: number): string {
  for (let i = start + 1; i < end - 1; i++) {
    const byte = bytes[i] as number
    if (byte === BACKSLASH || byte > 0x7e) return JSON.parse(textAt(bytes, start, end))
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset + start + 1, end - start - 2).toString('latin1')
}

function textAt(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/** Letters, digits, plus, minus, point: what numbers and the three words are made of. */
function isScalar(byte: number | undefined): boolean {
  return (
    byte !== undefined && ((byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a) || byte === 0x2d || byte === 0x2b || byte === 0x2e || byte === 0x45)
  )
}

function expect(bytes: Uint8Array, at: number, wanted: number): number {
  if (bytes[at] !== wanted) throw unexpected(bytes, at)
  return at + 1
}

function unexpected(bytes: Uint8Array, at: number): SyntaxError {
  return new SyntaxError(at >= bytes.length ? 'JSON ends too early' : `unexpected byte 0x${(bytes[at] as number).toString(16)} in JSON at ${at}`)
}
