import { setTimeout as sleep } from 'node:timers/promises'
import { type ClientOptions, createClient } from 'hexline'
import { describe, expect, it, type TestContext } from 'vitest'
import { type Limit, startLimited, type Tally } from '../support/limited-server.ts'

/*
 * What is learnt here is learnt from times, of a server that counts by the clock: a machine that stands still for a moment spoils a measurement. One that does
 * not keep to the bounds is made again, twice at most; the bounds stay. The same on a clock of its own, where nothing stands still: test/rpc/limits/pacer.test.ts.
 */
const AGAIN = 2

interface Caller {
  readonly priority: 'interactive' | 'bulk'
  /** So many ask one call after another, without end. */
  readonly workers: number
  readonly options?: ClientOptions
}

/** Somebody who always has more to ask. Ends with the test; `failures` is what no call may end in. */
async function setUp(limit: Limit, { priority, workers, options = {} }: Caller, { onTestFinished }: TestContext) {
  const server = await startLimited(limit)
  const client = createClient(server.url, options)
  const asking = client.with({ priority, deadlineMs: Number.POSITIVE_INFINITY })
  const failures: unknown[] = []
  let next = 0
  let isOver = false
  const ask = async () => {
    while (!isOver) {
      const mine = next++
      try {
        expect(await asking.request({ method: 'eth_getBalance', params: [mine] })).toEqual({ asked: [mine] })
      } catch (failure) {
        if (!isOver) failures.push(failure)
      }
    }
  }
  for (let i = 0; i < workers; i++) void ask()
  onTestFinished(async () => {
    isOver = true
    await client.close()
    await server.close()
  })
  return { server, failures }
}

const used = ({ taken, ms }: Tally, perSecond: number) => (taken / (perSecond * ms)) * 1000
const throttled = (tally: Tally) => tally.throttled / (tally.taken + tally.throttled)
const percent = (part: number) => `${(100 * part).toFixed(1)} %`

const interactive: Caller = { priority: 'interactive', workers: 64 }
const bulk: Caller = { priority: 'bulk', workers: 500 }
const bucket = { perSecond: 200, burst: 20, latencyMs: 50 }

/** The server allows so many a second; after so many seconds of grace it is counted for so many. */
type Phase = readonly [perSecond: number, graceSeconds: number, seconds: number]

const dropsAndRises: readonly Phase[] = [
  [200, 5, 8],
  [50, 5, 8],
  [200, 15, 8],
]

describe('a limit that nobody told is used to 90 % and more, with under 2 % of calls throttled, where the server answers', () => {
  it.concurrent.for<[string, Limit, Caller, readonly Phase[]]>([
    ['each call over it with an error', { ...bucket, refuses: 'entries' }, interactive, dropsAndRises],
    ['each bulk call over it with an error', { ...bucket, refuses: 'entries' }, bulk, dropsAndRises],
    ['a POST over it with HTTP 429', { ...bucket, refuses: 'posts' }, interactive, dropsAndRises],
    ['a POST of bulk calls over it with HTTP 429', { ...bucket, refuses: 'posts' }, bulk, dropsAndRises],
    ['single calls over it with HTTP 429', { ...bucket, refuses: 'posts' }, { ...interactive, options: { batch: false, concurrency: 32 } }, dropsAndRises],
    ['with HTTP 429 and a Retry-After of 0.1 s', { ...bucket, refuses: 'posts', retryAfter: 0.1 }, interactive, dropsAndRises],
    ['with an error after a burst of a whole second', { ...bucket, burst: 200, refuses: 'entries' }, interactive, dropsAndRises],
    [
      'after 300 ms, with an error',
      { ...bucket, latencyMs: 300, refuses: 'entries' },
      interactive,
      [
        [200, 10, 8],
        [50, 5, 8],
        [200, 20, 8],
      ],
    ],
    [
      // Each look at where the limit is costs a second: they are fewer, so that a limit that was raised would be found later.
      'with HTTP 429 and a Retry-After of 1 s',
      { ...bucket, refuses: 'posts', retryAfter: 1 },
      interactive,
      [
        [200, 10, 15],
        [50, 10, 15],
      ],
    ],
  ])('%s', { timeout: 120_000, retry: AGAIN }, async ([name, limit, caller, phases], context) => {
    const { server, failures } = await setUp(limit, caller, context)
    const tallies: [perSecond: number, tally: Tally][] = []
    for (const [perSecond, graceSeconds, seconds] of phases) {
      server.allow(perSecond)
      await sleep(graceSeconds * 1000)
      server.count()
      await sleep(seconds * 1000)
      tallies.push([perSecond, server.count()])
    }
    const told = tallies.map(([perSecond, tally]) => `of ${perSecond}/s ${percent(used(tally, perSecond))} used, ${percent(throttled(tally))} throttled`)
    console.log(`${name}: ${told.join('; ')}`)
    expect(failures).toEqual([])
    for (const [perSecond, tally] of tallies) {
      // Of 15 s, each look costs one; there is one in most of them, and at times there are two.
      expect(used(tally, perSecond)).toBeGreaterThan(limit.retryAfter === 1 ? 0.8 : 0.9)
      expect(throttled(tally)).toBeLessThan(0.02)
    }
  })
})

describe('a server that takes three POSTs at a time has them in use, and refuses under 2 % of calls, where it answers', () => {
  const three = { concurrency: 3, latencyMs: 50 }
  const many: Caller = { priority: 'interactive', workers: 300, options: { batch: { maxCalls: 20 } } }

  it.concurrent.for<[string, Limit, Caller, slots: number]>([
    ['with HTTP 429', { ...three, refuses: 'posts' }, many, 3],
    ['single calls with HTTP 429', { ...three, refuses: 'posts' }, { ...interactive, options: { batch: false } }, 3],
    ['each call with an error', { ...three, refuses: 'entries' }, many, 3],
    // One slot is kept from them.
    ['bulk calls with HTTP 429', { ...three, refuses: 'posts' }, bulk, 2],
  ])('%s', { timeout: 60_000, retry: AGAIN }, async ([name, limit, caller, slots], context) => {
    const { server, failures } = await setUp(limit, caller, context)
    await sleep(5000)
    server.count()
    await sleep(10_000)
    const tally = server.count()
    const busy = tally.busyMs / (slots * tally.ms)
    console.log(`three at a time, ${name}: ${slots} slots ${percent(busy)} in use, ${percent(throttled(tally))} of calls refused`)
    expect(failures).toEqual([])
    expect(throttled(tally)).toBeLessThan(0.02)
    expect(busy).toBeGreaterThan(0.8)
  })
})
