import { isUtf8 } from 'node:buffer'
import { compact } from '../../json/scan.ts'
import { readUnread } from '../../rpc/post/unread.ts'
import { PlainReader } from './byte-reader.ts'
import type { Decode } from './schema.ts'

/**
 * Reads a value from the bytes of its JSON, as `decode(JSON.parse(text))` does, for less than `JSON.parse` alone where the bytes
 * are plain, as nodes write them: ASCII without escapes and without white space between tokens. Anything else goes the long way,
 * and so does anything that is wrong: its error is the decoder's. Throws `SyntaxError` for what is no JSON.
 */
export function createReader<T>(decode: Decode<T>): (bytes: Buffer) => T {
  const reader = new PlainReader(decode)
  return (bytes) =>
    readUnread(bytes, (whole) => {
      try {
        return reader.read(whole)
      } catch {
        // Whatever it was, the long way finds it out.
      }
      return decode(JSON.parse(whole.toString('utf8')))
    })
}

/** A value, and the JSON that it was read from on one line: without white space outside strings, else with every token as sent. */
export interface Copied<T> {
  readonly value: T
  readonly json: Buffer
}

/** The same, with the JSON as a line of its own: the very bytes where they are plain. What is not UTF-8 is replaced, as in any text. */
export function createCopier<T>(decode: Decode<T>): (bytes: Buffer) => Copied<T> {
  const reader = new PlainReader(decode)
  return (bytes) =>
    readUnread(bytes, (whole) => {
      try {
        return { value: reader.read(whole), json: whole }
      } catch {
        // As above.
      }
      const text = whole.toString('utf8')
      const value = decode(JSON.parse(text))
      return { value, json: compact(isUtf8(whole) ? whole : Buffer.from(text)) }
    })
}

/** The value of the bytes of its JSON, as `JSON.parse` gives it. Throws `SyntaxError` for what is no JSON. */
export function parseResult(bytes: Buffer): unknown {
  return readUnread(bytes, (whole) => JSON.parse(whole.toString('utf8')))
}
