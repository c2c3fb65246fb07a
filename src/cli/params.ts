import { OptionError } from '../errors.ts'
import { encodeQuantity } from '../eth/codec/quantity.ts'
import { isMethodName, redact } from './output/redact.ts'

/**
 * Checks the name of a method. Throws `OptionError` for anything else, such as a URL, which would
 * be sent to the node, and might be echoed by it.
 */
export function methodFrom(text: string): string {
  if (isMethodName(text)) return text
  throw new OptionError('method', 'the name of a method, such as eth_getBalance', redact(text))
}

/** For an option that may be repeated: the list of its values. */
export function collect(value: string, list: readonly string[] = []): string[] {
  return [...list, value]
}

/**
 * Parses a parameter of the command line: JSON (an object, an array, a quoted string, true, false,
 * null), a decimal number, or a string such as hex, an address or a tag. Throws `OptionError` for
 * invalid JSON.
 */
export function paramFrom(text: string, index: number): unknown {
  if (/^\d+$/.test(text)) return BigInt(text)
  if (!/^(?:[[{"]|true$|false$|null$)/.test(text)) return text
  return jsonFrom(text, `params[${index}]`, 'JSON')
}

/** Parses all parameters, as they are to be sent. Throws `OptionError`. */
export function paramsFrom(text: string): unknown[] {
  const params = jsonFrom(text, '--params', 'a JSON array')
  if (Array.isArray(params)) return params
  throw new OptionError('--params', 'a JSON array', redact(text))
}

function jsonFrom(text: string, option: string, expected: string): unknown {
  const exact = (_: string, value: unknown) => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isInteger(value)) return value
    throw new OptionError(option, 'integers of at most 2^53 - 1, and larger ones as hex in quotes', 'a larger one')
  }
  try {
    return JSON.parse(text, exact)
  } catch (error) {
    if (error instanceof OptionError) throw error
    throw new OptionError(option, expected, `${redact(text)} (${syntaxFault(error)})`)
  }
}

/**
 * What is wrong with a JSON text, without the excerpt that Node.js shows, and the line that newer
 * versions add to the position.
 */
export function syntaxFault(error: unknown): string {
  return (error as Error).message.replace(/, (?:\.\.\.)?".*$/s, '').replace(/ \(line \d{1,9} column \d{1,9}\)$/, '')
}

/**
 * Encodes a parameter of a method that hexline does not know: a decimal number becomes a hex
 * quantity.
 */
export function wireFrom(param: unknown): unknown {
  return typeof param === 'bigint' ? encodeQuantity(param) : param
}
