/*
 * Figures by their labels: what Prometheus calls a metric with its series. Finding a figure builds
 * no string and no object, since this is done for each call.
 */

/** Labels of one figure, in the order of the metric's label names. */
export type Labels = readonly string[]

/** One metric: a figure for each combination of labels that has occurred. */
export class Series<F> {
  readonly #make: () => F
  readonly #depth: number
  readonly #root = new Map<string, unknown>()

  /** `depth`: how many labels a figure has. */
  constructor(depth: number, make: () => F) {
    this.#depth = depth
    this.#make = make
  }

  /** The figure with these labels, made at its first use. */
  at(a = '', b = '', c = '', d = ''): F {
    let node = this.#root
    for (let i = 0; ; i++) {
      const label = i === 0 ? a : i === 1 ? b : i === 2 ? c : d
      const isLast = i >= this.#depth - 1
      let next = node.get(label)
      if (next === undefined) {
        next = isLast ? this.#make() : new Map()
        node.set(label, next)
      }
      if (isLast) return next as F
      node = next as typeof node
    }
  }

  /** Removes the figure with these labels, if there is one. */
  delete(...labels: Labels): void {
    let node: Map<string, unknown> | undefined = this.#root
    for (let i = 0; i < this.#depth - 1; i++) node = node?.get(labels[i] ?? '') as typeof node
    node?.delete(labels[this.#depth - 1] ?? '')
  }

  /** Each figure with its labels. */
  *[Symbol.iterator](): Generator<[Labels, F]> {
    yield* leaves<F>(this.#root, this.#depth, [])
  }
}

function* leaves<F>(node: Map<string, unknown>, depth: number, labels: Labels): Generator<[Labels, F]> {
  for (const [label, next] of node) {
    const all = [...labels, label]
    if (depth <= 1) yield [all, next as F]
    else yield* leaves<F>(next as Map<string, unknown>, depth - 1, all)
  }
}

/** A number that is counted up, or set. */
export interface Value {
  value: number
}

/** Takes in values, such as durations. */
export interface Adding {
  add(value: number): void
}

/** The sum of values, which costs each call less than a histogram does. */
export class Sum implements Value, Adding {
  value = 0

  add(value: number): void {
    this.value += value
  }
}

/** How many values lie in each of several intervals, and their sum. */
export class Histogram implements Adding {
  /** Of values up to each bound, and above all of them; not cumulative. */
  readonly counts: number[]
  sum = 0
  readonly #bounds: readonly number[]

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = new Array(bounds.length + 1).fill(0)
  }

  add(value: number): void {
    const bounds = this.#bounds
    let i = 0
    while (i < bounds.length && value > (bounds[i] as number)) i++
    this.counts[i] = (this.counts[i] as number) + 1
    this.sum += value
  }
}
