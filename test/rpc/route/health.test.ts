import { describe, expect, test } from 'vitest'
import { HttpError, NetworkError, RpcError } from '../../../src/errors.ts'
import type { Outcome } from '../../../src/rpc/call.ts'
import { replyOf } from '../../../src/rpc/reply.ts'
import { Health, Usual } from '../../../src/rpc/route/health.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const clock = new VirtualClock()

const good = replyOf('0x1')
const lost = new NetworkError('no connection')
const reverted = new RpcError({ code: 3, message: 'execution reverted' })
const badKey = new HttpError({ status: 401, headers: {}, body: '' }, { kind: 'auth' })
const throttled = new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit' })

/** The health after these POSTs. */
async function healthOf(...posts: (readonly Outcome[])[]): Promise<Health> {
  const health = new Health('node.example')
  for (const outcomes of posts) {
    await health.watch(async () => outcomes, clock)([], new AbortController().signal)
    // Failures within a millisecond count as one.
    await clock.sleep(3)
  }
  return health
}

describe('the circuit', () => {
  test('opens after four POSTs in a row that failed, and not after three', async () => {
    expect((await healthOf([lost], [lost], [lost])).isOut).toBe(false)
    expect((await healthOf([lost], [lost], [lost], [lost])).isOut).toBe(true)
  })

  test('stays closed if one call of each POST is answered, even with its own error', async () => {
    for (const answer of [good, reverted]) {
      const post = [lost, answer, lost]
      expect((await healthOf(post, post, post, post, post, post)).isOut).toBe(false)
    }
  })

  test('opens at once for a rejected key, and not for throttling, for which the queue pauses', async () => {
    expect((await healthOf([badKey])).isOut).toBe(true)
    expect((await healthOf([throttled], [throttled], [throttled], [throttled], [throttled])).isOut).toBe(false)
  })

  test('opens for longer for a rejected key, and for as long as the endpoint asks', async () => {
    const health = await healthOf([badKey])
    expect(health.dueAt - clock.now()).toBeGreaterThan(4_000)
    const asks = new HttpError({ status: 402, headers: {}, body: '' }, { kind: 'quota', retryAfterMs: 60_000 })
    expect((await healthOf([asks])).dueAt - clock.now()).toBeGreaterThan(50_000)
    health.answered(0)
    expect(health.isOut).toBe(false)
  })

  test('opens at the first timeout of a silent endpoint, not of one that has answered others', () => {
    const [mute, busy] = [new Health('node.example'), new Health('node.example')]
    const post = (health: Health) => void health.watch(() => new Promise(() => {}), clock)([], new AbortController().signal)
    post(mute)
    mute.failed(clock.now() + 500, clock.now() + 1)
    expect(mute.isOut).toBe(true)
    post(busy)
    busy.failed(clock.now() + 500, clock.now() - 500)
    expect(busy.isOut).toBe(false)
  })

  test('ignores a POST that was cut because its callers had left', async () => {
    const health = new Health('node.example')
    for (let i = 0; i < 6; i++) await health.watch(async () => [badKey], clock)([], AbortSignal.abort())
    expect(health.isOut).toBe(false)
  })

  test('closes with the first answer; then a single failure opens it, for twice as long each time, up to half a minute', () => {
    const health = new Health('node.example')
    let now = 0
    const failUntilOut = () => {
      do {
        now += 10
        health.failed(now)
      } while (!health.isOut)
      return health.dueAt - now
    }
    expect(failUntilOut()).toBe(1_000)
    const pauses = Array.from({ length: 7 }, () => {
      health.answered(0)
      expect(health.isOut).toBe(false)
      return failUntilOut()
    })
    expect(pauses).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
    for (let i = 0; i < 20; i++) health.answered(0)
    expect(failUntilOut()).toBe(1_000)
  })

  test('stays open longer if a probe fails, and not for failures that were in flight', () => {
    const health = new Health('node.example')
    for (let now = 10; now <= 40; now += 10) health.failed(now)
    expect(health.dueAt).toBe(1_040)
    health.failed(500)
    health.missed(600)
    expect(health.dueAt).toBe(1_040)
    health.missed(1_100)
    expect(health.dueAt).toBe(3_100)
  })
})

describe('the cost of a call', () => {
  test('grows with errors and slowness: for bulk calls with every second call, for interactive ones with every hundredth', () => {
    const health = new Health('node.example')
    expect([health.cost('bulk', 0), health.cost('interactive', 0)]).toEqual([1, 1])
    health.calls = 99
    expect([health.cost('bulk', 0), health.cost('interactive', 0)]).toEqual([100, 1])
    health.calls = 100
    expect(health.cost('interactive', 0)).toBe(2)
    health.calls = 0
    health.took(3, 0)
    expect(health.cost('interactive', 0)).toBe(3)
    health.failed(0)
    expect(health.cost('interactive', 0)).toBeGreaterThan(3)
  })

  test('follows what is measured within seconds', () => {
    const health = new Health('node.example')
    health.took(10, 0)
    for (let now = 100; now <= 15_000; now += 100) health.took(1, now)
    expect(health.cost('interactive', 15_000)).toBeLessThan(1.6)
  })

  test('grows while replies are due and none arrives', () => {
    const health = new Health('node.example')
    void health.watch(() => new Promise(() => {}), clock)([], new AbortController().signal)
    const now = clock.now()
    expect(health.cost('interactive', now + 500)).toBe(1)
    expect(health.cost('interactive', now + 5_000)).toBeGreaterThan(5)
  })

  test('is measured by method: an endpoint that gets the long calls does not count as slow', () => {
    const usual = new Usual()
    for (let i = 0; i < 100; i++)
      for (const [method, ms] of [
        ['eth_getLogs', 2_000],
        ['eth_chainId', 10],
      ] as const)
        usual.times(method, ms)
    expect(usual.times('eth_getLogs', 2_000)).toBeCloseTo(1, 1)
    expect(usual.times('eth_chainId', 100)).toBeGreaterThan(9)
  })
})
