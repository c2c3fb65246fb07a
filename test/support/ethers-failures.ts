import { FetchRequest, FetchResponse, JsonRpcProvider, TransactionReceipt } from 'ethers'
import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { expect, onTestFinished } from 'vitest'
import { HexlineError } from '../../src/errors.ts'

type Target = ConstructorParameters<typeof HexlineProvider>[0]

/** The chain of anvil, which is also the chain of every server of the tests. */
export const CHAIN = 31_337

/** What both providers do the same: nothing is asked for but what a test asks for, and nothing is remembered. */
const alike = { staticNetwork: true, cacheTimeout: -1, pollingInterval: 20 }

export interface EthersOptions {
  readonly timeoutMs?: number
  /** What ethers does with 429: as it comes, but once, or not at all. */
  readonly repeats429?: boolean
}

/** ethers' own provider, which gives up at once. It ends with the test. */
export function overEthers(url: string, { timeoutMs, repeats429 = true }: EthersOptions = {}): JsonRpcProvider {
  const request = new FetchRequest(url)
  request.setThrottleParams({ maxAttempts: 1 })
  if (!repeats429) request.retryFunc = async () => false
  if (timeoutMs !== undefined) request.timeout = timeoutMs
  return closing(new JsonRpcProvider(request, CHAIN, { ...alike, batchMaxCount: 1 }))
}

/** The same on hexline; without retries, unless `options` say otherwise. It ends with the test. */
export function overHexline(target: Target, options: HexlineProviderOptions = {}): HexlineProvider {
  return closing(new HexlineProvider(target, CHAIN, { ...alike, ...(!isClient(target) && { retry: false }), ...options }))
}

/** The provider, which ends with the test. */
export function closing<P extends JsonRpcProvider>(provider: P): P {
  onTestFinished(() => provider.destroy())
  return provider
}

function isClient(target: unknown): boolean {
  return typeof (target as { send?: unknown } | undefined)?.send === 'function'
}

/** What a user of ethers reads off an error, in plain data; what is undefined is left out, and so are the ids of calls. */
export type Portrait = Readonly<Record<string, unknown>>

export function portraitOf(error: unknown): Portrait {
  const { shortMessage, code } = error as { shortMessage?: string; code?: string }
  // Those that ethers did not make have a message alone.
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

/** hexline's own error under one of ethers'. */
export function hexlineErrorOf(error: unknown): HexlineError | undefined {
  const { cause } = error as Error
  return cause instanceof HexlineError ? cause : undefined
}

/** In what hexline's error differs from that of ethers, and why that is better. */
export interface Better {
  readonly why: string
  readonly ethers: Portrait
  readonly hexline: Portrait
}

/** The same but for what `better` says, and in nothing else. */
export function expectSame(portrait: Portrait, expected: Portrait, better?: Better): void {
  const changed = better === undefined ? [] : [...Object.keys(better.ethers), ...Object.keys(better.hexline)]
  const rest = (of: Portrait) => Object.fromEntries(Object.entries(of).filter(([key]) => !changed.includes(key)))
  const part = (of: Portrait) => Object.fromEntries(Object.entries(of).filter(([key]) => changed.includes(key)))
  expect(rest(portrait)).toEqual(rest(expected))
  if (better === undefined) return
  expect(part(expected)).toEqual(better.ethers)
  expect(part(portrait)).toEqual(better.hexline)
}
