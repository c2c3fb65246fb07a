import type { Metric } from './metric.ts'

/** Prometheus's suffix of each unit; a unit without one is what is counted. */
const SUFFIXES: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes', '{call}/s': '_calls_per_second' }

/** `Content-Type` of `prometheusText`. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * The metrics in Prometheus's text format.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics
    .map((metric) => `# HELP ${prometheusName(metric)} ${metric.help}\n# TYPE ${prometheusName(metric)} ${metric.type}\n${linesOf(metric)}`)
    .join('')
}

/** The name of a metric, such as `hexline_calls_total`; series of a histogram add to it. */
export function prometheusName({ name, unit, type }: Pick<Metric, 'name' | 'unit' | 'type'>): string {
  const words = name.replace(/\.size$/, '').replaceAll('.', '_')
  return `hexline_${words}${SUFFIXES[unit] ?? ''}${type === 'counter' ? '_total' : ''}`
}

function linesOf(metric: Metric): string {
  const name = prometheusName(metric)
  let lines = ''
  if (metric.type !== 'histogram') {
    for (const [labels, { value }] of metric.series) lines += `${name}${braced(metric.labels, labels)} ${value}\n`
    return lines
  }
  for (const [labels, { counts, sum }] of metric.series) {
    let total = 0
    for (const [i, count] of counts.entries()) {
      total += count
      lines += `${name}_bucket${braced([...metric.labels, 'le'], [...labels, String(metric.bounds[i] ?? '+Inf')])} ${total}\n`
    }
    lines += `${name}_sum${braced(metric.labels, labels)} ${sum}\n${name}_count${braced(metric.labels, labels)} ${total}\n`
  }
  return lines
}

function braced(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return ''
  return `{${names.map((name, i) => `${name}="${escaped(values[i] ?? '')}"`).join(',')}}`
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
