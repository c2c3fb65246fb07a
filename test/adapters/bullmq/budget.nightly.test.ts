import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from 'hexline'
import { describe, expect, it } from 'vitest'
import { shareBudget } from '../../../adapters/bullmq/share-budget.ts'
import { systemClock } from '../../../src/wait/clock.ts'
import { limiter } from '../../support/limited-server.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'
import { serve } from '../../support/server.ts'

/*
 * Eight clients with queues and connections to Redis of their own, as in eight processes, at one
 * endpoint whose limit none of them knows.
 */

const WORKERS = 8

describe.runIf(hasRedis)('eight workers at one endpoint', () => {
  it.each([
    ['entries', 'eth_getBalance'],
    ['posts', 'eth_getBalance'],
    // Goes alone: nothing is known of it.
    ['entries', 'x'],
  ] as const)(
    'an unknown limit of 200 calls/s that drops to 50: over nine tenths are used, and under one in fifty is refused (%s, %s)',
    async (refuses, method) => {
      const limit = limiter(systemClock, { perSecond: 200, burst: 20, refuses, latencyMs: 50 })
      const server = await serve(limit.answer)
      const redis = await startRedis()
      const workers = Array.from({ length: WORKERS }, () => {
        const client = createClient(server.url, { dedupe: false })
        return { client, budget: shareBudget(client, redis.redis) }
      })
      const questions = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.redis.info('commandstats'))?.[1] ?? 0)
      const stop = new AbortController()
      let next = 0
      const loops = workers.flatMap(({ client }) => {
        const bulk = client.with({ priority: 'bulk', signal: stop.signal })
        return Array.from({ length: 40 }, async () => {
          while (!stop.signal.aborted) await bulk.request({ method, params: [next++] })
        })
      })
      const measure = async (seconds: number) => {
        const [posts, asked] = [server.requests.length, await questions()]
        limit.count()
        const each: string[] = []
        const sum = { taken: 0, throttled: 0, ms: 0 }
        for (let i = 0; i < seconds; i++) {
          await sleep(1000)
          const { taken, throttled, ms } = limit.count()
          each.push(`${taken}-${throttled}`)
          sum.taken += taken
          sum.throttled += throttled
          sum.ms += ms
        }
        const { taken, throttled, ms } = sum
        const figures = {
          perSecond: (taken / ms) * 1000,
          refused: throttled / (taken + throttled),
          questionsPerPost: ((await questions()) - asked) / (server.requests.length - posts),
        }
        console.log(refuses, method, figures, each.join(' '))
        return figures
      }
      try {
        const unknown = await measure(60)
        expect(unknown.perSecond).toBeGreaterThan(180)
        expect(unknown.refused).toBeLessThan(0.02)
        expect(unknown.questionsPerPost).toBeLessThan(1)
        limit.allow(50)
        const dropped = await measure(60)
        expect(dropped.perSecond).toBeGreaterThan(45)
        expect(dropped.refused).toBeLessThan(0.02)
        expect(dropped.questionsPerPost).toBeLessThan(1)
      } finally {
        stop.abort()
        await Promise.allSettled(loops)
        for (const { client, budget } of workers) {
          await budget.close()
          await client.close()
        }
        await redis.stop()
      }
    },
  )
})
