/** Blooms of a chain that do not hold its logs. */
interface UnusableBlooms {
  /** Blocks below this number; all if undefined. */
  readonly below?: number
  readonly why: string
  readonly source: string
}

/**
 * Chains whose headers have blooms that prove nothing: an audit counts their blocks as unproven.
 * A chain that is not listed and gives a log that its header's bloom lacks is noticed, too.
 */
const chains: ReadonlyMap<number, UnusableBlooms> = new Map([
  [324, { why: 'zkSync Era leaves blooms empty', source: 'zksync-era: `logs_bloom` of a block is zero in its API' }],
  [300, { why: 'zkSync Era leaves blooms empty', source: 'zksync-era: `logs_bloom` of a block is zero in its API' }],
  [25, { below: 2_693_800, why: 'Cronos had wrong blooms before block 2,693,800', source: 'cronos: the bloom fix of its upgrade at 2,693,800' }],
  [999, { why: 'Hyperliquid leaves system logs out of its blooms', source: 'HyperEVM: system transactions are in no bloom' }],
  [998, { why: 'Hyperliquid leaves system logs out of its blooms', source: 'HyperEVM: system transactions are in no bloom' }],
])

/** Why the bloom of a block of this chain proves nothing; the function gives undefined if it does. */
export function unusableBlooms(chainId: number): ((number: number) => string | undefined) | undefined {
  const chain = chains.get(chainId)
  if (chain === undefined) return undefined
  const { below = Number.POSITIVE_INFINITY, why } = chain
  return (number) => (number < below ? why : undefined)
}
