import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { askBudget, budgetKeys, type PostEvent, type Question, voidUntil } from '../../../adapters/bullmq/budget-script.ts'
import { eventually } from '../../support/eventually.ts'
import { hasRedis, type RedisServer, startRedis } from '../../support/redis.ts'

describe.runIf(hasRedis)('the budget in Redis', () => {
  let server: RedisServer
  const keys = budgetKeys('hexline', 'rpc.example.com-12345678')
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())
  beforeEach(() => server.redis.flushall())

  const ask = (question: Partial<Question> = {}) =>
    askBudget(server.redis, keys, {
      me: 'a',
      wanted: 0,
      leaseMs: 100,
      cost: 0,
      unitsPerSecond: 0,
      spare: 0,
      guess: 100,
      pauseMs: 0,
      events: [],
      ...question,
    })
  const event = (at: number): PostEvent => ({ at, tookMs: 5, calls: 3, isThrottled: false, pauseMs: 0 })

  /** As if no time had passed, which would make room for others. */
  const hold = async () => {
    await server.redis.hset(keys[0], { leaderUntil: '9e15' })
    for (const worker of await server.redis.zrange(keys[2], '0', '-1')) await server.redis.zadd(keys[2], '9e15', worker)
  }

  it('grants what the rate holds in the time of a lease, divided by the workers that ask', async () => {
    const granted: number[] = []
    for (const [me, wanted] of [
      ['a', 50],
      ['b', 50],
      ['c', 50],
      ['c', 2],
    ] as const) {
      granted.push((await ask({ wanted, me })).granted)
      await hold()
    }
    expect(granted).toEqual([10, 5, 3, 2])
    // Whatever the rate, enough for two POSTs.
    expect((await ask({ wanted: 50, me: 'd', leaseMs: 1 })).granted).toBe(2)
  })

  it('grants calls one lease after another, in the order of the questions, no faster than the rate', async () => {
    const first = await ask({ wanted: 10 })
    const second = await ask({ wanted: 10 })
    const third = await ask({ wanted: 10 })
    expect(first.start).toBe(first.now)
    expect(second.start - first.start).toBeGreaterThanOrEqual(99.99)
    expect(third.start - second.start).toBeGreaterThanOrEqual(99.99 - 25)
  })

  it('grants nothing far ahead, and says when to ask again', async () => {
    const slow = { wanted: 1000, guess: 1, leaseMs: 1_000_000 }
    expect((await ask(slow)).granted).toBe(1000)
    const [early, again] = [await ask(slow), await ask(slow)]
    expect(early).toMatchObject({ granted: 0, start: expect.any(Number) })
    expect(early.start).toBeGreaterThan(early.now + 900_000)
    // It took nothing.
    expect(again).toMatchObject({ granted: 0, start: early.start })
  })

  it('keeps a given rate in units, whatever the calls cost', async () => {
    const one = { wanted: 50, unitsPerSecond: 1000, cost: 26, guess: 100_000 }
    const first = await ask(one)
    expect(first.granted).toBe(3)
    expect((await ask(one)).start - first.start).toBeGreaterThanOrEqual(78)
    // A call that costs more than a second's units goes alone.
    expect((await ask({ ...one, cost: 5000 })).granted).toBe(1)
  })

  it('gives others the units that a worker has not used, and takes off what it has used more', async () => {
    const slow = { wanted: 1, unitsPerSecond: 1, cost: 100, guess: 100_000 }
    const { start } = await ask(slow)
    // 100 s for the first call, of which one was needed.
    const second = await ask({ ...slow, spare: 99 })
    expect(second.granted).toBe(1)
    expect(second.start - start).toBeLessThan(90_000)
    expect((await ask({ ...slow, spare: -200 })).start - start).toBeGreaterThan(200_000)
  })

  it('has one worker make the estimate: it alone gets what has happened, and may publish a rate', async () => {
    expect((await ask({ me: 'a' })).isLeader).toBe(true)
    await hold()
    const told = await ask({ me: 'b', events: [event(1), event(2)], estimate: { perSecond: 5, level: 5, isCut: true } })
    expect(told).toMatchObject({ isLeader: false, events: [], perSecond: 100, level: 0 })
    expect(await ask({ me: 'a', events: [event(3)] })).toMatchObject({ isLeader: true, events: [event(1), event(2), event(3)] })
    expect((await ask({ me: 'a', estimate: { perSecond: 70, level: 80, isCut: false } })).events).toEqual([])
    await hold()
    expect(await ask({ me: 'b' })).toMatchObject({ perSecond: 70, level: 80, since: 0 })
    const cut = await ask({ me: 'a', estimate: { perSecond: 60, level: 65, isCut: true } })
    await hold()
    expect(await ask({ me: 'b' })).toMatchObject({ perSecond: 60, level: 65, since: cut.now })
  })

  it('has another one make it when the first is silent, from the rate that was published', async () => {
    await ask({ me: 'a' })
    await ask({ me: 'a', estimate: { perSecond: 70, level: 80, isCut: false } })
    await server.redis.hset(keys[0], { leaderUntil: '1' })
    expect(await ask({ me: 'b' })).toMatchObject({ isLeader: true, perSecond: 70, level: 80 })
    await hold()
    expect(await ask({ me: 'a', estimate: { perSecond: 1, level: 1, isCut: true } })).toMatchObject({ isLeader: false, perSecond: 70 })
  })

  it('counts the time for which calls were held back, and for which nothing waited', async () => {
    await ask({ me: 'a' })
    await ask({ me: 'b', wanted: 10 })
    const { heldMs, idleMs, now } = await ask({ me: 'a' })
    expect(heldMs).toBeGreaterThan(0)
    expect(heldMs + idleMs).toBeLessThanOrEqual(now)
  })

  describe('rings', () => {
    const heard: string[] = []
    let ears: Redis
    beforeAll(async () => {
      ears = server.redis.duplicate()
      ears.on('message', (_, message) => heard.push(message))
      await ears.subscribe(keys[3])
    })
    afterAll(() => ears.disconnect())
    beforeEach(async () => {
      await ask({ me: 'leader' })
      await hold()
      heard.length = 0
    })
    /** What was heard since it was asked last. */
    const rung = async () => {
      await server.redis.publish(keys[3], 'end')
      await eventually(() => expect(heard.at(-1)).toBe('end'))
      return heard.splice(0).slice(0, -1)
    }
    const refused = (at: number): PostEvent => ({ at, tookMs: 5, calls: 0, isThrottled: true, pauseMs: 0 })
    const publish = (perSecond: number) => ask({ me: 'leader', estimate: { perSecond, level: 100, isCut: true } })

    it('when the rate is cut by much: what was granted is void, and the next calls go soon', async () => {
      await publish(100)
      await ask({ wanted: 50 })
      expect(await rung()).toEqual([])
      const { now } = await publish(70)
      expect((await rung()).map(voidUntil)).toEqual([now])
      const next = await ask({ wanted: 50 })
      expect(next.start - next.now).toBeLessThanOrEqual(1000 / 70)
    })

    it('not when it is cut by little: what was granted goes first', async () => {
      await publish(100)
      const first = await ask({ wanted: 50, leaseMs: 400 })
      await publish(90)
      expect(await rung()).toEqual([])
      const second = await ask({ wanted: 50 })
      // What was free in the last 25 ms may go, too.
      expect(second.start - first.start).toBeGreaterThanOrEqual(399.99 - 25)
    })

    it('when calls were refused that were sent after the last cut', async () => {
      const { now } = await publish(100)
      await ask({ me: 'b', events: [event(now + 10), refused(now + 4)] })
      expect(await rung()).toEqual([])
      await ask({ me: 'b', events: [event(now + 10), refused(now + 6)] })
      expect((await rung()).map(voidUntil)).toEqual([undefined])
      // The worker that makes the estimate knows it.
      await ask({ me: 'leader', events: [refused(now + 6)] })
      expect(await rung()).toEqual([])
    })

    it('once for each pause', async () => {
      await ask({ me: 'b', pauseMs: 60_000 })
      expect((await rung()).map(voidUntil)).toEqual([expect.any(Number)])
      await ask({ me: 'b', pauseMs: 60_000 })
      await ask({ me: 'c', pauseMs: 50_000 })
      expect(await rung()).toEqual([])
    })
  })

  it('lets each of many workers hold a lease where the rate is low', async () => {
    const workers = Array.from({ length: 8 }, (_, i) => `worker-${i}`)
    for (const me of workers) {
      expect((await ask({ me, wanted: 50, guess: 5 })).granted).toBe(2)
      await hold()
    }
  })

  it('lets each of many workers hold a lease where the given units are few: none asks in vain for ever because it is further from Redis', async () => {
    const workers = Array.from({ length: 8 }, (_, i) => `worker-${i}`)
    const starts: number[] = []
    for (const me of workers) {
      const { granted, start, active } = await ask({ me, wanted: 50, unitsPerSecond: 330, cost: 500, guess: 100_000 })
      expect([granted, active]).toEqual([1, starts.push(start)])
    }
    expect((starts.at(-1) as number) - (starts[0] as number)).toBeGreaterThan(10_000)
    // Nor because its calls are cheaper than those of the others.
    expect((await ask({ me: 'cheap', wanted: 50, unitsPerSecond: 330, cost: 20, guess: 100_000 })).granted).toBe(1)
    // Those whose turn is still to come count, though they ask no more until then.
    const scores = await server.redis.zrange(keys[2], '0', '-1', 'WITHSCORES')
    for (const [i, me] of workers.entries()) expect(Number(scores[scores.indexOf(me) + 1])).toBeGreaterThanOrEqual(starts[i] as number)
  })

  it('grants no further ahead for good where the learnt rate was low for a while', async () => {
    const given = { wanted: 1000, unitsPerSecond: 1_000_000, cost: 1 }
    for (let i = 0; i < 10; i++) await ask({ ...given, me: `worker-${i}`, guess: 0.1 })
    await server.redis.hset(keys[0], { rate: 100, next: 0 })
    const { now } = await ask()
    await server.redis.hset(keys[0], { next: now + 10_000 })
    expect((await ask(given)).granted).toBe(0)
  })

  it('goes on at once where the clock of Redis was set back, with what is left of a pause', async () => {
    const { now } = await ask({ wanted: 10 })
    await ask({ me: 'b', pauseMs: 60_000 })
    // The same as a clock that is set back by an hour.
    const names = ['at', 'next', 'nextUnits', 'leaderUntil', 'pausedUntil']
    for (const name of names) await server.redis.hincrbyfloat(keys[0], name, 3_600_000)
    expect((await ask({ wanted: 1 })).start - now).toBeLessThan(65_000)
    await server.redis.hset(keys[0], { pausedUntil: '0' })
    await server.redis.hincrbyfloat(keys[0], 'at', 3_600_000)
    expect((await ask({ wanted: 1 })).granted).toBe(1)
    // It is no longer asked, and another one makes the estimate.
    await server.redis.hincrbyfloat(keys[0], 'at', 3_600_000)
    await server.redis.hset(keys[0], { leaderUntil: now + 3_600_000 })
    expect((await ask({ me: 'c' })).isLeader).toBe(true)
  })

  it('no longer counts a worker that is gone where the clock of Redis was set back', async () => {
    const { now } = await ask({ me: 'gone', wanted: 10 })
    // It asked for the last time a minute before the clock was set back by an hour.
    await server.redis.zadd(keys[2], now + 3_540_000, 'gone')
    await server.redis.hset(keys[0], { at: now + 3_600_000 })
    expect((await ask({ wanted: 10 })).active).toBe(1)
  })

  it('holds calls back for a pause that one worker was asked for', async () => {
    const { now } = await ask({ wanted: 1 })
    await ask({ me: 'b', pauseMs: 60_000 })
    const paused = await ask({ wanted: 1 })
    expect(paused.granted).toBe(0)
    expect(paused.start).toBeGreaterThan(now + 59_000)
  })
})
