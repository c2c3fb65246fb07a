import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  AggregationTemporality,
  type DataPoint,
  type ExponentialHistogram,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  MetricReader,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { createClient, type Post } from 'hexline'
import { instrument } from 'hexline/otel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { reportPostBegun } from '../../../src/rpc/call-watchers.ts'
import { throttleEvents } from '../../../src/rpc/events.ts'
import { clientOf, errorOf, gate, honest, read, refuse, serve } from '../../support/server.ts'

/** Collects when it is asked. */
class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

function measured(
  callDurations = false,
  temporality = AggregationTemporality.CUMULATIVE,
): {
  stop: () => void
  provider: MeterProvider
  points: (name: string) => Promise<readonly DataPoint<number | Histogram | ExponentialHistogram>[]>
} {
  const reader = new Reader({ aggregationTemporalitySelector: () => temporality })
  const provider = new MeterProvider({ readers: [reader] })
  const stop = instrument({ meterProvider: provider, traces: false, callDurations })
  onTestFinished(async () => {
    stop()
    await provider.shutdown()
  })
  return {
    stop,
    provider,
    async points(name) {
      const { resourceMetrics } = await reader.collect()
      const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
      return all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []
    },
  }
}

describe('metrics', () => {
  it('are those of the command, as OpenTelemetry names them', async () => {
    const { points } = measured()
    const server = await serve(honest)
    const client = clientOf(server.url)
    await read(client, 1)
    await read(client, 2)
    const endpoint = `127.0.0.1:${server.port}`
    expect(await points('hexline.calls')).toMatchObject([{ value: 2, attributes: { endpoint, method: 'eth_getBalance', outcome: 'answered', kind: '' } }])
    await read(client, 3)
    expect(await points('hexline.calls')).toMatchObject([{ value: 3 }])
    expect(await points('hexline.posts')).toMatchObject([{ value: 3, attributes: { endpoint, status: '2xx' } }])
    expect(await points('hexline.calls.in_flight')).toMatchObject([{ value: 0, attributes: {} }])
  })

  // With cumulative temporality, the SDK repeats the last value of what is no longer observed.
  it('have the rate of an endpoint only while there is one, where intervals are apart', async () => {
    const { points } = measured(false, AggregationTemporality.DELTA)
    const tell = (callsPerSecond: number | undefined) =>
      throttleEvents.publish({
        ...{ endpoint: 'a:1', kind: undefined, calls: 0, pauseMs: 0, retryAfterMs: undefined, maxCalls: 10, concurrency: 4 },
        callsPerSecond,
      })
    tell(50)
    expect(await points('hexline.limit.rate')).toMatchObject([{ value: 50, attributes: { endpoint: 'a:1' } }])
    tell(undefined)
    expect(await points('hexline.limit.rate')).toEqual([])
    expect(await points('hexline.limit.batch')).toMatchObject([{ value: 10, attributes: { endpoint: 'a:1' } }])
  })

  it('have the sum of the durations of calls, and each duration only if asked for', async () => {
    const { points } = measured()
    const server = await serve(honest)
    await read(clientOf(server.url), 1)
    const sums = await points('hexline.call.duration.sum')
    expect(sums).toMatchObject([{ attributes: { method: 'eth_getBalance' } }])
    expect(sums[0]?.value).toBeGreaterThan(0)
    expect(await points('rpc.client.call.duration')).toEqual([])
  })

  it('have the duration of each POST in the next collection, and the last ones although they have stopped', async () => {
    const { points, stop } = measured()
    const post = (durationMs: number, endpoint = 'node') =>
      reportPostBegun(endpoint, 1, () => [], 1)?.({ endpoint, calls: 1, bytes: 1, durationMs, status: 200, failures: {}, isCut: false })
    const counts = async () => {
      const all = (await points('hexline.post.duration')) as readonly DataPoint<Histogram>[]
      return all.map(({ attributes, value: { count, sum, buckets } }) => [attributes, count, Math.round((sum ?? 0) * 1000), buckets.counts])
    }
    const buckets = (at2Ms: number, at20Ms = 0) => [0, at2Ms, 0, 0, at20Ms, ...Array(12).fill(0)]
    for (let i = 0; i < 3; i++) post(2)
    post(20)
    expect(await counts()).toEqual([[{ endpoint: 'node' }, 4, 26, buckets(3, 1)]])
    for (let i = 0; i < 1000; i++) post(2)
    expect(await counts()).toEqual([[{ endpoint: 'node' }, 1004, 2026, buckets(1003, 1)]])
    post(2)
    post(2, 'other node')
    stop()
    post(2)
    expect(await counts()).toEqual([
      [{ endpoint: 'node' }, 1005, 2028, buckets(1004, 1)],
      [{ endpoint: 'other node' }, 1, 2, buckets(1)],
    ])
  })

  it('have the durations of the POSTs of an interval from the first of them on, where intervals are apart', async () => {
    const reader = new Reader({ aggregationTemporalitySelector: () => AggregationTemporality.DELTA })
    const meterProvider = new MeterProvider({ readers: [reader] })
    onTestFinished(instrument({ meterProvider, traces: false }))
    const point = async () => {
      const { resourceMetrics } = await reader.collect()
      const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
      return all.find(({ descriptor }) => descriptor.name === 'hexline.post.duration')?.dataPoints[0] as DataPoint<Histogram> | undefined
    }
    const msOf = ([seconds, nanos]: readonly [number, number]) => seconds * 1000 + nanos / 1e6
    const post = () =>
      reportPostBegun('node', 1, () => [], 1)?.({ endpoint: 'node', calls: 1, bytes: 1, durationMs: 2, status: 200, failures: {}, isCut: false })
    post()
    await point()
    await point()
    const before = Date.now()
    post()
    const after = Date.now()
    await new Promise((resolve) => setTimeout(resolve, 20))
    post()
    const { value, startTime, endTime } = (await point()) as DataPoint<Histogram>
    expect(value.count).toBe(2)
    expect(msOf(startTime)).toBeGreaterThanOrEqual(before)
    expect(msOf(startTime)).toBeLessThanOrEqual(after + 1)
    expect(msOf(endTime)).toBeGreaterThan(msOf(startTime))
  })

  it('do not count a call that was under way', async () => {
    const subscriber = () => {}
    subscribe('hexline:call', subscriber)
    onTestFinished(() => void unsubscribe('hexline:call', subscriber))
    const held = gate()
    const server = await serve(held.answer)
    const call = read(clientOf(server.url), 1)
    await server.received(1)
    const { points } = measured(true)
    held.open()
    await call
    expect(await points('hexline.calls')).toEqual([])
    expect(await points('hexline.calls.in_flight')).toMatchObject([{ value: 0 }])
    expect(await points('rpc.client.call.duration')).toEqual([])
  })

  it.each([undefined, Number.NaN, '7', {}, -1, 5n])('count no bytes where a post function says that a result has %s', async (bytes) => {
    const { points } = measured()
    const post = (async () => [{ take: () => '0x1', bytes }]) as unknown as Post
    expect(await createClient(post).call('eth_chainId')).toBe(1)
    expect(await points('hexline.result.size')).toMatchObject([{ value: 0 }])
    expect(await points('hexline.received.size')).toMatchObject([{ value: 0 }])
  })

  it('have the duration of each call with attributes of the conventions', async () => {
    const { points } = measured(true)
    const [server, other] = [await serve(honest), await serve(refuse(3, 'execution reverted'))]
    await read(clientOf(server.url), 1)
    await read(clientOf(server.url), 2)
    await errorOf(read(clientOf(other.url), 1))
    await clientOf(server.url).request({ method: 'custom_method' })
    const rpc = { 'rpc.system.name': 'jsonrpc' }
    const durations = await points('rpc.client.call.duration')
    expect(durations.map(({ attributes, value }) => [attributes, (value as Histogram).count])).toEqual([
      [{ ...rpc, 'rpc.method': 'eth_getBalance' }, 2],
      [{ ...rpc, 'rpc.method': 'eth_getBalance', 'error.type': 'execution' }, 1],
      [{ ...rpc, 'rpc.method': '_OTHER' }, 1],
    ])
    const sums = durations.map(({ value }) => (value as Histogram).sum ?? 0)
    for (const sum of sums) expect(sum).toBeGreaterThan(0)
    expect((await points('hexline.post.duration')).map(({ attributes, value }) => [attributes, (value as Histogram).count])).toEqual([
      [{ endpoint: `127.0.0.1:${server.port}` }, 3],
      [{ endpoint: `127.0.0.1:${other.port}` }, 1],
    ])
  })

  it('count nothing after their end, and still give the SDK what they had counted when it is shut down', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const meterProvider = new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })] })
    const stop = instrument({ meterProvider, traces: false, callDurations: true })
    const server = await serve(honest)
    await read(clientOf(server.url), 1)
    stop()
    await read(clientOf(server.url), 2)
    await meterProvider.forceFlush()
    const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
    await meterProvider.shutdown()
    const values = (name: string) => all.find(({ descriptor }) => descriptor.name === name)?.dataPoints.map(({ value }) => value)
    expect(values('hexline.calls')).toEqual([1])
    expect(values('hexline.posts')).toEqual([1])
    expect(values('hexline.received.size')).toEqual([expect.any(Number)])
    expect(values('hexline.call.duration.sum')).toEqual([expect.any(Number)])
    expect(values('hexline.post.duration')).toEqual([expect.objectContaining({ count: 1 })])
    expect(values('rpc.client.call.duration')).toEqual([expect.objectContaining({ count: 1 })])
  })

  it('have nothing in flight after their end', async () => {
    const { points, stop } = measured()
    const held = gate()
    const server = await serve(held.answer)
    const call = read(clientOf(server.url), 1)
    await server.received(1)
    const inFlight = () => Promise.all(['calls', 'posts'].map(async (name) => (await points(`hexline.${name}.in_flight`)).map(({ value }) => value)))
    expect(await inFlight()).toEqual([[1], [1]])
    stop()
    expect(await inFlight()).toEqual([[0], [0]])
    held.open()
    await call
    expect(await inFlight()).toEqual([[0], [0]])
  })

  it.each([AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA])(
    'are counted on with the same provider after their end (%s)',
    async (temporality) => {
      const reader = new Reader({ aggregationTemporalitySelector: () => temporality })
      const meterProvider = new MeterProvider({ readers: [reader] })
      onTestFinished(() => meterProvider.shutdown())
      const server = await serve(honest)
      const client = clientOf(server.url)
      const collected = async () => {
        const { resourceMetrics } = await reader.collect()
        const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
        return ['calls', 'posts', 'calls.in_flight', 'posts.in_flight'].map((name) =>
          all.filter(({ descriptor }) => descriptor.name === `hexline.${name}`).flatMap(({ dataPoints }) => dataPoints.map(({ value }) => value)),
        )
      }
      const isDelta = temporality === AggregationTemporality.DELTA
      const stopFirst = instrument({ meterProvider, traces: false })
      await read(client, 1)
      await read(client, 2)
      stopFirst()
      await read(client, 3)
      // Not collected in between.
      const stopSecond = instrument({ meterProvider, traces: false })
      await read(client, 4)
      stopFirst()
      expect(await collected()).toEqual([[3], [3], [0], [0]])
      stopSecond()
      await read(client, 5)
      const stop = instrument({ meterProvider, traces: false })
      onTestFinished(stop)
      for (let i = 6; i < 11; i++) await read(client, i)
      expect(await collected()).toEqual([[isDelta ? 5 : 8], [isDelta ? 5 : 8], [0], [0]])
    },
  )

  it('do not count a POST that was under way at their end, when they are counted on', async () => {
    const { points, stop, provider } = measured()
    const held = gate()
    const server = await serve(held.answer)
    const call = read(clientOf(server.url), 1)
    await server.received(1)
    stop()
    onTestFinished(instrument({ meterProvider: provider, traces: false }))
    held.open()
    await call
    expect(await points('hexline.posts')).toEqual([])
    expect(await points('hexline.posts.in_flight')).toMatchObject([{ value: 0 }])
    expect(await points('hexline.calls.in_flight')).toMatchObject([{ value: 0 }])
  })
})
