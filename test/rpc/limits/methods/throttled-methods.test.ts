import { getBlocks } from 'hexline/bulk'
import { describe, expect, it } from 'vitest'
import { HttpError } from '../../../../src/errors.ts'
import type { Call, Outcome } from '../../../../src/rpc/call.ts'
import { type BatchInFlight, batchResult } from '../../../../src/rpc/limits/batch-result.ts'
import { ThrottledMethods } from '../../../../src/rpc/limits/methods/throttled-methods.ts'
import { replyOf } from '../../../../src/rpc/reply.ts'
import { chainAnswer } from '../../../support/chain-server.ts'
import { randomFrom } from '../../../support/random.ts'
import type { Entry } from '../../../support/server.ts'
import { errorOf } from '../../../support/server.ts'
import { virtualWorld } from '../../../support/virtual-server.ts'

const world = virtualWorld()
const SECONDS = 40
const retry = { baseDelayMs: 150, maxDelayMs: 10_000 }

/** Units that come back at this rate, per second, and can be saved up for a second. */
class Tokens {
  readonly #perSecond: number
  #left: number
  #at = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
    this.#left = perSecond
  }

  take(units: number): boolean {
    const now = world.clock.now()
    this.#left = Math.min(this.#perSecond, this.#left + ((now - this.#at) / 1000) * this.#perSecond)
    this.#at = now
    if (this.#left < units) return false
    this.#left -= units
    return true
  }
}

/** Does the node take these calls? */
type Takes = (entries: readonly Entry[]) => boolean | 'never answers'

interface NodeOptions {
  /** Refuses single calls, not whole POSTs. */
  readonly byEntry?: boolean
  readonly retryAfter?: number
  /** Default 20. */
  readonly latencyMs?: number
}

const areLogs = ({ method }: Entry) => method === 'eth_getLogs'
const logsIn = (entries: readonly Entry[]) => entries.filter(areLogs).length

/** A node that throttles what it does not take. */
function nodeThat(takes: Takes, { byEntry = false, retryAfter, latencyMs = 20 }: NodeOptions = {}) {
  return world.serve(async ({ entries, isBatch }, response) => {
    await world.sleep(latencyMs)
    const isTaken = byEntry || takes(entries)
    if (isTaken === 'never answers') return
    const answerTo = (entry: Entry) =>
      byEntry && !takes([entry])
        ? { jsonrpc: '2.0', id: entry.id, error: { code: 429, message: 'Too Many Requests' } }
        : { jsonrpc: '2.0', id: entry.id, result: areLogs(entry) || entry.method === 'trace_block' ? [] : '0x1' }
    if (!isTaken) {
      response.writeHead(429, retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` }).end('Too Many Requests')
      return
    }
    const answers = entries.map(answerTo)
    response.writeHead(200).end(JSON.stringify(isBatch ? answers : answers[0]))
  })
}

/**
 * Four callers of small calls, and others of `eth_getLogs` and `trace_block`, without a rest
 * between their calls.
 */
async function load(takes: Takes, options: NodeOptions & { readonly logCallers?: number; readonly traceCallers?: number } = {}) {
  const { url } = await nodeThat(takes, options)
  const client = world.clientOf(url, { deadlineMs: 30_000, retry })
  const end = world.clock.now() + SECONDS * 1000
  let next = 0
  const repeat = async (call: () => Promise<unknown>) => {
    const counts = { answered: 0, failed: 0, longest: 0 }
    while (world.clock.now() < end) {
      const begun = world.clock.now()
      await call().then(
        () => counts.answered++,
        () => counts.failed++,
      )
      counts.longest = Math.max(counts.longest, world.clock.now() - begun)
    }
    return counts
  }
  const balance = async () => {
    await client.call('eth_getBalance', `0x${(next++).toString(16).padStart(40, '0')}`)
    await world.sleep(20)
  }
  const logs = () => client.call('eth_getLogs', { fromBlock: next++, toBlock: next })
  const traces = () => client.call('trace_block', next++)
  const callers = (length: number, call: () => Promise<unknown>) => Array.from({ length }, () => repeat(call))
  const { logCallers = 5, traceCallers = 0 } = options
  const all = await Promise.all([...callers(4, balance), ...callers(logCallers, logs), ...callers(traceCallers, traces)])
  const sum = (counts: typeof all) => ({
    perSecond: counts.reduce((total, { answered }) => total + answered, 0) / SECONDS,
    failed: counts.reduce((total, { failed }) => total + failed, 0),
    longest: Math.max(...counts.map(({ longest }) => longest)),
  })
  return { small: sum(all.slice(0, 4)), logs: sum(all.slice(4, 4 + logCallers)) }
}

/** This many callers make one call after another, until the client is closed. */
function callers(length: number, call: () => Promise<unknown>): void {
  const repeat = async () => {
    for (;;) await call()
  }
  for (let i = 0; i < length; i++) void repeat().catch(() => {})
}

/** Small calls per second where nothing is throttled: each takes 41 ms. */
const UNDISTURBED = 4 / 0.041

describe('a method that an endpoint throttles by itself', () => {
  it.each<[string, NodeOptions]>([
    ['whole POSTs', {}],
    ['single calls', { byEntry: true }],
  ])('for ever, does not hold the others back: %s', async (_, options) => {
    const { small, logs } = await load((entries) => logsIn(entries) === 0, options)
    expect(small.perSecond).toBeGreaterThan(0.9 * UNDISTURBED)
    expect(small.failed).toBe(0)
    expect(logs.perSecond).toBe(0)
  })

  it.each<[string, NodeOptions]>([
    ['whole POSTs', {}],
    ['single calls', { byEntry: true }],
  ])('for ever, as another method, does not hold the others back: %s', async (_, options) => {
    const isTaken = ({ method }: Entry) => method === 'eth_getBalance'
    const { small } = await load((entries) => entries.every(isTaken), { ...options, logCallers: 2, traceCallers: 2 })
    expect(small.perSecond).toBeGreaterThan(0.75 * UNDISTURBED)
    expect(small.failed).toBe(0)
  })

  it.each<[string, NodeOptions]>([
    ['whole POSTs', {}],
    ['single calls', { byEntry: true }],
    ['and says when to come back', { retryAfter: 1 }],
  ])('to ten calls per second, gets these, and the others are not held back: %s', async (_, options) => {
    const tokens = new Tokens(10)
    const { small, logs } = await load((entries) => logsIn(entries) === 0 || tokens.take(logsIn(entries)), options)
    expect(small.perSecond).toBeGreaterThan(0.8 * UNDISTURBED)
    expect(logs.perSecond).toBeGreaterThan(8.5)
    expect(small.failed + logs.failed).toBe(0)
  })

  it.each([5, 50])('gets no long POSTs, of which few calls are answered: after %i ms', async (latencyMs) => {
    const tokens = new Tokens(20)
    const refused = new Set<number>()
    const random = randomFrom(latencyMs)
    const { url } = await world.serve(
      chainAnswer({
        head: 499,
        gate(calls) {
          for (const { id, method } of calls) if (method === 'eth_getBlockReceipts' && !tokens.take(1)) refused.add(id)
          return world.sleep(latencyMs * (0.9 + 0.2 * random()))
        },
        answer: ({ id }) => (refused.has(id) ? { error: { code: -32005, message: 'rate limit exceeded' } } : undefined),
      }),
    )
    const client = world.clientOf(url, { retry })
    const began = world.clock.now()
    let receipts = 0
    for await (const block of getBlocks(client, { from: 0, to: 499, receipts: true })) receipts += block.receipts.length
    const seconds = (world.clock.now() - began) / 1000
    console.log(`500 blocks, with 20 receipts per second, after ${latencyMs} ms: ${seconds.toFixed(1)} s, ${refused.size} refused`)
    expect(receipts).toBe(500)
    // 20 at once, and 20 per second.
    expect(seconds).toBeLessThan(1.2 * 24)
    expect(refused.size).toBeLessThan(400)
  })

  it.each<[what: string, perSecond: number, latencyMs: number, options: NodeOptions]>([
    ['single calls', 5, 50, { byEntry: true }],
    ['single calls', 100, 50, { byEntry: true }],
    ['whole POSTs', 1, 50, {}],
    ['whole POSTs', 5, 5, {}],
    ['whole POSTs', 20, 300, {}],
  ])('is asked at the rate that is taken, in a bulk job, where %s beyond %i per second are refused after %i ms', async (_, perSecond, latencyMs, options) => {
    const tokens = new Tokens(perSecond)
    let taken = 0
    let refused = 0
    let small = 0
    const take = (entries: readonly Entry[]) => {
      const logs = logsIn(entries)
      const isTaken = logs === 0 || tokens.take(logs)
      if (isTaken) {
        taken += logs
        small += entries.length - logs
      } else refused += logs
      return isTaken
    }
    const { url } = await nodeThat(take, { ...options, latencyMs })
    const bulk = world.clientOf(url, { deadlineMs: 600_000, retry }).with({ priority: 'bulk' })
    let next = 0
    callers(300, () => bulk.call('eth_getLogs', { fromBlock: next++, toBlock: next }))
    callers(4, () => bulk.call('eth_getBalance', `0x${(next++).toString(16).padStart(40, '0')}`).then(() => world.sleep(20)))
    await world.sleep(60_000)
    const used = taken / (61 * perSecond)
    console.log(
      `${perSecond} of ${_} per second after ${latencyMs} ms: ${(100 * used).toFixed(0)} % used, ${(refused / taken).toFixed(2)} refused for each that was answered`,
    )
    expect(used).toBeGreaterThan(perSecond === 1 ? 0.7 : 0.95)
    expect(refused).toBeLessThan(taken / (perSecond === 1 ? 0.4 : 2))
    expect(small / 60).toBeGreaterThan(0.9 * (4 / (0.021 + latencyMs / 1000)))
  })

  it("is not taken for the endpoint's because a shorter POST was answered in a trial", async () => {
    const tokens = new Tokens(1)
    let taken = 0
    const take = (entries: readonly Entry[]) => {
      const logs = logsIn(entries)
      const isTaken = logs === 0 || tokens.take(logs)
      if (isTaken) taken += logs
      return isTaken
    }
    const { url } = await nodeThat(take, { latencyMs: 1 })
    const client = world.clientOf(url, { deadlineMs: 600_000, retry })
    const bulk = client.with({ priority: 'bulk' })
    let next = 0
    const repeat = async (call: () => Promise<unknown>) => {
      for (;;) await call()
    }
    const logs = () => bulk.call('eth_getLogs', { fromBlock: next++, toBlock: next })
    const small = () => client.call('eth_getBalance', `0x${(next++).toString(16).padStart(40, '0')}`).then(() => world.sleep(20))
    for (let i = 0; i < 300; i++) void repeat(logs).catch(() => {})
    for (let i = 0; i < 4; i++) void repeat(small).catch(() => {})
    await world.sleep(60_000)
    expect(taken).toBeGreaterThan(30)
  })

  it('and two others, each at a rate of its own, are not taken for a limit of the endpoint', async () => {
    const tokens = new Map([
      ['eth_getLogs', new Tokens(2)],
      ['trace_block', new Tokens(20)],
      ['eth_call', new Tokens(100)],
    ])
    const taken = new Map<string, number>()
    const take = (entries: readonly Entry[]) => {
      const { method } = entries[0] as Entry
      const isTaken = tokens.get(method)?.take(1) !== false
      if (isTaken) taken.set(method, (taken.get(method) ?? 0) + 1)
      return isTaken
    }
    const { url } = await nodeThat(take, { byEntry: true })
    const client = world.clientOf(url, { deadlineMs: 600_000, retry })
    const bulk = client.with({ priority: 'bulk' })
    let next = 0
    const address = () => `0x${(next++).toString(16).padStart(40, '0')}` as const
    callers(300, () => bulk.call('eth_getLogs', { fromBlock: next++, toBlock: next }))
    callers(300, () => bulk.call('trace_block', next++))
    callers(300, () => bulk.call('eth_call', { to: address(), data: '0x' }))
    callers(4, () => client.call('eth_getBalance', address()).then(() => world.sleep(20)))
    await world.sleep(120_000)
    expect(taken.get('eth_getLogs')).toBeGreaterThan(0.8 * 120 * 2)
    expect(taken.get('trace_block')).toBeGreaterThan(0.8 * 120 * 20)
    expect(taken.get('eth_call')).toBeGreaterThan(0.8 * 120 * 100)
  })

  it('is asked at the rate that is taken where each of its calls has an error of its own', async () => {
    const tokens = new Tokens(20)
    let taken = 0
    const { url } = await world.serve(async ({ entries, isBatch }, response) => {
      await world.sleep(20)
      const answers = entries.map(({ id, method }) => {
        if (method !== 'eth_call') return { jsonrpc: '2.0', id, result: '0x1' }
        if (!tokens.take(1)) return { jsonrpc: '2.0', id, error: { code: 429, message: 'Too Many Requests' } }
        taken++
        return { jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted' } }
      })
      response.writeHead(200).end(JSON.stringify(isBatch ? answers : answers[0]))
    })
    const client = world.clientOf(url, { deadlineMs: 600_000, retry })
    const bulk = client.with({ priority: 'bulk' })
    let next = 0
    const address = () => `0x${(next++).toString(16).padStart(40, '0')}` as const
    const reverts = (error: Error) => {
      if (error.name !== 'RpcError') throw error
    }
    callers(50, () => bulk.call('eth_call', { to: address(), data: '0x' }).catch(reverts))
    callers(4, () => client.call('eth_getBalance', address()).then(() => world.sleep(20)))
    await world.sleep(60_000)
    expect(taken).toBeGreaterThan(0.8 * 61 * 20)
  })

  it('has no pause any more once it is answered', async () => {
    const { small, logs } = await load((entries) => logsIn(entries) === 0 || world.clock.now() > (SECONDS / 2) * 1000)
    expect(small.perSecond).toBeGreaterThan(0.8 * UNDISTURBED)
    // Each takes 21 ms, for nearly half of the time.
    expect(logs.perSecond).toBeGreaterThan(0.3 * (5 / 0.021))
  })

  it('fails calls that do not wait for the end of its pause, and no others', async () => {
    const { url } = await nodeThat((entries) => logsIn(entries) === 0)
    const client = world.clientOf(url, { deadlineMs: 20_000, retry })
    const waiting = errorOf(client.call('eth_getLogs', { fromBlock: 1, toBlock: 1 }))
    for (let i = 0; i < 200; i++) await client.call('eth_getBlockByNumber', i, false).catch(() => {})
    const begun = world.clock.now()
    const error = await errorOf(client.with({ whilePaused: 'fail' }).call('eth_getLogs', { fromBlock: 2, toBlock: 2 }))
    expect(error).toMatchObject({ name: 'HttpError', kind: 'rate-limit', method: 'eth_getLogs' })
    expect(world.clock.now()).toBe(begun)
    await client.with({ whilePaused: 'fail' }).call('eth_gasPrice')
    await client.close()
    expect(await waiting).toMatchObject({ name: 'ClosedError' })
  })

  it('holds the others back for a second or two where it is no longer answered', async () => {
    let refused = 0
    const { small } = await load((entries) => (logsIn(entries) === 0 ? true : ++refused > 8 ? 'never answers' : false), { logCallers: 1 })
    expect(small.perSecond).toBeGreaterThan(0.8 * UNDISTURBED)
    expect(small.longest).toBeLessThan(3000)
  })

  it('sends interactive calls of it before bulk calls', async () => {
    const tokens = new Tokens(10)
    const { url } = await nodeThat((entries) => logsIn(entries) === 0 || tokens.take(logsIn(entries)), { byEntry: true })
    const client = world.clientOf(url, { retry })
    const bulk = client.with({ priority: 'bulk', deadlineMs: 300_000 })
    const job = Promise.all(Array.from({ length: 600 }, (_, i) => bulk.call('eth_getLogs', { fromBlock: i, toBlock: i })))
    const end = world.clock.now() + 30_000
    const repeat = async (call: () => Promise<unknown>, pauseMs: number) => {
      let longest = 0
      while (world.clock.now() < end) {
        const begun = world.clock.now()
        await call()
        longest = Math.max(longest, world.clock.now() - begun)
        await world.sleep(pauseMs)
      }
      return longest
    }
    const small = Array.from({ length: 4 }, () => repeat(() => client.call('eth_gasPrice'), 20))
    const longest = await repeat(() => client.call('eth_getLogs', { fromBlock: 0, toBlock: 9 }), 200)
    expect(longest).toBeLessThan(1000)
    await Promise.all(small)
    await job
  })

  it('goes to another endpoint that has it', async () => {
    const own = await nodeThat((entries) => logsIn(entries) === 0)
    const other = await nodeThat(() => true)
    const client = world.clientOf([own.url, other.url], { deadlineMs: 20_000, retry })
    for (let i = 0; i < 50; i++) await Promise.all([client.call('eth_getLogs', { fromBlock: i, toBlock: i }), client.call('eth_gasPrice')])
    expect(world.clock.now()).toBeLessThan(10_000)
  })
})

describe('a limit of the endpoint', () => {
  it.each([100, 25])('of %i calls per second is used by all methods', async (rate) => {
    const tokens = new Tokens(rate)
    const { small, logs } = await load((entries) => tokens.take(entries.length), { logCallers: 2 })
    expect(small.perSecond + logs.perSecond).toBeGreaterThan(0.9 * rate)
    expect(logs.perSecond).toBeGreaterThan(0.25 * rate)
    expect(small.failed + logs.failed).toBe(0)
  })

  it('in units, of which cheap calls leave none for an expensive one, is not taken for its own', async () => {
    const tokens = new Tokens(500)
    const { small, logs } = await load((entries) => tokens.take(75 * logsIn(entries) + 10 * (entries.length - logsIn(entries))), { logCallers: 2 })
    expect(logs.perSecond).toBeGreaterThan(2)
    expect(75 * logs.perSecond + 10 * small.perSecond).toBeGreaterThan(0.8 * 500)
    expect(logs.failed).toBe(0)
    expect(logs.longest).toBeLessThan(10_000)
  })
})

describe('two methods that were refused in the same POSTs', () => {
  it('do not hide that a third one is throttled, too', () => {
    const methods = new ThrottledMethods(retry)
    let now = 0
    const post = (names: readonly string[], isThrottled: boolean, areOthersWaiting = false) => {
      const calls = names.map((method) => ({ method }) as Call)
      const batch: BatchInFlight = { calls, sentAt: now, nth: 1, nthBusy: 1, expectedBytes: 0, isProbe: false, hadRoom: true }
      now += 100
      const outcome = isThrottled ? new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit' }) : replyOf('0x1')
      return methods.learn(
        batchResult(
          batch,
          calls.map(() => outcome),
        ),
        () => areOthersWaiting,
        8,
        now,
      )
    }
    for (const name of ['a', 'b', 'c']) post([name], true)
    for (let i = 0; i < 20; i++) post(['a', 'b'], true)
    for (let i = 0; i < 14; i++) {
      post(['c'], true)
      for (const name of ['c', 'd', 'd']) post([name], false)
    }
    expect(post(['a'], true, true)).toBe('unknown')
  })
})

describe('a method that waits apart for the second time', () => {
  const refused = (retryAfterMs?: number) =>
    new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit', ...(retryAfterMs !== undefined && { retryAfterMs }) })

  /** Has been apart, with pauses of a second and more, until it was answered. */
  function beenApart() {
    const methods = new ThrottledMethods(retry)
    let now = 0
    const post = (method: string, outcome: Outcome) => {
      const calls = [{ method } as Call]
      methods.started(calls, now)
      const batch: BatchInFlight = { calls, sentAt: now, nth: 1, nthBusy: 1, expectedBytes: 0, isProbe: false, hadRoom: true }
      now += 100
      methods.learn(batchResult(batch, [outcome]), () => true, 8, now)
    }
    for (let i = 0; i < 3; i++) {
      post('a', refused(1500))
      post('b', replyOf('0x1'))
    }
    expect(methods.apart.has('a')).toBe(true)
    // Its rate is forgotten meanwhile: what it holds back does not count as answered.
    now += 600_000
    for (let i = 0; i < 30; i++) post('a', replyOf('0x1'))
    expect(methods.apart.has('a')).toBe(false)
    now += 600_000
    return {
      methods,
      post,
      /** How long this method is paused, and how long another waits for its trial later. */
      pauseOf: (method: string) => methods.heldUntil({ size: 1, first: { method } as Call }, 1, now) - now,
      waitOf: (method: string) => methods.msUntilTrialEnds({ size: 1, first: { method } as Call }, now + 1000),
    }
  }

  it('has no trial before it was silent itself', () => {
    const { methods, post, waitOf } = beenApart()
    for (let i = 0; i < 2; i++) post('a', refused(1500))
    expect(methods.apart.has('a')).toBe(true)
    expect(waitOf('b')).toBe(0)
  })

  it('pauses at once, as the first time', () => {
    const { methods, post, pauseOf } = beenApart()
    for (let i = 0; i < 2; i++) post('a', refused())
    expect(methods.apart.has('a')).toBe(true)
    expect(pauseOf('a')).toBe(75)
  })
})
