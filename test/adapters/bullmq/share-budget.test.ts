import { createClient, OptionError } from 'hexline'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { shareBudget } from '../../../adapters/bullmq/share-budget.ts'
import { eventually } from '../../support/eventually.ts'
import { hasRedis, type RedisServer, startRedis } from '../../support/redis.ts'
import { dumpOf } from '../../support/redis-dump.ts'
import { honest, serve } from '../../support/server.ts'

describe.runIf(hasRedis)('a shared budget', () => {
  let redis: RedisServer
  beforeAll(async () => {
    redis = await startRedis()
  })
  afterAll(() => redis.stop())
  beforeEach(() => redis.redis.flushall())

  /** A client with a share of the budget; both are closed after use. */
  async function using<T>(
    url: string,
    use: (client: ReturnType<typeof createClient>) => Promise<T>,
    options: Parameters<typeof createClient>[1] = {},
  ): Promise<T> {
    const client = createClient(url, { dedupe: false, ...options })
    const budget = shareBudget(client, redis.redis)
    try {
      return await use(client)
    } finally {
      await budget.close()
      await client.close()
    }
  }
  const many = (client: ReturnType<typeof createClient>, calls: number) =>
    Promise.all(Array.from({ length: calls }, (_, i) => client.request({ method: 'x', params: [i] })))
  const keys = async () => (await redis.redis.keys('*')).filter((key) => key.endsWith('}'))

  it('counts the calls of all clients of an endpoint in one place, and keeps keys apart that have limits of their own', async () => {
    const server = await serve(honest)
    await using(`${server.url}/SECRET-KEY-1`, (client) => many(client, 3))
    await using(`${server.url}/SECRET-KEY-1`, (client) => many(client, 3))
    expect(await keys()).toEqual([expect.stringMatching(/^hexline:\{budget:127\.0\.0\.1:\d+-[0-9a-f]{8}\}$/)])
    await using(`${server.url}/SECRET-KEY-2`, (client) => many(client, 3))
    await using(`${server.url}/SECRET-KEY-2`, (client) => many(client, 3), { headers: { authorization: 'Bearer SECRET-3' } })
    expect(await keys()).toHaveLength(3)
    expect(await dumpOf(redis.redis)).not.toMatch(/SECRET/)
  })

  it('sends all calls, no more at a time than were granted', async () => {
    const server = await serve(honest)
    await using(server.url, (client) => many(client, 20))
    const sizes = server.requests.map(({ entries }) => entries.length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20)
    // 25 calls a second to begin with: the least lease is two calls.
    expect(sizes[0]).toBeLessThanOrEqual(2)
  })

  it('that is closed leaves the client its part of the rate', async () => {
    const server = await serve(honest)
    const client = createClient(server.url, { dedupe: false })
    const budget = shareBudget(client, redis.redis)
    try {
      await many(client, 1)
      await budget.close()
      expect(await many(client, 3)).toHaveLength(3)
    } finally {
      await client.close()
    }
  })

  it('keeps a rate in units that was given', async () => {
    const server = await serve(honest)
    const rate = { unitsPerSecond: 2000, units: { x: 500 } }
    await using(server.url, (client) => many(client, 4), { rate })
    expect(server.requests.map(({ entries }) => entries.length)).toEqual([1, 1, 1, 1])
    const [first, , , last] = server.requests
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(600)
  })

  it('goes on alone while Redis is gone, and together again afterwards', async () => {
    const server = await serve(honest)
    const own = await startRedis()
    const client = createClient(server.url, { dedupe: false })
    const budget = shareBudget(client, own.redis)
    try {
      await many(client, 3)
      const { pid } = own
      process.kill(pid, 'SIGSTOP')
      await many(client, 3)
      process.kill(pid, 'SIGCONT')
      await own.restart()
      await own.redis.flushall()
      await many(client, 3)
      await eventually(async () => expect(await own.redis.keys('*')).not.toEqual([]))
      await many(client, 3)
    } finally {
      await budget.close()
      await client.close()
      await own.stop()
    }
  })

  it.each([
    [{}, {}, 'client: expected a client'],
    ['client', 'redis://:SECRET@127.0.0.1', 'redis: expected a connection of ioredis, received string'],
  ])('is refused for anything else (%#)', async (client, connection, message) => {
    const real = createClient('http://127.0.0.1:1')
    expect(() => shareBudget((client === 'client' ? real : client) as never, connection as never)).toThrow(OptionError)
    expect(() => shareBudget((client === 'client' ? real : client) as never, connection as never)).toThrow(message)
    await real.close()
  })
})
