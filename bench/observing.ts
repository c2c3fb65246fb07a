import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { FIRST_BLOCK } from './blocks.ts'
import { clients } from './clients/index.ts'
import { root } from './root.ts'
import type { ServerNews } from './server.ts'

/*
 * What observing hexline costs (docs/observability.md): CPU time relative to the same program
 * without it. `npm run build && tsc -p bench/tsconfig.json && node bench/dist/observing.js
 * [rounds]` starts a process for each way and lets them do slices of the work in turn; each slice
 * is compared with the one of the base beside it. A busy machine needs many slices.
 */

/** Ways to observe, each with the way that it is compared with. */
const BASES = {
  nothing: 'nothing',
  '--metrics': 'nothing',
  'an SDK for metrics, unused': 'nothing',
  metrics: 'an SDK for metrics, unused',
  'metrics with callDurations': 'an SDK for metrics, unused',
  'an SDK for traces, unused': 'nothing',
  'traces, 1 % by the SDK': 'an SDK for traces, unused',
  'traces, sample: 0.01': 'an SDK for traces, unused',
  'traces, all': 'an SDK for traces, unused',
} as const
type Way = keyof typeof BASES
const ways = Object.keys(BASES) as Way[]

/** Units of work in a slice, and before the first one. */
const WORKLOADS = { 'small calls, 64 in parallel': { count: 1280, warmUp: 38_400, slices: 60 }, 'full blocks': { count: 12, warmUp: 240, slices: 30 } } as const
type WorkloadName = keyof typeof WORKLOADS

interface Slice {
  readonly first: number
  readonly count: number
}

const [, script = '', way, workload, url] = process.argv as [string, string?, Way?, WorkloadName?, string?]
if (way !== undefined && workload !== undefined && url !== undefined) await serveSlices(way, workload, url)
else await compare(Number(way ?? 1))

async function compare(rounds: number): Promise<void> {
  const server = start('server', [])
  const [{ url }] = (await once(server, 'message')) as [ServerNews]
  for (const name of Object.keys(WORKLOADS) as WorkloadName[]) {
    const ratios = new Map<Way, number[]>(ways.map((each) => [each, []]))
    for (let round = 0; round < rounds; round++) await runRound(name, url, ratios)
    for (const [each, of] of ratios) if (each !== 'nothing') console.log(`${name}: ${each}: ${spread(of)}`)
  }
  server.disconnect()
}

async function runRound(name: WorkloadName, url: string, ratios: ReadonlyMap<Way, number[]>): Promise<void> {
  const { count, warmUp, slices } = WORKLOADS[name]
  let first = FIRST_BLOCK
  const run = async (child: ChildProcess, count: number): Promise<number> => {
    child.send({ first, count } satisfies Slice)
    first += count
    return (await once(child, 'message'))[0]
  }
  const children = new Map<Way, ChildProcess>()
  for (const each of ways) {
    const child = start('observing', [each, name, url])
    await once(child, 'message')
    await run(child, warmUp)
    children.set(each, child)
  }
  for (let slice = 0; slice < slices; slice++) {
    const costs = {} as Record<Way, number>
    // Each of them is the first one in turn.
    for (let i = 0; i < ways.length; i++) {
      const each = ways[(slice + i) % ways.length] as Way
      costs[each] = await run(children.get(each) as ChildProcess, count)
    }
    for (const each of ways) ratios.get(each)?.push(costs[each] / costs[BASES[each]])
  }
  for (const child of children.values()) child.disconnect()
}

function spread(ratios: readonly number[]): string {
  const sorted = ratios.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number).toFixed(2)
  return `${at(0.5)} (${at(0)} to ${at(1)}; quartiles ${at(0.25)} and ${at(0.75)}; ${sorted.length} pairs)`
}

function start(name: string, args: readonly string[]): ChildProcess {
  return fork(fileURLToPath(new URL(`./${name}.js`, import.meta.url)), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
}

/** One way: does a slice whenever it is told to, and sends its CPU time. */
async function serveSlices(way: Way, workload: WorkloadName, url: string): Promise<void> {
  await observe(way)
  const job = await clients.hexline[workload]?.load(url)
  if (job === undefined) throw new Error(`${script} does not know ${workload}`)
  process.on('message', async ({ first, count }: Slice) => {
    const before = process.cpuUsage()
    await job.run(first, count)
    const { user, system } = process.cpuUsage(before)
    process.send?.(user + system)
  })
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

async function observe(way: Way): Promise<void> {
  if (way === 'nothing') return
  if (way === '--metrics') {
    // The command is no entry of the package.
    const { serveMetrics } = await import(new URL('dist/src/metrics/serve-metrics.js', root).href)
    await serveMetrics('127.0.0.1', 0)
    return
  }
  const { instrument } = await import('hexline/otel')
  if (way === 'metrics' || way === 'metrics with callDurations' || way === 'an SDK for metrics, unused') {
    const { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics')
    const reader = new PeriodicExportingMetricReader({ exporter: new InMemoryMetricExporter(AggregationTemporality.DELTA) })
    const meterProvider = new MeterProvider({ readers: [reader] })
    if (way !== 'an SDK for metrics, unused') instrument({ traces: false, callDurations: way !== 'metrics', meterProvider })
    return
  }
  const [
    { context, ROOT_CONTEXT },
    { AsyncLocalStorageContextManager },
    { BasicTracerProvider, BatchSpanProcessor, ParentBasedSampler, TraceIdRatioBasedSampler },
  ] = await Promise.all([import('@opentelemetry/api'), import('@opentelemetry/context-async-hooks'), import('@opentelemetry/sdk-trace-base')])
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  // In Node.js 20, promises cost more from the first context on, whoever made it.
  context.with(ROOT_CONTEXT, () => {})
  if (way === 'an SDK for traces, unused') return
  const exporter = { export: (_: unknown, done: (result: { code: number }) => void) => done({ code: 0 }), shutdown: async () => {} }
  const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(way === 'traces, 1 % by the SDK' ? 0.01 : 1) })
  const tracerProvider = new BasicTracerProvider({ sampler, spanProcessors: [new BatchSpanProcessor(exporter)] })
  instrument({ metrics: false, tracerProvider, sample: way === 'traces, sample: 0.01' ? 0.01 : undefined })
}
