import {
  arbitrum,
  arbitrumSepolia,
  avalanche,
  base,
  baseSepolia,
  blast,
  blastSepolia,
  bsc,
  bscTestnet,
  fantom,
  gnosis,
  gnosisChiado,
  holesky,
  linea,
  lineaSepolia,
  mainnet,
  mantle,
  mantleSepoliaTestnet,
  moonbaseAlpha,
  moonbeam,
  moonriver,
  opBNB,
  optimism,
  optimismSepolia,
  polygon,
  polygonAmoy,
  polygonZkEvm,
  polygonZkEvmCardona,
  sepolia,
  zetachain,
  zetachainAthensTestnet,
  zksync,
  zksyncSepoliaTestnet,
} from 'viem/chains'
import { type ChainSlug, checkChain } from '../../src/eth/chains.ts'

/** viem's chains for those of the service (specification, section 8). */
const viemChains = {
  eth: mainnet,
  sepolia,
  holesky,
  base,
  'base-sepolia': baseSepolia,
  polygon,
  amoy: polygonAmoy,
  bsc,
  'bsc-testnet': bscTestnet,
  arbitrum,
  'arbitrum-sepolia': arbitrumSepolia,
  optimism,
  'optimism-sepolia': optimismSepolia,
  gnosis,
  'gnosis-testnet': gnosisChiado,
  linea,
  'linea-sepolia': lineaSepolia,
  avalanche,
  moonbeam,
  moonriver,
  moonbase: moonbaseAlpha,
  blast,
  'blast-sepolia': blastSepolia,
  mantle,
  'mantle-sepolia': mantleSepoliaTestnet,
  'polygon-zkevm': polygonZkEvm,
  'polygon-zkevm-cardona': polygonZkEvmCardona,
  zksync,
  'zksync-sepolia': zksyncSepoliaTestnet,
  zetachain,
  'zetachain-testnet': zetachainAthensTestnet,
  fantom,
  opbnb: opBNB,
} as const satisfies Record<ChainSlug, unknown>

/**
 * viem's chain for a chain of the service: `chainFor('base')` is viem's `base`, with its formatters
 * and contracts. Throws `OptionError` for a chain that is not one of the service's.
 */
export function chainFor<S extends ChainSlug>(slug: S): (typeof viemChains)[S] {
  checkChain(slug)
  return viemChains[slug]
}
