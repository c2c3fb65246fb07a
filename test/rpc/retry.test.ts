import { describe, expect, test } from 'vitest'
import { type HexlineError, HttpError } from '../../src/errors.ts'
import type { Attempt } from '../../src/rpc/attempts.ts'
import { CallFailure } from '../../src/rpc/call-failure.ts'
import { repeat } from '../../src/rpc/retry.ts'
import { systemClock } from '../../src/wait/clock.ts'
import { Waiting } from '../../src/wait/waiting.ts'
import { type Answer, always, answerTo, cut, each, errorOf, failed, gate, honest, type Received, read, refuse, right, silent } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clock, serve, serveAt, clientOf, deadPort, sleep } = virtualWorld()

const unsafe = { method: 'evm_mine', params: [] }
const waits = (requests: readonly Received[]) => requests.slice(1).map(({ at }, i) => at - (requests[i] as Received).at)

/** Answers with HTTP 429 and these headers. */
const throttled = (headers: Record<string, string> = {}): Answer => refuse(429, 'Too many requests', { status: 429, headers })
const broken: Answer = always('Bad Gateway', { status: 502 })

describe('attempts', () => {
  test('of calls that failed together are made together', async () => {
    const server = await serve(always('Internal Server Error', { status: 500 }))
    const client = clientOf(server.url, { retry: { attempts: 4 } })
    const ends = await Promise.allSettled(Array.from({ length: 200 }, (_, n) => read(client, n)))
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(200)
    // Two POSTs of a hundred calls for each attempt, and some single calls, which show that it does
    // not depend on batches.
    expect(server.requests.length).toBeLessThan(40)
  })

  test('are counted from the first one, and the error has their number', async () => {
    for (const attempts of [1, 2, 4]) {
      const server = await serve(broken)
      const error = await errorOf(read(clientOf(server.url, { retry: { attempts, baseDelayMs: 1 } }), 0))
      expect(error).toMatchObject({ name: 'HttpError', status: 502, attempts })
      expect(server.requests).toHaveLength(attempts)
    }
  })

  test('are four by default', async () => {
    const server = await serve(broken)
    expect(await errorOf(read(clientOf(server.url, { retry: { baseDelayMs: 1 } }), 0))).toMatchObject({ attempts: 4 })
    expect(server.requests).toHaveLength(4)
  })

  test('`retry: false` is one', async () => {
    const server = await serve(broken)
    expect(await errorOf(read(clientOf(server.url, { retry: false }), 0))).toMatchObject({ attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('can be set for individual calls', async () => {
    const server = await serve(broken)
    await errorOf(read(clientOf(server.url).with({ attempts: 2 }), 0))
    expect(server.requests).toHaveLength(2)
  })

  test('stop at the first answer', async () => {
    const server = await serve(broken, cut, honest)
    expect(await read(clientOf(server.url), 0)).toEqual(answerTo([0]))
    expect(server.requests).toHaveLength(3)
  })

  test('of a bulk call are limited only by its deadline', async () => {
    const server = await serve(broken, ...Array.from({ length: 11 }, () => broken), honest)
    const client = clientOf(server.url, { retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 } })
    expect(await read(client.with({ priority: 'bulk' }), 0)).toEqual(answerTo([0]))
    expect(server.requests).toHaveLength(13)
  })

  test('of each call of a batch are separate', async () => {
    const times = new Map<unknown, number>()
    const server = await serve(
      each((entry) => {
        const [name] = entry.params
        times.set(name, (times.get(name) ?? 0) + 1)
        return name === 'never' || (name === 'third time' && (times.get(name) as number) < 3) ? failed(entry, -32603, 'internal error') : right(entry)
      }),
    )
    const client = clientOf(server.url)
    const [ok, third, never] = await Promise.allSettled(['ok', 'third time', 'never'].map((name) => read(client, name)))
    expect(ok?.status).toBe('fulfilled')
    expect(third?.status).toBe('fulfilled')
    expect(never).toMatchObject({ reason: { name: 'RpcError', kind: 'server', attempts: 4 } })
    expect(Object.fromEntries(times)).toEqual({ ok: 1, 'third time': 3, never: 4 })
  })

  test('of a call that was never sent are 0', async () => {
    const server = await serve(silent)
    const client = clientOf(server.url, { concurrency: 1 })
    const first = errorOf(read(client, 'first'))
    await server.received(1)
    expect(await errorOf(read(client.with({ deadlineMs: 50 }), 0))).toMatchObject({ name: 'TimeoutError', unsent: true, attempts: 0 })
    await client.close()
    await first
    expect(await errorOf(read(client, 0))).toMatchObject({ name: 'ClosedError', attempts: 0 })
  })
})

test('a deadline that passes during an attempt reports the failure before it', async () => {
  const server = await serve(broken, silent)
  const error = await errorOf(read(clientOf(server.url, { deadlineMs: 300, retry: { baseDelayMs: 1 } }), 0))
  expect(error).toMatchObject({ name: 'HttpError', status: 502, attempts: 2 })
})

describe('what is repeated', () => {
  test.each<[string, Answer]>([
    ['a cut connection', cut],
    ['a body that is not JSON', always('<html>')],
    ['an empty body', always('')],
    ['a reply without our id', each((entry) => ({ ...right(entry), id: 999_999 }))],
    ['HTTP 500', always('oops', { status: 500 })],
    ['HTTP 504', always('oops', { status: 504 })],
    ['HTTP 429', always('slow down', { status: 429 })],
    ['HTTP 503 with Retry-After', always('', { status: 503, headers: { 'retry-after': '0' } })],
    ['a throttling message with status 200', always('rate limit exceeded')],
    ['-32005', refuse(-32005, 'limit exceeded')],
    ['an internal error', refuse(-32603, 'Internal error')],
    ['header not found', refuse(-32000, 'header not found')],
    ['an error without a code', each(({ id }) => ({ id, error: { message: 'upstream said nothing' } }))],
    ['an error with text for a code', each(({ id }) => ({ id, error: { code: 'UPSTREAM_DOWN', message: 'upstream said nothing' } }))],
    ['an error that is only a message', each(({ id }) => ({ id, error: 'upstream said nothing' }))],
    ['an unknown error', refuse(-1, 'upstream said nothing')],
  ])('%s', async (_, answer) => {
    const server = await serve(answer, honest)
    expect(await read(clientOf(server.url, { timeoutMs: 2_000 }), 0)).toEqual(answerTo([0]))
    expect(server.requests).toHaveLength(2)
  })

  test('a timeout', async () => {
    const server = await serve(silent, honest)
    expect(await read(clientOf(server.url, { timeoutMs: 60 }), 0)).toEqual(answerTo([0]))
  })

  test('a null if a result is required, until it exists', async () => {
    const server = await serve(
      each(({ id }) => ({ id, result: null })),
      honest,
    )
    const reply = await clientOf(server.url).send({ method: 'eth_getBlockByNumber', params: ['0x1', false], required: true })
    expect(reply.take()).toEqual(answerTo(['0x1', false]))
    expect(server.requests).toHaveLength(2)
  })

  test('not a null if no result is required', async () => {
    const server = await serve(each(({ id }) => ({ id, result: null })))
    expect(await read(clientOf(server.url), 0)).toBeNull()
    expect(server.requests).toHaveLength(1)
  })
})

describe('what is final', () => {
  test.each<[string, Answer]>([
    ['a revert', refuse(3, 'execution reverted')],
    ['a revert without a code', each(({ id }) => ({ id, error: { message: 'execution reverted' } }))],
    ['an error with an unknown code', refuse(-32050, 'the node said no')],
    ['invalid params', refuse(-32602, 'invalid argument 0')],
    ['a method that does not exist', refuse(-32601, 'the method eth_getBalance does not exist/is not available')],
    ['an unknown key', always('unauthorized', { status: 401 })],
    ['an exhausted quota', refuse(-32000, 'daily request count exceeded')],
    ['HTTP 404', always('not found', { status: 404 })],
    ['HTTP 413 for one call', always('too large', { status: 413 })],
    ['pruned history', refuse(4444, 'pruned history unavailable')],
  ])('%s', async (_, answer) => {
    const server = await serve(answer)
    expect(await errorOf(read(clientOf(server.url), 0))).toMatchObject({ attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('a reply longer than maxResponseBytes, which a retry would not change', async () => {
    const server = await serve(each(({ id }) => ({ id, result: 'x'.repeat(2000) })))
    expect(await errorOf(read(clientOf(server.url, { maxResponseBytes: 1000 }), 0))).toMatchObject({
      name: 'LimitError',
      kind: 'response-too-large',
      attempts: 1,
    })
    expect(server.requests).toHaveLength(1)
  })
})

describe('an unsafe call', () => {
  test.each<[string, Answer]>([
    ['a cut connection', cut],
    ['HTTP 502', broken],
    ['a body that is not JSON', always('<html>')],
    ['an internal error', refuse(-32603, 'Internal error')],
    ['header not found: it has run', refuse(-32000, 'header not found')],
    // A gateway forwarded these, and only says why it has no reply.
    ['HTTP 524 with words of throttling', always('error code: 524. The likely cause is an overloaded background task', { status: 524 })],
    ['HTTP 504 with words of throttling', always('Gateway timeout: origin overloaded', { status: 504 })],
    ['HTTP 502 with words of throttling', always('upstream connect error: too many connections', { status: 502 })],
    ['an error object with a throttling message, from a gateway with HTTP 502', refuse(-32000, 'too many connections', { status: 502 })],
    ['a body that is not JSON, with a throttling message', always('Too many requests: the node is overloaded')],
    ['a reply to another call, with a throttling message', always({ id: 999_999, result: 'throttled' })],
  ])('is not repeated after %s', async (_, answer) => {
    const server = await serve(answer)
    expect(await errorOf(clientOf(server.url, { deadlineMs: 10_000 }).request(unsafe))).toMatchObject({ attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('is not repeated after a timeout', async () => {
    const server = await serve(silent)
    expect(await errorOf(clientOf(server.url, { timeoutMs: 60 }).request(unsafe))).toMatchObject({ name: 'TimeoutError', unsent: false, attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('is repeated after a refused connection: it has not been sent', async () => {
    const url = `http://127.0.0.1:${deadPort()}`
    const error = await errorOf(clientOf(url, { retry: { attempts: 3, baseDelayMs: 1 } }).request(unsafe))
    expect(error).toMatchObject({ name: 'NetworkError', kind: 'network', code: 'ECONNREFUSED', unsent: true, attempts: 3 })
    expect(error.message).toMatch(/^127\.0\.0\.1:\d+: no connection: connect ECONNREFUSED /)
  })

  test.each<[string, Answer]>([
    ['HTTP 429', throttled()],
    ['HTTP 429 without an error object', always('slow down', { status: 429 })],
    ['the node’s own error', refuse(-32005, 'rate limit')],
  ])('is repeated after throttling with %s: the node did not start it', async (_, answer) => {
    const server = await serve(answer, honest)
    expect(await clientOf(server.url).request(unsafe)).toEqual(answerTo([]))
    expect(server.requests).toHaveLength(2)
  })

  describe('that is repeated as a signed transaction, after a failure that leaves open whether it ran', () => {
    // The shape of a legacy one.
    const signed = { method: 'eth_sendRawTransaction', params: ['0xc3010203'] }
    const isNotFound: Answer = each(({ id }) => ({ id, result: null }))

    test.each<[string, [Answer, ...Answer[]], number]>([
      ['throttled beyond its deadline', [throttled({ 'retry-after': '60' })], 30_000],
      ['throttled, and not sent again until its deadline', [throttled(), silent], 1500],
    ])('and then %s, is not reported as unsent', async (_, answers, deadlineMs) => {
      const server = await serve(cut, isNotFound, ...answers)
      const error = await errorOf(clientOf(server.url, { deadlineMs }).request(signed))
      expect(error).toMatchObject({ name: 'NetworkError', method: 'eth_sendRawTransaction', unsent: false, attempts: 2 })
      expect(server.requests.map(({ entries }) => entries[0]?.method).slice(0, 3)).toEqual([signed.method, 'eth_getTransactionByHash', signed.method])
    })

    test('and then finds no connection, is not reported as unsent', async () => {
      const server = await serve(() => void server.close())
      const error = await errorOf(clientOf(server.url, { retry: { attempts: 3, baseDelayMs: 1 } }).request(signed))
      expect(error).toMatchObject({ name: 'NetworkError', unsent: false, attempts: 3 })
      expect(server.requests).toHaveLength(1)
    })
  })
})

describe('being throttled', () => {
  test('does not count as an attempt', async () => {
    const server = await serve(throttled(), ...Array.from({ length: 8 }, () => throttled()), broken, honest)
    expect(await read(clientOf(server.url, { retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 4 } }), 0)).toEqual(answerTo([0]))
    expect(server.requests).toHaveLength(11)
  })

  test('ends at the deadline, with the node’s error', async () => {
    const server = await serve(throttled({ 'retry-after': '0.4' }))
    const error = await errorOf(read(clientOf(server.url, { deadlineMs: 900, retry: { attempts: 2 } }), 0))
    expect(server.requests.length).toBeGreaterThan(1)
    expect(error).toMatchObject({ name: 'RpcError', kind: 'rate-limit', said: 'Too many requests', attempts: server.requests.length })
  })

  test('is final if attempts is 1', async () => {
    const server = await serve(throttled())
    expect(await errorOf(read(clientOf(server.url, { retry: { attempts: 1 } }), 0))).toMatchObject({ kind: 'rate-limit', attempts: 1 })
    expect(server.requests).toHaveLength(1)
  })

  test('by a plain 503 beside answers does not count as an attempt; one that answers nothing does', async () => {
    let calls = 0
    const busy = always('503 Service Temporarily Unavailable', { status: 503 })
    const server = await serve((request, response) => (calls++ % 8 === 0 ? honest : busy)(request, response))
    const client = clientOf(server.url, { batch: false, retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 4 } })
    for (let n = 0; n < 5; n++) expect(await read(client, n)).toEqual(answerTo([n]))
    // It has answered no call for more than two seconds: it is down.
    await sleep(2500)
    server.script(busy)
    expect(await errorOf(read(client, 9))).toMatchObject({ kind: 'server', status: 503, attempts: 2 })
  })

  test('by a plain 503 leaves open whether a call that must not run twice has run', async () => {
    const server = await serve(honest, always('', { status: 503 }))
    const client = clientOf(server.url, { retry: { baseDelayMs: 1 } })
    await read(client, 1)
    expect(await errorOf(client.request(unsafe))).toMatchObject({ kind: 'server', attempts: 1 })
  })

  test('with an empty Retry-After does not cause a busy loop', async () => {
    for (const headers of [{ 'retry-after': '0' }, { 'retry-after': new Date(0).toUTCString() }]) {
      const server = await serve(throttled(headers))
      await errorOf(read(clientOf(server.url, { deadlineMs: 500, retry: { baseDelayMs: 50, maxDelayMs: 100 } }), 0))
      // Waits of 50 ms on average make ten attempts; without waits there would be hundreds.
      expect(server.requests.length).toBeLessThan(60)
    }
  })
})

describe('Retry-After', () => {
  test('in seconds is obeyed', async () => {
    const server = await serve(throttled({ 'retry-after': '0.3' }), honest)
    await read(clientOf(server.url), 0)
    expect(waits(server.requests)[0]).toBeGreaterThanOrEqual(299)
  })

  test('is obeyed for any repeated failure, not only for a rate limit', async () => {
    const server = await serve(always('busy', { status: 500, headers: { 'retry-after': '0.3' } }), honest)
    await read(clientOf(server.url), 0)
    expect(waits(server.requests)[0]).toBeGreaterThanOrEqual(299)
  })

  test('as a date is obeyed, even if the server’s clock is hours off', async () => {
    const offsets = [0, -3 * 3_600_000, 5 * 3_600_000]
    await Promise.all(
      offsets.map(async (offMs) => {
        const date = new Date(Date.now() + offMs).toUTCString()
        const server = await serve(throttled({ date, 'retry-after': new Date(Date.parse(date) + 1000).toUTCString() }), honest)
        await read(clientOf(server.url), 0)
        expect(waits(server.requests)[0]).toBeGreaterThanOrEqual(999)
      }),
    )
  })

  test('beyond the deadline is not waited for: the call fails at once with the node’s error', async () => {
    for (const retryAfter of ['3600', new Date(Date.now() + 3_600_000).toUTCString()]) {
      const server = await serve(throttled({ 'retry-after': retryAfter }))
      const error = await errorOf(read(clientOf(server.url), 0))
      expect(error).toMatchObject({ name: 'RpcError', code: 429, kind: 'rate-limit', said: 'Too many requests', attempts: 1 })
      expect(error.retryAfterMs).toBeGreaterThan(3_590_000)
      expect(server.requests).toHaveLength(1)
    }
  })
})

describe('anything can be repeated, not only a call', () => {
  const waiting = new Waiting(systemClock)
  const busy = (wasSent: boolean) => new CallFailure(new HttpError({ status: 500, headers: {}, body: '' }), Number(wasSent), 'a')
  const task = { method: 'task', deadline: Number.POSITIVE_INFINITY, attempts: 3, mayRepeat: () => true }
  const atOnce = (_error: HexlineError, _failures: number, now: number) => now

  test('until it succeeds; the last attempt knows that it is the last', async () => {
    const seen: [boolean, boolean][] = []
    const again = async (failure: CallFailure, { isLast, isPatient }: Attempt) => {
      seen.push([failure.wasSent, isLast && isPatient])
      if (seen.length < 2) throw busy(false)
      return 'done'
    }
    expect(await repeat(busy(true), { ...task, again }, atOnce, waiting)).toBe('done')
    expect(seen).toEqual([
      [true, false],
      [false, true],
    ])
  })

  test('or its attempts are used up; the error counts those that were sent', async () => {
    const sent = [false, true]
    const again = async () => {
      throw busy(sent.shift() as boolean)
    }
    expect(await errorOf(repeat(busy(true), { ...task, again }, atOnce, waiting))).toMatchObject({ name: 'HttpError', attempts: 2 })
  })

  test('or it is found to have succeeded, or is given up with a result', async () => {
    const again = () => Promise.reject(busy(true))
    expect(await repeat(busy(true), { ...task, again, beforeWait: async () => 'found' }, atOnce, waiting)).toBe('found')
    expect(await repeat(busy(true), { ...task, again, giveUp: () => 'enough' }, atOnce, waiting)).toBe('enough')
  })

  test('but not after anything that is not a failure', async () => {
    const again = () => expect.fail('it was tried again')
    for (const reason of ['aborted', new RangeError('a bug')]) await expect(repeat(reason, { ...task, again }, atOnce, waiting)).rejects.toBe(reason)
  })
})

describe('the wait', () => {
  test.each(['cut', 'refused', '502'])('outlasts an outage of a second, whatever the jitter: %s', async (how) => {
    for (let seed = 0; seed < 20; seed++) {
      const port = deadPort()
      let isDown = true
      const answer: Answer = (request, response) => (isDown ? (how === 'cut' ? cut : broken) : honest)(request, response)
      if (how !== 'refused') await serveAt(port, answer)
      const client = clientOf(`http://127.0.0.1:${port}`, { retry: {} })
      const begun = clock.now()
      const result = read(client, seed)
      void result.catch(() => {})
      await sleep(1000)
      isDown = false
      if (how === 'refused') await serveAt(port, answer)
      expect(await result).toEqual(answerTo([seed]))
      // 150 + 300 + 600 ms, and the time of the attempts.
      expect(clock.now() - begun).toBeLessThan(1100)
    }
  })

  test('of the last attempt yields to the deadline', async () => {
    const server = await serve(broken)
    expect(await errorOf(read(clientOf(server.url, { deadlineMs: 1000, retry: { baseDelayMs: 150 } }), 0))).toMatchObject({ status: 502, attempts: 4 })
  })

  test('differs between clients: those that failed together do not retry together', async () => {
    const server = await serve(cut)
    const clients = Array.from({ length: 10 }, () => clientOf(server.url, { retry: { attempts: 2, baseDelayMs: 400 } }))
    await Promise.allSettled(clients.map((client, i) => read(client, i)))
    const repeats = server.requests.slice(10).map(({ at }) => at)
    // The chance that ten waits of up to 400 ms all end within 40 ms is 1 in 10^8.
    expect(Math.max(...repeats) - Math.min(...repeats)).toBeGreaterThan(40)
  })

  test('of one call does not delay the others of its batch', async () => {
    const { open, answer } = gate()
    const server = await serve(
      each((entry) => (entry.params[0] === 'fails' ? failed(entry, -32603, 'internal error') : right(entry))),
      answer,
    )
    const client = clientOf(server.url)
    const fails = read(client, 'fails')
    expect(await Promise.all([read(client, 1), read(client, 2)])).toEqual([answerTo([1]), answerTo([2])])
    await server.received(2)
    open()
    expect(await fails).toEqual(answerTo(['fails']))
  })

  test('does not occupy a slot of the endpoint', async () => {
    const server = await serve(always('busy', { status: 500, headers: { 'retry-after': '30' } }), honest)
    const client = clientOf(server.url, { concurrency: 1 })
    const waiting = errorOf(read(client, 'waits'))
    await server.received(1)
    expect(await read(client, 'other')).toEqual(answerTo(['other']))
    await client.close()
    expect(await waiting).toMatchObject({ name: 'ClosedError' })
  })
})
