import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/wait/clock.ts'
import { type Limit, limiter } from '../support/limited-server.ts'
import { clientOf, read, serve } from '../support/server.ts'

/*
 * On the wall clock, over real sockets. The bounds of most limits are tested in virtual time, where
 * no machine stands still: test/rpc/limits/throttling.test.ts.
 */

/**
 * Callers that always have more calls, until the test ends. `failures` collects errors, of which
 * there must be none.
 */
async function setUp(limit: Limit, workers: number) {
  const server = limiter(systemClock, limit)
  const { url } = await serve(server.answer)
  const client = clientOf(url, { batch: { maxCalls: 20 }, retry: {}, deadlineMs: Number.POSITIVE_INFINITY })
  let isOver = false
  const failures: unknown[] = []
  const ask = async (worker: number) => {
    for (let i = 0; !isOver; i++) await read(client, worker, i).catch((failure) => isOver || failures.push(failure))
  }
  onTestFinished(() => {
    isOver = true
  })
  for (let worker = 0; worker < workers; worker++) void ask(worker)
  return { server, failures }
}

test.each<[string, Limit]>([
  ['each call over 200 a second with an error', { perSecond: 200, burst: 20, latencyMs: 50, refuses: 'entries' }],
  ['POSTs beyond three at a time with HTTP 429', { concurrency: 3, latencyMs: 50, refuses: 'posts' }],
])('a server refuses %s: calls are answered all the same, and few are refused once the limit is known', async (_, limit) => {
  const { server, failures } = await setUp(limit, 300)
  const refusedIn = async (ms: number) => {
    await sleep(ms)
    const { taken, throttled } = server.count()
    expect(taken).toBeGreaterThan(0)
    return throttled / (taken + throttled)
  }
  const atFirst = await refusedIn(500)
  await sleep(3000)
  server.count()
  const later = await refusedIn(3000)
  console.log(`${(100 * atFirst).toFixed(1)} % refused at first, ${(100 * later).toFixed(1)} % later`)
  expect(failures).toEqual([])
  expect(later).toBeLessThan(atFirst / 2)
})

// The bound of 3 % yields where the limit changes fastest (docs/limits.md).
test.each([
  [10, 4],
  [20, 3],
  [40, 3],
])('a limit of 150 calls per second, plus or minus 50 over %i s: at least 85 of 100 are used, and under %i of 100 calls refused', async (seconds, most) => {
  const { server, failures } = await setUp({ perSecond: 150, burst: 20, latencyMs: 50, refuses: 'posts' }, 64)
  const start = systemClock.now()
  const drift = async (toMs: number) => {
    for (let at = 0; at < toMs; at = systemClock.now() - start) {
      server.allow(150 + 50 * Math.sin((2 * Math.PI * at) / (seconds * 1000)))
      await sleep(50)
    }
  }
  await drift(20_000)
  server.count()
  // Whole periods.
  await drift(60_000)
  const { taken, throttled, ms } = server.count()
  const [used, refused] = [(1000 * taken) / (150 * ms), throttled / (taken + throttled)]
  console.log(`over ${seconds} s: ${(100 * used).toFixed(1)} % used, ${(100 * refused).toFixed(1)} % refused`)
  expect(failures).toEqual([])
  expect(refused).toBeLessThan(most / 100)
  expect(used).toBeGreaterThan(0.85)
})
