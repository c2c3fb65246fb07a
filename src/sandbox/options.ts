import { randomBytes } from 'node:crypto'
import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import { type ChainSlug, checkChain } from '../eth/chains.ts'
import { show } from '../text.ts'
import { type FaultShares, faults, type NotificationFaultShares, notificationFaults } from './faults.ts'
import { hostnameOf } from './host.ts'
import type { NodeLimits } from './node-limits.ts'
import type { Seed } from './records.ts'
import { seedFrom } from './seed-check.ts'

/** Price of one token, in USD. */
export interface Price {
  readonly usd: number
  /** Price a day ago. Without it, replies have no price changes. */
  readonly usd24hAgo?: number | undefined
}

/** Prices by token address; the chain's own coin is `native`. */
export type PriceTable = Readonly<Record<string, Price>>

/** Facts about a token that are not on the chain. */
export interface TokenFacts {
  /** Default false. */
  readonly possibleSpam?: boolean | undefined
  /** Default false. */
  readonly verifiedContract?: boolean | undefined
  /** URL of an image. */
  readonly logo?: string | undefined
  /** URL of a small image. */
  readonly thumbnail?: string | undefined
}

/** Facts by token address. */
export type TokenTable = Readonly<Record<string, TokenFacts>>

/** Options of `startSandbox`. Every option is checked. */
export interface SandboxOptions {
  /** Port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number | undefined
  /** The chain to serve. Default `eth`. */
  readonly chain?: ChainSlug | undefined
  /**
   * URL of the upstream node. Default: starts anvil, with the chain id of `chain`; needs the
   * package `@foundry-rs/anvil`.
   */
  readonly upstream?: string | undefined
  /** The valid key. Default: a random one. */
  readonly apiKey?: string | undefined
  /** Keys that are out of quota. Default: one, `{apiKey}-used-up`. */
  readonly quotaKeys?: readonly string[] | undefined
  /** USD prices of tokens; other tokens have no price. */
  readonly prices?: PriceTable | undefined
  /** Facts about tokens that are not on the chain. */
  readonly tokens?: TokenTable | undefined
  /** Records of the NFT and streams groups; each array replaces the default one. */
  readonly seed?: Partial<Seed> | undefined
  /**
   * Sends values as real services do: null for unknown values, booleans and objects where the
   * specification documents strings, lists in streams where it documents objects. Default false:
   * each value has its documented type. Records given as `seed` are served unchanged.
   */
  readonly likeProduction?: boolean | undefined
  /**
   * Names in the header `Host` to accept in addition to those of the loopback. Others are refused,
   * so that no web page can read the sandbox by DNS rebinding.
   */
  readonly allowedHosts?: readonly string[] | undefined
  /** Delay of every request, in ms. Default 0. */
  readonly latencyMs?: number | undefined
  /** Most calls per second; more get 429. Each call of a batch counts. Default: no limit. */
  readonly callsPerSecond?: number | undefined
  /**
   * Share of the requests that fail on purpose, from 0 to 1: HTTP 500, HTTP 503, a cut connection,
   * a body that stalls, or a truncated body. Or the share of each: `{ stalled: 0.1, cut: 0.05 }`;
   * the names are `error 500`, `error 503`, `cut`, `stalled` and `truncated`. Default 0.
   */
  readonly faults?: FaultShares | undefined
  /**
   * Share of the notifications of subscriptions to spoil, from 0 to 1: `cut` drops the socket in
   * place of one, `late` lets the next one pass first, and `double` sends one twice.
   * Or the share of each: `{ cut: 0.05, late: 0.1 }`. Default 0.
   */
  readonly notificationFaults?: NotificationFaultShares | undefined
  /** The same seed makes the same requests and notifications fail. Default 1. */
  readonly faultSeed?: number | undefined
  /** Most calls in a JSON-RPC batch; a longer one is refused as a whole. Default: no limit. */
  readonly maxBatch?: number | undefined
  /** Most blocks in a range of `eth_getLogs`, both ends counted. Default: no limit. */
  readonly maxLogRange?: number | undefined
  /**
   * Most logs in a reply of `eth_getLogs`. If there are more, the call is refused; with `silently`,
   * the reply has the first ones, and nothing says that others are missing. Default: no limit.
   */
  readonly maxResults?: number | { readonly most: number; readonly silently?: boolean | undefined } | undefined
  /**
   * Share of the logs that `eth_getLogs` leaves out, from 0 to 1: the same ones each time. Receipts
   * have them. Default 0.
   */
  readonly dropLogs?: number | undefined
  /**
   * Number of blocks that JSON-RPC is behind the upstream node. Newer blocks are null, their logs
   * are missing, and `latest` is an older block; transactions can be sent. Default 0.
   */
  readonly lag?: number | undefined
  /**
   * The oldest block whose data JSON-RPC has. Older blocks, receipts and logs are refused with code
   * 4444, and state with "missing trie node". The newest block is always there. Default 0.
   */
  readonly prunedBelow?: number | undefined
}

/** Options with every default filled in. */
export interface Settings extends NodeLimits {
  readonly port: number
  readonly chain: ChainSlug
  readonly upstream: string | undefined
  readonly apiKey: string
  readonly quotaKeys: readonly string[]
  readonly prices: PriceTable
  readonly tokens: TokenTable
  readonly seed: Seed
  readonly likeProduction: boolean
  readonly allowedHosts: readonly string[]
  readonly latencyMs: number
  readonly callsPerSecond: number
  readonly faults: FaultShares
  readonly notificationFaults: NotificationFaultShares
  readonly faultSeed: number
}

/** Checks every option and fills in the defaults. Throws `OptionError`. */
export function settingsFrom(options: SandboxOptions): Settings {
  check.onlyKnown('options', options, [
    'port',
    'chain',
    'upstream',
    'apiKey',
    'quotaKeys',
    'prices',
    'tokens',
    'seed',
    'likeProduction',
    'allowedHosts',
    'latencyMs',
    'callsPerSecond',
    'faults',
    'notificationFaults',
    'faultSeed',
    'maxBatch',
    'maxLogRange',
    'maxResults',
    'dropLogs',
    'lag',
    'prunedBelow',
  ])
  const { port = 0, chain = 'eth', upstream, apiKey = randomBytes(16).toString('hex'), quotaKeys = [`${apiKey}-used-up`] } = options
  const { prices = {}, tokens = {}, seed = {}, likeProduction = false, allowedHosts = [], latencyMs = 0, callsPerSecond } = options
  const { faults: shares = 0, notificationFaults: ofNotifications = 0, faultSeed = 1, dropLogs = 0, lag = 0, prunedBelow = 0 } = options
  if (typeof chain !== 'string') throw new OptionError('chain', 'the name of a chain', show(chain))
  checkChain(chain)
  if (upstream !== undefined) check.httpUrl('upstream', upstream)
  key('apiKey', apiKey)
  if (!Array.isArray(quotaKeys)) throw new OptionError('quotaKeys', 'an array of keys', check.withoutText(quotaKeys))
  quotaKeys.forEach((each, i) => {
    if (key(`quotaKeys[${i}]`, each) === apiKey) throw new OptionError(`quotaKeys[${i}]`, 'a key other than apiKey', 'the same key')
  })
  return {
    port: number('port', port, (value) => Number.isInteger(value) && value >= 0 && value <= 65_535, 'a port from 0 (any free one) to 65535'),
    chain,
    upstream,
    apiKey,
    quotaKeys,
    prices: table('prices', prices, checkPrice, true),
    tokens: table('tokens', tokens, checkFacts, false),
    seed: seedFrom(seed, likeProduction),
    likeProduction: check.flag('likeProduction', likeProduction),
    allowedHosts: hostNames(allowedHosts),
    latencyMs: check.msOrZero('latencyMs', latencyMs),
    callsPerSecond: callsPerSecond === undefined ? Number.POSITIVE_INFINITY : check.positive('callsPerSecond', callsPerSecond),
    faults: faultShares('faults', faults, shares),
    notificationFaults: faultShares('notificationFaults', notificationFaults, ofNotifications),
    faultSeed: number('faultSeed', faultSeed, Number.isSafeInteger, 'a whole number'),
    maxBatch: mostOf('maxBatch', options.maxBatch),
    maxLogRange: mostOf('maxLogRange', options.maxLogRange),
    maxResults: resultLimit(options.maxResults),
    dropLogs: share('dropLogs', dropLogs),
    lag: check.whole('lag', lag, 0),
    prunedBelow: check.whole('prunedBelow', prunedBelow, 0),
  }
}

function hostNames(names: readonly string[]): readonly string[] {
  if (!Array.isArray(names)) throw new OptionError('allowedHosts', 'an array of host names', check.withoutText(names))
  return Array.from(names, (name: unknown, i) => {
    const host = typeof name === 'string' ? hostnameOf(name) : undefined
    if (host === undefined || host !== String(name).toLowerCase().replace(/\.$/, ''))
      throw new OptionError(`allowedHosts[${i}]`, 'a host name without a port', show(name))
    return host
  })
}

function number(name: string, value: unknown, isGood: (value: number) => boolean, expected: string): number {
  if (typeof value === 'number' && isGood(value)) return value
  throw new OptionError(name, expected, show(value))
}

function share(name: string, value: unknown): number {
  return number(name, value, (value) => value >= 0 && value <= 1, 'a share from 0 to 1')
}

/** A limit that need not be there. */
function mostOf(name: string, value: unknown): number {
  return value === undefined ? Number.POSITIVE_INFINITY : check.whole(name, value)
}

function resultLimit(limit: SandboxOptions['maxResults']): NodeLimits['maxResults'] {
  if (typeof limit !== 'object' || limit === null) return { most: mostOf('maxResults', limit), silently: false }
  check.onlyKnown('maxResults', limit, ['most', 'silently'])
  const { most, silently = false } = limit
  return { most: check.whole('maxResults.most', most), silently: check.flag('maxResults.silently', silently) }
}

function faultShares<S extends number | object>(option: string, kinds: readonly string[], shares: S): S {
  if (typeof shares !== 'object' || shares === null) {
    share(option, shares)
    return shares
  }
  check.onlyKnown(option, shares, kinds)
  share(
    option,
    Object.entries(shares).reduce((sum, [name, value]) => sum + share(`${option}[${show(name)}]`, value), 0),
  )
  return shares
}

/** A key must fit both a path and a header: groups take it in one or the other. */
function key(name: string, value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && value !== '.' && value !== '..') return value
  throw new OptionError(name, 'a key of printable ASCII characters', typeof value === 'string' ? 'another string' : show(value))
}

/** A table by address, with the addresses in lower case for look-up. */
function table<T>(name: string, given: Readonly<Record<string, T>>, checkRow: (name: string, row: T) => void, hasNative: boolean): Record<string, T> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new OptionError(name, 'an object with an entry for each token', show(given))
  const rows = Object.entries(given).map(([address, row]) => {
    if (!/^0x[0-9a-fA-F]{40}$/.test(address) && !(hasNative && address === 'native'))
      throw new OptionError(name, `addresses of tokens${hasNative ? " or 'native'" : ''} as names`, show(address))
    checkRow(`${name}[${show(address)}]`, row)
    return [address.toLowerCase(), row] as const
  })
  return Object.fromEntries(rows)
}

function checkPrice(name: string, price: Price): void {
  check.onlyKnown(name, price, ['usd', 'usd24hAgo'])
  check.positive(`${name}.usd`, price.usd)
  if (price.usd24hAgo !== undefined) check.positive(`${name}.usd24hAgo`, price.usd24hAgo)
}

function checkFacts(name: string, facts: TokenFacts): void {
  check.onlyKnown(name, facts, ['possibleSpam', 'verifiedContract', 'logo', 'thumbnail'])
  for (const field of ['possibleSpam', 'verifiedContract'] as const) if (facts[field] !== undefined) check.flag(`${name}.${field}`, facts[field])
  for (const field of ['logo', 'thumbnail'] as const)
    if (!['string', 'undefined'].includes(typeof facts[field])) throw new OptionError(`${name}.${field}`, 'a URL', show(facts[field]))
}
