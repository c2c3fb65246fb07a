import { AsyncLocalStorage } from 'node:async_hooks'
import { execFile } from 'node:child_process'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient, type Events, HttpError, LimitError, NetworkError, type Post, RpcError, replyOf, type ThrottleEvent } from '../../src/index.ts'
import { eventsOf } from '../support/events.ts'
import { steadyTime } from '../support/held-time.ts'
import { node } from '../support/node.ts'
import { always, clientOf, cut, deadPort, each, errorOf, failed, gate, honest, read, refuse, right, send, serve, silent } from '../support/server.ts'

const hostOf = ({ url }: { url: string }) => new URL(url).host
const anyMs = expect.any(Number)

describe('hexline:call', () => {
  test('reports a call that is answered at once', async () => {
    const server = await serve(honest)
    const events = eventsOf('hexline:call')
    await read(clientOf(server.url), 1)
    const [event] = events
    expect(events).toEqual([
      {
        id: expect.any(Number),
        method: 'eth_getBalance',
        endpoint: hostOf(server),
        priority: 'interactive',
        attempts: 1,
        durationMs: anyMs,
        outcome: 'answered',
        kind: undefined,
        rpcCode: undefined,
        bytes: JSON.stringify(right({ id: 1, method: '', params: [1] })).length,
      },
    ])
    expect(event?.durationMs).toBeGreaterThan(0)
  })

  test('tells whole bytes, which add up to those of the batch', async () => {
    const server = await serve(honest)
    const [calls, posts] = [eventsOf('hexline:call'), eventsOf('hexline:post')]
    const client = clientOf(server.url)
    await Promise.all(Array.from({ length: 7 }, (_, i) => read(client, 10 ** i)))
    const sizes = calls.map(({ bytes }) => bytes)
    expect(sizes).toHaveLength(7)
    expect(sizes.filter(Number.isInteger)).toEqual(sizes)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(posts[0]?.bytes)
    // Otherwise, equal shares were whole.
    expect(new Set(sizes).size).toBe(2)
  })

  test('is published once for a call, after all its attempts, and counts them', async () => {
    const server = await serve(cut, refuse(-32005, 'rate limited', { status: 429 }), honest)
    const events = eventsOf('hexline:call')
    await read(clientOf(server.url).with({ priority: 'bulk' }), 1)
    expect(events).toMatchObject([{ priority: 'bulk', attempts: 3, outcome: 'answered', kind: undefined }])
  })

  test('says why a call failed, and where', async () => {
    const server = await serve(refuse(3, 'execution reverted'))
    const events = eventsOf('hexline:call')
    const error = await errorOf(read(clientOf(server.url), 1))
    expect(events).toMatchObject([{ endpoint: hostOf(server), attempts: 1, outcome: 'failed', kind: 'execution', rpcCode: 3, bytes: 0 }])
    expect(error.attempts).toBe(1)
  })

  test('counts the same attempts as the call’s error', async () => {
    const server = await serve(cut)
    const events = eventsOf('hexline:call')
    const error = await errorOf(read(clientOf(server.url), 1))
    expect(events).toMatchObject([{ attempts: 4, outcome: 'failed', kind: 'network' }])
    expect(error.attempts).toBe(4)
  })

  test('distinguishes an abort from a failure, and a call that was sent from one that was not', async () => {
    const server = await serve(silent)
    const events = eventsOf('hexline:call')
    const aborter = new AbortController()
    const calls = Promise.allSettled([read(clientOf(server.url).with({ signal: aborter.signal }), 1)])
    await server.received(1)
    aborter.abort(new Error('enough'))
    await calls
    await errorOf(read(clientOf(server.url).with({ signal: AbortSignal.abort() }), 2))
    expect(events).toMatchObject([
      { outcome: 'aborted', kind: undefined, attempts: 1 },
      { outcome: 'aborted', kind: undefined, attempts: 0, endpoint: undefined },
    ])
  })

  test('reports each joined call, with the attempts of all', async () => {
    const server = await serve(honest)
    const events = eventsOf('hexline:call')
    const client = clientOf(server.url)
    await Promise.all([read(client, 1), read(client, 1)])
    expect(server.requests).toHaveLength(1)
    expect(events.map(({ attempts, endpoint }) => [attempts, endpoint])).toEqual([
      [1, hostOf(server)],
      [1, hostOf(server)],
    ])
  })

  test('does not report hexline’s own calls: requests for chain and newest block, and the look-up of a transaction', async () => {
    const raw = `0xc3${'01'.repeat(3)}`
    const answer = node({
      answer: (entry) => {
        if (entry.method === 'eth_sendRawTransaction') return failed(entry, -32603, 'internal error')
        return entry.method === 'eth_getTransactionByHash' ? { jsonrpc: '2.0', id: entry.id, result: { hash: entry.params[0] } } : undefined
      },
    })
    const servers = [await serve(answer), await serve(answer)] as const
    const events = eventsOf('hexline:call')
    await clientOf([servers[0].url, servers[1].url]).request({ method: 'eth_sendRawTransaction', params: [raw] })
    const sent = servers.flatMap(({ requests }) => requests.flatMap(({ entries }) => entries.map(({ method }) => method)))
    expect(new Set(sent)).toEqual(new Set(['eth_chainId', 'eth_blockNumber', 'eth_sendRawTransaction', 'eth_getTransactionByHash']))
    expect(events).toMatchObject([{ method: 'eth_sendRawTransaction', attempts: 1, outcome: 'answered' }])
  })

  test('reports a call answered by a user’s layer as never sent', async () => {
    const events = eventsOf('hexline:call')
    const client = clientOf(`http://127.0.0.1:${await deadPort()}`, { layers: () => [() => async () => replyOf('0x1', 3)] })
    await read(client, 1)
    expect(events).toMatchObject([{ endpoint: undefined, attempts: 0, outcome: 'answered', bytes: 3 }])
  })
})

describe('hexline:call:start and hexline:post:start', () => {
  test('number calls and POSTs, and say which calls a POST carries', async () => {
    const server = await serve(cut, honest)
    const [starts, ends, postStarts, posts] = [
      eventsOf('hexline:call:start'),
      eventsOf('hexline:call'),
      eventsOf('hexline:post:start'),
      eventsOf('hexline:post'),
    ]
    const client = clientOf(server.url)
    await Promise.all([read(client, 1), read(client, 2)])
    const ids = starts.map(({ id }) => id)
    expect(starts).toEqual(ids.map((id) => ({ id, method: 'eth_getBalance', priority: 'interactive' })))
    expect(new Set(ids).size).toBe(2)
    expect(new Set(ends.map(({ id }) => id))).toEqual(new Set(ids))
    expect(postStarts.length).toBeGreaterThan(1)
    expect(postStarts[0]).toEqual({ id: expect.any(Number), endpoint: hostOf(server), calls: 2, callIds: ids })
    expect(posts.map(({ id }) => id)).toEqual(postStarts.map(({ id }) => id))
    expect(new Set(posts.map(({ id }) => id)).size).toBe(posts.length)
    expect(new Set(postStarts.slice(1).flatMap(({ callIds }) => callIds))).toEqual(new Set(ids))
  })

  test('name each of the calls that have joined', async () => {
    const server = await serve(honest)
    const [starts, postStarts] = [eventsOf('hexline:call:start'), eventsOf('hexline:post:start')]
    const client = clientOf(server.url)
    await Promise.all([read(client, 1), read(client, 1), read(client, 1)])
    expect(postStarts).toMatchObject([{ calls: 1, callIds: starts.map(({ id }) => id) }])
    expect(starts).toHaveLength(3)
  })

  test('name no call of hexline’s own', async () => {
    const servers = [await serve(node()), await serve(node())] as const
    const postStarts = eventsOf('hexline:post:start')
    eventsOf('hexline:call')
    await read(clientOf([servers[0].url, servers[1].url]), 1)
    expect(postStarts.filter(({ callIds }) => callIds.length > 0)).toHaveLength(1)
    expect(postStarts.length).toBeGreaterThan(1)
  })

  test('reach a subscriber in the context of the caller', async () => {
    const server = await serve(honest)
    const callers = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const listener = () => void seen.push(callers.getStore())
    subscribe('hexline:call:start', listener)
    onTestFinished(() => void unsubscribe('hexline:call:start', listener))
    const client = clientOf(server.url)
    await Promise.all(['a', 'b'].map((name, i) => callers.run(name, () => read(client, i))))
    expect(seen).toEqual(['a', 'b'])
  })
})

describe('hexline:post', () => {
  test('reports each POST: its calls, size, status and failures', async () => {
    const mixed = each((entry) => (entry.params[0] === 2 ? failed(entry, 3, 'execution reverted') : right(entry)))
    const server = await serve(mixed)
    const events = eventsOf('hexline:post')
    const client = clientOf(server.url)
    await Promise.allSettled([read(client, 1), read(client, 2), read(client, 3)])
    const body = JSON.stringify(server.requests[0]?.entries.map((entry) => (entry.params[0] === 2 ? failed(entry, 3, 'execution reverted') : right(entry))))
    expect(events).toEqual([
      {
        id: expect.any(Number),
        endpoint: hostOf(server),
        calls: 3,
        bytes: body.length,
        durationMs: anyMs,
        status: 200,
        failures: { execution: 1 },
        isCut: false,
      },
    ])
  })

  test('has no status without a reply, and the status of a reply that is not JSON-RPC', async () => {
    const server = await serve(cut, always('<p>bad gateway</p>', { status: 502 }), honest)
    const events = eventsOf('hexline:post')
    await read(clientOf(server.url), 1)
    expect(events.map(({ status, failures, bytes }) => [status, failures, bytes > 0])).toEqual([
      [undefined, { network: 1 }, false],
      [502, { server: 1 }, true],
      [200, {}, true],
    ])
  })

  test('marks a POST whose callers had all left as cut', async () => {
    const server = await serve(silent)
    const events = eventsOf('hexline:post')
    const aborter = new AbortController()
    const calls = Promise.allSettled([read(clientOf(server.url).with({ signal: aborter.signal }), 1)])
    const { hungUp } = await server.received(1)
    aborter.abort()
    await Promise.all([calls, hungUp])
    await expect.poll(() => events).toMatchObject([{ calls: 1, status: undefined, failures: {}, isCut: true }])
  })

  test('is also published for an endpoint that is a function, whatever it does', async () => {
    const events = eventsOf('hexline:post')
    const posts: Record<string, Post> = {
      good: async (calls) => calls.map(() => replyOf('0x1', 3)),
      wild: async () => 'nonsense' as never,
      throwing: async () => {
        throw new RpcError({ code: 1, message: 'no' })
      },
    }
    for (const post of Object.values(posts)) await Promise.allSettled([read(clientOf(post, { retry: false }), 1)])
    expect(events).toMatchObject([
      { endpoint: 'good', calls: 1, bytes: 3, status: undefined, failures: {}, isCut: false },
      { endpoint: 'wild', bytes: 0 },
      { endpoint: 'throwing', bytes: 0 },
    ])
  })
})

describe('hexline:retry', () => {
  test('reports each failed attempt except the last one, which ends the call', async () => {
    const server = await serve(always('busy', { status: 503, headers: { 'retry-after': '0' } }), cut, refuse(-32000, 'header not found'), refuse(3, 'reverted'))
    const events = eventsOf('hexline:retry')
    await errorOf(read(clientOf(server.url), 1))
    const endpoint = hostOf(server)
    expect(events).toEqual([
      { method: 'eth_getBalance', endpoint, kind: 'overloaded', code: 503, attempt: 2, waitMs: anyMs },
      { method: 'eth_getBalance', endpoint, kind: 'network', code: expect.toSatisfy(isCode), attempt: 3, waitMs: anyMs },
      { method: 'eth_getBalance', endpoint, kind: 'lagging', code: -32000, attempt: 4, waitMs: anyMs },
    ])
  })
})

function isCode(code: unknown): boolean {
  return code === undefined || typeof code === 'string'
}

describe('hexline:throttle', () => {
  test('reports the requested pause and the actual one', async () => {
    const server = await serve(refuse(-32005, 'rate limited', { status: 429, headers: { 'retry-after': '0.2' } }), honest)
    const events = eventsOf('hexline:throttle')
    const client = clientOf(server.url, { concurrency: 3 })
    await Promise.all([read(client, 1), read(client, 2)])
    const [event] = events
    expect(event).toMatchObject({ endpoint: hostOf(server), kind: 'rate-limit', calls: 2, retryAfterMs: 200 })
    expect(event?.pauseMs).toBeGreaterThan(0)
    // Times are fractions.
    expect(event?.pauseMs).toBeLessThan(200.001)
    expect(event?.maxCalls).toBeGreaterThan(0)
    expect(event?.concurrency).toBeGreaterThan(0)
  })

  test('reports that batches become shorter because they are refused', async () => {
    const server = await serve((request, response) => {
      if (request.entries.length <= 5) return honest(request, response)
      return send(response, JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batch too large' } }))
    })
    const events = eventsOf('hexline:throttle')
    const client = clientOf(server.url)
    await Promise.all(Array.from({ length: 40 }, (_, i) => read(client, i)))
    expect(events[0]).toMatchObject({ endpoint: hostOf(server), kind: 'batch-too-large', calls: 40, pauseMs: 0, retryAfterMs: undefined })
    const lengths = events.map(({ maxCalls }) => maxCalls)
    expect(lengths[0]).toBeLessThan(40)
    expect(lengths.at(-1)).toBeLessThanOrEqual(5)
  })

  test('reports that more is sent again, after POSTs whose calls are all answered', async () => {
    let isRefusing = true
    const post: Post = async (calls) => {
      if (calls.length > 5 && isRefusing) throw new LimitError('batch too large', 'batch-too-large', { limit: 5, size: calls.length })
      return calls.map(() => replyOf('0x1', 3))
    }
    const events = eventsOf('hexline:throttle')
    const client = clientOf(post)
    await Promise.all(Array.from({ length: 40 }, (_, i) => read(client, i)))
    isRefusing = false
    const rises = () => events.filter(({ kind }) => kind === undefined)
    for (let round = 1; rises().length === 0 && round < 500; round++) await Promise.all(Array.from({ length: 40 }, (_, i) => read(client, round, i)))
    const [rise] = rises()
    expect(rise).toMatchObject({ endpoint: 'post', calls: 0, pauseMs: 0 })
    expect(rise?.maxCalls).toBeGreaterThan(events[events.indexOf(rise as ThrottleEvent) - 1]?.maxCalls as number)
  })

  test('is silent while nothing is learnt', async () => {
    const server = await serve(cut, honest)
    const events = eventsOf('hexline:throttle')
    await read(clientOf(server.url), 1)
    expect(events).toEqual([])
  })
})

describe('hexline:route', () => {
  test('reports a call that moves to another endpoint, an endpoint that is taken out, and its return', async () => {
    const [ill, well] = [await serve(node()), await serve(node())]
    const client = clientOf([ill.url, well.url])
    // The first endpoint called is the first to return its chain.
    await read(client, 'first')
    const events = eventsOf('hexline:route')
    ill.script(cut)
    well.script(cut)
    // Calls that fail together are retried together, and count once.
    for (let round = 0; round < 4; round++) await Promise.allSettled(Array.from({ length: 8 }, (_, i) => read(client, i)))
    well.script(node())
    ill.script(node())
    const left = events.filter(({ change }) => change === 'left-out')
    expect(left.length).toBeGreaterThan(0)
    expect(left[0]).toEqual({ change: 'left-out', endpoint: expect.any(String), reason: 'fails', forMs: expect.any(Number) })
    expect(events.find(({ change }) => change === 'moved')).toMatchObject({ method: 'eth_getBalance', kind: undefined })
    for (const event of events) if (event.change === 'moved') expect(event.to).not.toBe(event.endpoint)
    let next = 100
    await expect
      .poll(async () => {
        await read(client, next++).catch(() => {})
        return events.filter(({ change }) => change === 'back').length
      })
      .toBeGreaterThan(0)
  })

  test('says why a call moves on at once', async () => {
    const [dead, well] = [await deadPort(), await serve(node())]
    const events = eventsOf('hexline:route')
    const client = clientOf([`http://127.0.0.1:${dead}`, well.url])
    await read(client, 1)
    expect(events).toContainEqual({ change: 'moved', method: 'eth_getBalance', endpoint: `127.0.0.1:${dead}`, to: hostOf(well), kind: 'network' })
  })

  test('reports an endpoint on another chain, once', async () => {
    const [main, other] = [await serve(node({ chain: 1 })), await serve(node({ chain: 137 }))]
    const events = eventsOf('hexline:route')
    const client = clientOf([main.url, other.url])
    for (let i = 0; i < 5; i++) await Promise.allSettled(Array.from({ length: 20 }, (_, j) => read(client.with({ priority: 'bulk' }), i, j)))
    expect(events.filter(({ change }) => change === 'taken-out')).toEqual([
      { change: 'taken-out', endpoint: hostOf(other), reason: 'wrong-chain', chainId: 137, expectedChainId: 1 },
    ])
  })

  test('reports an endpoint that rejects the key', async () => {
    const [closed, well] = [await serve(always('bad key', { status: 401 })), await serve(node())]
    const events = eventsOf('hexline:route')
    await read(clientOf([closed.url, well.url]), 1)
    expect(events).toContainEqual({ change: 'left-out', endpoint: hostOf(closed), reason: 'refuses', forMs: 5_000 })
    expect(events).toContainEqual({ change: 'moved', method: 'eth_getBalance', endpoint: hostOf(closed), to: hostOf(well), kind: 'auth' })
  })
})

const NAMES = [
  'hexline:call:start',
  'hexline:post:start',
  'hexline:call',
  'hexline:post',
  'hexline:retry',
  'hexline:throttle',
  'hexline:route',
] as const satisfies readonly (keyof Events)[]

describe('all of them', () => {
  test('never contain a key, a param, a result or server text, whatever it does', async () => {
    steadyTime()
    const key = '0123456789abcdef0123456789abcdef'
    const param = '0xfeedfacefeedfacefeedfacefeedfacefeedface'
    const word = 'verbatim-words-of-a-server'
    const result = 'a-result-that-is-private'
    const echo = `${word} ${key} ${param}`
    const answers = [
      refuse(-32005, `rate limited: ${echo}`, { status: 429, headers: { 'retry-after': '0', 'x-echo': key } }),
      refuse(-32000, `header not found: ${echo}`),
      refuse(-32000, `no such key: ${echo}`, { status: 401 }),
      refuse(-32600, `batch too large: ${echo}`),
      refuse(3, `execution reverted: ${echo}`),
      always(`<p>${echo}</p>`, { status: 502 }),
      always(`{"jsonrpc":"2.0","id":1,"result":"${result}`),
      always(''),
      cut,
      each(({ id }) => ({ jsonrpc: '2.0', id, result })),
    ] as const
    const seen = NAMES.map((name) => eventsOf(name))
    for (const answer of answers) {
      const servers = [await serve(answer), await serve(answer, answer, honest)]
      const urls = servers.map(({ port }, i) => ({ url: `http://user:${key}@127.0.0.1:${port}/${key}?apikey=${key}${i}`, headers: { 'x-api-key': key } }))
      for (const endpoint of [urls[0], urls] as const) {
        const client = clientOf(endpoint as never, { retry: { attempts: 3, baseDelayMs: 2, maxDelayMs: 10 }, deadlineMs: 500 })
        await Promise.allSettled([read(client, param), read(client, param, 'latest'), client.with({ priority: 'bulk' }).call('eth_getBalance', param as never)])
      }
    }
    // Something was published on every channel.
    for (const [i, events] of seen.entries()) expect(events.length, NAMES[i]).toBeGreaterThan(0)
    const told = JSON.stringify(seen)
    for (const secret of [key, param, word, result, 'apikey', 'user:']) expect(told).not.toContain(secret)
  })

  test('cost nothing without listeners: nothing is published, and no call has a record', async () => {
    for (const name of NAMES) expect(channel(name).hasSubscribers).toBe(false)
    const records: unknown[] = []
    const server = await serve(cut, honest)
    const client = clientOf(server.url, {
      layers: (defaults) => [
        (next) => (call) => {
          records.push(call.record)
          return next(call)
        },
        ...defaults,
      ],
    })
    // `publish` of a channel without subscribers is called only by code that does not check first.
    const published: string[] = []
    const restore = NAMES.map((name) => {
      const it = channel(name)
      it.publish = () => void published.push(name)
      return () => Reflect.deleteProperty(it, 'publish')
    })
    try {
      await read(client, 1)
    } finally {
      for (const each of restore) each()
    }
    expect(records).toEqual([undefined])
    expect(published).toEqual([])
  })

  test('a listener added during a call gets its POSTs, and not the call', async () => {
    const { open, answer } = gate()
    const server = await serve(cut, answer)
    const call = read(clientOf(server.url), 1)
    await server.received(2)
    const [calls, posts] = [eventsOf('hexline:call'), eventsOf('hexline:post')]
    open()
    await call
    expect(calls).toEqual([])
    await read(clientOf(server.url), 2)
    expect(calls).toHaveLength(1)
    expect(posts.length).toBeGreaterThan(0)
  })

  test('a subscriber that throws breaks no call: Node.js reports it as an uncaught exception', async () => {
    const program = fileURLToPath(new URL('../support/throwing-subscriber.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program])
    expect(stdout.trimEnd().split('\n').sort()).toEqual(['answered 0x1', 'uncaught: a subscriber of hexline:call', 'uncaught: a subscriber of hexline:post'])
  })

  test('cover all clients of the process', async () => {
    const post: Post = async (calls) => calls.map(() => replyOf('0x1', 3))
    const events = eventsOf('hexline:call')
    await using a = createClient(post)
    await using b = createClient(post)
    await Promise.all([read(a, 1), read(b, 1)])
    expect(events).toHaveLength(2)
  })
})

test('the code of a retry is the node’s, the status, or the system’s', async () => {
  const failures = [
    new RpcError({ code: -32000, message: 'header not found' }, { kind: 'lagging' }),
    new HttpError({ status: 502, headers: {}, body: '' }),
    new NetworkError('gone', { code: 'ECONNRESET' }),
  ]
  const left = [...failures]
  const events = eventsOf('hexline:retry')
  const client = clientOf(async (calls) => calls.map(() => left.shift() ?? replyOf('0x1')))
  await read(client, 1)
  expect(events.map(({ code }) => code)).toEqual([-32000, 502, 'ECONNRESET'])
})
