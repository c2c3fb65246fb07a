import { harmlessText } from '../../text.ts'

/** Fields and results in wei that are also shown in ether or gwei. */
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
/** Seconds since 1970 that are also shown as a date. */
const times = new Set(['timestamp', 'blockTimestamp'])

/** Hex up to this length, that of a hash, is shown whole. */
const WHOLE = 66

/**
 * A result as readable text: a line for each field, numbered lists, amounts with their unit, times
 * with a date. `name` is the method. Long bytes are shortened on a terminal only. Control
 * characters are removed. Throws `RangeError` for more than 100 levels of nesting.
 */
export function forPerson(value: unknown, name: string, isTerminal: boolean): string {
  return isNested(value) ? linesOf(value, '', isTerminal).join('\n') : scalar(value, name, isTerminal)
}

/** Values are aligned after names of up to this length. */
const LONGEST_NAME = 40
/** Deeper nesting is unreadable. */
const DEEPEST = 100

/** Throws `RangeError` for a value that is nested too deeply. */
function linesOf(value: object, indent: string, isTerminal: boolean): string[] {
  if (indent.length > 2 * DEEPEST) throw new RangeError('nested too deeply')
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => [harmlessText(key), item])
  const width = entries.reduce((most, [key]) => Math.max(most, Math.min(LONGEST_NAME, key.length)), 0)
  return entries.flatMap(([key, item]) => {
    if (!isNested(item)) return [`${indent}${key.padEnd(width)}  ${scalar(item, key, isTerminal)}`]
    return [`${indent}${key}`, ...linesOf(item, `${indent}  `, isTerminal)]
  })
}

/** True for an object or list that is not empty. */
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

/** `value` with a decimal point `places` digits from the right, without trailing zeros. */
function decimal(value: bigint, places: number): string {
  const digits = value.toString().padStart(places + 1, '0')
  const fraction = digits.slice(-places).replace(/(?<!0)0+$/, '')
  return `${digits.slice(0, -places)}${fraction === '' ? '' : `.${fraction}`}`
}
