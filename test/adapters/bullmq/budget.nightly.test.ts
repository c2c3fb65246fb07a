import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/wait/clock.ts'
import { limiter } from '../../support/limited-server.ts'
import { hasRedis, startRedis } from '../../support/redis.ts'
import { serve } from '../../support/server.ts'

/*
 * Eight processes with connections to Redis of their own, at one endpoint whose limit none of them
 * knows. The endpoint is in this process.
 */

const WORKERS = 8
const SCRIPT = fileURLToPath(new URL('../../support/budget-process.ts', import.meta.url))

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
      const workers = Array.from({ length: WORKERS }, () => fork(SCRIPT, [server.url, redis.url, method], { execArgv: ['--import', 'tsx'] }))
      const questions = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.redis.info('commandstats'))?.[1] ?? 0)
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
        await Promise.all(workers.map((worker) => once(worker, 'message')))
        for (const worker of workers) worker.send('go')
        const unknown = await measure(60)
        expect(unknown.perSecond).toBeGreaterThan(180)
        expect(unknown.refused).toBeLessThan(0.02)
        expect(unknown.questionsPerPost).toBeLessThan(1)
        limit.allow(50)
        const dropped = await measure(60)
        expect(dropped.perSecond).toBeGreaterThan(45)
        expect(dropped.refused).toBeLessThan(0.02)
        expect(dropped.questionsPerPost).toBeLessThan(1)
        expect(workers.map(({ exitCode, signalCode }) => exitCode ?? signalCode)).toEqual(workers.map(() => null))
      } finally {
        for (const worker of workers.filter(({ exitCode, signalCode }) => (exitCode ?? signalCode) === null)) {
          worker.kill()
          await once(worker, 'exit')
        }
        await redis.stop()
      }
    },
  )
})
