import { describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClientOn } from '../../src/client/create-client.ts'
import { RpcError } from '../../src/errors.ts'
import { type Call, type Layer, ownRead, type Post, type Send } from '../../src/rpc/call.ts'
import { reportAnswered, reportCall, reportFailed } from '../../src/rpc/call-events.ts'
import { CallRecord } from '../../src/rpc/call-record.ts'
import { watchCalls } from '../../src/rpc/call-watchers.ts'
import { replyOf } from '../../src/rpc/reply.ts'
import { type Clock, systemClock } from '../../src/wait/clock.ts'
import { eventsOf } from '../support/events.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/* Through clients: events.test.ts. */

describe('the end of a call is published once', () => {
  const reverted = new RpcError({ code: 3, message: 'execution reverted' }, { endpoint: 'b' })
  const { signal } = new AbortController()
  const aborted = AbortSignal.abort(reverted)
  test.each<[string, Send, AbortSignal, { readonly kind: string | undefined; readonly [field: string]: unknown }]>([
    ['answered', async () => replyOf('0x1', 40), signal, { outcome: 'answered', endpoint: 'a', kind: undefined, bytes: 40 }],
    ['failed', () => Promise.reject(reverted), signal, { outcome: 'failed', endpoint: 'b', kind: 'execution', bytes: 0 }],
    ['failed by a bug', () => Promise.reject(new TypeError('a bug')), signal, { outcome: 'failed', endpoint: 'a', kind: undefined, bytes: 0 }],
    ['aborted with a hexline error', () => Promise.reject(reverted), aborted, { outcome: 'aborted', endpoint: 'a', kind: undefined, bytes: 0 }],
  ])('%s', async (_, send, signal, expected) => {
    const events = eventsOf('hexline:call')
    const clock = new VirtualClock()
    const record = new CallRecord()
    const call = ownRead({ method: 'eth_call', params: [], deadline: 1000, signal })
    const late: Send = async (call) => {
      await clock.sleep(20)
      record.posted('a')
      return send(call)
    }
    reportCall(call, record, clock.now())
    await late(call).then(
      (reply) => reportAnswered(record, reply, clock),
      (reason) => reportFailed(record, reason, clock),
    )
    expect(events).toEqual([
      {
        id: expect.any(Number),
        rpcCode: expected.kind === 'execution' ? 3 : undefined,
        method: 'eth_call',
        priority: 'interactive',
        attempts: 1,
        durationMs: 20,
        ...expected,
      },
    ])
  })

  describe.each<[string, (own: Layer, defaults: readonly Layer[]) => Layer[]]>([
    ['alone', (own) => [own]],
    ['around the retries', (own, defaults) => [own, ...defaults]],
    ['within the retries', (own, defaults) => [...defaults, own]],
  ])("a user's layer %s", (_, around) => {
    const bug = new TypeError('a bug')
    const ways: readonly ((client: Client) => Promise<unknown>)[] = [
      (client) => client.call('eth_chainId'),
      (client) => client.request({ method: 'eth_chainId' }),
      async (client) => (await client.send({ method: 'eth_chainId' })).take(),
    ]
    const wrong = (what: string) =>
      expect.objectContaining({
        message: `eth_chainId: a layer of the client must resolve to a reply, such as replyOf makes, and resolved to ${what}`,
      })
    test.each<[string, () => unknown, unknown]>([
      [
        'that throws',
        () => {
          throw bug
        },
        bug,
      ],
      ['that rejects', () => Promise.reject(bug), bug],
      ['that gives the reply itself', () => replyOf('0x1', 3), 1],
      ['that resolves to a reply', async () => replyOf('0x1', 3), 1],
      ['that resolves to nothing', async () => undefined, wrong('undefined')],
      ['that resolves to a reply without a size', async () => ({ take: () => '0x1' }), wrong('an object')],
    ])('%s is the same to those who are told and to others', async (_, send, expected) => {
      const post: Post = () => Promise.reject(new Error('must not be sent'))
      await using client = createClientOn(new VirtualClock(), post, { layers: (defaults) => around(() => send as Send, defaults) })
      const outcomes = () => Promise.all(ways.map((way) => way(client).then(Number, (error: unknown) => error)))
      const all = ways.map(() => expected)
      expect(await outcomes()).toEqual(all)
      const events = eventsOf('hexline:call')
      expect(await outcomes()).toEqual(all)
      const end = expected === 1 ? { outcome: 'answered', bytes: 3 } : { outcome: 'failed', bytes: 0 }
      expect(events).toEqual(ways.map(() => expect.objectContaining(end)))
    })
  })

  test('a record that serves several calls tells each of them once, to those who watched it', () => {
    const clock = new VirtualClock()
    const told: string[] = []
    const watch = (name: string) => watchCalls({ ended: (_, method, outcome) => void told.push(`${name}: ${method} ${outcome}`) })
    const record = new CallRecord()
    const [first, second] = ['eth_call', 'eth_getLogs'].map((method) => ownRead({ method, params: [], deadline: 1000 }))
    const stopFirst = watch('a')
    reportCall(first as Call, record, clock.now())
    reportAnswered(record, replyOf('0x1'), clock)
    stopFirst()
    const stopSecond = watch('b')
    const events = eventsOf('hexline:call')
    reportCall(second as Call, record, clock.now())
    reportFailed(record, reverted, clock)
    expect(told).toEqual(['a: eth_call answered', 'b: eth_getLogs failed'])
    expect(events.map(({ method }) => method)).toEqual(['eth_getLogs'])
    stopSecond()
  })

  test('a record forgets a call that was told when the next one is not', () => {
    const clock = new VirtualClock()
    const record = new CallRecord()
    const stop = watchCalls({})
    reportCall(ownRead({ method: 'eth_call', params: [], deadline: 1000 }), record, clock.now())
    stop()
    reportCall(ownRead({ method: 'eth_chainId', params: [], deadline: 1000 }), record, clock.now())
    expect([record.id, record.call]).toEqual([0, undefined])
    const events = eventsOf('hexline:call')
    reportAnswered(record, replyOf('0x1'), clock)
    reportFailed(record, reverted, clock)
    expect(events).toEqual([])
  })

  test('a call that is not told has no event', () => {
    const events = eventsOf('hexline:call')
    const record = new CallRecord()
    reportAnswered(record, replyOf('0x1'), new VirtualClock())
    reportFailed(undefined, reverted, new VirtualClock())
    expect(events).toEqual([])
  })
})

describe('the time of an end', () => {
  const post: Post = async (calls) => calls.map(() => replyOf('0x1', 3))

  test('is read once for all calls of a POST', async () => {
    let reads = 0
    const clock: Clock = {
      ...systemClock,
      now() {
        reads++
        return systemClock.now()
      },
    }
    const client = createClientOn(clock, post)
    const readsFor64 = async () => {
      const before = reads
      await Promise.all(Array.from({ length: 64 }, (_, i) => client.request({ method: 'eth_getBalance', params: [`0x${i}`] })))
      return reads - before
    }
    await readsFor64()
    const untold = await readsFor64()
    const events = eventsOf('hexline:call')
    expect(await readsFor64()).toBe(untold)
    expect(events.map(({ attempts, durationMs }) => [attempts, durationMs >= 0])).toEqual(events.map(() => [1, true]))
    expect(events).toHaveLength(64)
  })

  test('is that of the call, not of its POST, if it ends later', async () => {
    const clock = new VirtualClock()
    const slow: Layer = (next) => async (call) => {
      const reply = await next(call)
      await clock.sleep(20)
      return reply
    }
    const client = createClientOn(clock, post, { layers: (defaults) => [slow, ...defaults] })
    const events = eventsOf('hexline:call')
    await Promise.all([client.request({ method: 'eth_chainId' }), client.request({ method: 'eth_blockNumber' })])
    expect(events.map(({ durationMs }) => durationMs)).toEqual([20, 20])
  })
})
