import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/wait/clock.ts'
import { type Limit, limiter } from '../support/limited-server.ts'
import { clientOf, read, serve } from '../support/server.ts'

/*
 * On the wall clock, over real sockets, it shows only that what is learnt helps: the first second
 * is worse than the ones after. How well a limit is kept to is measured in virtual time, where no
 * machine stands still: test/rpc/limits/throttling.test.ts.
 */
test.each<[string, Limit]>([
  ['each call over 200 a second with an error', { perSecond: 200, burst: 20, latencyMs: 50, refuses: 'entries' }],
  ['POSTs beyond three at a time with HTTP 429', { concurrency: 3, latencyMs: 50, refuses: 'posts' }],
])('a server refuses %s: calls are answered all the same, and few are refused once the limit is known', async (_, limit) => {
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
  for (let worker = 0; worker < 300; worker++) void ask(worker)
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
