import { keccak_256 } from '@noble/hashes/sha3.js'
import { OptionError } from '../errors.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { didYouMean } from '../nearest-name.ts'
import { show } from '../text.ts'
import { redact } from './output/redact.ts'

const TYPE =
  /^(?:address|bool|string|function|bytes(?:[1-9]|[12]\d|3[0-2])?|u?int(?:8|16|24|32|40|48|56|64|72|80|88|96|104|112|120|128|136|144|152|160|168|176|184|192|200|208|216|224|232|240|248|256)|u?fixed\d{1,3}x\d{1,2})$/

/**
 * The first topic of an event, from its signature as in the ABI or in Solidity: parameter names,
 * `indexed`, white space and `event` are left out, and `uint` is `uint256`. Throws `OptionError`,
 * also for an anonymous event, whose logs do not have this topic.
 *
 * @example
 * eventTopic('Transfer(address indexed from, address indexed to, uint value)') // '0xddf252ad…'
 */
export function eventTopic(text: string): Hash {
  const [, name, params, anonymous] = /^\s*(?:event\s+)?([A-Za-z_$][\w$]*)\s*\((.*)\)\s*(anonymous\s*)?;?\s*$/s.exec(text) ?? []
  const types = params === undefined ? undefined : typesOf(params)
  if (types === undefined) throw new OptionError('--event', EVENT, show(text))
  if (anonymous !== undefined) throw new OptionError('--event', 'an event that is not anonymous; use --topic for the topics of one that is', show(text))
  return `0x${Buffer.from(keccak_256(Buffer.from(`${name}(${types.join(',')})`))).toString('hex')}`
}

const EVENT = "an event such as 'Transfer(address,address,uint256)'"
/** Types that are often misspelt. */
const COMMON = ['address', 'uint256', 'uint', 'int256', 'int', 'uint8', 'bool', 'string', 'bytes', 'bytes32', 'tuple']

/** Tuples within tuples. */
const MOST_DEPTH = 64

/**
 * The types of a list of parameters; undefined if it is not one. Throws `OptionError` for a type
 * that is not in the ABI.
 */
function typesOf(params: string, depth = 0): string[] | undefined {
  if (depth > MOST_DEPTH) return undefined
  if (params.trim() === '') return []
  const types: string[] = []
  for (const param of split(params) ?? ['']) {
    const type = typeOf(param.trim(), depth)
    if (type === undefined) return undefined
    types.push(type)
  }
  return types
}

function typeOf(param: string, depth: number): string | undefined {
  const tuple = /^(?:tuple\s*)?\((.*)\)((?:\[\d*\])*)(?:\s+(?:indexed\s+)?[\w$]+|\s+indexed)?$/s.exec(param)
  if (tuple !== null) {
    const types = typesOf(tuple[1] as string, depth + 1)
    return types && `(${types.join(',')})${tuple[2]}`
  }
  const [type = '', ...rest] = param.split(/\s+/)
  const names = rest.filter((word) => word !== 'indexed')
  if (names.length > 1 || !names.every((each) => /^[\w$]+$/.test(each))) return undefined
  const [, bare = '', arrays = ''] = /^(\w+)((?:\[\d*\])*)$/.exec(type) ?? []
  const whole = bare === 'uint' || bare === 'int' ? `${bare}256` : bare
  if (bare === '') return undefined
  if (!TYPE.test(whole)) throw new OptionError('--event', EVENT, `a type that the ABI does not have: ${redact(bare)}${didYouMean(bare, COMMON)}`)
  return whole + arrays
}

/**
 * The parameters of a list, which commas outside parentheses separate; undefined if they do not
 * match.
 */
function split(params: string): string[] | undefined {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let i = 0; i < params.length; i++) {
    if (params[i] === '(') depth++
    else if (params[i] === ')') depth--
    else if (params[i] === ',' && depth === 0) {
      parts.push(params.slice(start, i))
      start = i + 1
    }
    if (depth < 0) return undefined
  }
  parts.push(params.slice(start))
  return depth === 0 ? parts : undefined
}
