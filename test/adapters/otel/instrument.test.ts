import { channel } from 'node:diagnostics_channel'
import { metrics, trace } from '@opentelemetry/api'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { OptionError } from 'hexline'
import { instrument } from 'hexline/otel'
import { expect, onTestFinished, test, vi } from 'vitest'
import { areCallsWatched } from '../../../src/rpc/call-watchers.ts'
import { clientOf, errorOf, honest, read, serve, silent } from '../../support/server.ts'

test('uses the providers that are registered globally', async () => {
  const [spans, measured] = [new InMemorySpanExporter(), new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)]
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 })] })
  trace.setGlobalTracerProvider(tracerProvider)
  metrics.setGlobalMeterProvider(meterProvider)
  const stop = instrument()
  onTestFinished(async () => {
    stop()
    trace.disable()
    metrics.disable()
    await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()])
  })
  const server = await serve(honest)
  await read(clientOf(server.url), 1)
  await Promise.all([tracerProvider.forceFlush(), meterProvider.forceFlush()])
  expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(['hexline POST', 'eth_getBalance'])
  const scopes = measured.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
  expect(scopes.map(({ scope }) => scope.name)).toEqual(['hexline'])
})

test('does nothing without a reason: without an SDK, or with both switched off', async () => {
  const stop = instrument({ traces: false, metrics: false })
  for (const name of ['call:start', 'call', 'post:start', 'post', 'retry']) expect(channel(`hexline:${name}`).hasSubscribers).toBe(false)
  stop()
  // The API's own providers do nothing.
  const stopNothing = instrument()
  const server = await serve(honest)
  await read(clientOf(server.url), 1)
  stopNothing()
  expect(channel('hexline:call').hasSubscribers).toBe(false)
})

test('refuses a provider that it reports to already, where each span and figure would be there twice', async () => {
  const [tracerProvider, meterProvider] = [new BasicTracerProvider(), new MeterProvider()]
  const stop = instrument({ tracerProvider, meterProvider })
  onTestFinished(stop)
  expect(() => instrument({ tracerProvider })).toThrow('tracerProvider: expected a provider that no running instrument() uses, received one in use')
  expect(() => instrument({ traces: false, meterProvider })).toThrow('meterProvider: expected a provider that no running instrument() uses')
  // Nothing was begun by the one that was refused, and others are no concern of it.
  const stopOther = instrument({ tracerProvider: new BasicTracerProvider(), meterProvider: new MeterProvider() })
  stop()
  const stopAgain = instrument({ tracerProvider, meterProvider })
  stop()
  expect(() => instrument({ tracerProvider })).toThrow(OptionError)
  stopAgain()
  // One of the two signals leaves the other to somebody else.
  for (const each of [stopOther, instrument({ tracerProvider, metrics: false }), instrument({ meterProvider, traces: false })]) each()
})

test('knows the provider that is registered after it, and what the other build uses', async () => {
  const tracerProvider = new BasicTracerProvider()
  const stop = instrument({ metrics: false })
  onTestFinished(() => {
    stop()
    trace.disable()
  })
  expect(() => instrument({ metrics: false })).toThrow(OptionError)
  trace.setGlobalTracerProvider(tracerProvider)
  expect(() => instrument({ tracerProvider, metrics: false })).toThrow(OptionError)
  vi.resetModules()
  const { instrument: ofOtherBuild } = await import('hexline/otel')
  expect(ofOtherBuild).not.toBe(instrument)
  expect(() => ofOtherBuild({ tracerProvider, metrics: false })).toThrow('tracerProvider: expected a provider that no running')
})

test.each<[object, string]>([
  [{ trace: true }, 'trace'],
  [{ traces: 'yes' }, 'traces'],
  [{ tracedPerSecond: 0 }, 'tracedPerSecond'],
  [{ tracedPerSecond: '100' }, 'tracedPerSecond'],
  [{ tracedPerSecond: Number.NaN }, 'tracedPerSecond'],
  [{ sample: 1.5 }, 'sample'],
  [{ sample: '0.1' }, 'sample'],
  [{ metrics: 1 }, 'metrics'],
  [{ callDurations: 'all' }, 'callDurations'],
  [{ tracerProvider: {} }, 'tracerProvider'],
  [{ meterProvider: null }, 'meterProvider'],
])('refuses %o', (options, named) => {
  expect(() => instrument(options as never)).toThrow(OptionError)
  expect(() => instrument(options as never)).toThrow(named)
  expect(channel('hexline:call').hasSubscribers).toBe(false)
})

const fails = (): never => {
  throw new Error('of the SDK')
}

test.each(['createHistogram', 'createObservableCounter', 'addBatchObservableCallback'] as const)(
  'that fails by %s has begun nothing, and may be called again',
  async (method) => {
    const spans = new InMemorySpanExporter()
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
    const meterProvider = new MeterProvider()
    const broken = { getMeter: (name: string) => Object.assign(Object.create(meterProvider.getMeter(name)), { [method]: fails }) }
    expect(() => instrument({ tracerProvider, meterProvider: broken, callDurations: true })).toThrow('of the SDK')
    expect(areCallsWatched()).toBe(false)
    const stop = instrument({ tracerProvider, meterProvider: broken, metrics: false })
    await read(clientOf((await serve(honest)).url), 1)
    stop()
    expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(['hexline POST', 'eth_getBalance'])
  },
)

test('is stopped altogether though a span processor throws, and stop() says so', async () => {
  const ended: string[] = []
  const tracerProvider = new BasicTracerProvider({
    spanProcessors: [{ onStart() {}, onEnd: ({ name }) => void (ended.push(name) && fails()), forceFlush: async () => {}, shutdown: async () => {} }],
  })
  const meterProvider = new MeterProvider()
  const stop = instrument({ tracerProvider, meterProvider })
  const server = await serve(silent)
  const client = clientOf(server.url)
  const calls = [1, 2].map((n) => errorOf(read(client, n)))
  await server.received(1)
  expect(stop).toThrow('of the SDK')
  expect(ended.toSorted()).toEqual(['eth_getBalance', 'eth_getBalance', 'hexline POST'])
  expect(areCallsWatched()).toBe(false)
  stop()
  instrument({ tracerProvider, meterProvider })()
  await client.close()
  await Promise.all(calls)
})
