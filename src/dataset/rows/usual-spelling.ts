const BACKSLASH = 0x5c

/*
 * JSON has several spellings of a value. A column reads the usual one; these make it of the others.
 */

/** Any decimal with this many digits is a double of its own. */
const EXACT_DIGITS = 15

/**
 * The hex of a JSON number that is a quantity, in any spelling; undefined for anything else, and
 * where a double could be another number than the one that is spelled.
 */
export function hexOfNumber(json: string): string | undefined {
  const value = json === '' ? Number.NaN : Number(json)
  if (!Number.isSafeInteger(value) || value < 0) return undefined
  const digits = json.replace(/[eE].*/, '').replace(/\D/g, '')
  const isExact = /^\d+$/.test(json) || (digits.length <= EXACT_DIGITS && (value !== 0 || /^0+$/.test(digits)))
  return isExact ? `0x${value.toString(16)}` : undefined
}

/**
 * The JSON from `from` to `to` without escapes that it does not need; undefined if it has none.
 */
export function unescaped(bytes: Buffer, from: number, to: number): Buffer | undefined {
  const json = bytes.subarray(from, to)
  return json.includes(BACKSLASH) ? Buffer.from(JSON.stringify(JSON.parse(json.toString('utf8')))) : undefined
}
