import * as zlib from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Client, HttpError, MalformedReplyError, NetworkError, RpcError, TimeoutError } from '../../../src/index.ts'
import { correlate, type ReplyObject } from '../../../src/rpc/post/correlate.ts'
import { bodyBytes, holdTime } from '../../support/held-time.ts'
import { runs } from '../../support/runs.ts'
import {
  type Answer,
  always,
  answerTo,
  clientOf,
  cut,
  type Entry,
  each,
  errorOf,
  failed,
  honest,
  type Received,
  read,
  right,
  send,
  serve,
} from '../../support/server.ts'

/** A client that does not retry, so that a test sees what one POST gave. */
const once = { retry: false, timeoutMs: 5_000 } as const

/** Settled outcomes of `count` calls in one POST: values or errors. */
async function batch(answers: [Answer, ...Answer[]], count = 3, options: object = once) {
  const server = await serve(...answers)
  const client = clientOf(server.url, options)
  const settled = await Promise.allSettled(Array.from({ length: count }, (_, i) => read(client, i)))
  const outcomes = settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason))
  return { server, outcomes }
}

/** The outcome of a single call. */
async function lone(answer: Answer, options: object = once) {
  const { outcomes } = await batch([answer], 1, options)
  return outcomes[0]
}

/** Answers a batch with the right replies as changed by `make`. */
function replies(make: (replies: ReturnType<typeof right>[], request: Received) => unknown): Answer {
  return (request, response) => send(response, JSON.stringify(make(request.entries.map(right), request)))
}

describe('a batch', () => {
  test('is matched by id if the replies are in another order', async () => {
    const { outcomes } = await batch([replies((all) => all.reverse())])
    expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
  })

  test('a missing reply fails only its own call', async () => {
    const { outcomes } = await batch([replies(([first, , third]) => [third, first])])
    expect(outcomes[0]).toEqual(answerTo([0]))
    expect(outcomes[2]).toEqual(answerTo([2]))
    expect(outcomes[1]).toBeInstanceOf(MalformedReplyError)
    expect(outcomes[1]).toMatchObject({ kind: 'malformed', method: 'eth_getBalance', attempts: 1 })
    expect(outcomes[1].message).toMatch(/^127\.0\.0\.1:\d+: eth_getBalance: no reply with its id came: \[/)
  })

  test('an empty array answers no call', async () => {
    const { outcomes } = await batch([always([])])
    for (const outcome of outcomes) expect(outcome.message).toMatch(/no reply with its id came: \[\]$/)
  })

  test('a duplicate reply with the same content counts once', async () => {
    const { outcomes } = await batch([replies(([a, b, c]) => [a, b, b, c, a])])
    expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
  })

  test('duplicate replies with different content are malformed, whichever comes first', async () => {
    for (const order of [1, -1]) {
      const { outcomes } = await batch([replies(([a, b, c]) => [a, c, ...[b, { ...b, result: 'another' }].slice(0, 2).sort(() => order)])])
      expect(outcomes[0]).toEqual(answerTo([0]))
      expect(outcomes[2]).toEqual(answerTo([2]))
      expect(outcomes[1]).toBeInstanceOf(MalformedReplyError)
      expect(outcomes[1].message).toContain('its id came more than once, with different content')
    }
  })

  test('a third reply does not resolve a contradiction between two', async () => {
    const { outcomes } = await batch([replies(([a, b, c]) => [a, b, { ...b, result: 'another' }, b, c])])
    expect(outcomes[1]).toBeInstanceOf(MalformedReplyError)
  })

  test('a result and an error for one id are different content', async () => {
    const { outcomes } = await batch([replies(([a, b, c]) => [a, b, failed(b as { id: number }, -32000, 'no'), c])])
    expect(outcomes[1].message).toContain('its id came more than once')
  })

  test('replies with unknown ids belong to no call', async () => {
    const { outcomes } = await batch([
      replies(([a, b, c]) => [{ ...a, id: 4711, result: 'x' }, { ...a, id: -1 }, { ...a, id: 0 }, { ...a, id: 1.5 }, { ...a, id: {} }, a, b, c]),
    ])
    expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
  })

  test('the ids of an earlier POST belong to no call', async () => {
    const server = await serve(honest, (request, response) => {
      const earlier = server.requests[0]?.entries.map(right) ?? []
      send(response, JSON.stringify([...earlier, ...request.entries.map(right).slice(1)]))
    })
    const client = clientOf(server.url, once)
    await Promise.all([read(client, 'a'), read(client, 'b')])
    const [c, d] = await Promise.allSettled([read(client, 'c'), read(client, 'd')])
    expect(c).toMatchObject({ status: 'rejected', reason: { kind: 'malformed' } })
    expect(d).toMatchObject({ status: 'fulfilled', value: answerTo(['d']) })
  })

  test('ids as numeric strings are accepted', async () => {
    const { outcomes } = await batch([replies((all) => all.reverse().map((reply) => ({ ...reply, id: String(reply.id) })))])
    expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
  })

  test('strings that merely resemble an id are not accepted', async () => {
    for (const distort of [(id: number) => ` ${id}`, (id: number) => `0${id}`, (id: number) => `${id}.0`, (id: number) => `0x${id.toString(16)}`]) {
      const { outcomes } = await batch([replies(([a, b, c]) => [a, { ...b, id: distort((b as { id: number }).id) }, c])])
      expect(outcomes[1]).toBeInstanceOf(MalformedReplyError)
      expect(outcomes[2]).toEqual(answerTo([2]))
    }
  })

  test('a reply with a null or missing id belongs to no call, whatever its position', async () => {
    for (const id of [null, undefined]) {
      const { outcomes } = await batch([replies(([a, b, c]) => [a, { ...b, id }, c])])
      expect(outcomes[0]).toEqual(answerTo([0]))
      expect(outcomes[1]).toBeInstanceOf(MalformedReplyError)
      expect(outcomes[2]).toEqual(answerTo([2]))
    }
  })

  test('an error with id null among good replies does not affect them', async () => {
    const { outcomes } = await batch([replies(([a, b, c]) => [{ id: null, error: { code: -32600, message: 'invalid request' } }, a, b, c])])
    expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
  })

  test('a rate limit with id null is the failure of the calls without a reply', async () => {
    const { outcomes } = await batch([replies(([a]) => [a, { id: null, error: { code: 429, message: 'Too many requests' } }])])
    expect(outcomes[0]).toEqual(answerTo([0]))
    for (const outcome of outcomes.slice(1)) expect(outcome).toMatchObject({ name: 'RpcError', kind: 'rate-limit', code: 429, said: 'Too many requests' })
  })

  test('entries that are not objects are ignored', async () => {
    const { outcomes } = await batch([replies(([a, b, c]) => [null, 1, 'x', [a], a, true, b, c])])
    expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
  })

  test('the error of one call fails only that call', async () => {
    const { outcomes } = await batch([replies(([a, b, c]) => [c, failed(b as { id: number }, 3, 'execution reverted: no', '0x08c379a0'), a])])
    expect(outcomes[0]).toEqual(answerTo([0]))
    expect(outcomes[1]).toBeInstanceOf(RpcError)
    expect(outcomes[1]).toMatchObject({ kind: 'execution', code: 3, said: 'execution reverted: no', data: '0x08c379a0', status: 200 })
    expect(outcomes[2]).toEqual(answerTo([2]))
  })

  test('invalid error data of one call affects only that call', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const { outcomes } = await batch([
      (request, response) => {
        const [a, b, c] = request.entries.map(right)
        send(response, `[${JSON.stringify(a)},{"id":${b?.id},"error":{"code":3,"message":"deep","data":${deep}}},${JSON.stringify(c)}]`)
      },
    ])
    expect(outcomes[0]).toEqual(answerTo([0]))
    expect(outcomes[1]).toBeInstanceOf(Error)
    expect(outcomes[2]).toEqual(answerTo([2]))
  })

  test('answered by one result object gives it only to the call with that id', async () => {
    const { outcomes } = await batch([replies(([, b]) => b)])
    expect(outcomes[0]).toBeInstanceOf(MalformedReplyError)
    expect(outcomes[1]).toEqual(answerTo([1]))
    expect(outcomes[2]).toBeInstanceOf(MalformedReplyError)
  })

  test('refused by one error object is sent again in smaller batches, and each call gets its own answer', async () => {
    for (const id of [null, 1, 'x']) {
      const { outcomes, server } = await batch([always({ jsonrpc: '2.0', id, error: { code: -32600, message: 'batch too large' } }), honest])
      expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
      expect(server.requests.map(({ entries }) => entries.length)).toEqual([3, 1, 1, 1])
    }
  })

  test('refused as by geth, by an array of one error with the first call’s id, is not an error of the first call', async () => {
    const { outcomes, server } = await batch([
      (request, response) => send(response, JSON.stringify([failed(request.entries[0] as { id: number }, -32600, 'batch too large')])),
      honest,
    ])
    expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
    expect(server.requests).toHaveLength(4)
  })

  test('with only the error of one call for a future block is not refused: the other replies are missing', async () => {
    const only: Answer = (request, response) => send(response, JSON.stringify([failed(request.entries[1] as Entry, -32000, 'header not found')]))
    const { outcomes, server } = await batch([only, honest])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['malformed', 'lagging', 'malformed'])
    expect(server.requests).toHaveLength(1)
  })

  test('refused for a reason other than its size fails each call with that reason', async () => {
    for (const [code, message, kind, status] of [
      [-32005, 'project ID request rate exceeded', 'rate-limit', 429],
      [-32000, 'Must be authenticated!', 'auth', 401],
      [-32000, 'daily request count exceeded', 'quota', 200],
      [-32000, 'server is busy', 'overloaded', 200],
    ] as const) {
      const { outcomes, server } = await batch([always({ jsonrpc: '2.0', id: null, error: { code, message } }, { status })])
      for (const outcome of outcomes) expect(outcome).toMatchObject({ name: 'RpcError', kind, code, said: message, status })
      expect(new Set(outcomes).size).toBe(3)
      expect(server.requests).toHaveLength(1)
    }
  })

  test('an error object that every call also gets alone becomes the error of each call', async () => {
    const { outcomes } = await batch([always({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'invalid request' } })])
    for (const outcome of outcomes) expect(outcome).toMatchObject({ name: 'RpcError', kind: 'invalid', said: 'invalid request' })
  })
})

describe('a reply', () => {
  test('with neither result nor error is malformed', async () => {
    const error = await lone(each(({ id }) => ({ jsonrpc: '2.0', id })))
    expect(error).toBeInstanceOf(MalformedReplyError)
    expect(error.message).toMatch(/: eth_getBalance: its reply has neither a result nor an error: \{"jsonrpc"/)
  })

  test('with both is malformed', async () => {
    const error = await lone(each((entry) => ({ ...failed(entry, -32000, 'no'), result: '0x1' })))
    expect(error).toBeInstanceOf(MalformedReplyError)
    expect(error.message).toContain('its reply has both a result and an error')
  })

  test('with `error: null` beside a result is a result, null or not', async () => {
    expect(await lone(each((entry) => ({ ...right(entry), error: null })))).toEqual(answerTo([0]))
    expect(await lone(each(({ id }) => ({ id, result: null, error: null })))).toBeNull()
  })

  test('with `result: null` beside an error is an error', async () => {
    expect(await lone(each((entry) => ({ ...failed(entry, -32000, 'no'), result: null })))).toMatchObject({ name: 'RpcError', said: 'no' })
  })

  test('with `error: null` and no result is malformed', async () => {
    expect(await lone(each(({ id }) => ({ id, error: null })))).toBeInstanceOf(MalformedReplyError)
  })

  test('may be null, false or empty', async () => {
    for (const result of [null, false, 0, '', [], {}]) expect(await lone(each(({ id }) => ({ id, result })))).toEqual(result)
  })

  test('with an error in an unusual form keeps its text', async () => {
    for (const [error, said] of [
      ['unknown account', { said: 'unknown account', code: 0 }],
      [{ message: 'no code' }, { said: 'no code', code: 0 }],
      [
        { code: '-32000', message: 'code as a string' },
        { said: 'code as a string', code: -32000 },
      ],
      [{ code: -32000 }, { said: '{"code":-32000}', code: -32000 }],
      [{ code: -32000, message: { text: 'an object' } }, { said: '{"text":"an object"}' }],
      [true, { said: 'true' }],
      ['', { said: '' }],
    ] as const) {
      const outcome = await lone(each(({ id }) => ({ id, error })))
      expect(outcome).toBeInstanceOf(RpcError)
      expect(outcome).toMatchObject(said)
    }
  })

  test('without an id is the answer to a single call, in every form of the body and of the result', async () => {
    for (const shape of [(reply: unknown) => reply, (reply: unknown) => [reply]]) {
      for (const as of ['value', 'bytes'] as const) {
        const server = await serve((_, response) => send(response, JSON.stringify(shape({ jsonrpc: '2.0', result: '0x12' }))))
        const value = (await clientOf(server.url, once).send({ method: 'eth_getBalance', params: [], as })).take()
        expect(String(value)).toBe(as === 'bytes' ? '"0x12"' : '0x12')
      }
    }
    expect(await lone(always({ result: null }))).toBeNull()
  })

  test('without an id belongs to no call of a batch, nor does a second one beside it', async () => {
    for (const body of [{ result: '0x12' }, [{ result: '0x12' }]]) {
      const { outcomes } = await batch([always(body)])
      for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'malformed' })
    }
    expect(await lone(always([{ result: '0x12' }, { result: '0x13' }]))).toMatchObject({ kind: 'malformed' })
  })

  test('with another id is reported with both ids, and a hint that a mock has to echo it', async () => {
    const words = 'a server has to echo the id, and so has a mock'
    const error = await lone(always({ jsonrpc: '2.0', id: 7, result: '0x12' }))
    expect(error.message).toContain(`no reply with its id came (sent 1, received 7): ${words}: {"jsonrpc"`)
    const { outcomes } = await batch([always(['a', 'b', 'c', 'd', 'x'.repeat(30)].map((id) => ({ id, result: '0x12' })))], 2)
    expect(outcomes.map(({ message }) => /\(.*?\)/.exec(message)?.[0])).toEqual([
      '(sent 1, received "a", "b", "c", ...)',
      '(sent 2, received "a", "b", "c", ...)',
    ])
    expect((await lone(always({ id: 'x'.repeat(30), result: '0x12' }))).message).toContain('(sent 1, received a string)')
    const without = await batch([always([{ result: '0x12' }, { result: '0x13' }])], 2)
    expect(without.outcomes.map(({ message }) => message.includes(words) && /\(.*?\)/.exec(message)?.[0])).toEqual([
      '(sent 1, received no id)',
      '(sent 2, received no id)',
    ])
  })

  test('with an id that is part of the key does not show it', async () => {
    const server = await serve(always({ id: 'KEYKEYKEY', result: '0x12' }))
    const error = await errorOf(read(clientOf(`${server.url}/KEYKEYKEY`, once)))
    expect(error.message).toContain('received "[hidden]"')
    expect(error.message).not.toContain('KEY')
  })

  test('with another id is malformed, also for a single call', async () => {
    expect(await lone(each((entry) => ({ ...right(entry), id: entry.id + 1 })))).toMatchObject({ kind: 'malformed' })
    expect(await lone(each((entry) => ({ ...right(entry), id: null })))).toMatchObject({ kind: 'malformed' })
    expect(await lone(each((entry) => failed({ id: entry.id + 1 }, -32000, 'no')))).toMatchObject({ kind: 'malformed' })
  })

  test('an error without an id is the answer to a single call', async () => {
    expect(await lone(always({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'parse error' } }))).toMatchObject({
      name: 'RpcError',
      code: -32700,
      said: 'parse error',
    })
  })

  test('to a single call may be in an array', async () => {
    expect(await lone(replies((all) => all))).toEqual(answerTo([0]))
  })

  test('may begin with a byte order mark', async () => {
    expect(await lone((request, response) => send(response, `\ufeff${JSON.stringify(request.entries.map(right))}`))).toEqual(answerTo([0]))
  })

  test('in UTF-8 is decoded correctly, even if a chunk ends within a character', async () => {
    const text = 'grüß Gott, 你好, 🦊'
    const outcome = await lone(async ({ entries }, response) => {
      const body = Buffer.from(JSON.stringify({ id: entries[0]?.id, result: text }))
      response.writeHead(200)
      // The fox has four bytes, and `"}` follows it at the end of the body.
      await new Promise((resolve) => response.write(body.subarray(0, -4), resolve))
      response.end(body.subarray(-4))
    })
    expect(outcome).toBe(text)
  })

  test('as bytes is the text of the result as the node sent it', async () => {
    const server = await serve((request, response) => send(response, `{"jsonrpc":"2.0","id":${request.entries[0]?.id},"result":{"a":1.0,"b":"\\u0041"}}`))
    const reply = await clientOf(server.url, once).send({ method: 'eth_getBalance', params: [0], as: 'bytes' })
    const value = reply.take()
    expect(value).toBeInstanceOf(Uint8Array)
    expect(Buffer.from(value as Uint8Array).toString()).toBe('{"a":1.0,"b":"\\u0041"}')
  })
})

describe('a body that is not JSON-RPC', () => {
  test('is malformed for every call of a batch, each with its own error', async () => {
    for (const [body, said] of [
      ['', /the reply is empty$/],
      ['<html><body>hello</body></html>', /the reply is not JSON, or only the start of it \(31 bytes\): <html><body>hello/],
      ['[{"jsonrpc":"2.0","id":1,"resu', /the reply is not JSON, or only the start of it \(30 bytes\): \[\{"jsonrpc"/],
      ['"ok"', /no reply with its id came: "ok"$/],
      ['null', /no reply with its id came: null$/],
      ['{}', /no reply with its id came: \{\}$/],
    ] as const) {
      const { outcomes } = await batch([always(body)])
      for (const outcome of outcomes) {
        expect(outcome).toBeInstanceOf(MalformedReplyError)
        expect(outcome).toMatchObject({ kind: 'malformed', method: 'eth_getBalance', attempts: 1 })
        expect(outcome.message).toMatch(said)
      }
      expect(new Set(outcomes).size).toBe(3)
    }
  })

  test('is quoted in one line, only its start', async () => {
    const error = await lone(always(`<html>\n\n${'x'.repeat(100_000)}`))
    expect(error.message.length).toBeLessThan(400)
    expect(error.message).not.toContain('\n')
  })

  test('with a failing HTTP status is an HttpError with the reply', async () => {
    for (const [status, kind] of [
      [500, 'server'],
      [502, 'server'],
      [404, 'not-found'],
      [400, 'invalid'],
      [401, 'auth'],
      [403, 'auth'],
      [402, 'quota'],
      [413, 'request-too-large'],
      [429, 'rate-limit'],
      [504, 'timeout'],
      [301, 'invalid'],
    ] as const) {
      const error = await lone(always('<h1>Sorry</h1>', { status, headers: { 'x-trace': 't-1' } }))
      expect(error).toBeInstanceOf(HttpError)
      expect(error).toMatchObject({ kind, status, body: '<h1>Sorry</h1>', method: 'eth_getBalance' })
      expect(error.headers).toMatchObject({ 'x-trace': 't-1' })
      expect(error.message).toMatch(
        new RegExp(`^127\\.0\\.0\\.1:\\d+ answered HTTP ${status}: <h1>Sorry</h1>${status === 301 ? '; redirects are not followed: .*' : ''}$`),
      )
    }
    expect((await lone(always('', { status: 500 }))).message).toMatch(/answered HTTP 500 with an empty body$/)
  })
})

describe('a failing HTTP status with a JSON-RPC body', () => {
  test('gives the call the node’s error, with the status', async () => {
    for (const status of [400, 429, 500, 503]) {
      const error = await lone(each((entry) => failed(entry, -32000, 'filter not found', { why: 1 }), { status }))
      expect(error).toBeInstanceOf(RpcError)
      expect(error).toMatchObject({ code: -32000, said: 'filter not found', data: { why: 1 }, status })
    }
  })

  test('gives calls with a result that result', async () => {
    const { outcomes } = await batch([
      (request, response) => {
        const [a, b] = request.entries
        send(response, JSON.stringify([right(a as never), failed(b as never, -32000, 'no')]), { status: 500 })
      },
    ])
    expect(outcomes[0]).toEqual(answerTo([0]))
    expect(outcomes[1]).toMatchObject({ name: 'RpcError', said: 'no' })
    expect(outcomes[2]).toMatchObject({ name: 'HttpError', status: 500 })
  })
})

describe('a connection', () => {
  test('that is cut before the reply is a network failure that may have run', async () => {
    const { outcomes } = await batch([cut])
    for (const outcome of outcomes) {
      expect(outcome).toBeInstanceOf(NetworkError)
      expect(outcome).toMatchObject({ kind: 'network', unsent: false, method: 'eth_getBalance' })
      expect(outcome.message).toMatch(/^127\.0\.0\.1:\d+: the connection ended before the reply/)
    }
  })

  test('that is cut before content-length is reached answers no call, even if the JSON is complete', async () => {
    const { outcomes } = await batch([
      async (request, response) => {
        const body = JSON.stringify(request.entries.map(right))
        response.writeHead(200, { 'content-length': body.length + 10 })
        await new Promise((resolve) => response.write(body, resolve))
        request.socket.end()
      },
    ])
    for (const outcome of outcomes) {
      expect(outcome).toBeInstanceOf(NetworkError)
      expect(outcome.message).toMatch(/the connection ended in the middle of the reply \(\d+ bytes\)/)
    }
  })

  test('that is cut in a chunked body answers no call', async () => {
    const { outcomes } = await batch([
      async (request, response) => {
        await new Promise((resolve) => response.write(JSON.stringify(request.entries.map(right)), resolve))
        request.socket.destroy()
      },
    ])
    for (const outcome of outcomes) expect(outcome).toBeInstanceOf(NetworkError)
  })

  test('that stalls in the body times out, and the error says how much had arrived', async () => {
    const time = holdTime()
    void bodyBytes(11).then(() => time.pass(100))
    const { outcomes } = await batch(
      [
        async (request, response) => {
          response.write('[{"jsonrpc"')
          await request.hungUp
        },
      ],
      2,
      { retry: false, timeoutMs: 100 },
    )
    for (const outcome of outcomes) {
      expect(outcome).toBeInstanceOf(TimeoutError)
      expect(outcome).toMatchObject({ kind: 'timeout', unsent: false })
      expect(outcome.message).toMatch(/: the reply was still incomplete \(11 bytes\) within 100 ms$/)
    }
  })

  test('with something other than HTTP is malformed', async () => {
    const { outcomes } = await batch([({ socket }) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n')])
    for (const outcome of outcomes) expect(outcome).toMatchObject({ name: 'MalformedReplyError', kind: 'malformed' })
    expect(outcomes[0].message).toMatch(/the reply is not valid HTTP/)
  })
})

describe('compression', () => {
  const codings = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: zlib.brotliCompressSync } as const

  test('is undone', async () => {
    for (const [coding, pack] of Object.entries(codings)) {
      const { outcomes } = await batch([
        (request, response) => send(response, pack(JSON.stringify(request.entries.map(right))), { headers: { 'content-encoding': coding } }),
      ])
      expect(outcomes).toEqual([answerTo([0]), answerTo([1]), answerTo([2])])
    }
  })

  test('that is broken, truncated or unknown is malformed', async () => {
    const whole = (request: Received) => zlib.gzipSync(JSON.stringify(request.entries.map(right)))
    for (const [pack, coding] of [
      [(request: Received) => whole(request).subarray(0, -12), 'gzip'],
      [() => Buffer.from('this is not gzip'), 'gzip'],
      [(request: Received) => whole(request), 'br'],
      [(request: Received) => whole(request), 'rot13'],
    ] as const) {
      const { outcomes } = await batch([(request, response) => send(response, pack(request), { headers: { 'content-encoding': coding } })])
      for (const outcome of outcomes) {
        expect(outcome).toBeInstanceOf(MalformedReplyError)
        expect(outcome.message).toMatch(new RegExp(`: the body could not be decompressed \\(${coding}\\): `))
      }
    }
  })
})

describe('whatever a server does', () => {
  // No client can detect a reply with the id of another call of the same POST, in place of that
  // call's own; everything else is here.
  const entryFaults = [
    'right',
    'drop',
    'repeat',
    'repeat differently',
    'string id',
    'null id',
    'no id',
    'invented id',
    'earlier id',
    'other’s id too',
    'neither',
    'both',
    'error: null',
    'error',
  ] as const
  const bodyFaults = [
    'as is',
    'reversed',
    'shuffled',
    'one error',
    'one error in an array',
    'one result',
    'truncated',
    'cut',
    'short',
    'html',
    'empty',
    'bom',
    'gzip',
    'deflate',
    'br',
    'broken gzip',
    'http 429',
    'http 500',
    'http 500 without JSON',
  ] as const
  type EntryFault = (typeof entryFaults)[number]
  type BodyFault = (typeof bodyFaults)[number]

  function repliesWith({ entries }: Received, faults: readonly EntryFault[], earlier: readonly number[]): unknown[] {
    return entries.flatMap((entry, i) => {
      const other = entries[(i + 1) % entries.length] as Entry
      return repliesTo(entry, faults[i % faults.length] as EntryFault, other, earlier[i % Math.max(1, earlier.length)] ?? 0)
    })
  }

  function repliesTo(entry: Entry, fault: EntryFault, other: Entry, earlierId: number): unknown[] {
    const reply = right(entry)
    switch (fault) {
      case 'right':
        return [reply]
      case 'drop':
        return []
      case 'repeat':
        return [reply, reply]
      case 'repeat differently':
        return [reply, { ...reply, result: answerTo(['nobody']) }]
      case 'string id':
        return [{ ...reply, id: String(reply.id) }]
      case 'null id':
        return [{ ...reply, id: null }]
      case 'no id':
        return [{ result: reply.result }]
      case 'invented id':
        return [{ ...reply, id: reply.id + 1_000_000 }]
      case 'earlier id':
        return [{ ...reply, id: earlierId }]
      // Beside the other's own reply: all that is certain is that two different contents arrived.
      case 'other’s id too':
        return other === entry ? [reply] : [reply, { ...reply, id: other.id }, right(other)]
      case 'neither':
        return [{ id: reply.id }]
      case 'both':
        return [{ ...reply, error: { code: 1, message: 'both' } }]
      case 'error: null':
        return [{ ...reply, error: null }]
      case 'error':
        return [failed(entry, -32000, `failed ${JSON.stringify(entry.params)}`)]
    }
  }

  function answerWith(body: BodyFault, faults: readonly EntryFault[], earlier: readonly number[]): Answer {
    return async (request, response) => {
      const list = repliesWith(request, faults, earlier)
      const text = JSON.stringify(request.isBatch || list.length !== 1 ? list : list[0])
      const packed = (coding: string, bytes: Buffer) => send(response, bytes, { headers: { 'content-encoding': coding } })
      const error = failed(request.entries[0] as { id: number }, -32600, 'batch too large')
      switch (body) {
        case 'as is':
          return send(response, text)
        case 'reversed':
          return send(response, JSON.stringify(list.reverse()))
        case 'shuffled':
          return send(response, JSON.stringify(list.sort((a, b) => ((JSON.stringify(a).length * 7919) % 13) - ((JSON.stringify(b).length * 7919) % 13))))
        case 'one error':
          return send(response, JSON.stringify({ ...error, id: null }))
        case 'one error in an array':
          return send(response, JSON.stringify([error]))
        case 'one result':
          return send(response, JSON.stringify(right(request.entries[request.entries.length - 1] as never)))
        case 'truncated':
          return send(response, text.slice(0, text.length >> 1))
        case 'cut':
          return void request.socket.destroy()
        case 'short':
          response.writeHead(200, { 'content-length': text.length + 1 })
          await new Promise((resolve) => response.write(text, resolve))
          return void request.socket.end()
        case 'html':
          return send(response, '<html>')
        case 'empty':
          return send(response, '')
        case 'bom':
          return send(response, `\ufeff${text}`)
        case 'gzip':
          return packed('gzip', zlib.gzipSync(text))
        case 'deflate':
          return packed('deflate', zlib.deflateSync(text))
        case 'br':
          return packed('br', zlib.brotliCompressSync(text))
        case 'broken gzip':
          return packed('gzip', zlib.gzipSync(text).subarray(0, -9))
        case 'http 429':
          return send(response, text, { status: 429 })
        case 'http 500':
          return send(response, text, { status: 500 })
        case 'http 500 without JSON':
          return send(response, 'oops', { status: 500 })
      }
    }
  }

  /**
   * A read whose result is parsed, or the node's bytes, which takes another way through the body.
   */
  async function readAs(client: Client, as: 'value' | 'bytes', ...params: unknown[]): Promise<unknown> {
    const value = (await client.send({ method: 'eth_getBalance', params, as })).take()
    return as === 'bytes' ? JSON.parse(Buffer.from(value as Uint8Array).toString()) : value
  }

  test('no call ever gets another call’s result, and every call ends', async () => {
    const server = await serve(honest)
    const often = <T>(usual: T, all: readonly T[]) => fc.oneof({ arbitrary: fc.constant(usual), weight: 2 }, { arbitrary: fc.constantFrom(...all), weight: 3 })
    const posts = fc.record({
      body: often<BodyFault>('as is', bodyFaults),
      entries: fc.array(often<EntryFault>('right', entryFaults), { minLength: 1, maxLength: 7 }),
    })
    let answered = 0
    let refused = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(posts, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 12 }),
        fc.array(fc.constantFrom('value' as const, 'bytes' as const), { minLength: 1, maxLength: 3 }),
        async (script, count, maxCalls, forms) => {
          let post = 0
          const earlier: number[] = []
          server.script(async (request, response) => {
            const step = script[post++]
            await (step === undefined ? honest : answerWith(step.body, step.entries, [...earlier]))(request, response)
            earlier.push(...request.entries.map(({ id }) => id))
          })
          const client = clientOf(server.url, {
            batch: { maxCalls },
            concurrency: 3,
            retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 },
            deadlineMs: 20_000,
          })
          try {
            const settled = await Promise.allSettled(
              Array.from({ length: count }, (_, i) => readAs(client, forms[i % forms.length] as 'value' | 'bytes', i, 'a', { deep: [i] })),
            )
            settled.forEach((outcome, i) => {
              if (outcome.status === 'fulfilled') {
                answered++
                expect(outcome.value).toEqual(answerTo([i, 'a', { deep: [i] }]))
              } else {
                refused++
                expect(outcome.reason).toMatchObject({
                  method: 'eth_getBalance',
                  kind: expect.stringMatching(/^(malformed|network|server|execution|rate-limit|batch-too-large)$/),
                })
                if (/^failed /.test(outcome.reason.message)) expect(outcome.reason.message).toBe(`failed ${JSON.stringify([i, 'a', { deep: [i] }])}`)
              }
            })
          } finally {
            await client.close()
          }
        },
      ),
      runs(100, 20_260_731),
    )
    // The property would also hold for a client that answers no call.
    expect(answered).toBeGreaterThan(1000)
    expect(refused).toBeGreaterThan(100)
  })

  test('a failing single call gets an error of one of the library’s classes', async () => {
    const error = await errorOf(read(clientOf((await serve(cut)).url, once), 0))
    expect(error).toBeInstanceOf(NetworkError)
  })
})

describe('bytes for the same id twice', () => {
  const replies = (...results: string[]) => results.map((json) => ({ id: 1, result: Buffer.from(json) }))

  test('are one reply if they are the same, or mean the same', () => {
    for (const again of ['{"a":[1,"x"]}', '{ "a" : [ 1.0, "\\u0078" ] }'])
      expect(String((correlate(replies('{"a":[1,"x"]}', again), 1, 1).replies[0] as ReplyObject).result)).toBe('{"a":[1,"x"]}')
  })

  test('are malformed if they differ, or are nested too deeply to compare', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    for (const [a, b] of [
      ['{"a":1}', '{"a":2}'],
      ['1', '"1"'],
      [deep, ` ${deep}`],
    ] as const)
      expect(correlate(replies(a, b), 1, 1).replies).toEqual(['its id came more than once, with different content'])
  })
})
