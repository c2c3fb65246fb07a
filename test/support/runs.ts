/** The factor by which the nightly tests try more cases, which are new each time. */
const TIMES = Number(process.env.FUZZ_TIMES ?? 1)

/**
 * Settings of a property test: the same `count` cases each time, or many new ones in the nightly
 * tests. A failure prints the seed.
 */
export function runs(count: number, seed = 1): { numRuns: number; seed?: number } {
  return TIMES === 1 ? { numRuns: count, seed } : { numRuns: count * TIMES }
}
