import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { TracerProvider } from '@opentelemetry/api'
import { createClient, type Post, replyOf } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import type { InstrumentOptions } from 'hexline/otel'
import { FIRST_BLOCK, fill, loadBlocks, type Template } from './blocks.ts'
import type { Job } from './clients/way.ts'
import { root } from './root.ts'

/*
 * What observing hexline costs (docs/observability.md): CPU time relative to the same process while
 * nobody observes it. `npm run build && tsc -p bench/tsconfig.json && node bench/dist/observing.js
 * [rounds] [way...]` starts a process for each way in each round. Processes differ by more than
 * observing costs, so each of them begins and ends it again and again, and compares its slices with
 * one another. After each change, V8 compiles anew, which is not measured.
 */

/** Begins observing, and returns what ends it. */
type Begin = () => (() => void) | Promise<() => void>

/** Traces without a limit. */
const ALL: InstrumentOptions = { tracedPerSecond: Number.POSITIVE_INFINITY }

/** Ways to observe. Each loads what it needs, and says how to begin. */
const ways: Readonly<Record<string, () => Promise<Begin>>> = {
  // How far two equal slices differ.
  nothing: async () => () => () => {},
  '--metrics': async () => {
    // The command is no entry of the package.
    const { serveMetrics } = await import(new URL('dist/src/metrics/serve-metrics.js', root).href)
    return async () => {
      const server = await serveMetrics('127.0.0.1', 0)
      return () => server.close()
    }
  },
  metrics: () => metrics(false),
  'metrics with callDurations': () => metrics(true),
  traces: () => traces(1, {}),
  'traces, 1 % by the SDK': () => traces(0.01, ALL),
  'traces, sample: 0.01': () => traces(1, { ...ALL, sample: 0.01 }),
  'traces, all': () => traces(1, ALL),
  'the same spans, made by the SDK alone': () => spansBySdk(),
}

/** Makes the spans of this many calls. */
let makeSpans: ((calls: number) => void) | undefined

/**
 * Without sockets, which cost several times as much as all else, and not always the same; but for
 * the requests of a service, which are measured as they are. Units of work in a slice, before each
 * slice (more than get spans at once), and before that in each turn of the warm-up.
 */
const WORKLOADS = {
  'small calls, 64 in parallel': { load: smallCalls, count: 1280, settle: 128, warmUp: 12_800, pairs: 1000 },
  'full blocks': { load: fullBlocks, count: 200, settle: 120, warmUp: 200, pairs: 100 },
  'requests of a service': { load: serviceRequests, count: 5000, settle: 3000, warmUp: 1000, pairs: 9 },
} as const
type WorkloadName = keyof typeof WORKLOADS
/** Turns before the first slice that counts. */
const TURNS = 16

const [, script = '', ...args] = process.argv
if (args[0] === 'users') await beUsers()
else if (process.send !== undefined) await measure(...(args as [string, WorkloadName]))
else await compare(Number(args[0] ?? 1), args.length > 1 ? args.slice(1) : Object.keys(ways))

async function compare(rounds: number, names: readonly string[]): Promise<void> {
  if (!(rounds >= 1)) throw new Error('observing.js [rounds] [way...]: rounds is a number from 1')
  for (const workload of Object.keys(WORKLOADS) as WorkloadName[]) {
    const found = new Map<string, Cost[]>(names.map((name) => [name, []]))
    // By turns, so that what slows the machine down concerns all alike.
    for (let round = 0; round < rounds; round++) {
      for (const [name, costs] of found) costs.push(await costOf(name, workload))
    }
    for (const [name, costs] of found) {
      const more = spread(costs.map((cost) => cost.more))
      console.log(`${workload}: ${name}: ${more} us more for each, ${spread(costs.map(({ ratio }) => ratio))} times as much`)
    }
  }
}

async function costOf(...args: readonly [way: string, workload: WorkloadName]): Promise<Cost> {
  const child = fork(fileURLToPath(import.meta.url), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${args[0]}: the process ended without a figure`)))
  const [cost] = await Promise.race([once(child, 'message'), ended])
  return cost
}

function spread(figures: readonly number[]): string {
  const sorted = figures.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number).toFixed(2)
  return `${at(0.5)} (${at(0)} to ${at(1)})`
}

/** What observing costs in one process. */
interface Cost {
  /** CPU time for a unit, in us. */
  readonly more: number
  readonly ratio: number
}

function median(costs: readonly number[]): number {
  return costs.toSorted((a, b) => a - b)[costs.length >> 1] as number
}

/** Sends the cost of a unit while it is observed, compared with one while it is not. */
async function measure(way: string, workload: WorkloadName): Promise<void> {
  const { load, count, settle, warmUp, pairs } = WORKLOADS[workload]
  const begin = await ways[way]?.()
  const job = await load?.()
  if (begin === undefined || job === undefined) throw new Error(`${script} does not know ${begin === undefined ? way : workload}`)
  let first = FIRST_BLOCK
  const run = async (count: number): Promise<number> => {
    const before = process.cpuUsage()
    await job.run(first, count)
    makeSpans?.(count)
    first += count
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const slice = async (isObserved: boolean, before: number): Promise<number> => {
    const end = isObserved ? await begin() : undefined
    await run(before)
    const cost = await run(count)
    end?.()
    return cost
  }
  // By the last of these, V8 has compiled what it will need.
  for (let i = 0; i < TURNS; i++) await slice(i % 2 === 0, warmUp)
  const unobserved: number[] = []
  const more: number[] = []
  for (let pair = 0; pair < pairs; pair++) {
    // Which of them is first is random: collections of garbage may come in every other slice.
    const isFirst = Math.random() < 0.5
    const costs = [await slice(isFirst, settle), await slice(!isFirst, settle)] as const
    const [observed, without] = isFirst ? costs : [costs[1], costs[0]]
    unobserved.push(without)
    more.push(observed - without)
  }
  process.send?.({ more: median(more) / count, ratio: 1 + median(more) / median(unobserved) } satisfies Cost)
  process.disconnect()
  job.end()
}

/** Small calls to a node that is a function of this process. */
function smallCalls(): Job {
  const post: Post = async (calls) => calls.map(() => replyOf('0x12a05f200', 13))
  const client = createClient(post)
  const address = `0x${'a'.repeat(40)}` as const
  return {
    async run(first, count) {
      for (let i = first; i < first + count; i += 64) {
        await Promise.all(Array.from({ length: 64 }, (_, j) => client.call('eth_getBalance', address, i + j)))
      }
      return { items: count }
    },
    end: () => client.close(),
  }
}

/** The blocks of the workload `full blocks`, from a node that is a function of this process. */
function fullBlocks(): Job {
  const { full } = loadBlocks()
  const post: Post = async (calls) =>
    calls.map(({ method, params: [number] }) => {
      if (method === 'eth_blockNumber') return replyOf('0xfffffff', 11)
      const block = fill(full[Number(number) % full.length] as Template, Number(number))
      return replyOf(block, block.length)
    })
  const client = createClient(post)
  return {
    async run(first, count) {
      let items = 0
      for await (const _ of getBlocks(client, { from: first, to: first + count - 1, transactions: 'full' })) items++
      return { items }
    },
    end: () => client.close(),
  }
}

/** Requests to the service at a time. */
const USERS = 32

/**
 * An HTTP service that reads a balance for each request, 32 at a time, with a span of its own
 * around it. Its users, and its node, are one other process.
 */
async function serviceRequests(): Promise<Job> {
  const { SpanKind, trace } = await import('@opentelemetry/api')
  const users = fork(fileURLToPath(import.meta.url), ['users'])
  const [{ url }] = await once(users, 'message')
  const client = createClient(url)
  const address = `0x${'a'.repeat(40)}` as const
  const tracer = trace.getTracer('service')
  const service = createServer((request, response) => {
    tracer.startActiveSpan('GET /balance', { kind: SpanKind.SERVER, attributes: { 'http.request.method': 'GET' } }, async (span) => {
      const balance = await client.call('eth_getBalance', address, Number(request.url?.slice(1)))
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ balance: String(balance) }))
      span.setAttribute('http.response.status_code', 200)
      span.end()
    })
  })
  await once(service.listen(0, '127.0.0.1'), 'listening')
  const { port } = service.address() as AddressInfo
  return {
    async run(first, count) {
      users.send({ port, first, count })
      await once(users, 'message')
      return { items: count }
    },
    async end() {
      users.kill()
      service.closeAllConnections()
      service.close()
      await client.close()
    },
  }
}

/** Serves as the node of the service, and makes the requests that it is told to. */
async function beUsers(): Promise<void> {
  const node = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const answer = ({ id }: { readonly id: number }) => ({ jsonrpc: '2.0', id, result: '0x12a05f200' })
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body)))
  })
  await once(node.listen(0, '127.0.0.1'), 'listening')
  process.on('message', async ({ port, first, count }: { readonly port: number; readonly first: number; readonly count: number }) => {
    let next = first
    const user = async () => {
      while (next < first + count) await (await fetch(`http://127.0.0.1:${port}/${next++}`)).arrayBuffer()
    }
    await Promise.all(Array.from({ length: USERS }, user))
    process.send?.('done')
  })
  process.send?.({ url: `http://127.0.0.1:${(node.address() as AddressInfo).port}` })
}

async function metrics(callDurations: boolean): Promise<Begin> {
  const { instrument } = await import('hexline/otel')
  const { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } = await import('@opentelemetry/sdk-metrics')
  const reader = new PeriodicExportingMetricReader({ exporter: new InMemoryMetricExporter(AggregationTemporality.DELTA) })
  const meterProvider = new MeterProvider({ readers: [reader] })
  return () => instrument({ traces: false, callDurations, meterProvider })
}

/** Spans like those of `instrument`, with the same attributes and links, by nothing but the SDK. */
async function spansBySdk(): Promise<Begin> {
  const [{ context, ROOT_CONTEXT, SpanKind, trace }, provider] = await Promise.all([import('@opentelemetry/api'), tracerProviderFor(1)])
  const tracer = provider.getTracer('by hand')
  const rpc = { 'rpc.system.name': 'jsonrpc', 'jsonrpc.protocol.version': '2.0' }
  const place = { 'server.address': '127.0.0.1', 'server.port': 8545, 'hexline.endpoint': '127.0.0.1:8545' }
  const callSpan = () => {
    const attributes = { ...rpc, 'rpc.method': 'eth_getBalance', 'hexline.priority': 'interactive' }
    return tracer.startSpan('eth_getBalance', { kind: SpanKind.CLIENT, attributes }, context.active())
  }
  const makeOne = (calls: number) => {
    const spans = Array.from({ length: calls }, callSpan)
    const [first] = spans
    if (first === undefined) return
    const links = spans.map((span) => ({ context: span.spanContext() }))
    const attributes = { ...rpc, ...place, 'hexline.calls': calls }
    const post = tracer.startSpan('hexline POST', { kind: SpanKind.CLIENT, attributes, links }, trace.setSpan(ROOT_CONTEXT, first))
    const link = { context: post.spanContext() }
    for (const span of spans) span.addLink(link)
    post.setAttributes({ 'hexline.reply.size': 1000, 'hexline.failed_calls': 0, 'http.response.status_code': 200 })
    post.end()
    for (const span of spans) {
      span.setAttributes({ 'hexline.attempts': 1, 'hexline.outcome': 'answered', 'hexline.result.size': 13, ...place })
      span.end()
    }
  }
  return () => {
    makeSpans = (calls) => {
      for (let left = calls; left > 0; left -= 64) makeOne(Math.min(left, 64))
    }
    return () => {
      makeSpans = undefined
    }
  }
}

async function traces(ratio: number, options: InstrumentOptions): Promise<Begin> {
  const [{ instrument }, tracerProvider] = await Promise.all([import('hexline/otel'), tracerProviderFor(ratio)])
  return () => instrument({ metrics: false, tracerProvider, ...options })
}

/** The SDK, as programs set it up, with an exporter that exports nothing. */
async function tracerProviderFor(ratio: number): Promise<TracerProvider> {
  const [{ context, ROOT_CONTEXT, trace }, { AsyncLocalStorageContextManager }, sdk] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/sdk-trace-base'),
  ])
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  // In Node.js 20, promises cost more from the first context on, whoever made it.
  context.with(ROOT_CONTEXT, () => {})
  const exporter = { export: (_: unknown, done: (result: { code: number }) => void) => done({ code: 0 }), shutdown: async () => {} }
  const sampler = new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) })
  const provider = new sdk.BasicTracerProvider({ sampler, spanProcessors: [new sdk.BatchSpanProcessor(exporter)] })
  trace.setGlobalTracerProvider(provider)
  return provider
}
