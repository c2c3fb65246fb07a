import { describe, expect, test } from 'vitest'
import { type HexlineError, HttpError, LimitError, NetworkError, RpcError } from '../../../src/errors.ts'
import type { CurrentLimits } from '../../../src/rpc/limits/endpoint-limits.ts'
import { ThrottleEvents } from '../../../src/rpc/queue/throttle-events.ts'
import { eventsOf } from '../../support/events.ts'

const usual = { pausedUntil: 0, maxCalls: 100, concurrency: 8, callsPerSecond: undefined } as CurrentLimits
const limits = (more: Partial<CurrentLimits>): CurrentLimits => ({ ...usual, ...more })

const reverted = new RpcError({ code: 3, message: 'execution reverted' })
const busy = (retryAfterMs?: number) => new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit', retryAfterMs })
const tooLarge = new LimitError('too large', 'response-too-large', { limit: 1, size: 2 })
const lost = new NetworkError('no connection')
const absent = new HttpError({ status: 404, headers: {}, body: '' }, { kind: 'not-found' })

/** The events published after each of these POSTs, at the time 1000. */
function eventsAfter(...posts: [readonly HexlineError[], Partial<CurrentLimits>][]) {
  const events = eventsOf('hexline:throttle')
  const made = new ThrottleEvents('node', usual)
  for (const [failed, more] of posts) made.publish(failed, limits(more), 1000)
  return events
}

describe('an event is published', () => {
  test.each<[string, readonly HexlineError[], Partial<CurrentLimits>, object]>([
    ['when an endpoint throttles', [busy(), busy()], { callsPerSecond: 50 }, { kind: 'rate-limit', calls: 2, retryAfterMs: undefined, callsPerSecond: 50 }],
    [
      'with the longest time that it asks for, and the length of its pause',
      [busy(10), busy(500), busy()],
      { pausedUntil: 1500 },
      { calls: 3, retryAfterMs: 500, pauseMs: 500 },
    ],
    ['without a pause if that has passed', [busy()], { pausedUntil: 900 }, { pauseMs: 0 }],
    ['when batches become shorter, with the cause', [tooLarge, tooLarge, reverted], { maxCalls: 50 }, { kind: 'response-too-large', calls: 2, maxCalls: 50 }],
    ['when there are no batches any more, with the cause', [absent, absent], { maxCalls: 1 }, { kind: 'not-found', calls: 2, maxCalls: 1 }],
    ['when there are fewer slots, with the cause', [lost], { concurrency: 4 }, { kind: 'network', calls: 1, concurrency: 4 }],
    ['when there are more slots, without a cause', [lost], { concurrency: 9 }, { kind: undefined, calls: 0, concurrency: 9 }],
  ])('%s', (_, failed, more, expected) => {
    const { maxCalls, concurrency, callsPerSecond } = usual
    const quiet = { endpoint: 'node', kind: 'rate-limit', calls: 1, pauseMs: 0, retryAfterMs: undefined, maxCalls, concurrency, callsPerSecond }
    expect(eventsAfter([failed, more])).toEqual([{ ...quiet, ...expected }])
  })
})

test('nothing is published while nothing is throttled and the limits do not change', () => {
  expect(eventsAfter([[reverted, lost], {}])).toEqual([])
  expect(eventsAfter([[tooLarge], { maxCalls: 50 }], [[tooLarge], { maxCalls: 50 }])).toHaveLength(1)
})
