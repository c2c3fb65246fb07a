import type { Histogram, Value } from './series.ts'

/** One metric, as Prometheus and OpenTelemetry describe it. */
interface Description {
  /** Without `hexline`, in words: `post.duration` is `hexline_post_duration_seconds`. */
  readonly name: string
  readonly help: string
  /** UCUM code, or a noun in braces. */
  readonly unit: string
  readonly labels: readonly string[]
}

/** A metric with its figures. */
export type Metric =
  | (Description & { readonly type: 'counter' | 'gauge'; readonly series: Iterable<[readonly string[], Value]> })
  | (Description & { readonly type: 'histogram'; readonly bounds: readonly number[]; readonly series: Iterable<[readonly string[], Histogram]> })

/** Upper bounds of durations, in seconds: a node in the same rack, and one that is overloaded. */
export const SECONDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** The series of a metric without labels, read when it is collected. */
export function single(current: () => number): Iterable<[readonly string[], Value]> {
  return {
    *[Symbol.iterator]() {
      yield [[], { value: current() }]
    },
  }
}

export function counter(name: string, help: string, unit: string, labels: readonly string[], series: Iterable<[readonly string[], Value]>): Metric {
  return { type: 'counter', name, help, unit, labels, series }
}

export function gauge(name: string, help: string, unit: string, labels: readonly string[], series: Iterable<[readonly string[], Value]>): Metric {
  return { type: 'gauge', name, help, unit, labels, series }
}

export function histogram(name: string, help: string, labels: readonly string[], series: Iterable<[readonly string[], Histogram]>): Metric {
  return { type: 'histogram', name, help, unit: 's', labels, bounds: SECONDS, series }
}
