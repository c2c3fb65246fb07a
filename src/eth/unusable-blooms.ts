/** Blooms of a chain that do not show which blocks have logs. */
interface UnusableBlooms {
  readonly chainIds: readonly number[]
  /** Blocks below this number; all if undefined. */
  readonly below?: number
  readonly why: string
  /** Where that is said. */
  readonly source: string
}

/**
 * Chains whose headers have blooms that prove nothing: an audit counts their blocks as unproven. A
 * bloom that may be all ones, such as Filecoin's (https://github.com/ChainSafe/forest/issues/7151),
 * is not here: it hides no log, and only costs receipts. A chain that is not listed and gives a log
 * that its header's bloom lacks is noticed, too.
 */
export const unusable: readonly UnusableBlooms[] = [
  {
    chainIds: [324, 300],
    why: 'zkSync Era had no blooms until August 2024, and nodes fill in those of older blocks later',
    source: 'https://github.com/matter-labs/zksync-era/pull/2633',
  },
  {
    chainIds: [25],
    below: 2_693_800,
    why: 'Cronos has logs of failed transactions in its blooms before block 2,693,800',
    source: 'https://github.com/subsquid/squid-sdk/pull/460',
  },
  {
    chainIds: [999, 998],
    why: 'Hyperliquid leaves logs of system transactions out of its blooms',
    source: 'https://github.com/subsquid/squid-sdk/pull/495',
  },
  {
    chainIds: [137, 80_002, 109],
    why: 'Polygon PoS and Shibarium leave logs of state-sync transactions out of their blooms',
    source: 'https://github.com/subsquid/squid-sdk/blob/0a04c06073bb40cc7b5882170735a316fedb4383/evm/evm-rpc/src/chain-utils.ts',
  },
  {
    chainIds: [295, 296, 297],
    why: 'Hedera leaves logs of synthetic transactions out of its blooms',
    source: 'https://github.com/hiero-ledger/hiero-mirror-node/issues/12198',
  },
  {
    chainIds: [143, 10_143],
    why: 'Monad executes blocks asynchronously: a bloom that does not match proves nothing',
    source: 'https://github.com/ponder-sh/ponder/pull/2317',
  },
]

const byChain: ReadonlyMap<number, UnusableBlooms> = new Map(unusable.flatMap((row) => row.chainIds.map((id) => [id, row])))

/**
 * Why the bloom of a block of this chain proves nothing; the function gives undefined if it does.
 */
export function unusableBlooms(chainId: number): ((number: number) => string | undefined) | undefined {
  const chain = byChain.get(chainId)
  if (chain === undefined) return undefined
  const { below = Number.POSITIVE_INFINITY, why } = chain
  return (number) => (number < below ? why : undefined)
}
