import { OptionError } from '../errors.ts'
import { encodeQuantity } from '../eth/codec/quantity.ts'
import { redact } from './output/redact.ts'

/**
 * `eth_getBalance`, `rpc.discover`; `getAccountInfo`, as on other chains; any short name. Keys do
 * not look like these.
 */
const METHOD = /^(?:[a-z][a-zA-Z0-9]{0,15}[_.][\w.]{1,60}|[a-zA-Z]{1,60}\d{0,2}|[\w.:-]{1,15})$/

/**
 * Checks the name of a method. Throws `OptionError` for anything else, such as a URL, which would
 * be sent to the node, and might be echoed by it.
 */
export function methodFrom(text: string): string {
  if (METHOD.test(text)) return text
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
  try {
    return JSON.parse(text)
  } catch (error) {
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
