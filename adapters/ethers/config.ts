import { FetchRequest, type JsonRpcApiProviderOptions } from 'ethers'
import * as check from '../../src/check.ts'
import type { Endpoint } from '../../src/client/endpoint.ts'
import { CLIENT_OPTIONS, type ClientOptions } from '../../src/client/options.ts'
import { OptionError } from '../../src/errors.ts'
import { nodeUrl } from '../../src/eth/chains.ts'

const OF_ETHERS = ['polling', 'staticNetwork', 'batchStallTime', 'batchMaxCount', 'cacheTimeout', 'pollingInterval']
const NO_MAX_SIZE = 'a batch that is too large for the node is split; batchMaxCount limits its calls'

/** Options for ethers and options for the hexline client. Beside a client its own are refused. Throws `OptionError`. */
export function splitOptions(options: object, hasClient: boolean): { ofEthers: JsonRpcApiProviderOptions; ofClient: ClientOptions } {
  check.onlyKnown('options', options, [...OF_ETHERS, ...CLIENT_OPTIONS], { refused: { batchMaxSize: NO_MAX_SIZE } })
  const pick = (names: readonly string[]) => Object.fromEntries(Object.entries(options).filter(([name, value]) => value !== undefined && names.includes(name)))
  const ofEthers = pick(OF_ETHERS) as JsonRpcApiProviderOptions
  const ofClient = pick(CLIENT_OPTIONS) as ClientOptions
  const { batchMaxCount, batchStallTime, pollingInterval } = ofEthers
  const other = Object.keys(ofClient)[0] ?? (batchMaxCount === undefined ? undefined : 'batchMaxCount')
  if (hasClient && other !== undefined)
    throw new OptionError(other, 'undefined beside a client, which has its own options', check.withoutText((options as Record<string, unknown>)[other]))
  if (batchStallTime !== undefined) check.msOrZero('batchStallTime', batchStallTime)
  if (pollingInterval !== undefined) check.msOrZero('pollingInterval', pollingInterval)
  if (batchMaxCount === undefined || ofClient.batch !== undefined) return { ofEthers, ofClient }
  return { ofEthers, ofClient: { ...ofClient, batch: batchMaxCount === 1 ? false : { maxCalls: batchMaxCount } } }
}

/** How a provider gets its client. */
export interface Connection {
  readonly endpoint: Endpoint | readonly Endpoint[]
  readonly options: ClientOptions
  /** What ethers' `_getConnection()` gives to who asks for it. */
  readonly request: string | FetchRequest | undefined
}

/** Throws `OptionError` for a `FetchRequest` that asks for what hexline does not do. */
export function connectionOf(target: Endpoint | readonly Endpoint[] | FetchRequest, options: ClientOptions): Connection {
  if (options.dispatcher === undefined && isGetUrlRegistered()) throw new OptionError('FetchRequest.registerGetUrl', `undefined (${INSTEAD})`, 'a function')
  if (!isFetchRequest(target)) return { endpoint: target, options, request: urlOf(Array.isArray(target) ? target[0] : target) }
  for (const name of ['preflightFunc', 'processFunc', 'retryFunc'] as const)
    if (target[name] !== null && target[name] !== undefined) throw new OptionError(`FetchRequest.${name}`, `undefined (${INSTEAD})`, 'a function')
  // It may be the way through a proxy.
  if (target.getUrlFunc !== new FetchRequest(target.url).getUrlFunc) throw new OptionError('FetchRequest.getUrlFunc', `undefined (${INSTEAD})`, 'a function')
  const { 'content-type': _, 'content-length': __, 'accept-encoding': ___, ...headers } = target.headers
  const compression = target.allowGzip ? {} : { compression: false }
  return { endpoint: { url: target.url, headers }, options: { ...timesOf(target), ...compression, ...options }, request: target }
}

const INSTEAD = 'hexline makes its own requests; use an undici `dispatcher` or `layers` instead'
const ETHERS_TIMEOUT = 300_000

const anyRequest = new FetchRequest('http://localhost')
/** How ethers sends requests: its own way, or what was registered before this module was loaded. */
const getUrlAtLoad = anyRequest.getUrlFunc
/** ethers makes its own way with this function, so that both have the same source. One that the user has made with it earlier than that cannot be told from it. */
const isEthersOwn = String(getUrlAtLoad) === String(FetchRequest.createGetUrlFunc())

/** A function is registered by which all of ethers' requests are to be sent. */
export function isGetUrlRegistered(): boolean {
  return !isEthersOwn || anyRequest.getUrlFunc !== getUrlAtLoad
}

/** A timeout that somebody has set; ethers' own five minutes are not meant by anybody. */
function timesOf({ timeout }: FetchRequest): ClientOptions {
  return timeout === ETHERS_TIMEOUT ? {} : { timeoutMs: timeout, deadlineMs: Math.max(120_000, 4 * (timeout + 10_000)) }
}

function urlOf(endpoint: Endpoint | undefined): string | undefined {
  if (typeof endpoint === 'string') return endpoint
  if (typeof endpoint !== 'object' || endpoint === null) return undefined
  return 'url' in endpoint ? endpoint.url : nodeUrl(endpoint)
}

function isFetchRequest(target: unknown): target is FetchRequest {
  return typeof (target as FetchRequest | null)?.clone === 'function' && typeof (target as FetchRequest).url === 'string'
}
