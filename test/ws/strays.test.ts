import { beforeAll, describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import type { Client, ClientOptions } from '../../src/index.ts'
import { randomFrom } from '../support/random.ts'
import { seeds } from '../support/runs.ts'
import { answerTo, type Entry, right } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, clientOf, serveWebSocket, sleep } = virtualWorld()

// Loading it takes real time, in which virtual time would go on.
beforeAll(async () => {
  await import('../../src/ws/session.ts')
  await import('../../src/ws/handshake.ts')
})

const THROTTLED = { code: -32005, message: 'too many requests' }
const INVALID = { code: -32600, message: 'invalid request' }
const refusal = (error: object, id?: unknown) => JSON.stringify({ jsonrpc: '2.0', id: id ?? null, error })

/** A server that does what `react` does with each message, and a client of it. */
function setUp(react: (send: (value: unknown) => void, entries: readonly Entry[], count: number) => unknown, options: ClientOptions = {}) {
  let count = 0
  const sockets: WebSocket[] = []
  const url = serveWebSocket(
    () => true,
    (webSocket) => {
      sockets.push(webSocket)
      webSocket.on('message', (data) => {
        const send = (value: unknown) =>
          void (webSocket.readyState === webSocket.OPEN && webSocket.send(typeof value === 'string' ? value : JSON.stringify(value)))
        void react(send, [JSON.parse(String(data))].flat(), ++count)
      })
    },
  )
  const client = clientOf(url, { batch: false, retry: false, timeoutMs: 3_000, deadlineMs: 60_000, ...options })
  return { client, sockets }
}

/** What becomes of a call, and how long that takes. */
async function outcomeOf(client: Client, who: number, method = 'eth_getBalance') {
  const from = clock.now()
  const request = client.request({ method, params: [who] }).then(
    () => 'answered',
    ({ kind }) => kind as string,
  )
  return [await request, clock.now() - from] as const
}

describe('errors without an id', () => {
  test('settle all calls in flight, once there are as many and they say the same', async () => {
    const { client } = setUp((send) => send(refusal({ ...THROTTLED, data: Math.random() })))
    const outcomes = await Promise.all([1, 2, 3].map((who) => outcomeOf(client, who)))
    for (const [kind, ms] of outcomes) expect([kind, ms < 50]).toEqual(['rate-limit', true])
  })

  test('let an unsafe call that was refused run once, later', async () => {
    let runs = 0
    const react = (send: (value: unknown) => void, [entry]: readonly Entry[], count: number) => {
      if (count <= 2) return send(refusal(THROTTLED))
      runs++
      send(right(entry as Entry))
    }
    const { client } = setUp(react, { retry: { attempts: 5 }, timeoutMs: 30_000 })
    const outcomes = await Promise.all([1, 2].map((who) => outcomeOf(client, who, 'unknown_write')))
    for (const [kind, ms] of outcomes) expect([kind, ms < 20_000]).toEqual(['answered', true])
    expect(runs).toBe(2)
  })

  test('that differ fail all calls in flight, since nothing tells which is whose', async () => {
    const { client } = setUp((send, _, count) => send(refusal(count === 1 ? THROTTLED : INVALID)))
    const [one, two] = [client.request({ method: 'eth_getBalance', params: [1] }), outcomeOf(client, 2)]
    await expect(one).rejects.toMatchObject({
      kind: 'malformed',
      message: expect.stringMatching(/: 2 different errors came without the ids of their requests; the last one: .*invalid request/),
    })
    const [kind, ms] = await two
    expect([kind, ms < 50]).toEqual(['malformed', true])
  })

  test('settle those that were sent before, and leave later ones alone', async () => {
    const { client } = setUp(async (send, [entry], count) => {
      if (count <= 2) {
        await sleep(100)
        return send(refusal(THROTTLED))
      }
      await sleep(1_000)
      send(right(entry as Entry))
    })
    const first = [1, 2].map((who) => outcomeOf(client, who))
    await sleep(50)
    const later = outcomeOf(client, 3)
    // The third may have been refused as well, for all that is known.
    expect((await later)[0]).toBe('answered')
    for (const [kind, ms] of await Promise.all(first)) expect([kind, ms < 1_500]).toEqual(['rate-limit', true])
  })

  test('wait for other messages without an id that differ: these may be no replies', async () => {
    const { client } = setUp(async (send, [entry]) => {
      send(`hello ${entry?.id}`)
      await sleep(100)
      send(right(entry as Entry))
    })
    const outcomes = await Promise.all([1, 2].map((who) => outcomeOf(client, who)))
    // The second greeting is the reply to the only call that was left.
    expect(outcomes.map(([kind]) => kind).sort()).toEqual(['answered', 'malformed'])
  })
})

describe('a call that was given up', () => {
  const withOneSilent = () => {
    const { client } = setUp((send, [entry]) => {
      if (entry?.method === 'eth_getCode') return
      send(entry?.method === 'eth_chainId' ? refusal(THROTTLED) : right(entry as Entry))
    })
    return { client, giveUp: () => outcomeOf(client.with({ deadlineMs: 300 }), 1, 'eth_getCode') }
  }

  test('leaves errors without an id to the others once it would have timed out', async () => {
    const { client, giveUp } = withOneSilent()
    expect((await giveUp())[0]).toBe('timeout')
    expect((await outcomeOf(client, 2))[0]).toBe('answered')
    // It was sent when 3 s of its own were left.
    await sleep(1_000)
    const [kind, ms] = await outcomeOf(client, 3, 'eth_chainId')
    expect(kind).toBe('rate-limit')
    expect(ms).toBeGreaterThan(1_500)
    expect(ms).toBeLessThan(1_800)
    await client.request({ method: 'eth_getBalance', params: [4] })
    const [again, againMs] = await outcomeOf(client, 5, 'eth_chainId')
    expect([again, againMs < 50]).toEqual(['rate-limit', true])
  })
})

describe('replies that are too long and begin without their ids', () => {
  test('fail the calls in flight, once there are as many', async () => {
    const { client, sockets } = setUp((send, [entry]) => send({ jsonrpc: '2.0', result: 'x'.repeat(5_000), id: entry?.id }), { maxResponseBytes: 1_000 })
    const outcomes = await Promise.all([1, 2].map((who) => outcomeOf(client, who)))
    for (const [kind, ms] of outcomes) expect([kind, ms < 50]).toEqual(['response-too-large', true])
    expect(sockets).toHaveLength(1)
  })
})

/** What a server says beside its replies. */
const NOISE = [
  { jsonrpc: '2.0', method: 'debug_subscription', params: { subscription: '0x1', result: {} } },
  { jsonrpc: '2.0', method: 'keep-alive' },
  { jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result: {} } },
  { jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result: 'x'.repeat(5_000) } },
  { method: 'eth_subscription', params: { subscription: '0x1', result: 'x'.repeat(5_000) } },
  { jsonrpc: '2.0', method: 'admin_subscription', params: 'x'.repeat(5_000) },
  { jsonrpc: '2.0', id: 1, result: 'late' },
  { id: 1, result: 'x'.repeat(5_000) },
]

/**
 * Calls at any time, some of which are given up, to a server that answers each within a second, by
 * its id or with an error without one, and says other things besides. Gives what went wrong.
 */
async function history(seed: number): Promise<string[]> {
  const random = randomFrom(seed)
  const below = (count: number) => Math.floor(random() * count)
  const wrong: string[] = []
  const errors = random() < 0.6 ? [THROTTLED] : [THROTTLED, INVALID]
  const share = [0, 0.1, 0.5, 1][below(4)] as number
  const noise = random() * 0.8
  const isBatching = random() < 0.3
  const ran = new Map<number, number>()
  /** The errors that calls were refused with, by their numbers. */
  const refused = new Map<number, number>()
  let isCalm = false
  const react = async (send: (value: unknown) => void, entries: readonly Entry[], count: number) => {
    // To the call whose reply is said again later.
    if (count === 1) return send(right(entries[0] as Entry))
    const waits = random() < 0.5 ? 0 : below(1_000)
    const isRefused = !isCalm && random() < share
    for (let i = random() < noise ? below(4) : 0; i > 0; i--) send(NOISE[below(NOISE.length)])
    await sleep(waits)
    if (random() < noise) send(NOISE[below(NOISE.length)])
    if (isRefused) {
      const which = below(errors.length)
      for (const { params } of entries) refused.set(Number(params[0]), which)
      return send(refusal(errors[which] as object))
    }
    for (const { params } of entries) ran.set(Number(params[0]), (ran.get(Number(params[0])) ?? 0) + 1)
    const replies = entries.map((entry) => ({ id: entry.id, result: answerTo(entry.params) }))
    send(entries.length > 1 ? replies : replies[0])
    if (random() < 0.1) send(replies)
  }
  const { client, sockets } = setUp(react, { timeoutMs: 5_000, maxResponseBytes: 2_000, batch: isBatching ? {} : false, retry: { attempts: 1 } })
  const call = async (who: number) => {
    const stop = new AbortController()
    if (random() < 0.2) void sleep(below(1_200)).then(() => stop.abort('enough'))
    try {
      // It must not run twice.
      const result = await client.request({ method: 'my_write', params: [who] }, { signal: stop.signal })
      if ((result as { asked: unknown[] }).asked[0] !== who) wrong.push(`call ${who} got the result of another one`)
    } catch (error) {
      const { kind } = error as { kind?: string }
      const which = refused.get(who)
      // Nothing tells apart different errors.
      const expected = [which === 0 ? 'rate-limit' : 'invalid', ...(isBatching ? ['batch-too-large'] : []), ...(errors.length > 1 ? ['malformed'] : [])]
      if (!stop.signal.aborted && (which === undefined || !expected.includes(String(kind)))) wrong.push(`call ${who}, refused by ${which}: ${error}`)
    }
  }
  await client.request({ method: 'my_write', params: [0] })
  const calls: Promise<void>[] = []
  for (let who = 1; who <= 40; who++) {
    calls.push(call(who))
    if (random() < 0.5) await sleep(below(300))
  }
  await sleep(3_000)
  isCalm = true
  for (let who = 41; who <= 45; who++) calls.push(call(who))
  await Promise.all(calls)
  if (sockets.length !== 1) wrong.push(`${sockets.length} sockets`)
  for (const [who, times] of ran) if (times > 1) wrong.push(`call ${who} ran ${times} times`)
  return wrong
}

test.each(seeds(40, 3_000))('every call gets its own reply, among messages without an id: history %i', async (seed) => {
  expect(await history(seed)).toEqual([])
})
