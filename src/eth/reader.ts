import { isPlain } from '../rpc/scan.ts'
import { PlainReader } from './plain-reader.ts'
import type { Decode } from './shape.ts'

/**
 * Reads a value from the bytes of its JSON, as `decode(JSON.parse(text))` does, for less than `JSON.parse` alone where the bytes
 * are plain, as nodes write them: ASCII without escapes and without white space between tokens. Anything else goes the long way,
 * and so does anything that is wrong: its error is the decoder's. Throws `SyntaxError` for what is no JSON.
 */
export function createReader<T>(decode: Decode<T>): (bytes: Buffer) => T {
  const reader = new PlainReader(decode)
  return (bytes) => {
    if (isPlain(bytes)) {
      try {
        return reader.read(bytes)
      } catch {
        // Whatever it was, the long way finds it out.
      }
    }
    return decode(JSON.parse(bytes.toString('utf8')))
  }
}
