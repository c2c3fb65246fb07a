import { onlyKnown, wholeExpected } from '../check.ts'
import { CodecError } from '../errors.ts'
import { CHECKSUM, isChecksummed } from '../eth/codec/checksum.ts'
import { show } from '../text.ts'
import type { Arrays, Settings } from './service.ts'

/** Checks and encodes one parameter for the query. Throws `CodecError` without a path. */
export type Check = (value: unknown, settings: Settings) => string | readonly string[]

/** A parameter of an operation. */
export interface Param {
  readonly required: boolean
  readonly check: Check
}

export const required = (check: Check): Param => ({ required: true, check })
export const optional = (check: Check): Param => ({ required: false, check })

/** Chains of the data group, from name to hex id (service specification, "Endpoints"). */
export const dataChains = {
  eth: '0x1',
  sepolia: '0xaa36a7',
  holesky: '0x4268',
  polygon: '0x89',
  'polygon amoy': '0x13882',
  bsc: '0x38',
  'bsc testnet': '0x61',
  avalanche: '0xa86a',
  fantom: '0xfa',
  palm: '0x2a15c308d',
  cronos: '0x19',
  arbitrum: '0xa4b1',
  gnosis: '0x64',
  'gnosis testnet': '0x27d8',
  chiliz: '0x15b38',
  'chiliz testnet': '0x15b32',
  base: '0x2105',
  'base sepolia': '0x14a34',
  optimism: '0xa',
  /** As in the specification, where 0xaa37dc has lost a digit; the correct id is accepted, too. */
  'optimism sepolia': '0xaa37d',
  linea: '0xe708',
  'linea sepolia': '0xe705',
  moonbeam: '0x504',
  moonriver: '0x505',
  moonbase: '0x507',
} as const satisfies Record<string, string>

type DataChainName = keyof typeof dataChains

/**
 * A chain of the data group, by name or hex id. Any hex id is sent, since services add chains that
 * the specification does not list.
 */
export type DataChain = DataChainName | (typeof dataChains)[DataChainName] | OtherChainId

// With `& {}`, editors still suggest the ids above.
type OtherChainId = `0x${string}` & {}

/** Sent as given. */
export const chain: Check = (value) => {
  if (typeof value === 'string' && (Object.hasOwn(dataChains, value) || /^0x[1-9a-fA-F][0-9a-fA-F]{0,15}$/.test(value))) return value
  throw fault(`one of ${Object.keys(dataChains).join(', ')}, or the hex id of any chain`, value)
}

/** Address of an account or contract of an EVM chain. */
export const evmAddress: Check = (value, settings) => {
  const address = hexAddress(value, settings) as string
  if (isChecksummed(address)) return address
  throw fault(CHECKSUM, value)
}
const hexAddress = matching(/^0x[0-9a-fA-F]{40}$/, 'an address (0x and 40 hex digits)')
export const evmHash: Check = matching(/^0x[0-9a-fA-F]{64}$/, 'a transaction hash (0x and 64 hex digits)')
/**
 * Addresses and ids of the NFT group's chain. They have up to 32 bytes, often without leading zeros
 * and sometimes without 0x.
 */
export const moveHex: Check = matching(/^(?:0x)?[0-9a-fA-F]{1,64}$/, 'up to 64 hex digits')
export const cursor: Check = matching(/./, 'the cursor of a page')
export const include: Check = matching(/^internal_transactions$/, "'internal_transactions'")

export const flag: Check = (value) => {
  if (typeof value === 'boolean') return String(value)
  throw fault('true or false', value)
}

/** A number of results, of results to skip, or of a block. */
export function whole(least: number, most = Number.MAX_SAFE_INTEGER): Check {
  return (value) => {
    const isWhole = typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))
    if (isWhole && value >= least && value <= most) return String(value)
    throw fault(wholeExpected(value, least, most), value)
  }
}

/**
 * An array that limits the result. An empty one is refused, since services would read it as no
 * limit at all.
 */
export function listOf(check: Check): Check {
  return (value, settings) => {
    if (!Array.isArray(value)) throw fault('an array', value)
    if (value.length === 0) throw fault('at least one entry', value)
    if (value.length > settings.maxArrayLength) throw fault(`at most ${settings.maxArrayLength} entries (maxArrayLength)`, value)
    // `map` would skip holes.
    return Array.from(value, (item, i) => {
      try {
        return check(item, settings) as string
      } catch (caught) {
        throw at(caught, `[${i}]`)
      }
    })
  }
}

/**
 * Checks the parameters of an operation and encodes them for path and query, in the order of the
 * specification. Throws `CodecError` with the parameter's name before anything is sent.
 */
export function checkParams(params: unknown, known: Readonly<Record<string, Param>>, settings: Settings): Map<string, string | readonly string[]> {
  onlyKnown('params', params, Object.keys(known))
  const given = params as Record<string, unknown>
  const checked = new Map<string, string | readonly string[]>()
  for (const [name, param] of Object.entries(known)) {
    const value = given[name]
    if (value === undefined && !param.required) continue
    try {
      checked.set(name, param.check(value, settings))
    } catch (caught) {
      throw at(caught, name)
    }
  }
  // A cursor is already a position in the list. An offset with it would skip records in the middle,
  // or be silently ignored.
  if (checked.has('cursor') && checked.has('offset'))
    throw new CodecError('offset', 'no offset with a cursor, since it applies to the first page only', show(given.offset))
  return checked
}

/** The query, with its `?`; empty if there are no values. Spaces are encoded as %20. */
export function queryOf(values: Iterable<readonly [string, string | readonly string[]]>, arrays: Arrays): string {
  const pairs: string[] = []
  for (const [name, value] of values) {
    if (typeof value === 'string') pairs.push(`${encode(name)}=${encode(value)}`)
    else for (const [i, item] of value.entries()) pairs.push(`${encode(nameIn(arrays, name, i))}=${encode(item)}`)
  }
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/**
 * Encodes a lone surrogate, which a cursor from JSON may contain, as U+FFFD, as `URLSearchParams`
 * does. `encodeURIComponent` alone would throw.
 */
function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
}

function nameIn(arrays: Arrays, name: string, i: number): string {
  if (arrays === 'indices') return `${name}[${i}]`
  return arrays === 'brackets' ? `${name}[]` : name
}

function matching(pattern: RegExp, expected: string): Check {
  return (value) => {
    if (typeof value === 'string' && pattern.test(value)) return value
    throw fault(expected, value)
  }
}

function fault(expected: string, received: unknown): CodecError {
  return new CodecError('', expected, show(received))
}

function at(caught: unknown, step: string): unknown {
  return caught instanceof CodecError ? new CodecError(`${step}${caught.path}`, caught.expected, caught.received) : caught
}
