import type { FetchRequest, JsonRpcApiProviderOptions } from 'ethers'
import type { Endpoint } from '../../src/endpoint.ts'
import { OptionError } from '../../src/errors.ts'
import { nodeUrl } from '../../src/eth/chains.ts'
import { type ClientOptions, onlyKnown } from '../../src/options.ts'

const OF_ETHERS = ['polling', 'staticNetwork', 'batchStallTime', 'batchMaxSize', 'batchMaxCount', 'cacheTimeout', 'pollingInterval']
const OF_CLIENT = [
  'batch',
  'concurrency',
  'rate',
  'retry',
  'timeoutMs',
  'deadlineMs',
  'maxResponseBytes',
  'dedupe',
  'headers',
  'dispatcher',
  'compression',
  'layers',
]

/** Options for ethers and options for the hexline client. Beside a client its own are refused. Throws `OptionError`. */
export function splitOptions(options: object, hasClient: boolean): { ofEthers: JsonRpcApiProviderOptions; ofClient: ClientOptions } {
  onlyKnown('options', options, [...OF_ETHERS, ...OF_CLIENT])
  const pick = (names: readonly string[]) => Object.fromEntries(Object.entries(options).filter(([name, value]) => value !== undefined && names.includes(name)))
  const ofEthers = pick(OF_ETHERS) as JsonRpcApiProviderOptions
  const ofClient = pick(OF_CLIENT) as ClientOptions
  const [other] = Object.keys(ofClient)
  if (hasClient && other !== undefined) throw new OptionError(other, 'no option of the client beside a client, which has its own', 'one')
  const { batchMaxCount } = ofEthers
  if (batchMaxCount === undefined || ofClient.batch !== undefined) return { ofEthers, ofClient }
  return { ofEthers, ofClient: { ...ofClient, batch: batchMaxCount === 1 ? false : { maxCalls: batchMaxCount } } }
}

/** Where a client connects to, and what ethers is told of it: `_getConnection()` gives it to who asks. */
export interface Connection {
  readonly endpoint: Endpoint | readonly Endpoint[]
  readonly options: ClientOptions
  readonly request: string | FetchRequest | undefined
}

/** Throws `OptionError` for a `FetchRequest` that asks for what hexline does not do. */
export function connectionOf(target: Endpoint | readonly Endpoint[] | FetchRequest, options: ClientOptions): Connection {
  if (!isFetchRequest(target)) return { endpoint: target, options, request: urlOf(Array.isArray(target) ? target[0] : target) }
  for (const name of ['preflightFunc', 'processFunc', 'retryFunc'] as const)
    if (target[name] != null)
      throw new OptionError(`FetchRequest.${name}`, 'none (hexline makes its own requests; `layers` and `dispatcher` do what it is for)', 'one')
  const { 'content-type': _, 'accept-encoding': __, ...headers } = target.headers
  return { endpoint: { url: target.url, headers }, options: { ...timesOf(target), ...options }, request: target }
}

const ETHERS_TIMEOUT = 300_000

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
