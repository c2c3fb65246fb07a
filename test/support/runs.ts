/** The factor by which the nightly tests try more cases, which are new each time. */
const TIMES = Number(process.env.FUZZ_TIMES ?? 1)

/**
 * Settings of a property test: the same `count` cases each time, or many new ones in the nightly
 * tests. A failure prints the seed.
 */
export function runs(count: number, seed = 1): { numRuns: number; seed?: number } {
  return TIMES === 1 ? { numRuns: count, seed } : { numRuns: count * TIMES }
}

/** The seeds of a simulation: a `few` of them, or `all` in the nightly tests. */
export function seeds(few: number, all: number): number[] {
  return Array.from({ length: TIMES === 1 ? few : all }, (_, i) => i + 1)
}

/** Cases for the nightly tests, besides those that are always tried. */
export function nightly<T>(...cases: T[]): T[] {
  return TIMES === 1 ? [] : cases
}
