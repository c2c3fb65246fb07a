/**
 * An estimate: the value, and the bounds that hold it in 95 of 100 cases. All three are the same if
 * it is known.
 */
export interface Estimate {
  readonly value: number
  readonly low: number
  readonly high: number
}

/**
 * Figures of a block that are in its header, the same ones in the same order for each block. What
 * is estimated tends to grow with one of them.
 */
export type Traits = readonly number[]

/** The sum over all blocks, estimated from a value for each block of the sample. */
export type Estimator = (values: readonly number[]) => Estimate

/**
 * Estimates sums over `blocks` blocks from a sample of them, and from the traits of more blocks,
 * the sample among them: two-phase sampling with a regression estimator (Cochran, Sampling
 * Techniques, 12.6).
 *
 *     total = blocks * (mean(y) + slope * (mean(x of all) - mean(x of the sample)))
 *
 * `x` is the trait that explains `y` best in the sample, or none. Both lists are in the order of
 * their blocks, and variances are taken from the differences of neighbours: what grows along the
 * range counts as growth, not as noise.
 */
export function estimator(blocks: number, sample: readonly Traits[], all: readonly Traits[]): Estimator {
  const n = sample.length
  const traits = (sample[0] ?? []).map((_, i) => ({ ofSample: sample.map((each) => each[i] as number), ofAll: all.map((each) => each[i] as number) }))
  return (values) => {
    const seen = sum(values)
    if (n === blocks) return known(seen)
    // One block says nothing about how much others differ from it.
    if (n < 2) return known(blocks * mean(values))
    // A slope from few points says little.
    const fits = n < LEAST_FOR_SLOPE ? [] : traits.map(({ ofSample, ofAll }) => regressed(values, ofSample, ofAll))
    const best = fits.reduce((a, b) => (b.unexplained < a.unexplained ? b : a), { mean: mean(values), unexplained: varianceOfMean(values, n - 1), rest: 0 })
    const share = 1 - n / blocks
    const spread = blocks * Math.sqrt(share * best.unexplained + best.rest * Math.max(0, 1 - all.length / blocks)) * quantile(n - 1)
    const value = Math.max(seen, blocks * best.mean)
    return { value, low: Math.max(seen, value - spread), high: value + spread }
  }
}

/** A part of a range: its blocks, and how many of them were seen. */
export interface Stratum {
  readonly blocks: number
  readonly seen: number
}

/**
 * Estimates sums over parts of a range from what was seen of each: stratified sampling, with one
 * unit a stratum, whose variances are those between neighbours (Cochran, 5A.12).
 *
 *     total = sum(blocks * y / seen)
 */
export function strataEstimator(strata: readonly Stratum[]): Estimator {
  const n = strata.length
  const share = 1 - sum(strata.map(({ seen }) => seen)) / sum(strata.map(({ blocks }) => blocks))
  return (values) => {
    const perBlock = values.map((value, i) => value / (strata[i] as Stratum).seen)
    const total = sum(perBlock.map((each, i) => each * (strata[i] as Stratum).blocks))
    if (share === 0 || n < 2) return known(total)
    let squares = 0
    for (let i = 1; i < n; i++) {
      const sizes = ((strata[i - 1] as Stratum).blocks ** 2 + (strata[i] as Stratum).blocks ** 2) / 2
      squares += ((perBlock[i] as number) - (perBlock[i - 1] as number)) ** 2 * sizes
    }
    const spread = Math.sqrt((share * squares * n) / (2 * (n - 1))) * quantile(n - 1)
    const seen = sum(values)
    return { value: Math.max(seen, total), low: Math.max(seen, total - spread), high: total + spread }
  }
}

const LEAST_FOR_SLOPE = 8

/**
 * The mean over all blocks by regression on a trait. Its variance is what the trait leaves
 * unexplained, and the rest, which is due to the trait's own mean.
 */
function regressed(y: readonly number[], x: readonly number[], xOfAll: readonly number[]): { mean: number; unexplained: number; rest: number } {
  const [meanX, meanY] = [mean(x), mean(y)]
  const deviations = sum(x.map((each) => (each - meanX) ** 2))
  if (deviations === 0) return { mean: meanY, unexplained: Number.POSITIVE_INFINITY, rest: 0 }
  const slope = sum(x.map((each, i) => (each - meanX) * ((y[i] as number) - meanY))) / deviations
  const left = y.map((each, i) => each - slope * (x[i] as number))
  return {
    mean: meanY + slope * (mean(xOfAll) - meanX),
    unexplained: varianceOfMean(left, y.length - 2),
    rest: slope ** 2 * varianceOfMean(xOfAll, xOfAll.length - 1),
  }
}

/**
 * The variance of the mean of a sample, one of each part of the range, before its share of the
 * whole.
 */
function varianceOfMean(values: readonly number[], freedom: number): number {
  const n = values.length
  if (n < 2) return 0
  let squares = 0
  for (let i = 1; i < n; i++) squares += ((values[i] as number) - (values[i - 1] as number)) ** 2
  return ((squares / (2 * (n - 1))) * ((n - 1) / freedom)) / n
}

/** Student's t for 95 %, to a few percent from two degrees of freedom on. */
function quantile(freedom: number): number {
  return 1.96 + 2.4 / freedom + 3 / freedom ** 2
}

export function known(value: number): Estimate {
  return { value, low: value, high: value }
}

/** `factor` times the estimate, and `more`. */
export function linear({ value, low, high }: Estimate, factor: number, more = 0): Estimate {
  return { value: factor * value + more, low: factor * low + more, high: factor * high + more }
}

/** The sum of estimates that err together, as those from one sample may. */
export function added(estimates: readonly Estimate[]): Estimate {
  return {
    value: sum(estimates.map(({ value }) => value)),
    low: sum(estimates.map(({ low }) => low)),
    high: sum(estimates.map(({ high }) => high)),
  }
}

/** Rounds to whole numbers, outwards. */
export function whole({ value, low, high }: Estimate): Estimate {
  return { value: Math.round(value), low: Math.floor(low), high: Math.ceil(high) }
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : sum(values) / values.length
}
