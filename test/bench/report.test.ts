import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { barsOf, charts, readmeChart, specOf } from '../../bench/report/charts.ts'
import { withFigures } from '../../bench/report/readme.ts'
import { resultsPage } from '../../bench/report/results-page.ts'
import { readRuns } from '../../bench/report/runs.ts'
import { workloadTable } from '../../bench/report/tables.ts'
import { targetsTable } from '../../bench/report/targets.ts'
import type { Figures, Results } from '../../bench/results.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const runs = readRuns()

describe('what is said about speed', () => {
  it('is what the kept results say: bench/README.md', () => {
    const readme = read('bench/README.md')
    expect(withFigures(readme, runs)).toBe(readme)
  })

  it('is what the kept results say: the page of all results', () => {
    expect(resultsPage(runs)).toBe(read('bench/results/README.md'))
  })

  it.each([...charts, readmeChart])('is what the kept results say: $file', (chart) => {
    const svg = read(`bench/results/${chart.file}`)
    const { bars } = barsOf(runs[0] as Results, chart)
    expect(bars.length).toBeGreaterThan(1)
    for (const { client, label } of bars) {
      expect(svg).toContain(`>${client}</text>`)
      expect(svg).toContain(`>${label}</text>`)
    }
  })

  it('is what the kept results say: README.md', () => {
    const { bars } = barsOf(runs[0] as Results, readmeChart)
    const spoken: Readonly<Record<string, string>> = { 'undici + JSON.parse': 'undici and JSON.parse', 'viem, batched': 'viem' }
    const said = bars.map(({ client, value, kind }) => `${spoken[client] ?? client} ${Math.round(value)}${kind === 'hexline' ? ' us' : ''}`)
    expect(read('README.md')).toContain(`![${readmeChart.title}: ${said.join(', ')}](bench/results/${readmeChart.file})`)
    const ethers = barsOf(runs[0] as Results, { ...readmeChart, clients: ['hexline', 'ethers'] }).bars.at(-1)
    expect(read('README.md')).toContain(`ethers takes ${((ethers?.value ?? 0) / 1000).toFixed(1)} ms.`)
  })

  it('stands between two marks, and nothing else is touched', () => {
    const readme = read('bench/README.md')
    const between = withFigures(readme.replace(/(<!-- bench:begin.*-->)[\s\S]*(<!-- bench:end -->)/, '$1\nold figures\n$2'), runs)
    expect(between).toBe(readme)
    expect(() => withFigures('no marks', runs)).toThrow(/expected the lines <!-- bench:begin/)
  })
})

describe('a report of results', () => {
  it('shows medians with the least and the greatest, and ratios of the rounds, not of the medians', () => {
    // By the medians 2.0; in each round 1.5, 2.0 and 3.0.
    const table = workloadTable(resultsOf({ 'undici + JSON.parse': [1000, 2000, 1000], hexline: [1500, 4000, 3000] }), 'full blocks')
    expect(table.split('\n').slice(2)).toEqual([
      '| undici + JSON.parse | 1.00 ms (1.00–2.00) | 2.00 ms (2.00–4.00) | 100 | 1 |',
      '| **hexline** | 3.00 ms (1.50–4.00) | 6.00 ms (3.00–8.00) | 100 | 2.00 (1.50–3.00) |',
    ])
  })

  it('says whether each target is met, on each Node.js', () => {
    const [met, missed] = [resultsOf({ 'undici + JSON.parse': [1000], hexline: [990] }), resultsOf({ 'undici + JSON.parse': [1000], hexline: [1010] })]
    const rows = targetsTable([met, missed]).split('\n')
    expect(rows).toContain('| full blocks | CPU vs. undici + JSON.parse | 1 | 0.99 | met | 1.01 | **not met** |')
    expect(rows).toContain('| NDJSON export | CPU vs. undici, bytes only | 1.6 |  | not measured |  | not measured |')
  })

  it('draws bars from the shortest to the longest, with hexline as their measure', () => {
    const results = resultsOf({ 'viem, batched': [4000], hexline: [2000], 'undici, bytes only': [1000] })
    const [chart] = charts
    const { unit, bars } = barsOf(results, chart as (typeof charts)[number])
    expect(unit).toBe('ms')
    expect(bars.map(({ client, label, kind }) => [client, label, kind])).toEqual([
      ['undici, bytes only', '1.00 ms, 0.50 x', 'floor'],
      ['hexline', '2.00 ms', 'hexline'],
      ['viem, batched', '4.00 ms, 2.00 x', 'peer'],
    ])
    expect(JSON.stringify(specOf(results, chart as (typeof charts)[number]))).toContain('"type":"linear"')
  })
})

/** Full blocks by each client, as long as said in each round. */
function resultsOf(cpu: Readonly<Record<string, readonly number[]>>): Results {
  const roundsOf = (times: readonly number[]) => times.map((time): Figures => ({ cpu: time, wall: 2 * time, peakMb: 100 }))
  return {
    date: '2026-01-01',
    isQuick: false,
    rounds: 3,
    machine: { cpu: 'a CPU', cores: 2, memoryGb: 8, platform: 'linux x64' },
    versions: { node: 'v20.0.0' },
    blocks: { source: 'made blocks', full: 1, hashes: 1, receipts: 1, logs: 1 },
    workloads: {
      'full blocks': Object.fromEntries(Object.entries(cpu).map(([client, times]) => [client, { amount: 1, settings: '', rounds: roundsOf(times) }])),
    },
  }
}
