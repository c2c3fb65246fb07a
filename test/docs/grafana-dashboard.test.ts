import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { instrument } from 'hexline/otel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { prometheusName } from '../../src/metrics/prometheus.ts'
import { record } from '../../src/metrics/recorder.ts'
import { node } from '../support/node.ts'
import { always, clientOf, honest, read, refuse, serve } from '../support/server.ts'

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}
interface Dashboard {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string | { readonly query: string } }[] }
}

const root = new URL('../../', import.meta.url)
const dashboard = JSON.parse(readFileSync(new URL('docs/grafana-dashboard.json', root), 'utf8')) as Dashboard
const page = readFileSync(new URL('docs/observability.md', root), 'utf8')

/** Labels of each series that Prometheus has, by its name. */
type AllSeries = ReadonlyMap<string, readonly string[]>

/** What `--metrics` serves. */
function seriesOfHexline(): AllSeries {
  const recorder = record()
  onTestFinished(() => recorder.stop())
  return new Map(
    recorder.metrics.flatMap((metric) => {
      const name = prometheusName(metric)
      if (metric.type !== 'histogram') return [[name, metric.labels] as const]
      return [
        [`${name}_bucket`, [...metric.labels, 'le']],
        [`${name}_sum`, metric.labels],
        [`${name}_count`, metric.labels],
      ] as const
    }),
  )
}

/** What the exporter of OpenTelemetry serves for `hexline/otel`, once all has happened. */
async function seriesOfOpenTelemetry(): Promise<AllSeries> {
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const meterProvider = new MeterProvider({ readers: [exporter] })
  const stop = instrument({ traces: false, meterProvider, callDurations: true })
  const metrics = createServer((request, response) => exporter.getMetricsRequestHandler(request, response))
  await once(metrics.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    metrics.close()
    stop()
    await meterProvider.shutdown()
  })
  const throttling = await serve(refuse(-32005, 'rate limited', { status: 429, headers: { 'retry-after': '0' } }), node())
  const other = await serve(node({ chain: 10 }))
  const client = clientOf([throttling.url, other.url])
  for (let i = 0; i < 5; i++) await Promise.allSettled(Array.from({ length: 20 }, (_, j) => read(client.with({ priority: 'bulk' }), i, j)))
  const failing = await serve(always('', { status: 503 }), honest)
  await read(clientOf(failing.url), 1)
  const text = await fetch(`http://127.0.0.1:${(metrics.address() as AddressInfo).port}/metrics`).then((response) => response.text())
  const series = new Map<string, readonly string[]>()
  for (const [, name, labels] of text.matchAll(/^(\w+)\{(.*)\} /gm)) {
    series.set(
      name as string,
      [...(labels as string).matchAll(/(\w+)="/g)].map(([, label]) => label as string),
    )
  }
  return series
}

/**
 * The same where a collector names the series: it adds the unit.
 * https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/
 */
async function seriesOfCollector(): Promise<AllSeries> {
  const withUnit = (name: string) =>
    name
      .replace(/_duration_(?=bucket|sum|count)/, '_duration_seconds_')
      .replace(/_size_total$/, '_size_bytes_total')
      .replace(/_limit_rate$/, '_limit_rate_per_second')
  return new Map([...(await seriesOfOpenTelemetry())].map(([name, labels]) => [withUnit(name), labels]))
}

const sources: readonly (readonly [string, () => AllSeries | Promise<AllSeries>])[] = [
  ['--metrics', seriesOfHexline],
  ["OpenTelemetry's exporter", seriesOfOpenTelemetry],
  ['a collector', seriesOfCollector],
]

const uses = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const)),
  ...dashboard.templating.list.flatMap(({ name, query }) => (typeof query === 'string' ? [] : [[name, query.query, ''] as const])),
]

/** The series that an expression selects, with the labels that it selects by. */
function selectorsOf(expr: string): { readonly name: RegExp; readonly labels: readonly string[] }[] {
  return [...expr.matchAll(/(hexline_\w+)?\{([^}]*)\}|(hexline_\w+)(?![\w{])/g)].map(([, before, list = '', alone]) => {
    const { name = before ?? alone } = list.match(/^__name__=~"(?<name>[^"]*)"/)?.groups ?? {}
    const labels = [...list.matchAll(/(\w+)(?:=~?|!=)/g)].map(([, label]) => label as string)
    return { name: new RegExp(`^(?:${name})$`), labels: labels.filter((label) => label !== '__name__') }
  })
}

describe('the dashboard', () => {
  it.each(sources)('finds in %s exactly one metric with each of its selectors, with the labels that it uses', async (_, seriesOf) => {
    const all = await seriesOf()
    for (const [title, expr, legend] of uses) {
      const selectors = selectorsOf(expr)
      expect(selectors.length, title).toBeGreaterThan(0)
      const found = selectors.map(({ name, labels }) => {
        const names = [...all.keys()].filter((each) => name.test(each))
        expect(names, `${title}: ${name}`).toHaveLength(1)
        const has = all.get(names[0] as string) as readonly string[]
        expect(['job', ...has], `${title}: ${names[0]}`).toEqual(expect.arrayContaining([...labels]))
        return has
      })
      const used = [
        ...[...expr.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, list]) => (list as string).split(', ')),
        ...[...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label),
      ]
      for (const label of used) expect(['job', ...found.flat()], title).toContain(label)
    }
  })

  it('shows each metric', () => {
    const shown = uses.flatMap(([, expr]) => selectorsOf(expr).map(({ name }) => name))
    for (const name of seriesOfHexline().keys()) {
      if (!/_(?:sum|count)$/.test(name))
        expect(
          shown.some((each) => each.test(name)),
          name,
        ).toBe(true)
    }
  })

  it('has panels with ids of their own that do not overlap', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) => Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`))
    expect(new Set(cells).size).toBe(cells.length)
  })
})

it('docs/observability.md has each metric with its labels, and no other', () => {
  const section = page.split('\n## Prometheus and Grafana\n')[1]?.split('\n## ')[0] as string
  const rows = [...section.matchAll(/^\| `(hexline_\w+)` \| (.*?) \|/gm)].map(([, name, labels]) => [
    name,
    [...(labels as string).matchAll(/`(\w+)`/g)].map(([, label]) => label),
  ])
  const recorder = record()
  onTestFinished(() => recorder.stop())
  expect(rows).toEqual(recorder.metrics.map((metric) => [prometheusName(metric), [...metric.labels]]))
})
