import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setImmediate as turn } from 'node:timers/promises'
import PQueue from 'p-queue'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Client, type ClientOptions, LimitError, type Post, type PostEvent, replyOf, type ThrottleEvent } from '../../../src/index.ts'
import { type Call, ownRead, type PooledCall } from '../../../src/rpc/call.ts'
import { createQueue, MOVED } from '../../../src/rpc/queue/queue.ts'
import { systemClock } from '../../../src/wait/clock.ts'
import { Waiting } from '../../../src/wait/waiting.ts'
import {
  type Answer,
  always,
  answerTo,
  each,
  errorOf,
  failed,
  gate,
  honest,
  type Received,
  read,
  refuse,
  right,
  send,
  silent,
  type TestServer,
} from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

/** Reads `from` to `to - 1`, all in this turn. */
function reads(client: Client, from: number, to: number): Promise<unknown[]> {
  return Promise.all(Array.from({ length: to - from }, (_, i) => read(client, from + i)))
}

const lengths = (requests: readonly Received[]) => requests.map(({ entries }) => entries.length)
const asked = ({ entries }: Received) => entries.map(({ params }) => params[0])

/**
 * A client with one POST at a time, which is already in flight: new calls wait in line until
 * `release`.
 */
async function busy(options: ClientOptions = {}, ...answers: Answer[]) {
  const { open, answer } = gate()
  const server = await serve(answer, ...(answers.length === 0 ? [honest] : answers))
  const client = clientOf(server.url, { concurrency: 1, ...options })
  const first = read(client, 'first')
  await server.received(1)
  return {
    server,
    client,
    release: async () => {
      open()
      await first
    },
  }
}

describe('calls that go together', () => {
  test('calls of one turn go in one POST, in order', async () => {
    const server = await serve(honest)
    await reads(clientOf(server.url), 0, 10)
    expect(server.requests.map(asked)).toEqual([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]])
    expect(server.requests[0]?.isBatch).toBe(true)
  })

  describe('a call that goes at once', () => {
    function atOnce(rate?: { readonly perSecond: number; readonly costOf?: (method: string) => number }) {
      const posted: unknown[][] = []
      const post: Post = async (calls) => {
        posted.push(calls.map(({ params }) => params[0]))
        await clock.sleep(1)
        return calls.map(() => replyOf('0x1'))
      }
      const limits = { concurrency: 8, singleConcurrency: 8, maxCalls: 16, backoff: { baseDelayMs: 100, maxDelayMs: 100 }, isHeavy: () => false }
      const { send } = createQueue({ name: 'endpoint', post, waiting: new Waiting(clock), dedupe: true, rate, ...limits })
      const call = (param: unknown, given: Partial<PooledCall> = {}) =>
        send({ ...ownRead({ method: 'eth_getBalance', params: [param], deadline: Number.POSITIVE_INFINITY }), ...given })
      return { call, posted }
    }

    test('takes along what is in line and what comes in the same moment, and waits for no others', async () => {
      const { call, posted } = atOnce()
      const calls = [call(1), call(2, { atOnce: true }), call(3, { atOnce: true }), call(4)]
      await null
      expect(posted).toEqual([[1, 2, 3, 4]])
      calls.push(call(5), call(6))
      await turn()
      expect(posted.slice(1)).toEqual([[5, 6]])
      await Promise.all(calls)
    })

    test('goes when the queue was paused for a call that has left', async () => {
      const { call, posted } = atOnce({ perSecond: 10 })
      await call(1)
      const stop = new AbortController()
      const held = call(2, { signal: stop.signal }).catch(() => {})
      await sleep(5)
      stop.abort()
      await held
      await sleep(60_000)
      const before = clock.now()
      await call(3, { atOnce: true })
      expect([clock.now() - before, posted]).toEqual([1, [[1], [3]]])
    })

    test('does not wait for dearer bulk calls that the rate holds back', async () => {
      const { call } = atOnce({ perSecond: 100, costOf: (method) => (method === 'debug_traceBlock' ? 200 : 0) })
      const bulk = [1, 2].map((param) => call(param, { method: 'debug_traceBlock', priority: 'bulk' }))
      await sleep(10)
      const before = clock.now()
      await call(3, { atOnce: true })
      expect(clock.now() - before).toBeLessThan(100)
      await Promise.all(bulk)
    })
  })

  test('so do calls made in later microtasks of the turn', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    const later = async (n: number) => {
      for (let i = 0; i < n; i++) await null
      return read(client, n)
    }
    await Promise.all([later(0), later(1), later(5)])
    expect(lengths(server.requests)).toEqual([3])
  })

  test('a single call is sent as an object', async () => {
    const server = await serve(honest)
    await read(clientOf(server.url), 1)
    expect(server.requests[0]?.isBatch).toBe(false)
    expect(server.requests[0]?.entries).toEqual([{ jsonrpc: '2.0', id: expect.any(Number), method: 'eth_getBalance', params: [1] }])
  })

  test('calls of different turns do not wait for each other', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    const first = read(client, 1)
    await turn()
    await Promise.all([first, read(client, 2)])
    expect(lengths(server.requests)).toEqual([1, 1])
  })

  test('calls made while every slot is taken go together afterwards, whatever their turn', async () => {
    const { server, client, release } = await busy()
    const calls = []
    for (let i = 0; i < 20; i++) {
      calls.push(read(client, i))
      await turn()
    }
    await release()
    await Promise.all(calls)
    expect(lengths(server.requests)).toEqual([1, 20])
  })

  test('a call that was aborted while it waited is not sent', async () => {
    const { server, client, release } = await busy()
    const aborter = new AbortController()
    const gone = errorOf(read(client.with({ signal: aborter.signal }), 'gone'))
    const stays = read(client, 'stays')
    await turn()
    aborter.abort()
    await gone
    await release()
    await stays
    expect(server.requests.map(asked)).toEqual([['first'], ['stays']])
  })

  test('ids are never used twice by one client', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url, { batch: { maxCalls: 3 } })
    await reads(client, 0, 20)
    await reads(client, 0, 20)
    const ids = server.requests.flatMap(({ entries }) => entries.map(({ id }) => id))
    expect(ids).toHaveLength(40)
    expect(new Set(ids).size).toBe(40)
  })
})

describe('maxCalls', () => {
  test('is the longest batch', async () => {
    const server = await serve(honest)
    await reads(clientOf(server.url, { batch: { maxCalls: 7 } }), 0, 20)
    expect(lengths(server.requests).sort()).toEqual([6, 7, 7])
  })

  test('is 100 by default', async () => {
    const server = await serve(honest)
    await reads(clientOf(server.url), 0, 150)
    expect(lengths(server.requests).sort()).toEqual([100, 50])
  })

  test('`batch: false` is one POST per call, each an object', async () => {
    const server = await serve(honest)
    await reads(clientOf(server.url, { batch: false }), 0, 20)
    expect(lengths(server.requests)).toEqual(Array(20).fill(1))
    expect(server.requests.some(({ isBatch }) => isBatch)).toBe(false)
  })

  test('`concurrency` is how many POSTs are in flight', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const all = reads(clientOf(server.url, { batch: false, concurrency: 3 }), 0, 10)
    await server.received(3)
    await turn()
    expect(server.requests).toHaveLength(3)
    open()
    await all
    expect(server.requests).toHaveLength(10)
  })

  describe('is 100 by default for single calls', () => {
    /** The number of calls that reach the server before it has answered any. */
    const atOnce = async (client: Client, server: TestServer, calls: number) => {
      const { open, answer } = gate()
      const before = server.requests.length
      server.script(answer)
      const all = reads(client, 0, calls)
      await server.received(before + Math.min(calls, 100))
      await turn()
      const count = server.requests.length - before
      open()
      await all
      return count
    }

    test('with `batch: false`', async () => {
      const server = await serve(honest)
      expect(await atOnce(clientOf(server.url, { batch: false }), server, 150)).toBe(100)
    })

    test('at an endpoint that has refused batches of any length', async () => {
      const server = await serve((request, response) => (request.isBatch ? always('', { status: 405 })(request, response) : honest(request, response)))
      const client = clientOf(server.url)
      await reads(client, 0, 30)
      expect(await atOnce(client, server, 150)).toBe(100)
    })

    test('but not for bulk calls, whose replies are large', async () => {
      const { open, answer } = gate()
      const server = await serve(answer)
      const all = reads(clientOf(server.url, { batch: false }).with({ priority: 'bulk' }), 0, 20)
      await server.received(7)
      await turn()
      expect(server.requests).toHaveLength(7)
      open()
      await all
    })

    test('until the endpoint throttles that many', async () => {
      let inFlight = 0
      const server = await serve(async (request, response) => {
        if (inFlight >= 4) return always('', { status: 429 })(request, response)
        inFlight++
        await sleep(5)
        inFlight--
        return honest(request, response)
      })
      await reads(clientOf(server.url, { batch: false }), 0, 300)
      expect(server.requests.length - 300).toBeLessThan(300)
    })
  })
})

describe('unsafe calls', () => {
  test('go alone, and in order among the others', async () => {
    const { server, client, release } = await busy()
    const calls = [read(client, 1), read(client, 2), client.request({ method: 'eth_sendRawTransaction', params: ['0x00'] }), read(client, 3), read(client, 4)]
    await release()
    await Promise.all(calls)
    expect(server.requests.slice(1).map(asked)).toEqual([[1, 2], ['0x00'], [3, 4]])
  })

  test('include methods that are not in the table', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    await Promise.all(['debug_traceCall', 'toString', '__proto__', 'evm_mine'].map((method) => client.request({ method, params: [] })))
    expect(lengths(server.requests)).toEqual([1, 1, 1, 1])
  })
})

describe('priorities', () => {
  test('are never mixed in one POST', async () => {
    const { server, client, release } = await busy()
    const bulk = client.with({ priority: 'bulk' })
    const calls = Array.from({ length: 10 }, (_, i) => (i % 2 ? read(bulk, `bulk ${i}`) : read(client, `interactive ${i}`)))
    await release()
    await Promise.all(calls)
    for (const request of server.requests.slice(1)) expect(new Set(asked(request).map((param) => String(param).split(' ')[0])).size).toBe(1)
    expect(lengths(server.requests)).toEqual([1, 5, 5])
  })

  test('an interactive call passes a thousand waiting bulk calls', async () => {
    const { server, client, release } = await busy()
    const bulk = client.with({ priority: 'bulk' })
    const waiting = reads(bulk, 0, 1000)
    await turn()
    const urgent = read(client, 'urgent')
    await release()
    await urgent
    expect(asked(await server.received(2))).toEqual(['urgent'])
    await waiting
    expect(server.requests).toHaveLength(2 + 10)
  })

  test('one slot is reserved, so that an interactive call need not wait for bulk calls', async () => {
    const { open, answer } = gate()
    const server = await serve((request, response) => (asked(request)[0] === 'urgent' ? honest : answer)(request, response))
    const client = clientOf(server.url, { concurrency: 3, batch: { maxCalls: 10 } })
    const bulk = reads(client.with({ priority: 'bulk' }), 0, 100)
    await server.received(2)
    expect(await read(client, 'urgent')).toEqual(answerTo(['urgent']))
    expect(lengths(server.requests)).toEqual([10, 10, 1])
    open()
    await bulk
  })

  test('the first free slot goes to interactive calls, even if bulk calls came before them', async () => {
    const gates = [gate(), gate(), gate()] as const
    const server = await serve(gates[0].answer, gates[1].answer, gates[2].answer, honest)
    const client = clientOf(server.url, { concurrency: 2 })
    const taken = ['a', 'b'].map(async (param, i) => {
      await (i === 1 && server.received(1))
      return read(client, param)
    })
    await server.received(2)
    const bulk = reads(client.with({ priority: 'bulk' }), 0, 3)
    await turn()
    const urgent = read(client, 'urgent')
    await turn()
    gates[1].open()
    expect(asked(await server.received(3))).toEqual(['urgent'])
    expect(server.requests).toHaveLength(3)
    gates[0].open()
    expect(asked(await server.received(4))).toEqual([0, 1, 2])
    gates[2].open()
    await Promise.all([...taken, bulk, urgent])
  })

  test('with one slot, bulk calls get it', async () => {
    const server = await serve(honest)
    await reads(clientOf(server.url, { concurrency: 1 }).with({ priority: 'bulk' }), 0, 5)
    expect(lengths(server.requests)).toEqual([5])
  })
})

describe('a batch refused for its length', () => {
  /** Refuses longer batches as geth does, with the first call's id. */
  function takesAtMost(most: number): Answer {
    return (request, response) => {
      if (request.entries.length <= most) return honest(request, response)
      send(response, JSON.stringify([failed(request.entries[0] as { id: number }, -32600, 'batch too large')]))
    }
  }
  const refusals = (requests: readonly Received[], most: number) => lengths(requests).filter((length) => length > most).length

  test('is halved until it is accepted, and every call gets its answer', async () => {
    for (const most of [1, 3, 10]) {
      const server = await serve(takesAtMost(most))
      const results = await reads(clientOf(server.url, { concurrency: 1 }), 0, 230)
      expect(results).toEqual(Array.from({ length: 230 }, (_, i) => answerTo([i])))
      // 100, 50, 25, 12, 6, 3, and the lengths between the last of them and the limit.
      expect(refusals(server.requests, most)).toBeLessThanOrEqual(7)
    }
  })

  test('goes back to the front of the line', async () => {
    const { server, client, release } = await busy({ batch: { maxCalls: 4 } }, takesAtMost(2))
    const calls = reads(client, 0, 6)
    await release()
    await calls
    expect(server.requests.slice(1).map(asked)).toEqual([
      [0, 1, 2, 3],
      [0, 1],
      [2, 3],
      [4, 5],
    ])
  })

  test('does not count as an attempt of its calls', async () => {
    const server = await serve(takesAtMost(1))
    expect(await reads(clientOf(server.url, { retry: false }), 0, 64)).toHaveLength(64)
  })

  test('is learnt: later calls are not refused again', async () => {
    const server = await serve(takesAtMost(10))
    const client = clientOf(server.url, { concurrency: 1 })
    await reads(client, 0, 100)
    const before = refusals(server.requests, 10)
    await reads(client, 100, 200)
    expect(refusals(server.requests, 10)).toBe(before)
  })

  test('is learnt for all clients made from one', async () => {
    const server = await serve(takesAtMost(10))
    const client = clientOf(server.url, { concurrency: 1 })
    await reads(client, 0, 100)
    const before = refusals(server.requests, 10)
    await reads(client.with({ priority: 'bulk', deadlineMs: 60_000 }), 100, 200)
    expect(refusals(server.requests, 10)).toBe(before)
  })

  test('is refused few times, for any number of POSTs in flight: one probes the new length while the others wait', async () => {
    const server = await serve(takesAtMost(3))
    await reads(clientOf(server.url, { concurrency: 8 }), 0, 800)
    // All eight of the first wave, then one for each of 50, 25, 12, 6, and one that tries 4.
    expect(refusals(server.requests, 3)).toBeLessThanOrEqual(8 + 5)
  })

  test('and whose calls all fail with their own errors ends the probing: later POSTs no longer go one by one', async () => {
    const tooLong = refuse(-32600, 'batch too large')
    const reverted = refuse(3, 'execution reverted')
    const limited: Answer = (request, response) => (request.entries.length > 5 ? tooLong : reverted)(request, response)
    const server = await serve(limited)
    const client = clientOf(server.url, { concurrency: 4, batch: { maxCalls: 10 } })
    await Promise.all(Array.from({ length: 40 }, (_, n) => errorOf(read(client, n))))
    const { open, answer } = gate()
    server.script(answer)
    const before = server.requests.length
    const more = Promise.all(Array.from({ length: 20 }, (_, n) => read(client, 100 + n)))
    // All four have arrived, and none is answered yet.
    await server.received(before + 4)
    open()
    await more
  })

  test('by HTTP 413, or for the length of its reply, is also halved', async () => {
    for (const refusal of [always('Request Entity Too Large', { status: 413 }), always({ id: null, error: { code: -32003, message: 'response too large' } })]) {
      const server = await serve((request, response) => (request.entries.length <= 5 ? honest : refusal)(request, response))
      expect(await reads(clientOf(server.url, { concurrency: 1 }), 0, 20)).toHaveLength(20)
    }
  })

  test.each([400, 405, 415, 422])('by a plain HTTP %i, from a server without batches, is sent as single calls', async (status) => {
    const plain = always('Bad Request', { status })
    const server = await serve((request, response) => (request.isBatch ? plain : honest)(request, response))
    expect(await reads(clientOf(server.url, { retry: false }), 0, 10)).toEqual(Array.from({ length: 10 }, (_, i) => answerTo([i])))

    server.script(plain)
    const before = server.requests.length
    expect(await errorOf(read(clientOf(server.url), 1))).toMatchObject({ name: 'HttpError', status, kind: 'invalid', attempts: 1 })
    expect(server.requests).toHaveLength(before + 1)
  })

  describe('by HTTP 404', () => {
    const notFound = always('Not Found', { status: 404 })
    const batchless: Answer = (request, response) => (request.isBatch ? notFound : honest)(request, response)

    test('from a server that answers single calls is sent as single calls, and later calls are not refused again', async () => {
      const server = await serve(batchless)
      const client = clientOf(server.url, { retry: false })
      expect(await reads(client, 0, 30)).toEqual(Array.from({ length: 30 }, (_, i) => answerTo([i])))
      await reads(client, 30, 40)
      expect(lengths(server.requests)).toEqual([30, ...Array(40).fill(1)])
    })

    test('with single calls that get the same is a wrong URL, which each call reports, in few POSTs', async () => {
      const server = await serve(notFound)
      const client = clientOf(server.url)
      const errors = await Promise.all(Array.from({ length: 30 }, (_, i) => errorOf(read(client, i))))
      for (const error of errors) expect(error).toMatchObject({ name: 'HttpError', kind: 'not-found', status: 404 })
      // A single call in each slot, and the rest in a batch again.
      expect(lengths(server.requests).sort()).toEqual([...Array(8).fill(1), 22, 30])
    })

    test('after answered batches says nothing about batches', async () => {
      const server = await serve(honest, notFound, honest)
      const client = clientOf(server.url)
      await reads(client, 0, 10)
      await Promise.all(Array.from({ length: 10 }, (_, i) => errorOf(read(client, i))))
      await reads(client, 0, 10)
      expect(lengths(server.requests)).toEqual([10, 10, 10])
    })
  })

  test('with replies of more than 16 MiB together is cut, and requested in smaller ones', async () => {
    const large = 'x'.repeat(500_000)
    const server = await serve(each(({ id, params }) => ({ jsonrpc: '2.0', id, result: [params[0], large] })))
    const results = (await reads(clientOf(server.url), 0, 60)) as [number, string][]
    expect(results.map(([n]) => n)).toEqual(Array.from({ length: 60 }, (_, n) => n))
    const [first, ...others] = lengths(server.requests)
    expect(first).toBe(60)
    // Their size is known from the one that was cut.
    expect(Math.max(...others)).toBeLessThanOrEqual(6)
  })

  test('a single call that is refused for its size fails with that error', async () => {
    const server = await serve(refuse(-32600, 'request too large'))
    expect(await errorOf(read(clientOf(server.url), 1))).toMatchObject({ name: 'RpcError', kind: 'request-too-large', attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('an aborted call of it is not sent again', async () => {
    const { open, answer } = gate(takesAtMost(2))
    const server = await serve(answer, honest)
    const client = clientOf(server.url)
    const aborter = new AbortController()
    const stay = [read(client, 0), read(client, 1)]
    const gone = errorOf(read(client.with({ signal: aborter.signal }), 'gone'))
    await server.received(1)
    aborter.abort()
    await gone
    open()
    await Promise.all(stay)
    expect(server.requests.slice(1).flatMap(asked).sort()).toEqual([0, 1])
  })
})

describe('batches that their callers abort', () => {
  test.each([
    ['a URL', async () => (await serve(honest, silent, silent, silent, silent, silent, honest)).url],
    ['a URL that has answered nothing yet', async () => (await serve(silent, silent, silent, silent, silent, honest)).url],
    [
      'a function that heeds its signal',
      async () => {
        let posts = 0
        const post: Post = (calls, signal) =>
          ++posts > 5
            ? Promise.resolve(calls.map(({ params }) => replyOf(answerTo(params as unknown[]))))
            : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        return post
      },
    ],
    [
      'a function that does not',
      async () => {
        let posts = 0
        const post: Post = (calls) => (++posts > 5 ? Promise.resolve(calls.map(({ params }) => replyOf(answerTo(params as unknown[])))) : new Promise(() => {}))
        return post
      },
    ],
  ])('say nothing about the limits of %s', async (name, endpoint) => {
    const throttled = new Set<string>()
    const posts: PostEvent[] = []
    const onThrottle = (event: unknown) => void throttled.add((event as ThrottleEvent).endpoint)
    const onPost = (event: unknown) => void posts.push(event as PostEvent)
    subscribe('hexline:throttle', onThrottle)
    subscribe('hexline:post', onPost)
    onTestFinished(() => {
      unsubscribe('hexline:throttle', onThrottle)
      unsubscribe('hexline:post', onPost)
    })
    const client = clientOf(await endpoint(), { concurrency: 1 })
    if (name === 'a URL') await read(client, 'first')
    for (let i = 0; i < 5; i++) {
      const aborter = new AbortController()
      const gone = Promise.allSettled(Array.from({ length: 50 }, (_, j) => read(client.with({ signal: aborter.signal }), j)))
      await sleep(20)
      aborter.abort()
      await gone
    }
    expect(await reads(client, 0, 50)).toHaveLength(50)
    const { endpoint: own } = posts.at(-1) as PostEvent
    const ownPosts = posts.filter(({ endpoint, calls }) => endpoint === own && calls > 1)
    expect(ownPosts.map(({ calls, isCut, failures }) => [calls, isCut, failures])).toEqual([...Array(5).fill([50, true, {}]), [50, false, {}]])
    expect(throttled).not.toContain(own)
  })
})

describe('a batch that times out', () => {
  test('is halved, and its calls are retried', async () => {
    const slow: Answer = (request, response) => (request.entries.length > 4 ? silent : honest)(request, response)
    const server = await serve(slow)
    const client = clientOf(server.url, { timeoutMs: 80, concurrency: 1, batch: { maxCalls: 16 }, retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 2 } })
    expect(await reads(client, 0, 16)).toHaveLength(16)
    // They are retried one by one, each after its own wait: how many share a POST is chance, but
    // never more than half.
    const [first, ...later] = lengths(server.requests)
    expect(first).toBe(16)
    expect(Math.max(...later)).toBeLessThanOrEqual(8)
  })

  test('a call that timed out at the node does not shorten the batches of the others', async () => {
    const server = await serve(each((entry) => (entry.params[0] === 0 ? failed(entry, -32002, 'request timed out') : right(entry))))
    const client = clientOf(server.url, { retry: false, batch: { maxCalls: 8 }, concurrency: 1 })
    await Promise.allSettled(Array.from({ length: 8 }, (_, i) => read(client, i)))
    await reads(client, 1, 9)
    expect(lengths(server.requests)).toEqual([8, 8])
  })
})

describe('a good body', () => {
  test('a POST is limited to 1.5 MB of expected replies', async () => {
    const server = await serve(each(({ id }) => ({ id, result: 'x'.repeat(200_000) })))
    const client = clientOf(server.url, { concurrency: 1 })
    await read(client, 'learn')
    await reads(client, 0, 40)
    // 1.5 MiB are 7.86 such replies.
    expect(lengths(server.requests)).toEqual([1, 8, 8, 8, 8, 8])
  })

  test('a single larger reply is still requested', async () => {
    const server = await serve(each(({ id }) => ({ id, result: 'x'.repeat(2_000_000) })))
    const client = clientOf(server.url, { concurrency: 1 })
    await read(client, 'learn')
    await reads(client, 0, 3)
    expect(lengths(server.requests)).toEqual([1, 1, 1, 1])
  })

  test('the reply size of one method shortens no batch of another', async () => {
    const server = await serve(each((entry) => (entry.method === 'eth_getCode' ? { id: entry.id, result: 'x'.repeat(2_000_000) } : right(entry))))
    const client = clientOf(server.url, { concurrency: 1 })
    await client.request({ method: 'eth_getCode', params: [] })
    await reads(client, 0, 50)
    expect(lengths(server.requests)).toEqual([1, 50])
  })
})

describe('rate', () => {
  test('counts the entries of batches, and is kept at the server', async () => {
    const server = await serve(honest)
    const perSecond = 100
    await reads(clientOf(server.url, { rate: { callsPerSecond: perSecond } }), 0, 220)
    const at = server.requests.flatMap((request) => request.entries.map(() => request.at))
    expect(at).toHaveLength(220)
    // Calls sent in 1,000 ms may arrive in less if the machine delays the first. 100 ms are allowed
    // for that; the limit is on what is sent.
    for (let i = 0; i + perSecond < at.length; i++) expect((at[i + perSecond] as number) - (at[i] as number)).toBeGreaterThan(900)
    expect(Math.max(...lengths(server.requests))).toBeLessThanOrEqual(perSecond / 20)
  })

  test('in units counts the cost of each method, by the table or as the user sets it', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url, { rate: { unitsPerSecond: 1000, units: { eth_getBalance: 100 } } })
    const started = clock.now()
    // 1,500 units at 950 a second, after a first call for nothing.
    await reads(client, 0, 15)
    expect(clock.now() - started).toBeGreaterThan(1000)
    expect(Math.max(...lengths(server.requests))).toBe(1)
    // eth_chainId costs nothing.
    const before = server.requests.length
    await Promise.all(Array.from({ length: 50 }, (_, i) => client.request({ method: 'eth_chainId', params: [i] })))
    expect(lengths(server.requests.slice(before))).toEqual([50])
  })

  test('joined calls are counted once', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url, { rate: { callsPerSecond: 1 } })
    await Promise.all(Array.from({ length: 50 }, () => read(client, 'same')))
    expect(lengths(server.requests)).toEqual([1])
  })

  test('a call that is given up while it waits delays no call behind it', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url, { rate: { unitsPerSecond: 1, units: { eth_getLogs: 100, eth_chainId: 0 } } })
    await client.request({ method: 'eth_getLogs', params: [{}] })
    const end = new AbortController()
    const logs = errorOf(client.request({ method: 'eth_getLogs', params: [{ fromBlock: '0x1' }] }, { signal: end.signal }))
    const before = clock.now()
    const free = client.request({ method: 'eth_chainId' })
    end.abort(new Error('not wanted'))
    await free
    expect(clock.now() - before).toBeLessThan(1000)
    expect((await logs).message).toBe('not wanted')
  })
})

describe('a pause', () => {
  test('applies to every call of the endpoint, for as long as Retry-After says', async () => {
    const { open, answer } = gate(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '1' } }))
    const server = await serve(answer, honest)
    const client = clientOf(server.url, { concurrency: 1 })
    const refused = read(client, 'refused')
    const { at } = await server.received(1)
    const inLine = reads(client, 0, 3)
    await turn()
    open()
    await Promise.all([refused, inLine])
    for (const request of server.requests.slice(1)) expect(request.at - at).toBeGreaterThan(990)
  })

  test.each([1_200_000, Number.POSITIVE_INFINITY])(
    'for a day is over after ten minutes, also for the call that met it (deadlineMs: %d)',
    async (deadlineMs) => {
      const server = await serve(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '86400' } }), honest)
      const client = clientOf(server.url, { deadlineMs })
      const met = read(client, 1)
      await server.received(1)
      await sleep(1_000)
      const started = clock.now()
      expect(await Promise.all([met, read(client, 2)])).toEqual([answerTo([1]), answerTo([2])])
      expect(clock.now() - started).toBeLessThan(601_000)
    },
  )

  test('delays calls made while it lasts', async () => {
    const server = await serve(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '0.4' } }), honest)
    const client = clientOf(server.url, { retry: false })
    await errorOf(read(client, 'refused'))
    await reads(client, 0, 5)
    expect(lengths(server.requests).reduce((sum, length) => sum + length, 0)).toBe(6)
    const [first, second] = server.requests as [Received, Received]
    expect(second.at - first.at).toBeGreaterThan(390)
  })

  test('ends with all waiting calls: interactive calls first, then bulk calls', async () => {
    const server = await serve(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '2' } }), honest)
    const client = clientOf(server.url, { retry: false, concurrency: 1 })
    await errorOf(read(client, 'refused'))
    const bulk = reads(client.with({ priority: 'bulk' }), 0, 2)
    await sleep(500)
    const interactive = [read(client, 'early')]
    await sleep(500)
    interactive.push(read(client, 'late'))
    await Promise.all([bulk, ...interactive])
    expect(server.requests.flatMap(asked)).toEqual(['refused', 'early', 'late', 0, 1])
  })

  test('is also made without a Retry-After if nothing is answered, for longer each time', async () => {
    const server = await serve(refuse(429, 'Too many requests', { status: 429 }), refuse(429, 'Too many requests', { status: 429 }), honest)
    const client = clientOf(server.url, { retry: { attempts: 1, baseDelayMs: 400, maxDelayMs: 4000 } })
    await errorOf(read(client, 0))
    await errorOf(read(client, 1))
    await read(client, 2)
    const [first, second, third] = server.requests as [Received, Received, Received]
    expect(second.at - first.at).toBeGreaterThan(190)
    expect(third.at - second.at).toBeGreaterThan(390)
  })

  test('is not made if only some entries of a batch were throttled: calls are sent more slowly from then on', async () => {
    const server = await serve(
      each((entry) => (entry.params[0] === 1 ? failed(entry, -32005, 'rate limit exceeded') : right(entry))),
      honest,
    )
    const client = clientOf(server.url, { retry: { attempts: 1, baseDelayMs: 60_000, maxDelayMs: 60_000 } })
    const [zero, one] = await Promise.allSettled([read(client, 0), read(client, 1)])
    expect(zero.status).toBe('fulfilled')
    expect(one).toMatchObject({ reason: { kind: 'rate-limit', attempts: 1 } })
    // A pause would last 30 s, beyond its deadline.
    await reads(client.with({ deadlineMs: 20_000 }), 2, 12)
    expect(server.requests.length).toBeGreaterThan(3)
  })

  test('a call whose deadline is before its end fails at once, with the node’s error', async () => {
    const server = await serve(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '3600' } }))
    const client = clientOf(server.url)
    await errorOf(read(client, 'refused'))
    const started = clock.now()
    const error = await errorOf(client.request({ method: 'eth_getCode', params: [] }))
    expect(error).toMatchObject({
      name: 'RpcError',
      kind: 'rate-limit',
      code: 429,
      message: `127.0.0.1:${server.port}: eth_getCode: Too many requests`,
      said: 'Too many requests',
      method: 'eth_getCode',
      retryAfterMs: 3_600_000,
    })
    expect(clock.now() - started).toBeLessThan(30_000)
    expect(server.requests).toHaveLength(1)
  })

  test('such a call was never sent, and says so', async () => {
    const server = await serve(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '3600' } }))
    const client = clientOf(server.url)
    expect(await errorOf(read(client, 1))).toMatchObject({ attempts: 1 })
    expect(await errorOf(read(client, 2))).toMatchObject({ attempts: 0 })
  })

  test('so do calls that wait in line when it begins', async () => {
    const { open, answer } = gate(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '60' } }))
    const server = await serve(answer)
    const client = clientOf(server.url, { concurrency: 1, deadlineMs: 20_000 })
    const first = errorOf(read(client, 1))
    await server.received(1)
    const second = errorOf(read(client, 2))
    const third = errorOf(read(client.with({ priority: 'bulk' }), 3))
    await turn()
    const started = clock.now()
    open()
    for (const error of await Promise.all([first, second, third])) expect(error).toMatchObject({ kind: 'rate-limit', said: 'Too many requests' })
    expect(clock.now() - started).toBeLessThan(15_000)
    expect(server.requests).toHaveLength(1)
  })

  test('and calls that have joined one with more time', async () => {
    const { open, answer } = gate(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '60' } }))
    const server = await serve(answer)
    const client = clientOf(server.url, { concurrency: 1, retry: false })
    const first = errorOf(read(client, 1))
    await server.received(1)
    const patient = errorOf(read(client, 'same'))
    const hasty = errorOf(read(client.with({ deadlineMs: 500 }), 'same'))
    await turn()
    open()
    await first
    expect(await hasty).toMatchObject({ name: 'RpcError', kind: 'rate-limit' })
    await client.close()
    expect(await patient).toMatchObject({ name: 'ClosedError' })
  })
})

describe('joining', () => {
  test('two identical calls of one turn make one entry, and each gets its own object', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    const [a, b] = (await Promise.all([read(client, { deep: [1] }), read(client, { deep: [1] })])) as { asked: { deep: number[] }[] }[]
    expect(lengths(server.requests)).toEqual([1])
    expect(a).toEqual(answerTo([{ deep: [1] }]))
    expect(b).toEqual(a)
    a?.asked[0]?.deep.push(2)
    expect(b).toEqual(answerTo([{ deep: [1] }]))
  })

  test('a copy keeps everything that JSON can hold, including __proto__', async () => {
    const server = await serve((request, response) =>
      send(response, `{"id":${request.entries[0]?.id},"result":{"__proto__":{"a":1},"n":[null,false,1.5,"x",{}]}}`),
    )
    const client = clientOf(server.url)
    const [a, b] = await Promise.all([read(client), read(client)])
    expect(JSON.stringify(a)).toBe('{"__proto__":{"a":1},"n":[null,false,1.5,"x",{}]}')
    expect(JSON.stringify(b)).toBe(JSON.stringify(a))
    expect(Object.getPrototypeOf(b)).toBe(Object.prototype)
  })

  test.each([
    ['last', (single: Client, several: Client) => [several, single]],
    ['first', (single: Client, several: Client) => [single, several]],
  ] as const)('a call with a single attempt is read to its end where the reply stalls, if it comes %s', async (_, order) => {
    const server = await serve(honest, async ({ entries: [entry] }, response) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: entry?.id, result: answerTo([1]) })
      response.write(body.slice(0, 20))
      await sleep(2_000)
      response.end(body.slice(20))
    })
    const client = clientOf(server.url)
    // Once a body is complete, a stall may last half a second.
    await read(client, 0)
    const answers = order(client.with({ attempts: 1 }), client).map((each) => read(each, 1))
    expect(await Promise.all(answers)).toEqual([answerTo([1]), answerTo([1])])
    expect(lengths(server.requests)).toEqual([1, 1])
  })

  test('each gets its own bytes, too', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    const request = { method: 'eth_call', params: [{ a: 1 }], as: 'bytes' } as const
    const [a, b] = (await Promise.all([client.send(request), client.send(request)])).map((reply) => reply.take() as Uint8Array) as [Uint8Array, Uint8Array]
    expect(lengths(server.requests)).toEqual([1])
    const before = String(b)
    expect(String(a)).toBe(before)
    a.fill(0)
    expect(String(b)).toBe(before)
  })

  test('each gets its own error, too', async () => {
    const server = await serve(refuse(3, 'execution reverted'))
    const client = clientOf(server.url)
    const [a, b] = await Promise.all([errorOf(read(client)), errorOf(read(client))])
    expect(server.requests).toHaveLength(1)
    expect(a).not.toBe(b)
    for (const error of [a, b]) expect(error).toMatchObject({ name: 'RpcError', said: 'execution reverted', code: 3, attempts: 1 })
  })

  test('calls that differ in method, params or priority are not joined', async () => {
    const { server, client, release } = await busy()
    const calls = [
      read(client, 1),
      read(client, '1'),
      read(client, 1, 'latest'),
      client.request({ method: 'eth_getCode', params: [1] }),
      read(client.with({ priority: 'bulk' }), 1),
    ]
    await release()
    await Promise.all(calls)
    expect(lengths(server.requests)).toEqual([1, 4, 1])
  })

  test('the others get their answer, whichever joined call is aborted', async () => {
    for (const aborted of [0, 1, 2]) {
      const { server, client, release } = await busy()
      const reason = new Error('enough')
      const aborter = new AbortController()
      const calls = [0, 1, 2].map((i) => (i === aborted ? errorOf(read(client.with({ signal: aborter.signal }), 'same')) : read(client, 'same')))
      await turn()
      aborter.abort(reason)
      expect(await calls[aborted]).toBe(reason)
      // A call made after the first is gone joins those that are left.
      calls.push(read(client, 'same'))
      await release()
      const others = await Promise.all(calls.filter((_, i) => i !== aborted))
      expect(others).toEqual(Array(3).fill(answerTo(['same'])))
      expect(server.requests.map(asked)).toEqual([['first'], ['same']])
      // Each its own object, also those that joined.
      expect(new Set(others).size).toBe(3)
    }
  })

  test('an aborted call in flight does not end the other', async () => {
    for (const aborted of [0, 1]) {
      const { open, answer } = gate()
      const server = await serve(answer)
      const client = clientOf(server.url)
      const aborter = new AbortController()
      const calls = [0, 1].map((i) => (i === aborted ? errorOf(read(client.with({ signal: aborter.signal }), 'same')) : read(client, 'same')))
      await server.received(1)
      aborter.abort()
      await calls[aborted]
      open()
      expect(await calls[1 - aborted]).toEqual(answerTo(['same']))
      expect(server.requests).toHaveLength(1)
    }
  })

  test('nothing is sent if all are aborted', async () => {
    const { server, client, release } = await busy()
    const aborter = new AbortController()
    const mine = client.with({ signal: aborter.signal })
    const calls = [errorOf(read(mine, 'same')), errorOf(read(mine, 'same'))]
    await turn()
    aborter.abort()
    await Promise.all(calls)
    await release()
    await read(client, 'next')
    expect(server.requests.map(asked)).toEqual([['first'], ['next']])
  })

  test('a call made after the first was sent is sent, too, since the first may have been answered before a write', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = clientOf(server.url)
    const first = read(client, 'same')
    await server.received(1)
    const second = read(client, 'same')
    await server.received(2)
    open()
    await Promise.all([first, second])
    expect(lengths(server.requests)).toEqual([1, 1])
  })

  test('unsafe calls are never joined', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    await Promise.all([1, 2, 3].map(() => client.request({ method: 'evm_mine', params: [] })))
    await Promise.all([1, 2].map(() => client.request({ method: 'eth_sendRawTransaction', params: ['0x01'] })))
    expect(server.requests).toHaveLength(5)
  })

  test('`dedupe: false` sends every call', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url, { dedupe: false })
    await Promise.all([read(client, 'same'), read(client, 'same')])
    expect(lengths(server.requests)).toEqual([2])
  })
})

describe('calls whose replies are too large together', () => {
  test('go in at most half as long a batch each time, though small replies to others come meanwhile', async () => {
    const MiB = 2 ** 20
    const isLarge = ({ params: [number] }: { readonly params: readonly unknown[] }) => (number as number) >= 1000 && (number as number) < 1032
    const lengthsOf = new Map<unknown, number[]>()
    const post: Post = async (calls) => {
      const large = calls.filter(isLarge)
      for (const { params } of large) lengthsOf.set(params[0], [...(lengthsOf.get(params[0]) ?? []), calls.length])
      const size = large.length * MiB + calls.length - large.length
      if (size > 3 * MiB) return calls.map(() => new LimitError('too large', 'response-too-large', { limit: 3 * MiB, size }))
      return calls.map((call) => replyOf(call.params[0], isLarge(call) ? MiB : 1))
    }
    const limits = { concurrency: 4, singleConcurrency: 4, maxCalls: 64, backoff: { baseDelayMs: 100, maxDelayMs: 100 }, isHeavy: () => false }
    const queue = createQueue({ name: 'endpoint', post, waiting: new Waiting(clock), dedupe: true, ...limits })
    const numbers = Array.from({ length: 10_000 }, (_, i) => i)
    const answer = async (number: number) =>
      (await queue.send(ownRead({ method: 'eth_getLogs', params: [number], priority: 'bulk', deadline: Number.POSITIVE_INFINITY }))).take()
    expect(await Promise.all(numbers.map(answer))).toEqual(numbers)
    expect(lengthsOf.size).toBe(32)
    for (const [first, ...others] of lengthsOf.values()) {
      expect(first).toBeGreaterThan(3)
      let before = first as number
      for (const length of others) {
        expect(length).toBeLessThanOrEqual(before / 2)
        before = length
      }
    }
    expect(queue.limits.maxCalls).toBe(64)
  })
})

describe('what the limits learn from a batch', () => {
  test('shows as soon as its callers have their results, which do not wait for it', async () => {
    let isShort = true
    const post: Post = async (calls) => {
      if (isShort && calls.length > 4) return calls.map(() => new LimitError('too many', 'batch-too-large', { limit: 4, size: calls.length }))
      return calls.map(({ params }) => replyOf(params[0]))
    }
    const limits = { concurrency: 1, singleConcurrency: 1, maxCalls: 16, backoff: { baseDelayMs: 100, maxDelayMs: 100 }, isHeavy: () => false }
    const queue = createQueue({ name: 'endpoint', post, waiting: new Waiting(clock), dedupe: true, ...limits })
    const call = (param: number) => queue.send(ownRead({ method: 'eth_getBalance', params: [param], deadline: Number.POSITIVE_INFINITY }))
    const shown: number[] = []
    const kept: number[] = []
    for (let round = 0; round < 200; round++) {
      if (round === 2) isShort = false
      // A longer batch, where one is due, has all calls of a round.
      await Promise.all(Array.from({ length: round < 2 ? 16 : queue.limits.maxCalls + 1 }, (_, i) => call(i)))
      shown.push(queue.limits.maxCalls)
      await turn()
      kept.push(queue.limits.maxCalls)
    }
    expect(shown).toEqual(kept)
    expect(new Set(shown).size).toBeGreaterThan(1)
  })
})

describe('calls that are handed over to other endpoints', () => {
  /** An endpoint with one slot, taken by a call that ends when the gate opens. */
  function endpoint() {
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const posted: unknown[][] = []
    const post: Post = async (calls) => {
      posted.push(calls.map(({ params }) => params[0]))
      await opened
      return calls.map(({ params }) => replyOf(params[0]))
    }
    const limits = { concurrency: 1, singleConcurrency: 1, maxCalls: 100, backoff: { baseDelayMs: 100, maxDelayMs: 100 }, isHeavy: () => false }
    const queue = createQueue({ name: 'endpoint', post, waiting: new Waiting(clock), dedupe: true, ...limits })
    const call = (param: unknown, isBound = false) =>
      queue
        .send({ ...ownRead({ method: 'eth_getBalance', params: [param], deadline: Number.POSITIVE_INFINITY }), isBound })
        .then((reply) => reply.take())
        .catch((reason) => reason)
    return { queue, call, open, posted }
  }

  test('are the last ones in line, and none bound to its endpoint', async () => {
    const { queue, call, open, posted } = endpoint()
    const first = call('first')
    await turn()
    const calls = [call(1), call(2, true), call(3), call(4)]
    queue.handOver(2, () => true)
    open()
    expect(await Promise.all([first, ...calls])).toEqual(['first', 1, 2, MOVED, MOVED])
    expect(posted).toEqual([['first'], [1, 2]])
  })

  test('are those that go elsewhere; the search ends once enough have turned out to stay', async () => {
    const { queue, call, open, posted } = endpoint()
    const first = call('first')
    await turn()
    const calls = [1, 2, 3, 4, 5, 6].map((param) => call(param))
    const asked: unknown[] = []
    const isOdd = ({ params: [param] }: Call) => {
      asked.push(param)
      return Number(param) % 2 === 1
    }
    queue.handOver(10, isOdd, 2)
    open()
    expect(await Promise.all([first, ...calls])).toEqual(['first', 1, 2, 3, 4, MOVED, 6])
    expect(asked).toEqual([6, 5, 4])
    expect(posted).toEqual([['first'], [1, 2, 3, 4, 6]])
  })

  test('are found behind many that stay, since the next search goes on where one ended', async () => {
    const { queue, call, open, posted } = endpoint()
    const first = call('first')
    await turn()
    const calls = [1, 2, 3, 4, 5, 6].map((param) => call(param))
    const goes = ({ params: [param] }: Call) => Number(param) <= 2
    for (let search = 0; search < 3; search++) queue.handOver(10, goes, 2)
    open()
    expect(await Promise.all([first, ...calls])).toEqual(['first', MOVED, MOVED, 3, 4, 5, 6])
    expect(posted).toEqual([['first'], [3, 4, 5, 6]])
  })

  test('leave an identical bound call where it is', async () => {
    const { queue, call, open, posted } = endpoint()
    const first = call('first')
    await turn()
    const calls = [call('same'), call('same', true), call('same')]
    queue.handOver(10, () => true)
    open()
    expect(await Promise.all([first, ...calls])).toEqual(['first', MOVED, 'same', MOVED])
    expect(posted).toEqual([['first'], ['same']])
  })
})

describe('the jobs of p-queue', () => {
  /**
   * A queue whose POSTs are answered in the next turn, and the jobs that it has added to p-queue.
   */
  function counted(concurrency: number) {
    const add = vi.spyOn(PQueue.prototype, 'add')
    onTestFinished(() => add.mockRestore())
    let posts = 0
    const post: Post = async (calls) => {
      posts++
      await turn()
      return calls.map(({ params }) => replyOf(params[0]))
    }
    const limits = { concurrency, singleConcurrency: concurrency, maxCalls: 1, backoff: { baseDelayMs: 100, maxDelayMs: 100 }, isHeavy: () => false }
    const { send } = createQueue({ name: 'endpoint', post, waiting: new Waiting(clock), dedupe: true, ...limits })
    const call = (param: unknown, priority: 'interactive' | 'bulk' = 'interactive') =>
      send(ownRead({ method: 'eth_getBalance', params: [param], deadline: Number.POSITIVE_INFINITY, priority }))
    return { call, jobs: () => add.mock.calls.length, posts: () => posts }
  }

  test('calls that follow one another share one', async () => {
    const { call, jobs, posts } = counted(8)
    for (let i = 0; i < 50; i++) await call(i)
    expect({ jobs: jobs(), posts: posts() }).toEqual({ jobs: 1, posts: 50 })
  })

  test('rest between calls that come now and then', async () => {
    const { call, jobs, posts } = counted(8)
    for (let i = 0; i < 10; i++) {
      await call(i)
      for (let idle = 0; idle < 5; idle++) await turn()
    }
    expect({ jobs: jobs(), posts: posts() }).toEqual({ jobs: 1, posts: 10 })
  })

  test('that rest go on when a pause ends, also where they hold all slots', async () => {
    const server = await serve(honest, always('', { status: 429, headers: { 'retry-after': '1' } }), honest)
    const client = clientOf(server.url, { concurrency: 1 })
    await read(client, 1)
    const started = clock.now()
    await Promise.all([read(client, 2), sleep(500).then(() => read(client, 3))])
    expect(clock.now() - started).toBeGreaterThanOrEqual(1000)
    await read(client, 4)
    expect(server.requests.flatMap(asked).sort()).toEqual([1, 2, 2, 3, 4])
  })

  test('are one for each slot, and one of each priority that waits, however many calls are in line', async () => {
    const { call, jobs, posts } = counted(3)
    await Promise.all(Array.from({ length: 100 }, (_, i) => call(i, i % 2 === 0 ? 'bulk' : 'interactive')))
    expect({ jobs: jobs(), posts: posts() }).toEqual({ jobs: 5, posts: 100 })
  })
})

test('another pacer holds calls back until it wakes them', async () => {
  const sizes: number[] = []
  const post: Post = async (calls) => {
    sizes.push(calls.length)
    return calls.map(({ params }) => replyOf(params[0]))
  }
  const limits = { concurrency: 2, singleConcurrency: 2, maxCalls: 100, backoff: { baseDelayMs: 100, maxDelayMs: 100 }, isHeavy: () => false }
  const queue = createQueue({ name: 'endpoint', post, waiting: new Waiting(systemClock), dedupe: true, ...limits })
  let granted = 0
  let wake = () => {}
  const waiting: number[] = []
  queue.paceBy((onGrant) => {
    wake = onGrant
    return {
      perSecond: 1,
      standing: () => 'unproven',
      msUntil: () => (granted > 0 ? 0 : 3_600_000),
      isHoldingBack: () => granted === 0,
      room: () => granted,
      fitting: () => undefined,
      heldBack: ({ size }) => void waiting.push(size),
      started: ({ length }) => {
        granted -= length
      },
      answered: () => {},
      throttled: () => 'too-fast',
    }
  })
  const all = Promise.all(
    Array.from({ length: 5 }, (_, i) => queue.send(ownRead({ method: 'x', params: [i], deadline: Number.POSITIVE_INFINITY, priority: 'interactive' }))),
  )
  await vi.waitFor(() => expect(waiting.at(-1)).toBe(5))
  granted = 2
  wake()
  await vi.waitFor(() => expect(waiting.at(-1)).toBe(3))
  granted = 3
  wake()
  await all
  expect(sizes).toEqual([2, 3])
})
