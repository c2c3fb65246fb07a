import { describe, expect, test } from 'vitest'
import { RpcError } from '../../src/errors.ts'
import { ownRead, replyOf, type Send } from '../../src/rpc/call.ts'
import { sendTold, tellAnswered, tellFailed } from '../../src/rpc/call-events.ts'
import { Tally } from '../../src/rpc/tally.ts'
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
    const told = sendTold(late, call, tally, clock.now()).then(
      (reply) => tellAnswered(tally, reply, clock),
      (reason) => tellFailed(tally, reason, clock),
    )
    await told
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
    const clock = new VirtualClock()
    const call = ownRead({ method: 'eth_call', params: [], deadline: 1000 })
    const thrown = () => {
      throw reverted
    }
    await expect(sendTold(thrown, call, new Tally(), 0)).rejects.toBe(reverted)
    const given = replyOf('0x1', 3)
    await expect(sendTold((() => given) as unknown as Send, call, new Tally(), clock.now())).resolves.toBe(given)
  })

  test('a call that is not told has no event', () => {
    const events = eventsOf('hexline:call')
    const tally = new Tally()
    tellAnswered(tally, replyOf('0x1'), new VirtualClock())
    tellFailed(undefined, reverted, new VirtualClock())
    expect(events).toEqual([])
  })
})
