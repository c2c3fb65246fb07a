import { figureOf, type Measured, type Results, ratioOf } from '../results.ts'
import { type ClientName, type WorkloadName, workloads } from '../workloads.ts'

/** A chart of one workload, with a bar for each client, shortest first. */
export interface Chart {
  readonly file: string
  readonly title: string
  readonly workload: WorkloadName
  readonly figure: 'cpu' | 'wall'
  /** The client whose label is 1.0. */
  readonly base: ClientName
  /** The clients to show. Default: all. */
  readonly clients?: readonly ClientName[]
}

export const charts: readonly Chart[] = [
  { file: 'full-blocks.svg', title: 'CPU time per full block', workload: 'full blocks', figure: 'cpu', base: 'hexline' },
  { file: 'blocks-with-hashes.svg', title: 'CPU time per block with hashes', workload: 'blocks with hashes', figure: 'cpu', base: 'hexline' },
  { file: 'small-calls.svg', title: 'CPU time per small call, 64 in parallel', workload: 'small calls, 64 in parallel', figure: 'cpu', base: 'hexline' },
  { file: 'latency.svg', title: 'Time per full block, 50 ms latency', workload: '50 ms latency', figure: 'wall', base: 'hexline' },
]

/**
 * The chart of the main README. It omits the floor, which decodes nothing, slower settings of the
 * same client, and clients that would need a logarithmic axis (ethers, web3).
 */
export const readmeChart: Chart = {
  file: 'readme.svg',
  title: 'CPU time per full block',
  workload: 'full blocks',
  figure: 'cpu',
  base: 'hexline',
  clients: ['hexline', 'undici + JSON.parse', 'viem on hexline', '@subsquid/rpc-client', 'ethers on hexline', 'viem, batched', 'ox'],
}

/** One bar. Times are in us if the base's time is below one ms, else in ms. */
interface Bar {
  readonly client: string
  readonly value: number
  readonly min: number
  readonly max: number
  readonly label: string
  readonly kind: 'hexline' | 'on hexline' | 'floor' | 'peer'
}

/** The bars of a chart, shortest first; empty if the workload was not measured. */
export function barsOf(results: Results, { workload, figure, base, clients }: Chart): { readonly unit: 'us' | 'ms'; readonly bars: readonly Bar[] } {
  const measured = results.workloads[workload] ?? {}
  const scale = (figureOf(measured[base], figure)?.median ?? 0) < 1000 ? 1 : 1000
  const bars = (Object.entries(measured) as [ClientName, Measured][]).flatMap(([client, mine]) => {
    const [spread, ratio] = [figureOf(mine, figure), ratioOf(mine, measured[base], figure)]
    if (spread === undefined || ratio === undefined || clients?.includes(client) === false) return []
    const label = `${short(spread.median / scale)} ${scale === 1 ? 'us' : 'ms'}${client === base ? '' : `, ${short(ratio.median)} x`}`
    return [{ client, value: spread.median / scale, min: spread.min / scale, max: spread.max / scale, label, kind: kindOf(client) }]
  })
  return { unit: scale === 1 ? 'us' : 'ms', bars: bars.sort((a, b) => a.value - b.value) }
}

/**
 * A chart as a Vega-Lite specification. The axis is logarithmic if the slowest client takes more
 * than thirty times as long as the fastest.
 */
export function specOf(results: Results, chart: Chart): object {
  const { bars, unit } = barsOf(results, chart)
  const values = bars.map(({ value }) => value)
  const isLog = Math.max(...values) > 30 * Math.min(...values)
  const domain = isLog ? [10 ** Math.floor(Math.log10(Math.min(...values)) - 0.3), Math.max(...values) * 4] : [0, Math.max(...values) * 1.3]
  const y = { field: 'client', type: 'nominal', sort: null, title: null, axis: { labelLimit: 220, ticks: false, domain: false, labelPadding: 8 } }
  const scale = isLog ? { type: 'log', domain, nice: false } : { type: 'linear', domain, nice: false }
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 12,
    width: 560,
    height: { step: 26 },
    title: {
      text: chart.title,
      subtitle: `${workloads[chart.workload].what.split(/[;:,.]/)[0]}; Node ${results.versions.node?.slice(1)}; shorter is better${isLog ? '; logarithmic' : ''}`,
      anchor: 'start',
      offset: 12,
    },
    data: { values: bars },
    encoding: { y },
    layer: [
      {
        mark: { type: 'bar', height: 16 },
        encoding: {
          x: {
            field: 'value',
            type: 'quantitative',
            title: `${unit} per ${workloads[chart.workload].unit}`,
            scale,
            axis: { grid: true, ...(isLog ? { values: [0.001, 0.01, 0.1, 1, 10, 100, 1000, 10_000] } : { tickCount: 5 }) },
          },
          x2: { datum: domain[0] },
          color: { field: 'kind', type: 'nominal', scale: { domain: Object.keys(COLOURS), range: Object.values(COLOURS) }, legend: null },
        },
      },
      { mark: { type: 'rule', color: '#333333' }, encoding: { x: { field: 'min', type: 'quantitative' }, x2: { field: 'max' } } },
      {
        mark: { type: 'text', align: 'left', dx: 6, color: '#222222' },
        encoding: { x: { field: 'max', type: 'quantitative' }, text: { field: 'label', type: 'nominal' } },
      },
    ],
    config: {
      font: 'Helvetica, Arial, sans-serif',
      axis: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal' },
      text: { fontSize: 12 },
      view: { stroke: null },
    },
  }
}

const COLOURS: Readonly<Record<Bar['kind'], string>> = { hexline: '#c2410c', 'on hexline': '#fdba74', floor: '#9ca3af', peer: '#60758f' }

function kindOf(client: ClientName): Bar['kind'] {
  if (client.startsWith('hexline')) return 'hexline'
  if (client.endsWith('on hexline')) return 'on hexline'
  return client.startsWith('undici') ? 'floor' : 'peer'
}

function short(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
