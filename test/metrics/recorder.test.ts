import { channel } from 'node:diagnostics_channel'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Call, createClient, type Post, replyOf } from '../../src/index.ts'
import { endpointLabels } from '../../src/metrics/figures.ts'
import { prometheusText } from '../../src/metrics/prometheus.ts'
import { type Recorder, record } from '../../src/metrics/recorder.ts'
import { throttleEvents } from '../../src/rpc/events.ts'
import { node } from '../support/node.ts'
import { always, clientOf, cut, errorOf, honest, read, refuse, serve, silent } from '../support/server.ts'

const hostOf = ({ url }: { url: string }) => new URL(url).host

function recorded(): Recorder {
  const recorder = record()
  onTestFinished(() => recorder.stop())
  return recorder
}

/** The values of a metric, by its labels joined with blanks. */
function valuesOf({ metrics }: Recorder, name: string): Record<string, number> {
  const metric = metrics.find((each) => each.name === name)
  if (metric === undefined) throw new Error(`there is no ${name}`)
  if (metric.type !== 'histogram') return Object.fromEntries([...metric.series].map(([labels, { value }]) => [labels.join(' '), value]))
  return Object.fromEntries([...metric.series].map(([labels, { counts }]) => [labels.join(' '), counts.reduce((sum, each) => sum + each)]))
}

describe('metrics', () => {
  it('count calls by endpoint, method, outcome and kind, and measure them', async () => {
    const recorder = recorded()
    const [server, other] = [await serve(honest), await serve(refuse(3, 'execution reverted'))]
    const client = clientOf(server.url)
    for (let i = 0; i < 3; i++) await read(client, i)
    await client.request({ method: 'custom_method' })
    await errorOf(read(clientOf(other.url), 1))
    await read(client, 9)
    const endpoint = hostOf(server)
    expect(valuesOf(recorder, 'calls')).toEqual({
      [`${endpoint} eth_getBalance answered `]: 4,
      [`${endpoint} other answered `]: 1,
      [`${hostOf(other)} eth_getBalance failed execution`]: 1,
    })
    expect(valuesOf(recorder, 'call.duration')).toEqual({ eth_getBalance: 5, other: 1 })
    expect(valuesOf(recorder, 'result.size').eth_getBalance).toBeGreaterThan(0)
    expect(valuesOf(recorder, 'post.failed_calls')).toEqual({ [`${hostOf(other)} execution`]: 1 })
  })

  it('count POSTs by the class of their status, their calls and their bytes, and retries', async () => {
    const recorder = recorded()
    const server = await serve(always('', { status: 503 }), cut, honest)
    const client = clientOf(server.url)
    await Promise.all([read(client, 1), read(client, 2)])
    const endpoint = hostOf(server)
    const posts = valuesOf(recorder, 'posts')
    expect(posts).toMatchObject({ [`${endpoint} 5xx`]: 1, [`${endpoint} none`]: 1 })
    expect(posts[`${endpoint} 2xx`]).toBeGreaterThan(0)
    expect(valuesOf(recorder, 'post.duration')[endpoint]).toBe(Object.values(posts).reduce((sum, each) => sum + each))
    expect(valuesOf(recorder, 'post.calls')[endpoint]).toBe(server.requests.reduce((sum, { entries }) => sum + entries.length, 0))
    expect(valuesOf(recorder, 'retries')[`${endpoint} server`]).toBe(2)
    expect(valuesOf(recorder, 'received.size')[endpoint]).toBeGreaterThan(0)
  })

  it('have all POSTs whenever they are read, and all after their end', async () => {
    const recorder = recorded()
    const client = createClient((async (calls) => calls.map(() => replyOf('0x1', 3))) satisfies Post)
    const read = async (times: number) => {
      for (let i = 0; i < times; i++) await client.request({ method: 'eth_chainId' })
    }
    const all = () => ['posts', 'post.duration', 'post.calls'].map((name) => Object.values(valuesOf(recorder, name)))
    await read(2)
    expect(all()).toEqual([[2], [2], [2]])
    await read(600)
    expect(all()).toEqual([[602], [602], [602]])
    await read(3)
    recorder.stop()
    expect(all()).toEqual([[605], [605], [605]])
  })

  it('count throttling, and have the limits that it has led to', async () => {
    const recorder = recorded()
    const server = await serve(refuse(-32005, 'rate limited', { status: 429, headers: { 'retry-after': '0' } }), honest)
    await read(clientOf(server.url), 1)
    const endpoint = hostOf(server)
    expect(valuesOf(recorder, 'throttles')).toEqual({ [`${endpoint} rate-limit`]: 1 })
    expect(valuesOf(recorder, 'limit.batch')[endpoint]).toBeGreaterThan(0)
    expect(valuesOf(recorder, 'limit.concurrency')[endpoint]).toBeGreaterThan(0)
  })

  it('have a rate only while there is one', () => {
    const recorder = recorded()
    const tell = (endpoint: string, callsPerSecond: number | undefined) =>
      throttleEvents.publish({
        ...{ endpoint, kind: undefined, calls: 0, pauseMs: 0, retryAfterMs: undefined, maxCalls: 10, concurrency: 4 },
        callsPerSecond,
      })
    tell('a:1', 50)
    tell('b:1', 70)
    expect(valuesOf(recorder, 'limit.rate')).toEqual({ 'a:1': 50, 'b:1': 70 })
    tell('a:1', undefined)
    tell('c:1', undefined)
    expect(valuesOf(recorder, 'limit.rate')).toEqual({ 'b:1': 70 })
    expect(prometheusText(recorder.metrics)).not.toMatch(/limit_rate\S*a:1/)
    expect(valuesOf(recorder, 'limit.batch')).toEqual({ 'a:1': 10, 'b:1': 10, 'c:1': 10 })
    tell('a:1', 30)
    expect(valuesOf(recorder, 'limit.rate')).toEqual({ 'b:1': 70, 'a:1': 30 })
  })

  it('count what routing does', async () => {
    const recorder = recorded()
    const [main, dead] = [await serve(node()), await serve(always('', { status: 401 }))]
    const client = clientOf([dead.url, main.url])
    for (let i = 0; i < 5; i++) await Promise.allSettled(Array.from({ length: 20 }, (_, j) => read(client.with({ priority: 'bulk' }), i, j)))
    expect(valuesOf(recorder, 'route.changes')[`${hostOf(dead)} left-out`]).toBeGreaterThan(0)
  })

  it('have calls and POSTs in flight, without those that were on their way before', async () => {
    const server = await serve(silent)
    const before = recorded()
    const aborter = new AbortController()
    const client = clientOf(server.url).with({ signal: aborter.signal })
    const calls = Promise.allSettled([read(client, 1), read(client, 2)])
    await server.received(1)
    const later = recorded()
    expect(valuesOf(before, 'calls.in_flight')).toEqual({ '': 2 })
    expect(valuesOf(before, 'posts.in_flight')).toEqual({ '': 1 })
    expect(valuesOf(later, 'calls.in_flight')).toEqual({ '': 0 })
    aborter.abort()
    await calls
    await expect.poll(() => valuesOf(before, 'posts.in_flight')).toEqual({ '': 0 })
    for (const recorder of [before, later]) expect(valuesOf(recorder, 'calls.in_flight')).toEqual({ '': 0 })
    expect(valuesOf(later, 'posts.in_flight')).toEqual({ '': 0 })
    expect(valuesOf(before, 'posts')).toEqual({ [`${hostOf(server)} cut`]: 1 })
  })

  it('count the calls of each endpoint, when they take turns, and share a label beyond the first hundred', async () => {
    const recorder = recorded()
    const clients = Array.from({ length: 120 }, (_, i) => {
      const post = { [`node${i}`]: async (calls: readonly Call[]) => calls.map(() => replyOf('0x1', 3)) }[`node${i}`] as Post
      return createClient(post)
    })
    for (let round = 0; round < 2; round++) for (const client of clients) await read(client, round)
    const counts = valuesOf(recorder, 'calls')
    expect(Object.keys(counts)).toHaveLength(101)
    for (const i of [0, 1, 99]) expect(counts[`node${i} eth_getBalance answered `]).toBe(2)
    expect(counts['other eth_getBalance answered ']).toBe(40)
  })

  it('count nothing more after their end, and leave no listener', async () => {
    const server = await serve(honest)
    // Other tests may have left some.
    const listeners = () => ['call', 'post', 'retry', 'throttle', 'route'].map((name) => channel(`hexline:${name}`).hasSubscribers)
    const before = listeners()
    const recorder = record()
    recorder.stop()
    recorder.stop()
    await read(clientOf(server.url), 1)
    expect(valuesOf(recorder, 'calls')).toEqual({})
    expect(listeners()).toEqual(before)
  })
})

it('endpoints beyond the first hundred share a label', () => {
  const labelOf = endpointLabels()
  const labels = Array.from({ length: 150 }, (_, i) => labelOf(`node${i}:8545`))
  expect(new Set(labels).size).toBe(101)
  expect(labels[100]).toBe('other')
  expect(labelOf('node99:8545')).toBe('node99:8545')
  expect(labelOf(undefined)).toBe('')
})
