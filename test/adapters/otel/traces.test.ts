import { channel } from 'node:diagnostics_channel'
import { context, ROOT_CONTEXT, type Span, type Tracer, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { type InstrumentOptions, instrument } from 'hexline/otel'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { reportBegun, reportEnded, reportPostBegun } from '../../../src/rpc/call-watchers.ts'
import { node } from '../../support/node.ts'
import { type OtlpReceiver, type OtlpSpan, startOtlpReceiver } from '../../support/otlp-receiver.ts'
import { always, clientOf, cut, errorOf, honest, read, refuse, serve, silent } from '../../support/server.ts'

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())

interface Traced {
  readonly receiver: OtlpReceiver
  readonly tracer: Tracer
  readonly stop: () => void
  /** What has come, after everything was sent. */
  readonly spans: () => Promise<{ calls: OtlpSpan[]; posts: OtlpSpan[]; others: OtlpSpan[] }>
}

/** A call begins, and has ended. */
function reportCall(priority: 'interactive' | 'bulk', now: number): void {
  reportBegun(1, 'eth_call', priority, now)
  reportEnded(1, 'eth_call', 'answered', 'node', 1, 5, 40, undefined)
}

/** Traces into memory, until the test ends. */
function tracedInMemory(options: InstrumentOptions): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  onTestFinished(instrument({ tracerProvider, metrics: false, ...options }))
  return exporter
}

/** The real SDK, which sends spans to a receiver. */
async function traced(sampler?: Sampler, options: { sample?: number; tracedPerSecond?: number } = {}): Promise<Traced> {
  const receiver = await startOtlpReceiver()
  const provider = new BasicTracerProvider({
    ...(sampler && { sampler }),
    spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: receiver.url }))],
  })
  const stop = instrument({ tracerProvider: provider, metrics: false, ...options })
  onTestFinished(async () => {
    stop()
    await provider.shutdown()
  })
  return {
    receiver,
    tracer: provider.getTracer('test'),
    stop,
    async spans() {
      await provider.forceFlush()
      const posts = receiver.spans.filter(({ name }) => name === 'hexline POST')
      const calls = receiver.spans.filter((span) => 'hexline.outcome' in span.attributes)
      return { calls, posts, others: receiver.spans.filter((span) => !posts.includes(span) && !calls.includes(span)) }
    },
  }
}

const idOf = ({ traceId, spanId }: OtlpSpan) => ({ traceId, spanId })
const bySpanId = (spans: readonly { readonly traceId: string; readonly spanId: string }[]) => spans.toSorted((a, b) => (a.spanId < b.spanId ? -1 : 1))

describe('spans', () => {
  it('of a call and its POST, with the attributes of the conventions', async () => {
    const { spans } = await traced()
    const server = await serve(honest)
    await read(clientOf(server.url), 1)
    const { calls, posts } = await spans()
    const [call, post] = [calls[0] as OtlpSpan, posts[0] as OtlpSpan]
    const place = { 'server.address': '127.0.0.1', 'server.port': server.port, 'hexline.endpoint': `127.0.0.1:${server.port}` }
    const rpc = { 'rpc.system.name': 'jsonrpc', 'jsonrpc.protocol.version': '2.0' }
    expect(call).toMatchObject({ name: 'eth_getBalance', kind: 3, status: { code: 0 } })
    expect(call.attributes).toEqual({
      ...rpc,
      ...place,
      'rpc.method': 'eth_getBalance',
      'hexline.priority': 'interactive',
      'hexline.attempts': 1,
      'hexline.outcome': 'answered',
      'hexline.result.size': expect.any(Number),
    })
    expect(post).toMatchObject({ name: 'hexline POST', kind: 3, status: { code: 0 } })
    expect(post.attributes).toEqual({
      ...rpc,
      ...place,
      'hexline.calls': 1,
      'hexline.failed_calls': 0,
      'hexline.reply.size': expect.any(Number),
      'http.response.status_code': 200,
    })
    expect([calls.length, posts.length]).toEqual([1, 1])
    expect(call.parentSpanId ?? '').toBe('')
    expect(post.parentSpanId).toBe(call.spanId)
  })

  it('of calls are children of the span that is active where each is made, though one POST carries them', async () => {
    const { spans, tracer } = await traced()
    const server = await serve(honest)
    const client = clientOf(server.url)
    await Promise.all(
      [1, 2].map((i) =>
        tracer.startActiveSpan(`request ${i}`, async (span) => {
          await read(client, i)
          span.end()
        }),
      ),
    )
    const { calls, posts, others } = await spans()
    expect(posts).toHaveLength(1)
    expect(new Set(calls.map(({ traceId, parentSpanId }) => `${traceId} ${parentSpanId}`))).toEqual(
      new Set(others.map(({ traceId, spanId }) => `${traceId} ${spanId}`)),
    )
    const post = posts[0] as OtlpSpan
    expect(bySpanId(post.links)).toEqual(bySpanId(calls.map(idOf)))
    for (const { links } of calls) expect(links).toEqual([idOf(post)])
    // The first call that it carries is its parent.
    const first = calls.find(({ spanId }) => spanId === post.links[0]?.spanId) as OtlpSpan
    expect([post.traceId, post.parentSpanId]).toEqual([first.traceId, first.spanId])
  })

  it('of a call that was repeated link to all its POSTs', async () => {
    const { spans } = await traced()
    const server = await serve(always('', { status: 503 }), cut, honest)
    await read(clientOf(server.url), 1)
    const { calls, posts } = await spans()
    const call = calls[0] as OtlpSpan
    expect(call.links).toEqual(posts.map(idOf))
    expect(call.attributes).toMatchObject({ 'hexline.attempts': 3, 'hexline.outcome': 'answered' })
    expect(call.attributes).not.toHaveProperty('error.type')
    expect(posts.map(({ attributes, status }) => [attributes['error.type'], attributes['http.response.status_code'], status.code])).toEqual([
      ['server', 503, 2],
      ['network', undefined, 2],
      [undefined, 200, 0],
    ])
  })

  it('of joined calls all link to their POST', async () => {
    const { spans } = await traced()
    const server = await serve(honest)
    const client = clientOf(server.url)
    await Promise.all([read(client, 1), read(client, 1)])
    const { calls, posts } = await spans()
    expect(posts).toMatchObject([{ attributes: { 'hexline.calls': 1 } }])
    expect(bySpanId(posts[0]?.links ?? [])).toEqual(bySpanId(calls.map(idOf)))
    for (const { links } of calls) expect(links).toEqual([idOf(posts[0] as OtlpSpan)])
  })

  it('say why a call failed: the kind, and the code of the node', async () => {
    const { spans, receiver } = await traced()
    const server = await serve(refuse(3, 'execution reverted: private words'))
    await errorOf(read(clientOf(server.url), 1))
    const { calls, posts } = await spans()
    expect(calls).toMatchObject([
      { status: { code: 2 }, attributes: { 'error.type': 'execution', 'rpc.response.status_code': '3', 'hexline.outcome': 'failed' } },
    ])
    expect(posts).toMatchObject([{ status: { code: 2 }, attributes: { 'error.type': 'execution', 'hexline.failed_calls': 1 } }])
    expect(receiver.text()).not.toContain('private words')
  })

  it('of a call that its caller aborts are no errors', async () => {
    const { spans } = await traced()
    const server = await serve(silent)
    const aborter = new AbortController()
    const call = Promise.allSettled([read(clientOf(server.url).with({ signal: aborter.signal }), 1)])
    await server.received(1)
    aborter.abort()
    await call
    await expect.poll(async () => (await spans()).posts.length).toBe(1)
    const { calls, posts } = await spans()
    for (const span of [...calls, ...posts]) expect([span.status.code, span.attributes['error.type']]).toEqual([0, 'aborted'])
  })

  it('name methods beyond the table by the protocol', async () => {
    const { spans } = await traced()
    const server = await serve(honest)
    await clientOf(server.url).request({ method: 'custom_method' })
    const { calls } = await spans()
    expect(calls).toMatchObject([{ name: 'jsonrpc', attributes: { 'rpc.method': '_OTHER', 'rpc.method_original': 'custom_method' } }])
  })

  it('of POSTs follow the sampling of the calls that they carry', async () => {
    const { spans, tracer } = await traced(new ParentBasedSampler({ root: new AlwaysOffSampler() }))
    const server = await serve(honest)
    const client = clientOf(server.url)
    const sampled = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1, isRemote: true }
    await Promise.all([
      read(client, 1),
      context.with(trace.setSpanContext(context.active(), sampled), () => read(client, 2)),
      tracer.startActiveSpan('not sampled', () => read(client, 3)),
    ])
    await read(client, 4)
    const { calls, posts } = await spans()
    expect(calls).toMatchObject([{ traceId: sampled.traceId, parentSpanId: sampled.spanId }])
    expect(posts).toMatchObject([{ traceId: sampled.traceId, parentSpanId: calls[0]?.spanId, attributes: { 'hexline.calls': 3 } }])
    expect(posts[0]?.links).toEqual(calls.map(idOf))
  })

  it('of POSTs without a sampled call are not made, but for those of hexline’s own', async () => {
    const asked: string[] = []
    const { spans } = await traced({
      shouldSample(_context, _traceId, name) {
        asked.push(name)
        return { decision: name === 'eth_getBalance' ? SamplingDecision.NOT_RECORD : SamplingDecision.RECORD_AND_SAMPLED }
      },
      toString: () => 'all but balances',
    })
    const servers = [await serve(node()), await serve(node())] as const
    const client = clientOf([servers[0].url, servers[1].url])
    await Promise.all([read(client, 1), read(client, 2)])
    const own = () => servers.flatMap(({ requests }) => requests).filter(({ entries }) => entries.every(({ method }) => method !== 'eth_getBalance'))
    const asks = (of: string) => asked.filter((name) => name === of).length
    // Not one more has been asked for, nor begun.
    let posts: readonly OtlpSpan[] = []
    await expect
      .poll(async () => {
        posts = (await spans()).posts
        return posts.length > 0 && posts.length === own().length && posts.length === asks('hexline POST')
      })
      .toBe(true)
    expect((await spans()).calls).toEqual([])
    expect(asks('eth_getBalance')).toBe(2)
    for (const { parentSpanId, links } of posts) expect([parentSpanId ?? '', links]).toEqual(['', []])
  })

  it('are made of a share of the calls without an active span, and of all calls within a sampled one', async () => {
    const asked: string[] = []
    const countingSampler: Sampler = {
      shouldSample(_context, _traceId, name) {
        asked.push(name)
        return { decision: SamplingDecision.RECORD_AND_SAMPLED }
      },
      toString: () => 'counting',
    }
    const { spans } = await traced(countingSampler, { sample: 0.5 })
    const server = await serve(honest)
    const client = clientOf(server.url)
    const within = (traceFlags: number, call: () => Promise<unknown>) =>
      context.with(trace.setSpanContext(context.active(), { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags }), call)
    const random = vi.spyOn(Math, 'random')
    onTestFinished(() => random.mockRestore())
    random.mockReturnValueOnce(0.5)
    await read(client, 1)
    await within(0, () => read(client, 2))
    expect(asked).toEqual([])
    random.mockReturnValueOnce(0.49)
    await read(client, 3)
    random.mockReturnValueOnce(0.5)
    await Promise.all([read(client, 4), within(1, () => read(client, 5))])
    const { calls, posts } = await spans()
    expect(calls.map(({ traceId }) => traceId === '1'.repeat(32))).toEqual([false, true])
    expect(posts.map(({ links, attributes }) => [links, attributes['hexline.calls']])).toEqual([
      [[idOf(calls[0] as OtlpSpan)], 1],
      [[idOf(calls[1] as OtlpSpan)], 2],
    ])
    expect(asked).toHaveLength(4)
  })

  it.each<[string, number | undefined, number, number]>([
    ['a hundred at once, then as many per second', undefined, 100, 100],
    ['ten', 10, 10, 10],
    ['one', 1, 1, 1],
    ['all', Number.POSITIVE_INFINITY, 1200, 0],
  ])('are made of a number of calls per second: %s', (_, tracedPerSecond, atOnce, perSecond) => {
    const exporter = tracedInMemory(tracedPerSecond === undefined ? {} : { tracedPerSecond })
    const call = (now: number) => reportCall('interactive', now)
    for (let i = 0; i < 1200; i++) call(1000)
    expect(exporter.getFinishedSpans()).toHaveLength(atOnce)
    for (let now = 1000; now <= 3100; now++) call(now)
    const later = exporter.getFinishedSpans().length - atOnce
    // What comes in is used within a tenth of a second.
    const [least, most] = perSecond === 0 ? [2101, 2101] : [2 * perSecond, 2.1 * perSecond]
    expect(later).toBeGreaterThanOrEqual(least)
    expect(later).toBeLessThanOrEqual(most)
  })

  it('are made together, ten times a second at most, while there are more calls', () => {
    const exporter = tracedInMemory({})
    const times: number[] = []
    for (let now = 1000; now <= 3000; now++) {
      const before = exporter.getFinishedSpans().length
      for (let i = 0; i < 10; i++) reportCall('interactive', now)
      if (exporter.getFinishedSpans().length > before) times.push(now)
    }
    const [first = 0, ...others] = times.filter((time, i) => time - (times[i - 1] ?? 0) > 1)
    expect(first).toBe(1000)
    expect(others.length).toBeGreaterThanOrEqual(18)
    others.reduce((last, time) => {
      expect(time - last).toBeGreaterThanOrEqual(100)
      return time
    }, first)
    expect(exporter.getFinishedSpans().length).toBeGreaterThanOrEqual(100 + 190)
    expect(exporter.getFinishedSpans().length).toBeLessThanOrEqual(100 + 200)
  })

  it('within a sampled span are made of five times as many interactive calls, besides those of all calls', () => {
    const exporter = tracedInMemory({ tracedPerSecond: 4 })
    const sampled = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }
    const within = trace.setSpanContext(context.active(), sampled)
    // Those outside any span are among the four of all calls.
    reportCall('interactive', 1)
    context.with(within, () => {
      reportCall('bulk', 1)
      for (let i = 0; i < 40; i++) reportCall('interactive', 1)
      reportCall('bulk', 1)
    })
    reportCall('interactive', 1)
    // A tenth of a second later, two more, and none of the others.
    context.with(within, () => {
      for (let i = 0; i < 5; i++) reportCall('interactive', 101)
      reportCall('bulk', 101)
    })
    reportCall('interactive', 101)
    const priorities = exporter.getFinishedSpans().map(({ attributes }) => attributes['hexline.priority'])
    expect(priorities).toEqual(['interactive', 'bulk', ...Array(20 + 2).fill('interactive'), ...Array(2).fill('interactive')])
  })

  it('are looked for around a hundred times as many calls as get them, at most', () => {
    const exporter = tracedInMemory({ tracedPerSecond: 10 })
    const lookUps = vi.spyOn(context, 'active')
    onTestFinished(() => lookUps.mockRestore())
    for (let i = 0; i < 5000; i++) reportCall('interactive', 1000)
    // One by the SDK for each span.
    expect(lookUps).toHaveBeenCalledTimes(1000 + 10)
    const sampled = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }
    const within = trace.setSpanContext(ROOT_CONTEXT, sampled)
    context.with(within, () => reportCall('interactive', 1099))
    expect(exporter.getFinishedSpans()).toHaveLength(10)
    context.with(within, () => reportCall('interactive', 1100))
    expect(exporter.getFinishedSpans()).toHaveLength(11)
    for (let i = 0; i < 5000; i++) reportCall('interactive', 1100)
    expect(lookUps).toHaveBeenCalledTimes(1100 + 10 + 1 + 1)
  })

  it('are looked for around interactive calls, whatever bulk calls there are', () => {
    const exporter = tracedInMemory({ tracedPerSecond: 1 })
    for (let i = 0; i < 5000; i++) reportCall('bulk', 1)
    const sampled = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }
    context.with(trace.setSpanContext(ROOT_CONTEXT, sampled), () => reportCall('interactive', 1))
    expect(exporter.getFinishedSpans().map(({ attributes }) => attributes['hexline.priority'])).toEqual(['bulk', 'interactive'])
  })

  it('of hexline’s own POSTs are made while no more calls are looked at', () => {
    const exporter = tracedInMemory({ tracedPerSecond: 2 })
    const notSampled = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 0 }
    context.with(trace.setSpanContext(ROOT_CONTEXT, notSampled), () => {
      for (let i = 0; i < 5000; i++) reportCall('interactive', 1)
    })
    for (let i = 0; i < 4; i++)
      reportPostBegun('node', 1, () => [], 1)?.({ endpoint: 'node', calls: 1, bytes: 1, durationMs: 1, status: 200, failures: {}, isCut: false })
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['hexline POST', 'hexline POST'])
  })

  it('are made of all calls within a sampled span where nothing is limited', () => {
    const exporter = tracedInMemory({ tracedPerSecond: Number.POSITIVE_INFINITY, sample: 0 })
    const sampled = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }
    context.with(trace.setSpanContext(context.active(), sampled), () => {
      for (let i = 0; i < 1200; i++) reportCall('interactive', 1)
      reportCall('bulk', 1)
    })
    reportCall('interactive', 1)
    expect(exporter.getFinishedSpans()).toHaveLength(1201)
  })

  it('are made of no call within a span that is not sampled, which does not count', async () => {
    const notSampled = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 0 }
    const call = () => reportCall('interactive', 1)
    const { spans } = await traced(undefined, { tracedPerSecond: 2 })
    context.with(trace.setSpanContext(context.active(), notSampled), () => {
      for (let i = 0; i < 5; i++) call()
    })
    call()
    call()
    expect((await spans()).calls.map(({ traceId }) => traceId === notSampled.traceId)).toEqual([false, false])
  })

  it('of hexline’s own POSTs count as well', async () => {
    const { spans } = await traced(undefined, { tracedPerSecond: 2 })
    for (let i = 0; i < 4; i++)
      reportPostBegun('node', 1, () => [], 1)?.({ endpoint: 'node', calls: 1, bytes: 1, durationMs: 1, status: 200, failures: {}, isCut: false })
    expect((await spans()).posts).toHaveLength(2)
  })

  it('of calls have no links where the tracer is older than these', () => {
    const exporter = new InMemorySpanExporter()
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
    const older = (span: Span): Span => Object.assign(span, { addLink: undefined })
    const tracer = provider.getTracer('older')
    const tracerProvider = { getTracer: () => ({ startSpan: (...args: Parameters<Tracer['startSpan']>) => older(tracer.startSpan(...args)) }) as Tracer }
    onTestFinished(instrument({ metrics: false, tracerProvider }))
    reportBegun(1, 'eth_call', 'bulk', 1)
    reportPostBegun('node', 1, () => [1], 1)?.({ endpoint: 'node', calls: 1, bytes: 1, durationMs: 1, status: 200, failures: {}, isCut: false })
    reportEnded(1, 'eth_call', 'answered', 'node', 1, 5, 40, undefined)
    expect(exporter.getFinishedSpans().map(({ name, links }) => [name, links.length])).toEqual([
      ['hexline POST', 1],
      ['eth_call', 0],
    ])
  })

  it('contain no path, key, param or result', async () => {
    const { spans, receiver } = await traced()
    const key = '0123456789abcdef0123456789abcdef'
    const server = await serve(honest)
    const client = clientOf({ url: `http://user:${key}@127.0.0.1:${server.port}/${key}?apikey=${key}`, headers: { 'x-api-key': key } })
    await read(client, '0xfeedfacefeedfacefeedfacefeedfacefeedface')
    expect((await spans()).calls).toHaveLength(1)
    for (const secret of [key, 'feedface', 'apikey', 'user']) expect(receiver.text()).not.toContain(secret)
  })

  it('end with the instrumentation, which leaves no listener', async () => {
    const { spans, stop } = await traced()
    const server = await serve(silent)
    const aborter = new AbortController()
    const call = Promise.allSettled([read(clientOf(server.url).with({ signal: aborter.signal }), 1)])
    await server.received(1)
    stop()
    stop()
    expect((await spans()).posts).toHaveLength(1)
    aborter.abort()
    await call
    expect((await spans()).others.map(({ name }) => name)).toEqual(['eth_getBalance'])
    for (const name of ['call:start', 'call', 'post:start', 'post']) expect(channel(`hexline:${name}`).hasSubscribers).toBe(false)
  })
})
