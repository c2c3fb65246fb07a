import type { RpcSchema, TransportConfig } from 'viem'
import { OptionError, show } from '../../src/errors.ts'
import { type ClientOptions, onlyKnown } from '../../src/options.ts'

/** What a transport takes: viem's own names as `http()` has them, and the options of a hexline client. */
export interface HexlineTransportConfig<rpcSchema extends RpcSchema | undefined = undefined, raw extends boolean = false>
  extends Omit<ClientOptions, 'batch' | 'retry' | 'timeoutMs'> {
  /** Key of the transport. Default `hexline`. */
  readonly key?: string | undefined
  /** Name of the transport. Default `hexline JSON-RPC`. */
  readonly name?: string | undefined
  /** Methods that this transport sends, or does not send. */
  readonly methods?: TransportConfig['methods'] | undefined
  /** Node errors come back as `{ error }`, results as `{ result }`. */
  readonly raw?: raw | boolean | undefined
  /** Types of the methods. */
  readonly rpcSchema?: rpcSchema | RpcSchema | undefined
  /** How often a failed call is repeated; 0 sends it once. Default 3. Waiting out a rate limit is not counted, but with 0. */
  readonly retryCount?: number | undefined
  /** Longest wait before the first repetition, in ms; it doubles each time, with full jitter. Default 150. */
  readonly retryDelay?: number | undefined
  /** One attempt, from its start to the last byte of the reply, in ms; 0 waits for ever. Default 30,000. */
  readonly timeout?: number | undefined
  /** Calls of one turn of the event loop travel together: `true` (default), `false`, or how many at most (1,000 with viem's name, 100 by default). */
  readonly batch?: boolean | { readonly batchSize?: number | undefined; readonly wait?: number | undefined } | { readonly maxCalls?: number } | undefined
  /** Of `fetch`'s options there are the headers. */
  readonly fetchOptions?: { readonly headers?: RequestInit['headers'] | undefined } | undefined
  /** Longest reply in bytes, or `false` for any: viem's name for `maxResponseBytes`. */
  readonly maxResponseBodySize?: number | false | undefined
}

/** The parts that concern the transport; the rest concerns the hexline client under it. */
export interface Checked {
  readonly key: string
  readonly name: string
  readonly methods: TransportConfig['methods']
  readonly raw: boolean
  readonly retryCount: number | undefined
  readonly retryDelay: number | undefined
  readonly timeout: number | undefined
}

const OF_TRANSPORT = ['key', 'name', 'methods', 'raw', 'rpcSchema', 'retryCount', 'timeout']
const OF_HTTP = ['retryDelay', 'batch', 'fetchOptions', 'maxResponseBodySize']
const OF_CLIENT = ['batch', 'concurrency', 'rate', 'deadlineMs', 'maxResponseBytes', 'dedupe', 'headers', 'dispatcher', 'compression', 'layers']
const OF_FETCH = ['fetchFn', 'onFetchRequest', 'onFetchResponse']

/** Throws `OptionError`. Beside a client, what concerns the client is refused: it has its own. */
export function checkConfig(config: HexlineTransportConfig<RpcSchema | undefined, boolean>, hasClient: boolean): Checked {
  const given = (config ?? {}) as Record<string, unknown>
  const fetching = OF_FETCH.find((name) => given[name] !== undefined)
  if (fetching !== undefined)
    throw new OptionError(fetching, "no option of fetch (hexline does not use it; an undici `dispatcher` or `layers` do what it's for)", 'one')
  if (hasClient) {
    const other = [...OF_HTTP, ...OF_CLIENT].find((name) => given[name] !== undefined)
    if (other !== undefined) throw new OptionError(other, 'no option of the client beside a client, which has its own', 'one')
  }
  onlyKnown('options', given, [...OF_TRANSPORT, ...OF_HTTP, ...OF_CLIENT.filter((name) => name !== 'batch'), ...OF_FETCH])
  const { key = 'hexline', name = 'hexline JSON-RPC', methods, raw = false, retryCount, retryDelay, timeout } = config ?? {}
  for (const [option, value] of Object.entries({ key, name })) if (typeof value !== 'string') throw new OptionError(option, 'a string', show(value))
  if (methods !== undefined && !isChoice(methods)) throw new OptionError('methods', '{ include } or { exclude }, each an array of names', show(methods))
  return {
    key,
    name,
    methods,
    raw: raw === true,
    retryCount: wholeOrAbsent('retryCount', retryCount),
    retryDelay: msOrAbsent('retryDelay', retryDelay),
    timeout: msOrAbsent('timeout', timeout),
  }
}

function isChoice(methods: unknown): boolean {
  if (typeof methods !== 'object' || methods === null || Array.isArray(methods)) return false
  return Object.entries(methods).every(([key, names]) => (key === 'include' || key === 'exclude') && (names === undefined || Array.isArray(names)))
}

/** viem's `timeout` of 0 means none. Timers cannot be longer. */
export const NO_TIMEOUT = 2 ** 31 - 1

/** Options of the hexline client under a transport. */
export function clientOptions(config: HexlineTransportConfig<RpcSchema | undefined, boolean>): ClientOptions {
  const { retryCount = 3, retryDelay, timeout, batch, fetchOptions, maxResponseBodySize, ...rest } = config
  const { key: _, name: __, methods: ___, raw: ____, rpcSchema: _____, headers, ...own } = rest
  if (fetchOptions !== undefined) onlyKnown('fetchOptions', fetchOptions, ['headers'])
  if (maxResponseBodySize !== undefined && own.maxResponseBytes !== undefined)
    throw new OptionError('maxResponseBodySize', 'one of maxResponseBodySize and maxResponseBytes', 'both')
  const allHeaders = { ...plain(fetchOptions?.headers), ...headers }
  const maxResponseBytes = maxResponseBodySize === false ? Number.MAX_SAFE_INTEGER : (maxResponseBodySize ?? own.maxResponseBytes)
  return {
    ...defined(own),
    ...defined({ batch: batchOf(batch), maxResponseBytes }),
    headers: allHeaders,
    retry: { attempts: retryCount + 1, ...(retryDelay !== undefined && { baseDelayMs: Math.max(retryDelay, 1) }) },
    ...(timeout !== undefined && { timeoutMs: timeout === 0 ? NO_TIMEOUT : timeout, deadlineMs: own.deadlineMs ?? longEnough(timeout, retryCount + 1) }),
  }
}

/** All attempts have their time, and waits between them, however long one may take. */
function longEnough(timeout: number, attempts: number): number {
  return timeout === 0 ? Number.POSITIVE_INFINITY : Math.max(120_000, attempts * (timeout + 10_000))
}

function batchOf(batch: HexlineTransportConfig['batch']): ClientOptions['batch'] {
  if (batch === undefined || batch === true) return undefined
  if (typeof batch !== 'object' || batch === null || 'maxCalls' in batch) return batch as ClientOptions['batch']
  onlyKnown('batch', batch, ['batchSize', 'wait', 'maxCalls'], ' or a boolean')
  // No timer collects a batch here, so that there is none to set.
  return { maxCalls: (batch as { batchSize?: number }).batchSize ?? 1000 }
}

/** Not by way of `Headers`, whose errors show the value. */
function plain(headers: RequestInit['headers']): Readonly<Record<string, string>> {
  if (headers === undefined || headers === null) return {}
  if (typeof headers === 'object' && Symbol.iterator in headers) return Object.fromEntries(headers as Iterable<[string, string]>)
  return headers as Readonly<Record<string, string>>
}

/** Without what is undefined. */
function defined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

function wholeOrAbsent(option: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && (Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY) && value >= 0)) return value
  throw new OptionError(option, 'a whole number that is not negative, or Infinity', show(value))
}

function msOrAbsent(option: string, value: unknown): number | undefined {
  if (value === undefined || (typeof value === 'number' && value >= 0 && value <= NO_TIMEOUT)) return value
  throw new OptionError(option, `a number of ms from 0 to ${NO_TIMEOUT}`, show(value))
}
