import { harmlessText } from '../../text.ts'

/** Fields and results in wei, shown in ether or gwei too. */
const inEther = new Set(['value', 'balance', 'eth_getBalance', 'l1Fee'])
const inGwei = new Set([
  'gasPrice',
  'effectiveGasPrice',
  'baseFeePerGas',
  'maxFeePerGas',
  'maxPriorityFeePerGas',
  'maxFeePerBlobGas',
  'blobGasPrice',
  'eth_gasPrice',
  'eth_maxPriorityFeePerGas',
])
/** Seconds since 1970, shown as a date too. */
const times = new Set(['timestamp', 'blockTimestamp'])

/** Hex up to this length, a hash, is shown whole. */
const WHOLE = 66

/**
 * A result as a person reads it: fields below each other, lists numbered, amounts with their unit, times as dates. `name` is
 * the method. Long bytes are shortened on a terminal, and come whole where a program reads. Nothing in it is obeyed by a terminal. Throws `RangeError` for what is nested more than 100 levels deep.
 */
export function forPerson(value: unknown, name: string, isTerminal: boolean): string {
  return isNested(value) ? linesOf(value, '', isTerminal).join('\n') : scalar(value, name, isTerminal)
}

/** Names up to this length have their values below each other. */
const LONGEST_NAME = 40
/** Deeper nesting than this is nothing to read. */
const DEEPEST = 100

/** Throws `RangeError` for what is nested too deeply. */
function linesOf(value: object, indent: string, isTerminal: boolean): string[] {
  if (indent.length > 2 * DEEPEST) throw new RangeError('nested too deeply')
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => [harmlessText(key), item])
  const width = entries.reduce((most, [key]) => Math.max(most, Math.min(LONGEST_NAME, key.length)), 0)
  return entries.flatMap(([key, item]) => {
    if (!isNested(item)) return [`${indent}${key.padEnd(width)}  ${scalar(item, key, isTerminal)}`]
    return [`${indent}${key}`, ...linesOf(item, `${indent}  `, isTerminal)]
  })
}

/** An object or list that has something in it. */
function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function scalar(value: unknown, name: string, isTerminal: boolean): string {
  if (typeof value === 'bigint') {
    if (inEther.has(name) && value > 0n) return `${value} wei (${decimal(value, 18)} ether)`
    if (inGwei.has(name) && value > 0n) return `${value} wei (${decimal(value, 9)} gwei)`
    if (times.has(name) && value < 253_402_300_800n) return `${value} (${new Date(Number(value) * 1000).toISOString().replace('.000Z', 'Z')})`
    return value.toString()
  }
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'none' : '{}'
  if (isTerminal && typeof value === 'string' && value.length > WHOLE && /^0x[0-9a-fA-F]+$/.test(value)) {
    return `${value.slice(0, 18)}…${value.slice(-8)} (${Math.ceil((value.length - 2) / 2)} bytes)`
  }
  return harmlessText(String(value))
}

/** `value` with the point `places` from the right, without zeros at the end. */
function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/(?<!0)0+$/, '')
  return `${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`
}
