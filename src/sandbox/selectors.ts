import { type ChainSlug, chains } from '../eth/chains.ts'
import { dataChains } from '../rest/params.ts'

/**
 * The slug, in the JSON-RPC group, of a chain that the data group selects by name or hex id; null
 * where the JSON-RPC group does not have the chain; undefined for an invalid selector. The real id
 * of `optimism sepolia`, which lacks a digit in the specification, is valid, too.
 */
export function slugOf(selector: string): ChainSlug | null | undefined {
  const id = selector.toLowerCase() === '0xaa37dc' ? '0xaa37d' : selector.toLowerCase()
  const name = Object.entries(dataChains).find((entry) => entry[0] === selector || entry[1] === id)?.[0]
  if (name === undefined) return undefined
  const slug = name === 'polygon amoy' ? 'amoy' : name.replaceAll(' ', '-')
  return Object.hasOwn(chains, slug) ? (slug as ChainSlug) : null
}

/** The coin that pays a chain's fees. Each has 18 decimals. */
export interface Coin {
  readonly symbol: string
  readonly name: string
}

const ether: Coin = { symbol: 'ETH', name: 'Ether' }
const coins: Readonly<Partial<Record<ChainSlug, Coin>>> = {
  polygon: { symbol: 'POL', name: 'POL' },
  amoy: { symbol: 'POL', name: 'POL' },
  bsc: { symbol: 'BNB', name: 'BNB' },
  'bsc-testnet': { symbol: 'tBNB', name: 'Test BNB' },
  opbnb: { symbol: 'BNB', name: 'BNB' },
  gnosis: { symbol: 'xDAI', name: 'xDAI' },
  'gnosis-testnet': { symbol: 'xDAI', name: 'Chiado xDAI' },
  avalanche: { symbol: 'AVAX', name: 'Avalanche' },
  fantom: { symbol: 'FTM', name: 'Fantom' },
  moonbeam: { symbol: 'GLMR', name: 'Glimmer' },
  moonriver: { symbol: 'MOVR', name: 'Moonriver' },
  moonbase: { symbol: 'DEV', name: 'DEV' },
  mantle: { symbol: 'MNT', name: 'Mantle' },
  'mantle-sepolia': { symbol: 'MNT', name: 'Mantle' },
  zetachain: { symbol: 'ZETA', name: 'Zeta' },
  'zetachain-testnet': { symbol: 'ZETA', name: 'Zeta' },
}

/** The native coin of a chain. Symbols from https://chainlist.org. */
export function coinOf(chain: ChainSlug): Coin {
  return coins[chain] ?? ether
}
