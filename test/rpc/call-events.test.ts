import { describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClientOn } from '../../src/client/create-client.ts'
import { RpcError } from '../../src/errors.ts'
import { type Layer, ownRead, type Post, replyOf, type Send } from '../../src/rpc/call.ts'
import { tellAnswered, tellCall, tellFailed } from '../../src/rpc/call-events.ts'
import { Tally } from '../../src/rpc/tally.ts'
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
    const tally = new Tally()
    const call = ownRead({ method: 'eth_call', params: [], deadline: 1000, signal })
    const late: Send = async (call) => {
      await clock.sleep(20)
      tally.posted('a')
      return send(call)
    }
    tellCall(call, tally, clock.now())
    await late(call).then(
      (reply) => tellAnswered(tally, reply, clock),
      (reason) => tellFailed(tally, reason, clock),
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

  test('a layer that throws, and one that gives the reply itself, are like those with a promise', async () => {
    const thrown: Layer = () => () => {
      throw reverted
    }
    const given: Layer = () => (() => replyOf('0x1', 3)) as unknown as Send
    const ways: ((client: Client) => Promise<unknown>)[] = [
      (client) => client.call('eth_chainId'),
      (client) => client.request({ method: 'eth_chainId' }),
      async (client) => (await client.send({ method: 'eth_chainId' })).take(),
    ]
    const clock = new VirtualClock()
    const post: Post = () => Promise.reject(new Error('must not be sent'))
    await using throwing = createClientOn(clock, post, { layers: () => [thrown] })
    await using giving = createClientOn(clock, post, { layers: () => [given] })
    const outcomesOf = async (way: (typeof ways)[number]) => [await way(throwing).catch((error: unknown) => error), Number(await way(giving))]
    for (const way of ways) expect(await outcomesOf(way)).toEqual([reverted, 1])
    const events = eventsOf('hexline:call')
    for (const way of ways) expect(await outcomesOf(way)).toEqual([reverted, 1])
    const ends = [
      ['failed', 0],
      ['answered', 3],
    ]
    expect(events.map(({ outcome, bytes }) => [outcome, bytes])).toEqual([...ends, ...ends, ...ends])
  })

  test('a call that is not told has no event', () => {
    const events = eventsOf('hexline:call')
    const tally = new Tally()
    tellAnswered(tally, replyOf('0x1'), new VirtualClock())
    tellFailed(undefined, reverted, new VirtualClock())
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
