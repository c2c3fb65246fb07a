import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { prometheusName } from '../../src/metrics/prometheus.ts'
import { record } from '../../src/metrics/recorder.ts'

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}
interface Dashboard {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: unknown }[] }
}

const root = new URL('../../', import.meta.url)
const dashboard = JSON.parse(readFileSync(new URL('docs/grafana-dashboard.json', root), 'utf8')) as Dashboard
const page = readFileSync(new URL('docs/observability.md', root), 'utf8')

/** Labels of each series that Prometheus has, by its name. */
function seriesOfHexline(): Map<string, readonly string[]> {
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

const uses = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr, legendFormat }) => [title, expr, legendFormat] as const)),
  ...dashboard.templating.list.map(({ name, query }) => [name, JSON.stringify(query), ''] as const),
]

describe('the dashboard', () => {
  it.each(uses)('%s: has metrics and labels that exist: %s', (_, expr, legend) => {
    const series = seriesOfHexline()
    const names = expr.match(/hexline_\w+/g) ?? []
    for (const name of names) expect([...series.keys()]).toContain(name)
    const labels = new Set(['job', ...names.flatMap((name) => series.get(name) ?? [])])
    const used = [
      ...[...expr.matchAll(/(\w+)(?:=~?|!=)\\?"/g)].map(([, label]) => label),
      ...[...expr.matchAll(/ by \(([^)]*)\)/g)].flatMap(([, list]) => list?.split(', ')),
      ...[...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label),
    ]
    for (const label of used) expect([...labels]).toContain(label)
  })

  it('selects each series by labels that it has', () => {
    const series = seriesOfHexline()
    const selectors = uses.flatMap(([, expr]) => [...expr.matchAll(/(hexline_\w+)\{([^}]*)\}/g)])
    expect(selectors.length).toBeGreaterThan(20)
    for (const [, name, list] of selectors) {
      const labels = [...(list as string).matchAll(/(\w+)(?:=~?|!=)/g)].map(([, label]) => label)
      expect(['job', ...(series.get(name as string) ?? [])], name).toEqual(expect.arrayContaining(labels))
    }
  })

  it('shows each metric', () => {
    const text = JSON.stringify(dashboard)
    for (const name of seriesOfHexline().keys()) if (!/_(?:sum|count)$/.test(name)) expect(text).toContain(name)
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
