import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { TracerProvider } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace-base'
import { type Client, createClient, type Post, replyOf } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import type { InstrumentOptions } from 'hexline/otel'
import { FIRST_BLOCK, fill, loadBlocks, type Template } from './blocks.ts'
import type { Job } from './clients/way.ts'
import { root } from './root.ts'

/*
 * What observing hexline costs (docs/observability.md): CPU time relative to the same process while
 * nobody observes it. `npm run build && tsc -p bench/tsconfig.json && node bench/dist/observing.js
 * [rounds] [way...]` starts a process for each way in each round. Processes differ by more than
 * observing costs, so each of them is observed every other slice, and compares its slices with one
 * another. What observes stays, as it does in a program, and V8 has compiled it.
 */

/** Observes from now on, or no longer. */
type Observe = (isObserved: boolean) => void

/** Traces without a limit. */
const ALL: InstrumentOptions = { tracedPerSecond: Number.POSITIVE_INFINITY }

/** The default, in calls per second, halved: the allowance fills while nobody observes, too. */
const BY_DEFAULT: InstrumentOptions = { tracedPerSecond: 50 }

/** Ways to observe. Each loads what it needs. */
const ways: Readonly<Record<string, () => Promise<Observe>>> = {
  // How far two equal slices differ.
  nothing: async () => () => {},
  '--metrics': async () => {
    // The command is no entry of the package.
    const { serveMetrics } = await import(new URL('dist/src/metrics/serve-metrics.js', root).href)
    const server = await serveMetrics('127.0.0.1', 0)
    return watchersOf(() => server.close())
  },
  metrics: () => instrumented({ traces: false }),
  'metrics with callDurations': () => instrumented({ traces: false, callDurations: true }),
  traces: () => instrumented({ metrics: false, ...BY_DEFAULT }),
  'metrics and traces': () => instrumented(BY_DEFAULT),
  'metrics and traces, with OTLP': async () => instrumented(BY_DEFAULT, 1, await exporterToAnotherProcess()),
  'traces, 1 % by the SDK': () => instrumented({ metrics: false, ...ALL }, 0.01),
  'traces, sample: 0.01': () => instrumented({ metrics: false, ...ALL, sample: 0.01 }),
  'traces, all': () => instrumented({ metrics: false, ...ALL }),
  'the same spans, made by the SDK alone': () => spansBySdk(),
}

/** Makes the spans of this many calls. */
let makeSpans: ((calls: number) => void) | undefined

const NO_EXPORTER: SpanExporter = { export: (_, done) => done({ code: 0 }), shutdown: async () => {} }

/** Ends what observes, so that the process ends, too. */
let endObserving: () => unknown = () => {}

/**
 * Units of work in a slice, and before each slice. Without sockets, which cost several times as
 * much as all else, and not always the same, small differences show; with them, the ratio is that
 * of a program.
 */
const WORKLOADS = {
  'small calls without a socket, 64 in parallel': { load: smallCalls, count: 1280, settle: 128, pairs: 2000 },
  'small calls, 64 in parallel': { load: smallCallsToNode, count: 1280, settle: 128, pairs: 2000 },
  'full blocks without a socket': { load: fullBlocks, count: 200, settle: 20, pairs: 400 },
  'requests of a service': { load: serviceRequests, count: 1000, settle: 100, pairs: 600 },
} as const
type WorkloadName = keyof typeof WORKLOADS
/** Pairs before the first one that counts. */
const WARM_UP = 40
/** Calls whose spans the SDK makes before that. */
const COMPILED = 25_600

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
      const busy = Math.min(...costs.map((cost) => cost.busy)).toFixed(2)
      console.log(`${workload}: ${name}: ${more} us more for each, ${spread(costs.map(({ ratio }) => ratio))} times as much; at least ${busy} of a core busy`)
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
  /** CPU time of a second: 1 is the full load of a core. */
  readonly busy: number
}

/** Not the median: spans come in bursts, which are in few of the slices. */
function mean(costs: readonly number[]): number {
  return costs.reduce((sum, cost) => sum + cost, 0) / costs.length
}

/** Sends the cost of a unit while it is observed, compared with one while it is not. */
async function measure(way: string, workload: WorkloadName): Promise<void> {
  const { load, count, settle, pairs } = WORKLOADS[workload]
  const makeObserve = ways[way]
  if (makeObserve === undefined) throw new Error(`${script} does not know ${way}`)
  const job = await load()
  let first = FIRST_BLOCK
  let cpuUs = 0
  let wallMs = 0
  const run = async (count: number): Promise<number> => {
    const started = performance.now()
    const before = process.cpuUsage()
    await job.run(first, count)
    makeSpans?.(count)
    first += count
    const { user, system } = process.cpuUsage(before)
    wallMs += performance.now() - started
    cpuUs += user + system
    return user + system
  }
  const observe = await makeObserve()
  const slice = async (isObserved: boolean): Promise<number> => {
    observe(isObserved)
    await run(settle)
    return run(count)
  }
  const unobserved: number[] = []
  const more: number[] = []
  for (let pair = -WARM_UP; pair < pairs; pair++) {
    // Which of them is first is random: collections of garbage may come in every other slice.
    const isFirst = Math.random() < 0.5
    const costs = [await slice(isFirst), await slice(!isFirst)] as const
    if (pair < 0) continue
    const [observed, without] = isFirst ? costs : [costs[1], costs[0]]
    unobserved.push(without)
    more.push(observed - without)
  }
  const cost: Cost = { more: mean(more) / count, ratio: 1 + mean(more) / mean(unobserved), busy: cpuUs / 1000 / wallMs }
  process.send?.(cost)
  process.disconnect()
  job.end()
  endObserving()
}

/** Small calls to a node that is a function of this process. */
function smallCalls(): Job {
  return smallCallsOf(createClient((async (calls) => calls.map(() => replyOf('0x12a05f200', 13))) satisfies Post))
}

/** Small calls to a node that is another process. */
async function smallCallsToNode(): Promise<Job> {
  const { url, users } = await startUsers()
  const job = smallCallsOf(createClient(url))
  return {
    ...job,
    end() {
      users.kill()
      return job.end()
    },
  }
}

function smallCallsOf(client: Client): Job {
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
 * An HTTP service that reads a balance for each request, with a span of its own around it, as fast
 * as it can. Its users, and its node, are one other process, which takes less time for each.
 */
async function serviceRequests(): Promise<Job> {
  const { SpanKind, trace } = await import('@opentelemetry/api')
  const { url, users } = await startUsers()
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

/** Starts a process that does `beUsers`, and has the node at `url`. */
async function startUsers(): Promise<{ readonly url: string; readonly users: ChildProcess }> {
  const users = fork(fileURLToPath(import.meta.url), ['users'])
  const [{ url }] = await once(users, 'message')
  return { url, users }
}

/** Serves as a node, and sends the service the requests that this process is told to. */
async function beUsers(): Promise<void> {
  // Spans in OTLP are an object, too, and get an answer that does no harm.
  const node = createServer((request, response) => {
    let body = ''
    request.setEncoding('latin1').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const calls = JSON.parse(body)
      const answer = ({ id }: { readonly id: number }) => `{"jsonrpc":"2.0","id":${id},"result":"0x12a05f200"}`
      response.setHeader('content-type', 'application/json')
      response.end(Array.isArray(calls) ? `[${calls.map(answer)}]` : answer(calls))
    })
  })
  await once(node.listen(0, '127.0.0.1'), 'listening')
  let sockets: Socket[] | undefined
  let next = 0
  let end = 0
  let waiting = 0
  const ask = (socket: Socket): void => {
    if (next < end) socket.write(`GET /${next++} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
    else if (--waiting === 0) process.send?.('done')
  }
  // A client of Node.js would take longer than the service.
  const open = async (port: number): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1')
    // The end of the service's reply.
    socket.on('data', (chunk: string) => chunk.endsWith('"}') && ask(socket))
    await once(socket, 'connect')
    return socket
  }
  process.on('message', async ({ port, first, count }: { readonly port: number; readonly first: number; readonly count: number }) => {
    sockets ??= await Promise.all(Array.from({ length: USERS }, () => open(port)))
    next = first
    end = first + count
    waiting = USERS
    for (const socket of sockets) ask(socket)
  })
  process.on('disconnect', () => process.exit())
  process.send?.({ url: `http://127.0.0.1:${(node.address() as AddressInfo).port}` })
}

/** `instrument`, with an SDK that samples this share. */
async function instrumented(options: InstrumentOptions, ratio = 1, exporter = NO_EXPORTER): Promise<Observe> {
  const [{ instrument }, sdk] = await Promise.all([import('hexline/otel'), import('@opentelemetry/sdk-metrics')])
  const metricReader = new sdk.PeriodicExportingMetricReader({ exporter: new sdk.InMemoryMetricExporter(sdk.AggregationTemporality.DELTA) })
  const meterProvider = new sdk.MeterProvider({ readers: [metricReader] })
  const tracerProvider = await tracerProviderFor(ratio, exporter)
  if (options.traces !== false) await compileSpans(tracerProvider)
  const stop = instrument({ meterProvider, tracerProvider, ...options })
  return watchersOf(async () => {
    stop()
    await meterProvider.shutdown()
  })
}

/**
 * What `watchCalls` has registered in this process so far: added, and taken out again. Listeners to
 * retries, throttling and routing stay, of which there are none here.
 */
function watchersOf(end: () => unknown): Observe {
  const registry = (globalThis as unknown as Record<symbol, { together: unknown }>)[Symbol.for('hexline.callWatchers')]
  if (registry?.together === undefined) throw new Error(`${script}: the registry of watchers has another name`)
  const { together } = registry
  endObserving = end
  return (isObserved) => {
    registry.together = isObserved ? together : undefined
  }
}

/**
 * Has V8 compile what makes spans, which by default takes minutes. Not by another `instrument`:
 * programs have one, and V8 compiles the calls of its watchers for that one.
 */
async function compileSpans(provider: TracerProvider): Promise<void> {
  const make = await spansOf(provider)
  for (let calls = 0; calls < COMPILED; calls += 64) {
    make(64)
    await setImmediate()
  }
}

async function spansBySdk(): Promise<Observe> {
  const make = await spansOf(await tracerProviderFor(1, NO_EXPORTER))
  return (isObserved) => {
    makeSpans = isObserved ? make : undefined
  }
}

/** Makes spans as `instrument` does, with the same attributes and links, by the SDK alone. */
async function spansOf(provider: TracerProvider): Promise<(calls: number) => void> {
  const { context, ROOT_CONTEXT, SpanKind, trace } = await import('@opentelemetry/api')
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
  return (calls) => {
    for (let left = calls; left > 0; left -= 64) makeOne(Math.min(left, 64))
  }
}

/** Sends spans as JSON to another process. */
async function exporterToAnotherProcess(): Promise<SpanExporter> {
  const [{ OTLPTraceExporter }, { url, users }] = await Promise.all([import('@opentelemetry/exporter-trace-otlp-http'), startUsers()])
  users.unref()
  users.channel?.unref()
  return new OTLPTraceExporter({ url })
}

/** The SDK, as programs set it up. */
async function tracerProviderFor(ratio: number, exporter: SpanExporter): Promise<TracerProvider> {
  const [{ context, ROOT_CONTEXT, trace }, { AsyncLocalStorageContextManager }, sdk] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/sdk-trace-base'),
  ])
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  // In Node.js 20, promises cost more from the first context on, whoever made it.
  context.with(ROOT_CONTEXT, () => {})
  const sampler = new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) })
  const provider = new sdk.BasicTracerProvider({ sampler, spanProcessors: [new sdk.BatchSpanProcessor(exporter)] })
  trace.setGlobalTracerProvider(provider)
  return provider
}
