import { fault } from './codec-path.ts'

/** Hexadecimal with its `0x`: bytes, or a quantity. */
export type Hex = `0x${string}`
/** 20 bytes in hex. */
export type Address = Hex
/** 32 bytes in hex. */
export type Hash = Hex

/** Whether this is 32 bytes in hex, in upper or lower case. */
export function isHash(value: unknown): value is Hash {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value)
}

/**
 * Finds a character that does not fit in one byte. Node.js decodes it as hex by its low byte: `İ`
 * (U+0130) as 0. V8 stores text with such a character in another way, so that this takes the same
 * time for any other text, however long.
 */
export const WIDE: RegExp = /[\u0100-\uffff]/

/** The bytes of hex with `0x`. Throws `CodecError` for anything else. */
export function bytesOfHex(text: unknown): Buffer {
  if (typeof text !== 'string') throw fault('bytes in hex', text)
  const bytes = Buffer.from(text.slice(2), 'hex')
  // The bytes end where the text is not hex.
  if (2 + 2 * bytes.length !== text.length || !text.startsWith('0x') || WIDE.test(text)) throw fault('bytes in hex', text)
  return bytes
}
