import { FetchRequest, FetchResponse, JsonRpcProvider, TransactionReceipt } from 'ethers'
import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { expect, onTestFinished } from 'vitest'
import { HexlineError } from '../../src/errors.ts'

type Target = ConstructorParameters<typeof HexlineProvider>[0]

/** The chain id of anvil, which all test servers use. */
export const CHAIN = 31_337

/** Settings of both providers: no requests but the test's own, and no cache. */
const alike = { staticNetwork: true, cacheTimeout: -1, pollingInterval: 20 }

export interface EthersOptions {
  readonly timeoutMs?: number
  /** What ethers does about 429: repeat it as many times as the default, or never. */
  readonly repeats429?: boolean
}

/** ethers' own provider, which gives up at once. It is destroyed when the test ends. */
export function overEthers(url: string, { timeoutMs, repeats429 = true }: EthersOptions = {}): JsonRpcProvider {
  const request = new FetchRequest(url)
  request.setThrottleParams({ maxAttempts: 1 })
  if (!repeats429) request.retryFunc = async () => false
  if (timeoutMs !== undefined) request.timeout = timeoutMs
  return closing(new JsonRpcProvider(request, CHAIN, { ...alike, batchMaxCount: 1 }))
}

/**
 * The same on hexline, without retries unless `options` set them. It is destroyed when the test
 * ends.
 */
export function overHexline(target: Target, options: HexlineProviderOptions = {}): HexlineProvider {
  return closing(new HexlineProvider(target, CHAIN, { ...alike, ...(!isClient(target) && { retry: false }), ...options }))
}

/** Destroys the provider when the test ends. */
export function closing<P extends JsonRpcProvider>(provider: P): P {
  onTestFinished(() => provider.destroy())
  return provider
}

function isClient(target: unknown): boolean {
  return typeof (target as { send?: unknown } | undefined)?.send === 'function'
}

/**
 * What an ethers user can read from an error, as plain data, without undefined fields and ids of
 * calls.
 */
export type Portrait = Readonly<Record<string, unknown>>

export function portraitOf(error: unknown): Portrait {
  const { shortMessage, code } = error as { shortMessage?: string; code?: string }
  // Errors that ethers did not make have a message only.
  const said = shortMessage === undefined ? { message: (error as Error).message } : { shortMessage }
  return { class: (error as Error).constructor.name, code, ...said, ...(plain({ ...(error as object) }) as object) }
}

function plain(value: unknown): unknown {
  if (value instanceof FetchRequest) return { url: value.url }
  if (value instanceof FetchResponse) {
    const { statusCode, statusMessage, bodyText, headers } = value
    return plain({ statusCode, statusMessage, bodyText, retryAfter: headers['retry-after'] })
  }
  if (value instanceof TransactionReceipt) return { status: value.status }
  if (Array.isArray(value)) return Array.from(value, plain)
  if (typeof value !== 'object' || value === null) return value
  // Such as a socket, which ethers puts into some of its errors.
  if (Object.getPrototypeOf(value) !== Object.prototype) return `a ${value.constructor.name}`
  const entries = Object.entries(value).filter(([key, each]) => each !== undefined && !(key === 'id' && 'jsonrpc' in value))
  return Object.fromEntries(entries.map(([key, each]) => [key, plain(each)]))
}

/** hexline's own error under an error of ethers'. */
export function hexlineErrorOf(error: unknown): HexlineError | undefined {
  const { cause } = error as Error
  return cause instanceof HexlineError ? cause : undefined
}

/** How hexline's error differs from ethers', and why that is better. */
export interface Better {
  readonly why: string
  readonly ethers: Portrait
  readonly hexline: Portrait
}

/** Asserts that the portraits are equal, except for exactly what `better` states. */
export function expectSame(portrait: Portrait, expected: Portrait, better?: Better): void {
  const changed = better === undefined ? [] : [...Object.keys(better.ethers), ...Object.keys(better.hexline)]
  const rest = (of: Portrait) => Object.fromEntries(Object.entries(of).filter(([key]) => !changed.includes(key)))
  const part = (of: Portrait) => Object.fromEntries(Object.entries(of).filter(([key]) => changed.includes(key)))
  expect(rest(portrait)).toEqual(rest(expected))
  if (better === undefined) return
  expect(part(expected)).toEqual(better.ethers)
  expect(part(portrait)).toEqual(better.hexline)
}
