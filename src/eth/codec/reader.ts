import { isUtf8 } from 'node:buffer'
import { repeatedName } from '../../json/repeated-name.ts'
import { compact } from '../../json/scan.ts'
import { readUnread } from '../../rpc/post/unread.ts'
import { show } from '../../text.ts'
import { ByteReader } from './byte-reader.ts'
import type { Decode } from './schema.ts'

/**
 * A function that reads a value from the bytes of its JSON, as `decode(JSON.parse(text))` does, in
 * less time than `JSON.parse` alone takes. It does so for plain bytes, as nodes write them: ASCII
 * without escapes and without white space between tokens. Other bytes, and wrong ones, are parsed
 * and decoded, so that every error is the decoder's. Throws `SyntaxError` for bytes that are not
 * JSON.
 *
 * @example
 * const readBlock = createReader(blockDecoder(true))
 * readBlock(Buffer.from('{"number":"0x10","hash":"0x8f…"}')).number // 16n
 */
export function createReader<T>(decode: Decode<T>): (bytes: Buffer) => T {
  return readerOf(decode, (whole) => JSON.parse(whole.toString('utf8')))
}

/**
 * The same for bytes that others will read, too: an object with a name twice is refused, since
 * readers differ on which value counts.
 */
export function createStrictReader<T>(decode: Decode<T>): (bytes: Buffer) => T {
  return readerOf(decode, (whole) => {
    const value = JSON.parse(whole.toString('utf8'))
    const name = repeatedName(whole)
    if (name !== undefined) throw new SyntaxError(`the name ${show(name)} twice in one object`)
    return value
  })
}

function readerOf<T>(decode: Decode<T>, parse: (bytes: Buffer) => unknown): (bytes: Buffer) => T {
  const reader = new ByteReader(decode)
  return (bytes) =>
    readUnread(bytes, (whole) => {
      try {
        return reader.read(whole)
      } catch {
        // Unusual or wrong: the decoder tells which.
      }
      return decode(parse(whole))
    })
}

/**
 * A value, and the JSON that it was read from on one line: without white space outside strings,
 * else with every token as sent.
 */
export interface Copied<T> {
  readonly value: T
  readonly json: Buffer
}

/**
 * The same, with the JSON as a line of its own: the very bytes where they are plain. What is not
 * UTF-8 is replaced, as in any text.
 */
export function createCopier<T>(decode: Decode<T>): (bytes: Buffer) => Copied<T> {
  const reader = new ByteReader(decode)
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

/**
 * The value of the bytes of its JSON, as `JSON.parse` gives it. Throws `SyntaxError` for anything
 * but JSON.
 */
export function parseResult(bytes: Buffer): unknown {
  return readUnread(bytes, (whole) => JSON.parse(whole.toString('utf8')))
}
