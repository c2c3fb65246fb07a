import { OptionError } from '../errors.ts'
import { encodeQuantity } from '../eth/quantity.ts'

/**
 * A parameter as it is written on the command line: JSON (an object, an array, a quoted string, true, false, null), decimal
 * digits, or anything else as a string: hex, an address, a tag. Throws `OptionError` for what begins like JSON and is none.
 */
export function paramFrom(text: string, index: number): unknown {
  if (/^\d+$/.test(text)) return BigInt(text)
  if (!/^(?:[[{"]|true$|false$|null$)/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new OptionError(`parameter ${index + 1}`, 'JSON', `${JSON.stringify(text)} (${(error as Error).message})`)
  }
}

/** For methods whose parameters hexline does not know: a decimal number becomes the quantity that nodes take for it. */
export function wireFrom(param: unknown): unknown {
  return typeof param === 'bigint' ? encodeQuantity(param) : param
}
