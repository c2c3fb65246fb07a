import { CodecError } from '../errors.ts'
import { didYouMean } from '../nearest-name.ts'
import { show } from '../text.ts'
import { CHECKSUM, isChecksummed } from './codec/checksum.ts'
import { fault, under } from './codec/codec-path.ts'
import type { Address, Hash, Hex } from './codec/hex.ts'
import { encodeQuantity, type Quantity } from './codec/quantity.ts'
import type { AccessListItem } from './objects.ts'

/** A block tag. The service's specification has the first three; today's nodes know all five. */
export type BlockTag = 'latest' | 'earliest' | 'pending' | 'safe' | 'finalized'
/** A block by its number or a tag. */
export type BlockNumber = Quantity | BlockTag
/** A block by number, tag or hash, or as the object of EIP-1898. */
export type BlockId = BlockNumber | { readonly blockHash: Hash; readonly requireCanonical?: boolean } | { readonly blockNumber: Quantity }

/**
 * The transaction of `eth_call`, `eth_estimateGas` and `eth_createAccessList`. Other fields, such
 * as those of an L2, are sent unchanged.
 */
export interface CallObject {
  readonly from?: Address | undefined
  /** Absent or null deploys a contract. */
  readonly to?: Address | null | undefined
  /** In gas. */
  readonly gas?: Quantity | undefined
  /** In wei. */
  readonly gasPrice?: Quantity | undefined
  /** In wei. */
  readonly maxFeePerGas?: Quantity | undefined
  /** In wei. */
  readonly maxPriorityFeePerGas?: Quantity | undefined
  /** In wei. */
  readonly maxFeePerBlobGas?: Quantity | undefined
  /** In wei. */
  readonly value?: Quantity | undefined
  readonly data?: Hex | undefined
  /** Another name of `data`. */
  readonly input?: Hex | undefined
  readonly nonce?: Quantity | undefined
  readonly type?: Quantity | undefined
  readonly chainId?: Quantity | undefined
  readonly accessList?: readonly { readonly address: Address; readonly storageKeys: readonly Hash[] }[] | readonly AccessListItem[] | undefined
  readonly blobVersionedHashes?: readonly Hash[] | undefined
  readonly authorizationList?:
    | readonly {
        readonly chainId: Quantity
        readonly address: Address
        readonly nonce: Quantity
        readonly yParity?: Quantity | undefined
        readonly v?: Quantity | undefined
        readonly r: Hex
        readonly s: Hex
      }[]
    | undefined
}

/** Which logs to return. Use `blockHash` or a range of blocks, not both. */
export interface LogFilter {
  readonly fromBlock?: BlockNumber | undefined
  readonly toBlock?: BlockNumber | undefined
  readonly blockHash?: Hash | undefined
  readonly address?: Address | readonly Address[] | undefined
  /** By position: one topic, any of several, or null for any. */
  readonly topics?: readonly (Hash | readonly Hash[] | null)[] | undefined
}

/** JSON that is sent unchanged, except for bigints, which become quantities. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json | undefined }

/** How a parameter is checked and encoded. */
export interface Param<T> {
  /** The value as it is sent. Throws `CodecError`. */
  encode(value: T): unknown
  /** What is sent for an omitted parameter, and when. Absent for a required parameter. */
  readonly omitted?: { readonly wire: unknown; readonly send: 'always' | 'before others' }
}

/** How fields of an object are encoded, by name. */
type FieldCodecs = Readonly<Record<string, (value: never) => unknown>>

/** The codecs of a method's parameters, for arguments of the type `P`. */
export type ParamList<P extends readonly unknown[]> = { readonly [I in keyof P]-?: Param<Exclude<P[I], undefined | null>> }

const wordOf = (bytes: number) => new RegExp(`^0x[0-9a-fA-F]{${2 * bytes}}$`)
const ADDRESS = wordOf(20)
/** The most common form; it has no checksum. */
const LOWER_CASE_ADDRESS = /^0x[0-9a-f]{40}$/
const HASH = wordOf(32)

export const quantity: Param<Quantity> = { encode: encodeQuantity }
export const address: Param<Address> = { encode: encodeAddress }
export const hash: Param<Hash> = { encode: (value) => match(HASH, value, 'a hash (32 bytes in hex)') }
export const bytes: Param<Hex> = { encode: (value) => match(/^0x(?:[0-9a-fA-F]{2})*$/, value, 'bytes in hex') }
export const flag: Param<boolean> = { encode: encodeFlag }
export const blockNumber: Param<BlockNumber> = { encode: encodeBlockNumber }
export const block: Param<BlockId> = { encode: encodeBlock }
export const call: Param<CallObject> = { encode: encodeCall }
export const filter: Param<LogFilter> = { encode: encodeFilter }
export const stateOverrides: Param<Json> = { encode: encodeOverrides }
export const blockOverrides: Param<Json> = { encode: (value) => encodeObject(value, 'an object with fields of the block') }
export const storageKey: Param<Quantity> = { encode: encodeStorageKey }
export const storageKeys: Param<readonly Quantity[]> = { encode: (value) => each(value, encodeStorageKey) }
export const percentiles: Param<readonly number[]> = { encode: encodePercentiles }

/**
 * An optional parameter. `wire` is sent where it is omitted, since several nodes require every
 * parameter.
 */
export function withDefault<T>(param: Param<T>, wire: unknown): Param<T> {
  return { ...param, omitted: { wire, send: 'always' } }
}

/**
 * An optional parameter that is not sent where it is omitted, unless a later one is: `wire` then
 * takes its place.
 */
export function withoutDefault<T>(param: Param<T>, wire: unknown): Param<T> {
  return { ...param, omitted: { wire, send: 'before others' } }
}

function atMost(count: number): string {
  return count === 0 ? 'no parameters' : `at most ${count} parameter${count === 1 ? '' : 's'}`
}

/** The arguments as they are sent. Throws `CodecError` with the path of the one that is invalid. */
export function encodeParams(method: string, codecs: readonly Param<never>[], args: readonly unknown[]): unknown[] {
  if (args.length > codecs.length) throw new CodecError('params', atMost(codecs.length), String(args.length), { method })
  let length = codecs.length
  // Null means omitted, too: the service's specification has it for a block tag.
  const isOmitted = (i: number) => codecs[i]?.omitted !== undefined && (args[i] === undefined || args[i] === null)
  while (length > 0 && isOmitted(length - 1) && codecs[length - 1]?.omitted?.send === 'before others') length--
  const wire: unknown[] = []
  for (let i = 0; i < length; i++) {
    const codec = codecs[i] as Param<unknown>
    try {
      wire.push(isOmitted(i) ? codec.omitted?.wire : codec.encode(args[i]))
    } catch (caught) {
      throw under(inOneArray(caught, args), `params[${i}]`, method)
    }
  }
  return wire
}

/** The fault of an argument, where it is the array that EIP-1193 has for all of them. */
function inOneArray(caught: unknown, args: readonly unknown[]): unknown {
  const [first] = args
  if (!(caught instanceof CodecError) || caught.path !== '' || args.length > 1 || !Array.isArray(first) || first.length === 0) return caught
  return fault(caught.expected, first, undefined, ': give the arguments one by one, not in an array')
}

function match(pattern: RegExp, value: unknown, expected: string): unknown {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw fault(expected, value)
}

function encodeAddress(value: unknown): unknown {
  if (typeof value === 'string' && LOWER_CASE_ADDRESS.test(value)) return value
  const hex = match(ADDRESS, value, 'an address (20 bytes in hex)') as string
  if (isChecksummed(hex)) return hex
  throw fault(CHECKSUM, hex)
}

function encodeFlag(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw fault('true or false', value)
}

const tags: ReadonlySet<unknown> = new Set<BlockTag>(['latest', 'earliest', 'pending', 'safe', 'finalized'])

function encodeBlockNumber(value: unknown): unknown {
  const number = tags.has(value) ? value : shortQuantity(value)
  if (number !== undefined) return number
  throw fault('a block number from 0 to 2^64 - 1 (a bigint, a safe integer or a hex string) or a tag (latest, earliest, pending, safe, finalized)', value)
}

/** A block number fits 8 bytes. A longer quantity is most likely a hash. */
function shortQuantity(value: unknown): Hex | undefined {
  if (typeof value === 'string' && value.length > 18) return undefined
  try {
    const number = encodeQuantity(value)
    return number.length <= 18 ? number : undefined
  } catch {
    return undefined
  }
}

function encodeBlock(value: unknown): unknown {
  if (typeof value === 'string' && HASH.test(value)) return value
  if (!isObject(value)) return encodeBlockNumber(value)
  if (value.blockHash != null && value.blockNumber != null) throw fault('either blockHash or blockNumber', value)
  if (value.blockHash != null || value.blockNumber != null) return fields(value, blockCodecs)
  throw fault('a block: a number, a tag, a hash, { blockHash } or { blockNumber }', value)
}

const blockCodecs: FieldCodecs = {
  blockHash: hash.encode,
  blockNumber: (value) => {
    const number = shortQuantity(value)
    if (number !== undefined) return number
    throw fault('a block number from 0 to 2^64 - 1 (a bigint, a safe integer or a hex string)', value)
  },
  requireCanonical: flag.encode,
}

const callCodecs: FieldCodecs = {
  from: address.encode,
  to: (value) => (value === null ? null : address.encode(value)),
  gas: encodeQuantity,
  gasPrice: encodeQuantity,
  maxFeePerGas: encodeQuantity,
  maxPriorityFeePerGas: encodeQuantity,
  maxFeePerBlobGas: encodeQuantity,
  value: encodeQuantity,
  data: bytes.encode,
  input: bytes.encode,
  nonce: encodeQuantity,
  type: encodeQuantity,
  chainId: encodeQuantity,
  accessList: (value) => each(value, encodeAccess),
  authorizationList: (value) => each(value, encodeAuthorization),
}

const accessCodecs = { address: address.encode }

function encodeAccess(value: unknown): unknown {
  if (!isObject(value)) throw fault('an object with address and storageKeys', value)
  return fields(value, accessCodecs)
}

const authorizationCodecs = { chainId: encodeQuantity, address: address.encode, nonce: encodeQuantity, yParity: encodeQuantity, v: encodeQuantity }

function encodeAuthorization(value: unknown): unknown {
  if (!isObject(value)) throw fault('an authorization object', value)
  return fields(value, authorizationCodecs)
}

function encodeCall(value: unknown): unknown {
  if (!isObject(value)) throw fault('a call object', value)
  const { data, input } = value
  if (typeof data === 'string' && typeof input === 'string' && data.toLowerCase() !== input.toLowerCase()) {
    throw under(fault('data or input, or the same value in both (they name the same field)', input), 'input')
  }
  return fields(value, callCodecs)
}

const filterCodecs: FieldCodecs = {
  fromBlock: encodeBlockNumber,
  toBlock: encodeBlockNumber,
  blockHash: hash.encode,
  address: (value) => (Array.isArray(value) ? each(value, address.encode as (item: unknown) => unknown) : address.encode(value)),
  topics: (value) => each(value, encodeTopic),
}

function encodeFilter(value: unknown): unknown {
  if (!isObject(value)) throw fault('a filter object', value)
  if (value.blockHash != null && (value.fromBlock != null || value.toBlock != null)) {
    throw new CodecError('', 'either blockHash or a range of fromBlock and toBlock', 'both')
  }
  // A misspelt field, if it were ignored, would widen the query.
  const known = Object.keys(filterCodecs)
  for (const key of Object.keys(value))
    if (!Object.hasOwn(filterCodecs, key)) throw new CodecError('', `a filter with only ${known.join(', ')}`, show(key) + didYouMean(key, known))
  return fields(value, filterCodecs)
}

function encodeTopic(value: unknown): unknown {
  if (value === null) return null
  const topic = (item: unknown) => match(HASH, item, 'a topic (32 bytes in hex)')
  return Array.isArray(value) ? each(value, topic) : topic(value)
}

function encodePercentiles(value: unknown): number[] {
  const all = each(value, encodePercentile) as number[]
  if (all.some((one, i) => one < (all[i - 1] ?? 0))) throw fault('percentiles in ascending order', value)
  return all
}

function encodePercentile(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 100) return value
  throw fault('a percentile from 0 to 100', value)
}

/** Storage keys are sent as 32 bytes, since some nodes refuse shorter ones. */
function encodeStorageKey(value: unknown): string {
  if (typeof value === 'string' && value.length > 66) throw fault('a storage key of at most 32 bytes', value)
  return `0x${encodeQuantity(value).slice(2).padStart(64, '0')}`
}

/** State overrides, by address. */
function encodeOverrides(value: unknown): unknown {
  if (!isObject(value)) throw fault('an object with accounts by address', value)
  for (const key of Object.keys(value)) if (ADDRESS.test(key) && !isChecksummed(key)) throw fault(CHECKSUM, key)
  return encodeJson(value)
}

/** An object of JSON values; `what` names it in the error. */
export function encodeObject(value: unknown, what: string): unknown {
  if (isObject(value)) return encodeJson(value)
  throw fault(what, value)
}

function encodeJson(value: unknown): unknown {
  if (typeof value === 'bigint') return encodeQuantity(value)
  if (Array.isArray(value)) return each(value, encodeJson)
  if (isObject(value) && isPlain(value)) return fields(value, {})
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) return value
  throw fault('a JSON value', value)
}

/**
 * The object with each field encoded by its codec, or as JSON where it has none. As in JSON, null
 * stays and undefined is left out.
 */
export function fields(value: Readonly<Record<string, unknown>>, codecs: FieldCodecs): Record<string, unknown> {
  const wire: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue
    const encode = Object.hasOwn(codecs, key) ? (codecs[key] as (value: unknown) => unknown) : encodeJson
    wire[key] = item === null ? null : within(key, () => encode(item))
  }
  return wire
}

/** Each item of an array, encoded. */
export function each(value: unknown, encode: (item: unknown) => unknown): unknown[] {
  if (!Array.isArray(value)) throw fault('an array', value)
  return value.map((item, i) => within(i, () => encode(item)))
}

function within<T>(key: string | number, encode: () => T): T {
  try {
    return encode()
  } catch (caught) {
    throw under(caught, key)
  }
}

/** JSON would turn a Map into `{}`, and a typed array into an object with its indices as keys. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/** True for an object that is not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
