import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import { didYouMean } from '../nearest-name.ts'
import { show } from '../text.ts'

/**
 * The chains of the service's JSON-RPC group: path segment -> chain id. Service specification,
 * section 8; ids from https://chainlist.org.
 */
export const chains = {
  eth: 1,
  sepolia: 11155111,
  holesky: 17000,
  base: 8453,
  'base-sepolia': 84532,
  polygon: 137,
  amoy: 80002,
  bsc: 56,
  'bsc-testnet': 97,
  arbitrum: 42161,
  'arbitrum-sepolia': 421614,
  optimism: 10,
  'optimism-sepolia': 11155420,
  gnosis: 100,
  'gnosis-testnet': 10200,
  linea: 59144,
  'linea-sepolia': 59141,
  avalanche: 43114,
  moonbeam: 1284,
  moonriver: 1285,
  moonbase: 1287,
  blast: 81457,
  'blast-sepolia': 168587773,
  mantle: 5000,
  'mantle-sepolia': 5003,
  'polygon-zkevm': 1101,
  'polygon-zkevm-cardona': 2442,
  zksync: 324,
  'zksync-sepolia': 300,
  zetachain: 7000,
  'zetachain-testnet': 7001,
  fantom: 250,
  opbnb: 204,
} as const satisfies Record<string, number>

/** Path segment of a chain of the service. */
export type ChainSlug = keyof typeof chains

/** A node of the service, by chain and key. */
export interface NodeAddress {
  /** Such as `https://rpc.example.com`; a path is kept. */
  readonly baseUrl: string
  readonly chain: ChainSlug
  readonly apiKey: string
}

/**
 * The URL of a node: `{baseUrl}/:chain/:apiKey` (service specification, section 8). Throws
 * `OptionError` for an unknown chain, an empty key or an invalid base URL. The URL holds the key:
 * it is not for logs.
 */
export function nodeUrl(address: NodeAddress): string {
  check.anObject('address', address)
  const { baseUrl, chain, apiKey } = address
  checkChain(chain)
  check.apiKey('apiKey', apiKey)
  // A URL would resolve these, and lose the chain.
  if (apiKey === '.' || apiKey === '..') throw new OptionError('apiKey', 'a key', 'dots, which stand for a folder in a URL')
  const url = check.nodeUrl('baseUrl', baseUrl, 'https://rpc.example.com')
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/${chain}/${encodeURIComponent(apiKey)}`
  return url.href
}

/** Throws `OptionError` for a chain that the service does not have. */
export function checkChain(name: string): asserts name is ChainSlug {
  // An array of one name would be taken for that name.
  const isText = typeof name === 'string'
  if (isText && Object.hasOwn(chains, name)) return
  const slugs = Object.keys(chains)
  // What does not look like a chain's name may be the key, given in the wrong place.
  const received = isText && /^[a-z]{1,12}(?:-[a-z]{1,12}){0,2}$/.test(name) ? show(name) + didYouMean(name, slugs) : 'something else'
  throw new OptionError('chain', `one of ${slugs.join(', ')}`, received)
}
