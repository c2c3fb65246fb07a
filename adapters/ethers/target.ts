import { FetchRequest } from 'ethers'
import { type Client, isClient } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import type { Endpoint } from '../../src/client/endpoint.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { OptionError } from '../../src/errors.ts'
import { nodeUrl } from '../../src/eth/chains.ts'
import { DEFAULTS } from '../../src/rpc/defaults.ts'

/** What a provider connects to. */
export type Target = Endpoint | readonly Endpoint[] | FetchRequest | Client

/** The client of a provider. */
export interface TargetClient {
  readonly client: Client
  /** Whether the client was made here, so that the provider closes it. */
  readonly isOwned: boolean
  /**
   * Whether the caller chose how to send, by a client or a dispatcher, so that ethers'
   * `FetchRequest.registerGetUrl` does not apply.
   */
  readonly isOwnTransport: boolean
  /** The return value of ethers' `_getConnection()`. */
  readonly request: string | FetchRequest | undefined
}

/** The given client, or a new one. Throws `OptionError`. */
export function clientFor(target: Target, options: ClientOptions): TargetClient {
  if (isClient(target)) return { client: target, isOwned: false, isOwnTransport: true, request: undefined }
  const { endpoint, options: all, request } = resolveTarget(target, options)
  return { client: createClient(endpoint, all), isOwned: true, isOwnTransport: options.dispatcher !== undefined, request }
}

interface ResolvedTarget {
  readonly endpoint: Endpoint | readonly Endpoint[]
  readonly options: ClientOptions
  readonly request: string | FetchRequest | undefined
}

/** Throws `OptionError` for a `FetchRequest` with settings that hexline does not support. */
function resolveTarget(target: Endpoint | readonly Endpoint[] | FetchRequest, options: ClientOptions): ResolvedTarget {
  if (options.dispatcher === undefined && isGetUrlRegistered()) throw new OptionError('FetchRequest.registerGetUrl', `undefined (${INSTEAD})`, 'a function')
  if (!isFetchRequest(target)) return { endpoint: target, options, request: urlOf(Array.isArray(target) ? target[0] : target) }
  for (const name of ['preflightFunc', 'processFunc', 'retryFunc'] as const)
    if (target[name] !== null && target[name] !== undefined) throw new OptionError(`FetchRequest.${name}`, `undefined (${INSTEAD})`, 'a function')
  // A function that sends requests may go through a proxy, so it is not bypassed.
  if (target.getUrlFunc !== new FetchRequest(target.url).getUrlFunc) throw new OptionError('FetchRequest.getUrlFunc', `undefined (${INSTEAD})`, 'a function')
  const { 'content-type': _, 'content-length': __, 'accept-encoding': ___, ...headers } = target.headers
  const compression = target.allowGzip ? {} : { compression: false }
  return { endpoint: { url: target.url, headers }, options: { ...timesOf(target), ...compression, ...options }, request: target }
}

const INSTEAD = 'hexline makes its own requests; use an undici `dispatcher` or `layers` instead'
const ETHERS_TIMEOUT = 300_000

const anyRequest = new FetchRequest('http://localhost')
/**
 * How ethers sends requests: its own function, or one that was registered before this module was
 * loaded.
 */
const getUrlAtLoad = anyRequest.getUrlFunc
/**
 * ethers makes its own function with `createGetUrlFunc`, so both have the same source. So does a
 * function that the user made with it and registered before this module was loaded.
 */
const isEthersOwn = String(getUrlAtLoad) === String(FetchRequest.createGetUrlFunc())

/** Whether a function is registered that sends all of ethers' requests. */
export function isGetUrlRegistered(): boolean {
  return !isEthersOwn || anyRequest.getUrlFunc !== getUrlAtLoad
}

/** The timeout, unless it is ethers' default of five minutes. */
function timesOf({ timeout }: FetchRequest): ClientOptions {
  return timeout === ETHERS_TIMEOUT
    ? {}
    : { timeoutMs: timeout, deadlineMs: Math.max(DEFAULTS.deadlineMs, DEFAULTS.attempts * (timeout + DEFAULTS.maxDelayMs)) }
}

function urlOf(endpoint: Endpoint | undefined): string | undefined {
  if (typeof endpoint === 'string') return endpoint
  if (typeof endpoint !== 'object' || endpoint === null) return undefined
  return 'url' in endpoint ? endpoint.url : nodeUrl(endpoint)
}

function isFetchRequest(target: unknown): target is FetchRequest {
  return typeof (target as FetchRequest | null)?.clone === 'function' && typeof (target as FetchRequest).url === 'string'
}
