import { type ClientOptions, RpcError } from 'hexline'
import { describe, expect, it, type TestContext } from 'vitest'
import { type Limit, limiter, type Tally } from '../../support/limited-server.ts'
import { nightly } from '../../support/runs.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

/*
 * A whole client at servers that throttle, in virtual time. On the wall clock, with sockets:
 * test/chaos/throttling.test.ts.
 */
const { clock, serve, clientOf, sleep } = virtualWorld()

interface Caller {
  readonly priority: 'interactive' | 'bulk'
  /** This many callers send one call after another, endlessly. */
  readonly workers: number
  readonly options?: ClientOptions
}

/**
 * Callers that always have more calls. They end with the test; `failures` collects errors, of which
 * there must be none.
 */
async function setUp(limit: Limit, { priority, workers, options = {} }: Caller, { onTestFinished }: TestContext) {
  const server = limiter(clock, limit)
  const { url } = await serve(server.answer)
  const client = clientOf(url, { retry: {}, ...options })
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
        if (!isOver && !(failure instanceof RpcError && failure.kind === 'execution')) failures.push(failure)
      }
    }
  }
  for (let i = 0; i < workers; i++) void ask()
  onTestFinished(() => {
    isOver = true
  })
  return { server, failures }
}

const used = ({ taken, ms }: Tally, perSecond: number) => (taken / (perSecond * ms)) * 1000
const throttled = (tally: Tally) => tally.throttled / (tally.taken + tally.throttled)
const percent = (part: number) => `${(100 * part).toFixed(1)} %`

const interactive: Caller = { priority: 'interactive', workers: 64 }
const bulk: Caller = { priority: 'bulk', workers: 500 }
const bucket = { perSecond: 200, burst: 20, latencyMs: 50 }

/**
 * The server allows this many calls a second. They are counted over `seconds`, after
 * `graceSeconds`.
 */
type Phase = readonly [perSecond: number, graceSeconds: number, seconds: number]

const dropsAndRises: readonly Phase[] = [
  [200, 5, 20],
  [50, 5, 20],
  [200, 15, 20],
]

describe('after an outage in which everything is refused', () => {
  const unlimited = { burst: 1000, latencyMs: 50 }

  /** Calls of 64 callers that an endpoint without a limit answers in a second. */
  const FULL = 1280

  it.for<[string, Limit, before: number, outageSeconds: number]>([
    ['a few seconds, with HTTP 429 and Retry-After: 1', { ...unlimited, refuses: 'posts', retryAfter: 1 }, FULL, 2.5],
    ['half a minute, with HTTP 429 and Retry-After: 1', { ...unlimited, refuses: 'posts', retryAfter: 1 }, FULL, 30],
    ['a few seconds, with HTTP 429', { ...unlimited, refuses: 'posts' }, FULL, 5],
    ['half a minute, with errors', { ...unlimited, refuses: 'entries' }, FULL, 30],
    ['a few seconds of an endpoint that allows 200/s, with HTTP 429 and Retry-After: 1', { ...bucket, refuses: 'posts', retryAfter: 1 }, 200, 5],
    ['half a minute of an endpoint that allows 200/s, with errors', { ...bucket, refuses: 'entries' }, 200, 30],
    ['half a minute of an endpoint that allows 200/s, with HTTP 429', { ...bucket, refuses: 'posts' }, 200, 30],
  ])('of %s: soon after it, the rate is what it was before', async ([name, limit, before, outageSeconds], context) => {
    const { server, failures } = await setUp(limit, interactive, context)
    const allowed = before === FULL ? 1e9 : before
    server.allow(allowed)
    await sleep(15_000)
    server.allow(0)
    await sleep(outageSeconds * 1000)
    server.allow(allowed)
    await sleep(10_000)
    server.count()
    await sleep(10_000)
    const part = used(server.count(), before)
    console.log(`an outage of ${name}: ten seconds later, ${percent(part)} of the rate before`)
    expect(part).toBeGreaterThan(0.8)
    expect(failures).toEqual([])
  })
})

describe('an unknown limit is used to at least 90 %, with under 2 % of calls throttled, if the server answers', () => {
  it.for<[string, Limit, Caller, readonly Phase[]]>([
    ['each call over it with an error', { ...bucket, refuses: 'entries' }, interactive, dropsAndRises],
    ['each call over it with an error, and all others have one of their own', { ...bucket, refuses: 'entries', reverts: 1 }, interactive, dropsAndRises],
    ['each bulk call over it with an error, and one in two has one of its own', { ...bucket, refuses: 'entries', reverts: 2 }, bulk, dropsAndRises],
    ['a POST over it with HTTP 429, and one call in two has an error of its own', { ...bucket, refuses: 'posts', reverts: 2 }, bulk, dropsAndRises],
    [
      // Each probe of the limit costs a second, so probes are rarer, and a raised limit would be
      // found later.
      'with HTTP 429 and a Retry-After of 1 s',
      { ...bucket, refuses: 'posts', retryAfter: 1 },
      interactive,
      [
        [200, 10, 30],
        [50, 10, 30],
      ],
    ],
    ...nightly<[string, Limit, Caller, readonly Phase[]]>(
      [
        'after 300 ms, with an error',
        { ...bucket, latencyMs: 300, refuses: 'entries' },
        interactive,
        [
          // A probe of the limit costs some hundred ms of refusals here, and is rare.
          [200, 10, 60],
          [50, 5, 60],
          [200, 20, 60],
        ],
      ],
      ['a POST over it with HTTP 429', { ...bucket, refuses: 'posts' }, interactive, dropsAndRises],
      ['single calls over it with HTTP 429', { ...bucket, refuses: 'posts' }, { ...interactive, options: { batch: false, concurrency: 32 } }, dropsAndRises],
      ['with HTTP 429 and a Retry-After of 0.1 s', { ...bucket, refuses: 'posts', retryAfter: 0.1 }, interactive, dropsAndRises],
      ['each bulk call over it with an error', { ...bucket, refuses: 'entries' }, bulk, dropsAndRises],
      ['a POST of bulk calls over it with HTTP 429', { ...bucket, refuses: 'posts' }, bulk, dropsAndRises],
      ['with an error after a burst of a whole second', { ...bucket, burst: 200, refuses: 'entries' }, interactive, dropsAndRises],
    ),
  ])('%s', async ([name, limit, caller, phases], context) => {
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
      // Each probe costs a second, and there are one or two in 15 s.
      expect(used(tally, perSecond)).toBeGreaterThan(limit.retryAfter === 1 ? 0.8 : 0.9)
      expect(throttled(tally)).toBeLessThan(0.02)
    }
  })
})

describe('a token bucket so small that POSTs of the usual length are never answered', () => {
  it.for<[perSecond: number, burst: number, latencyMs: number, least: number]>([
    [20, 2, 20, 0.9],
    [20, 2, 300, 0.65],
    [200, 10, 300, 0.55],
  ])('of %i calls per second and %i at once is used, after %i ms', async ([perSecond, burst, latencyMs, least], context) => {
    const { server, failures } = await setUp({ perSecond, burst, latencyMs, refuses: 'posts' }, { ...bulk, workers: 3000 }, context)
    await sleep(10_000)
    server.count()
    await sleep(110_000)
    const tally = server.count()
    console.log(`${perSecond}/s and ${burst} at once, after ${latencyMs} ms: ${percent(used(tally, perSecond))} used, ${percent(throttled(tally))} throttled`)
    expect(used(tally, perSecond)).toBeGreaterThan(least)
    expect(failures).toEqual([])
  })
})

describe('a job that ends soon after the first refusal', () => {
  /** Seconds for this many calls of 64 callers. */
  async function secondsFor(calls: number, limit: Limit): Promise<number> {
    const { url } = await serve(limiter(clock, limit).answer)
    const client = clientOf(url)
    const from = clock.now()
    let next = 0
    const ask = async () => {
      while (next < calls) await client.request({ method: 'eth_getBalance', params: [next++] })
    }
    await Promise.all(Array.from({ length: 64 }, ask))
    return (clock.now() - from) / 1000
  }

  const posts = { refuses: 'posts', retryAfter: 1, latencyMs: 1 } as const

  it.for<[perSecond: number, seconds: number]>([
    [200, 1.25],
    [500, 1.4],
    [1000, 1.25],
  ])('takes little more than the pause where a second of %i calls comes back in it', async ([perSecond, seconds]) => {
    // As many calls as a burst and a second give. Without what was saved: 1.9, 2.2 and 2.5 s.
    expect(await secondsFor(2 * perSecond, { ...posts, perSecond, burst: perSecond })).toBeLessThan(seconds)
  })

  it('costs one more pause where less comes back', async () => {
    expect(await secondsFor(300, { ...posts, perSecond: 50, burst: 200 })).toBeLessThan(5)
  })
})

describe('a limit that drifts is used to at least 85 %, with under 3 % of calls throttled', () => {
  it.for<[mean: number, swing: number, seconds: number, refuses: Limit['refuses']]>([
    [150, 50, 10, 'posts'],
    ...nightly<[number, number, number, Limit['refuses']]>(
      [150, 50, 20, 'entries'],
      [150, 50, 10, 'entries'],
      [150, 50, 20, 'posts'],
      [150, 50, 40, 'posts'],
      [150, 20, 20, 'posts'],
    ),
  ])('%i calls per second, plus or minus %i, over %i s, if it refuses %s', async ([mean, swing, seconds, refuses], context) => {
    const { server, failures } = await setUp({ ...bucket, refuses }, interactive, context)
    const drift = async (fromMs: number, toMs: number) => {
      for (let at = fromMs; at < toMs; at += 50) {
        server.allow(mean + swing * Math.sin((2 * Math.PI * at) / (seconds * 1000)))
        await sleep(50)
      }
    }
    await drift(0, 10_000)
    server.count()
    // Whole periods.
    await drift(10_000, 90_000)
    const tally = server.count()
    console.log(`${mean} +- ${swing}/s over ${seconds} s, ${refuses}: ${percent(used(tally, mean))} used, ${percent(throttled(tally))} throttled`)
    expect(failures).toEqual([])
    expect(throttled(tally)).toBeLessThan(0.03)
    expect(used(tally, mean)).toBeGreaterThan(0.85)
  })
})

describe('an endpoint that calls its rate limit by name, with HTTP 429, and is busy at times, with HTTP 503', () => {
  it.for<[string, Limit, Caller, least: number]>([
    ['5 % of the POSTs, of interactive calls', { ...bucket, refuses: 'posts', busy: 0.05 }, interactive, 0.75],
    ['5 % of the POSTs, of bulk calls', { ...bucket, refuses: 'posts', retryAfter: 1, busy: 0.05 }, bulk, 0.75],
    ['10 % of the POSTs, of bulk calls', { ...bucket, refuses: 'posts', retryAfter: 1, busy: 0.1 }, bulk, 0.55],
    ['20 % of the POSTs, of bulk calls', { ...bucket, refuses: 'posts', busy: 0.2 }, bulk, 0.45],
  ])('to %s, still gets what it takes', async ([name, limit, caller, least], context) => {
    const parts: number[] = []
    for (const seed of [1, 2, 3, 4]) {
      const { server, failures } = await setUp({ ...limit, seed }, caller, context)
      await sleep(5000)
      server.count()
      await sleep(20_000)
      parts.push(used(server.count(), 200))
      expect(failures).toEqual([])
    }
    console.log(`HTTP 503 to ${name}: of 200/s ${parts.map(percent).join(', ')} used`)
    for (const part of parts) expect(part).toBeGreaterThan(least)
  })

  it('gets less where another limit says when to come back, with HTTP 503', async (context) => {
    const { server, failures } = await setUp({ ...bucket, refuses: 'posts', retryAfter: 1 }, bulk, context)
    await sleep(10_000)
    server.allow(120, 503)
    await sleep(10_000)
    server.count()
    await sleep(40_000)
    const tally = server.count()
    console.log(
      `120/s, refused with HTTP 503 and Retry-After: 1 after 200/s with 429: ${percent(used(tally, 120))} used, ${percent(throttled(tally))} throttled`,
    )
    expect(used(tally, 120)).toBeGreaterThan(0.75)
    expect(throttled(tally)).toBeLessThan(0.05)
    expect(failures).toEqual([])
  })

  it('gets less where another limit says no more than HTTP 503', async (context) => {
    const { server, failures } = await setUp({ ...bucket, refuses: 'posts' }, interactive, context)
    await sleep(10_000)
    server.allow(50, 503)
    await sleep(10_000)
    server.count()
    await sleep(20_000)
    const tally = server.count()
    console.log(`50/s, refused with HTTP 503 after 200/s with 429: ${percent(used(tally, 50))} used, ${percent(throttled(tally))} throttled`)
    expect(used(tally, 50)).toBeGreaterThan(0.85)
    expect(throttled(tally)).toBeLessThan(0.1)
    expect(failures).toEqual([])
  })
})

describe('a server that takes three POSTs at a time is used fully, and refuses under 2 % of calls, if it answers', () => {
  const three = { concurrency: 3, latencyMs: 50 }
  const many: Caller = { priority: 'interactive', workers: 300, options: { batch: { maxCalls: 20 } } }

  it.for<[string, Limit, Caller, slots: number]>([
    ['with HTTP 429', { ...three, refuses: 'posts' }, many, 3],
    // One slot is reserved for interactive calls.
    ['bulk calls with HTTP 429', { ...three, refuses: 'posts' }, bulk, 2],
    ...nightly<[string, Limit, Caller, number]>(
      ['single calls with HTTP 429', { ...three, refuses: 'posts' }, { ...interactive, options: { batch: false } }, 3],
      ['each call with an error', { ...three, refuses: 'entries' }, many, 3],
    ),
  ])('%s', async ([name, limit, caller, slots], context) => {
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
