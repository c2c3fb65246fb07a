import channels from 'node:diagnostics_channel'
import { readdirSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { context, trace } from '@opentelemetry/api'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import type { Events } from '../../src/index.ts'
import { startDatasetChain } from '../support/dataset-chain.ts'
import { eventsOf } from '../support/events.ts'
import { node } from '../support/node.ts'
import { startOtlpReceiver } from '../support/otlp-receiver.ts'
import { always, clientOf, cut, honest, read, refuse, serve } from '../support/server.ts'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/observability.md', root), 'utf8')
const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code as string)

// The examples listen, and print at intervals, as long as their program runs, which here is that of
// other tests, too.
const { subscribe } = channels
const subscribed: Parameters<typeof subscribe>[] = []
const intervals: NodeJS.Timeout[] = []
const { setInterval: every } = globalThis
beforeAll(() => {
  vi.spyOn(globalThis, 'setInterval').mockImplementation(((...started: Parameters<typeof every>) => {
    const interval = every(...started)
    intervals.push(interval)
    return interval
  }) as typeof every)
  channels.subscribe = (...listening) => {
    subscribed.push(listening)
    subscribe(...listening)
  }
  syncBuiltinESMExports()
})
afterAll(() => {
  for (const interval of intervals) clearInterval(interval)
  vi.restoreAllMocks()
  for (const listening of subscribed) channels.unsubscribe(...listening)
  channels.subscribe = subscribe
  syncBuiltinESMExports()
})

/** Collects the output of an example from now on. */
function printed(how: 'warn' | 'error'): string[] {
  const lines: string[] = []
  const spy = vi.spyOn(console, how).mockImplementation((line) => void lines.push(line))
  onTestFinished(() => spy.mockRestore())
  return lines
}

it('shows the examples unchanged; they are type-checked, and run below', () => {
  const folder = new URL('examples/observability/', root)
  const files = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'))
  expect(blocks.toSorted()).toEqual(files.toSorted())
})

it('has each field of each message, and no other', async () => {
  const server = await serve(refuse(-32005, 'rate limited', { status: 429, headers: { 'retry-after': '0' } }), honest)
  const seen = (
    [
      'hexline:call:start',
      'hexline:call',
      'hexline:post:start',
      'hexline:post',
      'hexline:retry',
      'hexline:throttle',
    ] as const satisfies readonly (keyof Events)[]
  ).map((name) => [name, eventsOf(name)] as const)
  await read(clientOf(server.url), 1)
  for (const [name, [event]] of seen) {
    const section = page.split(`\n## \`${name}\`\n`)[1]?.split('\n## ')[0] as string
    expect([...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, field]) => field)).toEqual(Object.keys(event as object))
  }
})

it('a line for each retry', async () => {
  const lines = printed('warn')
  await import('../../examples/observability/log-retries.ts')
  const server = await serve(always('', { status: 503 }), honest)
  await read(clientOf(server.url), 1)
  expect(lines).toEqual([expect.stringMatching(/^eth_getBalance failed at 127\.0\.0\.1:\d+: server 503; attempt 2 in \d+ ms$/)])
})

it('counters', async () => {
  const { metrics } = await import('../../examples/observability/counters.ts')
  const server = await serve(honest, cut, honest)
  const client = clientOf(server.url)
  // Calls that other tests have left behind may end while this one runs.
  const answered = () => Number(/^hexline_calls_total\{method="eth_getBalance",outcome="answered",kind=""\} (\d+)$/m.exec(metrics())?.[1] ?? 0)
  const before = answered()
  await Promise.all([read(client, 1), read(client, 2), read(client, 3)])
  await read(client, 4)
  const endpoint = `127.0.0.1:${server.port}`
  const lines = metrics().split('\n')
  expect(answered() - before).toBeGreaterThanOrEqual(4)
  expect(lines).toContain(`hexline_posts_total{endpoint="${endpoint}",status="200"} 2`)
  expect(lines).toContain(`hexline_posts_total{endpoint="${endpoint}",status="none"} 1`)
  expect(lines).toContain(`hexline_entries_total{endpoint="${endpoint}"} 5`)
  expect(lines).toContain(`hexline_entries_failed_total{endpoint="${endpoint}",kind="network"} 1`)
  expect(lines).toContain(`hexline_retries_total{endpoint="${endpoint}",kind="network"} 1`)
  expect(lines.find((line) => line.startsWith('hexline_call_seconds_total'))).toMatch(/^hexline_call_seconds_total\{method="eth_getBalance"\} 0?\.?\d/)
})

it('calls per second and error rate', async () => {
  const { rates } = await import('../../examples/observability/rates.ts')
  const server = await serve(cut, honest)
  await read(clientOf(server.url), 1)
  const row = rates().find(({ endpoint }) => endpoint === `127.0.0.1:${server.port}`)
  expect(row?.errorRate).toBe(0.5)
  expect(row?.callsPerSecond).toBeGreaterThan(0)
  expect(rates()).toEqual([])
})

it('throttling, and the state of the endpoints', async () => {
  const [warned, failed] = [printed('warn'), printed('error')]
  await import('../../examples/observability/throttling.ts')
  const server = await serve(refuse(-32005, 'rate limited', { status: 429, headers: { 'retry-after': '0.1' } }), honest)
  await read(clientOf(server.url), 1)
  expect(warned.filter((line) => line.includes('calls, '))).toEqual([
    expect.stringMatching(/^127\.0\.0\.1:\d+: rate-limit for 1 calls, paused for \d+ ms; batches of \d+, \d+ POSTs at a time, \d+ calls per second$/),
  ])
  const [main, other, dead] = [await serve(node()), await serve(node({ chain: 10 })), await serve(always('', { status: 401 }))]
  const client = clientOf([dead.url, main.url, other.url])
  for (let i = 0; i < 5; i++) await Promise.allSettled(Array.from({ length: 20 }, (_, j) => read(client.with({ priority: 'bulk' }), i, j)))
  expect(warned).toContain(`127.0.0.1:${dead.port}: left out for 5000 ms, since it refuses`)
  expect(failed).toEqual([`127.0.0.1:${other.port}: taken out, since it is on chain 10, not 1`])
})

it('OpenTelemetry', async () => {
  const receiver = await startOtlpReceiver()
  const server = await startDatasetChain({ head: 5 })
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', new URL(receiver.url).origin)
  vi.stubEnv('HEXLINE_RPC_URL', server.url)
  const spy = vi.spyOn(console, 'log').mockImplementation(() => {})
  onTestFinished(() => {
    vi.unstubAllEnvs()
    spy.mockRestore()
    void server.close()
    trace.disable()
    context.disable()
  })
  await import('../../examples/observability/opentelemetry.ts')
  const root = receiver.spans.find(({ name }) => name === 'newest block')
  const calls = receiver.spans.filter(({ parentSpanId }) => parentSpanId === root?.spanId)
  expect(calls.map(({ name }) => name)).toEqual(['eth_blockNumber', 'eth_getBlockByNumber'])
  for (const { spanId } of calls) expect(receiver.spans.filter(({ parentSpanId }) => parentSpanId === spanId)).toMatchObject([{ name: 'hexline POST' }])
})

it('leaves no listener and no interval to other tests when it ends', () => {
  expect(subscribed.length).toBeGreaterThanOrEqual(4)
  expect(intervals.length).toBeGreaterThan(0)
})
