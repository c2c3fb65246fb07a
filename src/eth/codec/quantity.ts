import { fault } from './codec-path.ts'
import type { Hex } from './hex.ts'

/**
 * A quantity as callers pass it: a bigint, a safe integer, or hex.
 *
 * @example
 * encodeQuantity(255) // '0xff'
 * decodeQuantity('0xff') // 255n
 */
export type Quantity = bigint | number | Hex

const EXPECTED = 'a hex quantity'
const LARGEST = 2n ** 256n - 1n
/** `0x` and 13 digits are 52 bits: such a number is exact as a double. */
const LONGEST_SMALL = 15

/**
 * Encodes a quantity strictly: hex without leading zeros, zero as `0x0`. Takes a bigint, a safe
 * integer or hex, from 0 to 2^256 - 1.
 * https://ethereum.org/developers/docs/apis/json-rpc/#hex-encoding
 */
export function encodeQuantity(value: unknown): Hex {
  if (typeof value === 'bigint') {
    if (value >= 0n && value <= LARGEST) return `0x${value.toString(16)}`
  } else if (typeof value === 'number') {
    if (Number.isSafeInteger(value) && value >= 0) return `0x${value.toString(16)}`
  } else if (typeof value === 'string') {
    if (/^0x[0-9a-fA-F]+$/.test(value)) {
      const digits = value.slice(2).replace(/^0+(?=.)/, '')
      if (digits.length <= 64) return `0x${digits.toLowerCase()}`
    }
  }
  throw fault('a quantity (a bigint, a safe integer or a hex string) from 0 to 2^256 - 1', value)
}

/**
 * Decodes a quantity of at most 256 bits. Leading zeros and JSON integers are taken, since real
 * nodes send them; anything else that is not a quantity (`0x`, `-0x1`, `0xzz`, `1.5`, decimal
 * strings) is refused.
 */
export function decodeQuantity(value: unknown): bigint {
  if (typeof value === 'string') {
    if (value.length <= LONGEST_SMALL) return BigInt(smallHex(value))
    return bigHex(value)
  }
  return BigInt(integer(value))
}

/** Decodes an index, a count, a type or a chain id: a quantity of at most 2^53 - 1. */
export function decodeNumber(value: unknown): number {
  if (typeof value !== 'string') return integer(value)
  if (value.length <= LONGEST_SMALL) return smallHex(value)
  const big = bigHex(value)
  if (big > BigInt(Number.MAX_SAFE_INTEGER)) throw fault('a hex quantity of at most 2^53 - 1', value)
  return Number(big)
}

/** Decodes a count that a sender can set to any value: a number up to 2^53 - 1, a bigint above. */
export function decodeNumberOrBig(value: unknown): number | bigint {
  const big = decodeQuantity(value)
  return big <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(big) : big
}

/**
 * The value of hex of at most 13 digits, digit by digit: several times faster than `BigInt(text)`.
 */
function smallHex(text: string): number {
  const { length } = text
  if (length < 3 || text.charCodeAt(0) !== 0x30 || text.charCodeAt(1) !== 0x78) throw fault(EXPECTED, text)
  let number = 0
  for (let i = 2; i < length; i++) {
    const code = text.charCodeAt(i)
    // 0-9 are 0x30 to 0x39; with the lower-case bit set, A-F and a-f are 0x61 to 0x66.
    const letter = code | 0x20
    if (code >= 0x30 && code <= 0x39) number = number * 16 + (code - 0x30)
    else if (letter >= 0x61 && letter <= 0x66) number = number * 16 + (letter - 0x57)
    else throw fault(EXPECTED, text)
  }
  return number
}

function bigHex(text: string): bigint {
  // `BigInt` also takes decimal, octal, and surrounding white space; the first two characters and
  // the last rule them out.
  if (text.charCodeAt(0) !== 0x30 || text.charCodeAt(1) !== 0x78 || !/[0-9a-fA-F]$/.test(text)) throw fault(EXPECTED, text)
  // 66 is 0x and 64 digits; any digits beyond them must be leading zeros.
  if (text.length > 66 && text.length - (/^0x0+/.exec(text)?.[0].length ?? 0) > 64) throw fault(`${EXPECTED} of at most 256 bits`, text)
  try {
    return BigInt(text)
  } catch {
    throw fault(EXPECTED, text)
  }
}

function integer(value: unknown): number {
  // `+ 0` turns -0, which JSON can hold, into 0.
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value + 0
  throw fault(EXPECTED, value)
}
