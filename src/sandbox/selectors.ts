import type { ChainSlug } from '../eth/chains.ts'

/**
 * Chain selectors of the data group: a chain's name and hex ids there, and its slug in the JSON-RPC group, where it has one. Service specification,
 * Endpoints. `optimism sepolia` is documented as 0xaa37d; the chain's real id is taken too.
 */
const selectors: readonly { readonly name: string; readonly ids: readonly string[]; readonly slug?: ChainSlug }[] = [
  { name: 'eth', ids: ['0x1'], slug: 'eth' },
  { name: 'sepolia', ids: ['0xaa36a7'], slug: 'sepolia' },
  { name: 'holesky', ids: ['0x4268'], slug: 'holesky' },
  { name: 'polygon', ids: ['0x89'], slug: 'polygon' },
  { name: 'polygon amoy', ids: ['0x13882'], slug: 'amoy' },
  { name: 'bsc', ids: ['0x38'], slug: 'bsc' },
  { name: 'bsc testnet', ids: ['0x61'], slug: 'bsc-testnet' },
  { name: 'avalanche', ids: ['0xa86a'], slug: 'avalanche' },
  { name: 'fantom', ids: ['0xfa'], slug: 'fantom' },
  { name: 'palm', ids: ['0x2a15c308d'] },
  { name: 'cronos', ids: ['0x19'] },
  { name: 'arbitrum', ids: ['0xa4b1'], slug: 'arbitrum' },
  { name: 'gnosis', ids: ['0x64'], slug: 'gnosis' },
  { name: 'gnosis testnet', ids: ['0x27d8'], slug: 'gnosis-testnet' },
  { name: 'chiliz', ids: ['0x15b38'] },
  { name: 'chiliz testnet', ids: ['0x15b32'] },
  { name: 'base', ids: ['0x2105'], slug: 'base' },
  { name: 'base sepolia', ids: ['0x14a34'], slug: 'base-sepolia' },
  { name: 'optimism', ids: ['0xa'], slug: 'optimism' },
  { name: 'optimism sepolia', ids: ['0xaa37d', '0xaa37dc'], slug: 'optimism-sepolia' },
  { name: 'linea', ids: ['0xe708'], slug: 'linea' },
  { name: 'linea sepolia', ids: ['0xe705'], slug: 'linea-sepolia' },
  { name: 'moonbeam', ids: ['0x504'], slug: 'moonbeam' },
  { name: 'moonriver', ids: ['0x505'], slug: 'moonriver' },
  { name: 'moonbase', ids: ['0x507'], slug: 'moonbase' },
]

/** The slug that a selector stands for; null for a chain that the JSON-RPC group does not have; undefined for what is no selector. */
export function slugOf(selector: string): ChainSlug | null | undefined {
  const found = selectors.find(({ name, ids }) => name === selector || ids.includes(selector.toLowerCase()))
  return found && (found.slug ?? null)
}

/** A coin that a chain's fees are paid in. Each has 18 decimals. */
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
