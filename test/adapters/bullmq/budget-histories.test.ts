import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { BudgetWorld, mostWithin, type SimulatedWorker, type Throttle, type WorkerOptions } from '../../support/budget-world.ts'
import { randomFrom } from '../../support/random.ts'
import { hasRedis, type RedisServer, startRedis } from '../../support/redis.ts'
import { seeds } from '../../support/runs.ts'

/*
 * Histories of a shared budget: whatever happens to workers and to Redis, a given rate is kept, and
 * each worker gets its turn. In virtual time, with the script in a real Redis.
 */

/** Until when the worst has happened, and until when Redis is back and all is as it was, in ms. */
const BEGIN = 10_000
const WORST = 40_000
const CALM = 60_000
const WINDOW = 5000

const COSTS: Record<string, number> = { cheap: 20, costly: 500, free: 0 }
const MIXES = [['cheap'], ['costly'], ['cheap', 'costly'], ['free', 'costly'], ['cheap', 'cheap', 'cheap', 'free', 'costly', 'cheap']]

describe.runIf(hasRedis)('a shared budget', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())
  beforeEach(() => redis.redis.flushall())

  const OF_WORKERS = ['kill', 'new', 'nothing'] as const
  /** A worker that was stopped has lost Redis for a moment: its part comes on top. */
  const OF_REDIS = ['stop', 'lose data', 'lost', 'restart', 'back', 'forth'] as const
  type Kind = (typeof OF_WORKERS)[number] | (typeof OF_REDIS)[number]

  /** A world in which all of these have happened, at random. */
  async function play(random: () => number, kinds: readonly Kind[], optionsOf: () => WorkerOptions, mixOf: () => readonly string[], throttle?: Throttle) {
    const world = new BudgetWorld(redis.redis)
    if (throttle !== undefined) world.throttle = throttle
    const live: SimulatedWorker[] = []
    const pick = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)] as T
    const start = () => {
      const worker = world.add({ redisMs: pick([0.2, 2, 30]), replyMs: pick([20, 100, 400]), ...optionsOf() })
      worker.waitFor(mixOf())
      live.push(worker)
    }
    const lose = (ms: number) => {
      world.isRedisLost = true
      world.at(world.now + ms, () => {
        world.isRedisLost = false
      })
    }
    const happens: Record<Kind, () => Promise<void> | void> = {
      kill: () => (live.length > 1 ? live.splice(Math.floor(random() * live.length), 1)[0]?.kill() : undefined),
      stop: () => pick(live).stop(8000 * random()),
      new: () => (live.length < 10 ? start() : undefined),
      nothing: () => {},
      'lose data': () => world.loseData(),
      lost: () => lose(6000 * random()),
      restart: () => {
        lose(1000 * random())
        return world.loseData()
      },
      back: () => {
        world.redisSkew -= 20_000 * random()
      },
      forth: () => {
        world.redisSkew += 20_000 * random()
      },
    }
    const count = 1 + Math.floor(random() * 8)
    for (let i = 0; i < count; i++) start()
    for (let at = BEGIN; at < WORST; at += 500 + 4000 * random()) {
      await world.until(at)
      await happens[pick(kinds)]()
    }
    await world.until(CALM)
    return { world, live }
  }

  it.each(seeds(3, 40))('that was given is kept in any five seconds, and each worker gets its turn: history %i', async (seed) => {
    const random = randomFrom(seed)
    const pick = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)] as T
    const isUnits = random() < 0.6
    const perSecond = pick(isUnits ? [330, 1000, 3000, 20_000] : [0.5, 2, 20, 200])
    const costOf = isUnits ? (method: string) => COSTS[method] as number : () => 1
    const most = isUnits ? 500 : 1
    const isRedisSafe = seed % 2 === 0
    const given = isUnits ? { perSecond, costOf } : { perSecond }
    const { world, live } = await play(
      random,
      isRedisSafe ? OF_WORKERS : [...OF_WORKERS, ...OF_REDIS],
      () => ({ given }),
      () => (isUnits ? pick(MIXES) : ['cheap']),
    )
    const before = live.map(({ sent }) => sent)
    // Time for three rounds, in which all of them send the costliest call.
    await world.until(CALM + Math.max(20_000, (3 * live.length * most * 1000) / perSecond))
    expect(Math.min(...live.map(({ sent }, i) => sent - (before[i] as number)))).toBeGreaterThan(0)
    // The calls of a burst go at most 100 ms late, and so does a costly one.
    const bound = 1.05 * perSecond * (WINDOW / 1000) + 2 * most
    expect(mostWithin(world.posts, WINDOW, costOf, isRedisSafe ? 0 : CALM)).toBeLessThanOrEqual(bound)
  })

  // The first of them sets the clock of Redis back.
  it.each(seeds(1, 10).map((seed) => seed + 10))(
    'that is learnt is found again, with few refusals, and each worker gets its turn: history %i',
    async (seed) => {
      const random = randomFrom(seed)
      const pick = <T>(all: readonly T[]) => all[Math.floor(random() * all.length)] as T
      const perSecond = 200
      const pauseMs = pick([0, 0, 2000])
      const limit = { tokens: 0, at: 0, taken: 0, refused: 0 }
      const { world, live } = await play(
        random,
        [...OF_WORKERS, ...OF_REDIS],
        () => ({}),
        () => ['cheap'],
        ({ at, methods: { length } }) => {
          limit.tokens = Math.min(perSecond / 10, limit.tokens + ((at - limit.at) / 1000) * perSecond)
          limit.at = at
          const taken = Math.min(length, Math.floor(limit.tokens))
          limit.tokens -= taken
          limit.taken += taken
          limit.refused += length - taken
          return taken === length ? undefined : { throttled: length - taken, pauseMs }
        },
      )
      const before = live.map(({ sent }) => sent)
      Object.assign(limit, { taken: 0, refused: 0 })
      await world.until(CALM + 60_000)
      expect(Math.min(...live.map(({ sent }, i) => sent - (before[i] as number)))).toBeGreaterThan(0)
      expect(limit.taken / 60 / perSecond).toBeGreaterThan(0.5)
      expect(limit.refused / (limit.refused + limit.taken)).toBeLessThan(0.05)
    },
  )
})
