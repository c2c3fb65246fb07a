import { FetchRequest, type JsonRpcApiProviderOptions } from 'ethers'
import type { Endpoint } from '../../src/client/endpoint.ts'
import { CLIENT_OPTIONS, type ClientOptions, onlyKnown } from '../../src/client/options.ts'
import { OptionError } from '../../src/errors.ts'
import { nodeUrl } from '../../src/eth/chains.ts'
import { show } from '../../src/text.ts'

const OF_ETHERS = ['polling', 'staticNetwork', 'batchStallTime', 'batchMaxSize', 'batchMaxCount', 'cacheTimeout', 'pollingInterval']

/** Options for ethers and options for the hexline client. Beside a client its own are refused. Throws `OptionError`. */
export function splitOptions(options: object, hasClient: boolean): { ofEthers: JsonRpcApiProviderOptions; ofClient: ClientOptions } {
  onlyKnown('options', options, [...OF_ETHERS, ...CLIENT_OPTIONS])
  const pick = (names: readonly string[]) => Object.fromEntries(Object.entries(options).filter(([name, value]) => value !== undefined && names.includes(name)))
  const ofEthers = pick(OF_ETHERS) as JsonRpcApiProviderOptions
  const ofClient = pick(CLIENT_OPTIONS) as ClientOptions
  const { batchMaxCount, batchMaxSize, batchStallTime, pollingInterval } = ofEthers
  const other = Object.keys(ofClient)[0] ?? (batchMaxCount === undefined ? undefined : 'batchMaxCount')
  if (hasClient && other !== undefined) throw new OptionError(other, 'no option of the client beside a client, which has its own', 'one')
  if (batchMaxSize !== undefined)
    throw new OptionError('batchMaxSize', 'none (a batch that is too large for the node is sent again in parts; batchMaxCount limits its calls)', 'one')
  checkMs('batchStallTime', batchStallTime)
  checkMs('pollingInterval', pollingInterval)
  if (batchMaxCount === undefined || ofClient.batch !== undefined) return { ofEthers, ofClient }
  return { ofEthers, ofClient: { ...ofClient, batch: batchMaxCount === 1 ? false : { maxCalls: batchMaxCount } } }
}

const LONGEST_TIMER = 2 ** 31 - 1

function checkMs(option: string, value: unknown): void {
  if (value === undefined || (typeof value === 'number' && value >= 0 && value <= LONGEST_TIMER)) return
  throw new OptionError(option, `a number of ms from 0 to ${LONGEST_TIMER}`, show(value))
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
  if (options.dispatcher === undefined && isGetUrlRegistered()) throw new OptionError('FetchRequest.registerGetUrl', `none (${INSTEAD})`, 'one')
  if (!isFetchRequest(target)) return { endpoint: target, options, request: urlOf(Array.isArray(target) ? target[0] : target) }
  for (const name of ['preflightFunc', 'processFunc', 'retryFunc'] as const)
    if (target[name] !== null && target[name] !== undefined) throw new OptionError(`FetchRequest.${name}`, `none (${INSTEAD})`, 'one')
  // It may be the way through a proxy.
  if (target.getUrlFunc !== new FetchRequest(target.url).getUrlFunc) throw new OptionError('FetchRequest.getUrlFunc', `none (${INSTEAD})`, 'one')
  const { 'content-type': _, 'content-length': __, 'accept-encoding': ___, ...headers } = target.headers
  const compression = target.allowGzip ? {} : { compression: false }
  return { endpoint: { url: target.url, headers }, options: { ...timesOf(target), ...compression, ...options }, request: target }
}

const INSTEAD = "hexline makes its own requests; an undici `dispatcher`, or `layers`, do what it's for"
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
