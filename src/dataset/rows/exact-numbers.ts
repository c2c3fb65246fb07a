/** Strings and numbers of JSON. A string that does not end reaches to the end: it is read once. */
const TOKENS = /"(?:[^"\\]|\\.)*"?|-?\d[\d.eE+-]*/g
/** The digits that 256 bits can have. */
const LARGE = /^\d{16,78}$/

/**
 * The same JSON, in which whole numbers that a double does not hold exactly are quantities in hex.
 */
export function withExactNumbers(json: string): string {
  return json.replace(TOKENS, (token) => (LARGE.test(token) && !Number.isSafeInteger(Number(token)) ? `"0x${BigInt(token).toString(16)}"` : token))
}
