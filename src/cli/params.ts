import { OptionError } from '../errors.ts'
import { encodeQuantity } from '../eth/codec/quantity.ts'
import { shown } from './output/given.ts'

/** `eth_getBalance`, `rpc.discover`; `getAccountInfo`, as other chains name theirs; any short name. No key looks like these. */
const METHOD = /^(?:[a-z][a-zA-Z0-9]{0,15}[_.][\w.]{1,60}|[a-zA-Z]{1,60}\d{0,2}|[\w.:-]{1,15})$/

/** The method that was given. Throws `OptionError` for what is no method's name, such as a URL: a node would be sent it, and might echo it. */
export function methodFrom(text: string): string {
  if (METHOD.test(text)) return text
  throw new OptionError('method', 'the name of a method, such as eth_getBalance', shown(text))
}

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
    throw new OptionError(`parameter ${index + 1}`, 'JSON', `${shown(text)} (${syntaxFault(error)})`)
  }
}

/** What is wrong with a JSON text, without the part of it that Node.js shows, and without the line that newer ones add to the position. */
export function syntaxFault(error: unknown): string {
  return (error as Error).message.replace(/, (?:\.\.\.)?".*$/s, '').replace(/ \(line \d{1,9} column \d{1,9}\)$/, '')
}

/** For methods whose parameters hexline does not know: a decimal number becomes the quantity that nodes take for it. */
export function wireFrom(param: unknown): unknown {
  return typeof param === 'bigint' ? encodeQuantity(param) : param
}
