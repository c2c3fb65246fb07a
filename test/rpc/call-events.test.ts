import { describe, expect, test } from 'vitest'
import { RpcError } from '../../src/errors.ts'
import { ownRead, replyOf, type Send } from '../../src/rpc/call.ts'
import { tallied } from '../../src/rpc/call-events.ts'
import { Tally } from '../../src/rpc/tally.ts'
import { eventsOf } from '../support/events.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/* Through clients: events.test.ts. */

describe('the end of a call is published once', () => {
  const reverted = new RpcError({ code: 3, message: 'execution reverted' }, { endpoint: 'b' })
  const { signal } = new AbortController()
  const aborted = AbortSignal.abort(reverted)
  test.each<[string, Send, AbortSignal, object]>([
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
    const [own, told] = await Promise.allSettled([send(call), tallied(late, call, tally, clock)])
    expect(told.status).toBe(own.status)
    if (told.status === 'rejected') expect(told.reason).toEqual((own as PromiseRejectedResult).reason)
    expect(events).toEqual([{ method: 'eth_call', priority: 'interactive', attempts: 1, durationMs: 20, ...expected }])
  })
})
