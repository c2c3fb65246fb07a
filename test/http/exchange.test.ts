import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { setTimeout as after } from 'node:timers/promises'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { Dispatcher } from 'undici'
import { describe, expect, test, vi } from 'vitest'
import { createClient, LimitError } from '../../src/index.ts'
import { agentForAnyHost } from '../support/agent.ts'
import { holdThreads } from '../support/held-threads.ts'
import { holdTime } from '../support/held-time.ts'
import { type Answer, always, answerTo, clientOf, each, errorOf, honest, type Received, read, refuse, right, send, serve } from '../support/server.ts'

/** A user's agent that resolves every host to this machine, and counts its requests. */
function agentOf() {
  const agent = agentForAnyHost()
  return { agent, dispatch: vi.spyOn(agent, 'dispatch') }
}

const packed =
  (pack: (text: string) => Buffer, coding: string): Answer =>
  (request, response) =>
    send(response, pack(JSON.stringify(request.entries.map(right))), { headers: { 'content-encoding': coding } })

test.each(['https', 'wss'])('%s to a server without TLS says so, not what OpenSSL says', async (protocol) => {
  const server = await serve(honest)
  const error = await errorOf(read(clientOf(`${protocol}://127.0.0.1:${server.port}`, { retry: false }), 1))
  expect(error.message).toMatch(/: no connection \(ERR_SSL_\w+\): the server answers without TLS, so its URL begins with http:\/\/ or ws:\/\/$/)
})

describe('compression', () => {
  test('is requested, except on this machine', async () => {
    const server = await serve(honest)
    await read(clientOf(server.url), 1)
    expect(server.requests[0]?.headers['accept-encoding']).toBeUndefined()
    await read(clientOf(`http://node.example.com:${server.port}`, { dispatcher: agentOf().agent }), 2)
    expect(server.requests[1]?.headers['accept-encoding']).toMatch(/^(zstd, )?gzip, deflate, br$/)
  })

  test('is requested or not, according to the option', async () => {
    const server = await serve(honest)
    await read(clientOf(server.url, { compression: true }), 1)
    await read(clientOf(`http://node.example.com:${server.port}`, { compression: false, dispatcher: agentOf().agent }), 2)
    await read(clientOf(server.url, { compression: true, headers: { 'Accept-Encoding': 'br' } }), 3)
    expect(server.requests.map(({ headers }) => headers['accept-encoding'])).toEqual([expect.stringContaining('gzip'), undefined, 'br'])
  })

  const inOrder =
    (...packs: ((body: zlib.InputType) => Buffer)[]) =>
    (text: string) =>
      packs.reduce<Buffer>((body, pack) => pack(body), Buffer.from(text))
  test.each<[string, (text: string) => Buffer]>([
    ['gzip', zlib.gzipSync],
    ['x-gzip', zlib.gzipSync],
    ['GZip', zlib.gzipSync],
    ['deflate', zlib.deflateSync],
    // Without zlib's header, as some servers send it.
    ['deflate', zlib.deflateRawSync],
    ['br', zlib.brotliCompressSync],
    ['identity', (text) => Buffer.from(text)],
    ['gzip, br', inOrder(zlib.gzipSync, zlib.brotliCompressSync)],
    ['deflate,gzip , br', inOrder(zlib.deflateSync, zlib.gzipSync, zlib.brotliCompressSync)],
  ])('%s is decoded, requested or not', async (coding, pack) => {
    const server = await serve(packed(pack, coding))
    expect(await read(clientOf(server.url), 'x'.repeat(1000))).toEqual(answerTo(['x'.repeat(1000)]))
  })

  test('every level of raw deflate is decoded', async () => {
    for (let level = 0; level <= 9; level++) {
      for (const pack of [zlib.deflateSync, zlib.deflateRawSync]) {
        const server = await serve(packed((text) => pack(text, { level }), 'deflate'))
        expect(await read(clientOf(server.url, { retry: false }), level)).toEqual(answerTo([level]))
      }
    }
  })

  /** Resolves when a client of this process has received a whole reply. */
  function replyEnd(): Promise<void> {
    return new Promise((resolve) => {
      const onEnd = () => {
        unsubscribe('undici:request:trailers', onEnd)
        // The client itself gets to know it after the subscribers.
        setImmediate(resolve)
      }
      subscribe('undici:request:trailers', onEnd)
    })
  }

  test.skipIf(process.platform === 'win32')('may take longer to undo than the endpoint has for its reply', async () => {
    const time = holdTime()
    const release = await holdThreads()
    const server = await serve(packed((text) => zlib.gzipSync(text + ' '.repeat(200_000)), 'gzip'))
    const arrived = replyEnd()
    const reply = read(clientOf(server.url, { timeoutMs: 1000, retry: false }), 1)
    await arrived
    await time.pass(1500)
    await release()
    expect(await reply).toEqual(answerTo([1]))
  })

  test.skipIf(process.platform === 'win32')('of a small reply is undone without those threads', async () => {
    await holdThreads()
    const server = await serve(packed(zlib.gzipSync, 'gzip'), packed(zlib.deflateSync, 'deflate'), packed(zlib.brotliCompressSync, 'br'))
    const client = clientOf(server.url, { retry: false })
    for (const n of [1, 2, 3]) expect(await read(client, n)).toEqual(answerTo([n]))
  })

  test('of an empty body is an empty body', async () => {
    const server = await serve(always('', { status: 502, headers: { 'content-encoding': 'gzip' } }))
    expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toMatchObject({ name: 'HttpError', status: 502 })
  })
})

describe('maxResponseBytes', () => {
  const max = { maxResponseBytes: 10_000, retry: false } as const

  test('is the largest accepted size', async () => {
    const ofLength =
      (length: number): Answer =>
      ({ entries }, response) =>
        send(response, JSON.stringify(right(entries[0] as never)).padEnd(length))
    const server = await serve(ofLength(10_000), ofLength(10_001))
    const client = clientOf(server.url, max)
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(await errorOf(read(client, 1))).toBeInstanceOf(LimitError)
  })

  test('stops a reply that announces more, before its body arrives', async () => {
    const server = await serve(async (request, response) => {
      response.writeHead(200, { 'content-length': 1_000_000_000 })
      response.write('[')
      await request.hungUp
    })
    const error = await errorOf(read(clientOf(server.url, max), 1))
    expect(error).toBeInstanceOf(LimitError)
    expect(error).toMatchObject({ kind: 'response-too-large', method: 'eth_getBalance', attempts: 1 })
    expect(error.message).toMatch(/^127\.0\.0\.1:\d+: the reply has 1000000000 bytes; maxResponseBytes allows 10000$/)
    await server.requests[0]?.hungUp
  })

  test('stops a reply that never ends', async () => {
    const server = await serve(async (request, response) => {
      const more = () => response.write('x'.repeat(1000), () => setImmediate(more))
      more()
      await request.hungUp
    })
    const error = await errorOf(read(clientOf(server.url, max), 1))
    expect(error.message).toMatch(/the reply has more than 10000 bytes; maxResponseBytes allows 10000$/)
    await server.requests[0]?.hungUp
  })

  test('counts after decompression', async () => {
    const server = await serve(packed((text) => zlib.gzipSync(text + ' '.repeat(20_000)), 'gzip'))
    const error = await errorOf(read(clientOf(server.url, max), 1))
    expect(error).toMatchObject({ name: 'LimitError', kind: 'response-too-large' })
    expect(error.message).toMatch(/the reply has more than 10000 bytes after decompression; maxResponseBytes allows 10000$/)
  })

  test('a decompression bomb is harmless: a gigabyte of zeros in a megabyte is decompressed only up to the limit', async () => {
    const part = zlib.gzipSync(Buffer.alloc(16 * 1024 * 1024))
    // The members of a gzip file follow one another (RFC 1952, 2.2).
    const gzip = Buffer.concat(Array.from({ length: 64 }, () => part))
    const deflate = zlib.deflateSync(Buffer.alloc(256 * 1024 * 1024))
    const twice = zlib.gzipSync(gzip)
    for (const [coding, bomb] of [
      ['gzip', gzip],
      ['deflate', deflate],
      ['gzip, gzip', twice],
    ] as const) {
      const server = await serve(always(bomb, { headers: { 'content-encoding': coding } }))
      const client = clientOf(server.url, { maxResponseBytes: 8 * 1024 * 1024, retry: false })
      global.gc?.()
      const before = process.resourceUsage().maxRSS
      for (let i = 0; i < 3; i++)
        expect(await errorOf(read(client, i))).toMatchObject({ name: 'LimitError', message: expect.stringContaining('after decompression') })
      // maxRSS is in kilobytes, and is the highest ever: garbage collection cannot hide what was
      // decompressed once.
      expect((process.resourceUsage().maxRSS - before) / 1024).toBeLessThan(100)
    }
  })
})

describe('a dispatcher of the user’s', () => {
  test('sends the requests, and is not closed with the client', async () => {
    const server = await serve(honest)
    const { agent, dispatch } = agentOf()
    const client = createClient(`http://node.example.com:${server.port}/rpc`, { dispatcher: agent })
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(dispatch).toHaveBeenCalledTimes(1)
    expect(server.requests[0]).toMatchObject({ path: '/rpc', headers: { host: `node.example.com:${server.port}` } })
    await client.close()
    expect(agent.destroyed).toBe(false)
    expect(agent.closed).toBe(false)
    expect(await read(clientOf(`http://node.example.com:${server.port}`, { dispatcher: agent }), 2)).toEqual(answerTo([2]))
  })

  test('that throws is a failure of the call', async () => {
    const dispatcher = {
      dispatch() {
        throw new Error('out of order')
      },
    } as unknown as Dispatcher
    expect(await errorOf(read(clientOf('http://node.example.com', { dispatcher, retry: false }), 1))).toMatchObject({
      name: 'NetworkError',
      message: expect.stringContaining('out of order'),
    })
  })
})

describe('a request', () => {
  test('goes to the path and query of the URL, with JSON headers', async () => {
    const server = await serve(honest)
    await read(clientOf(`${server.url}/v2/KEY?a=1&b=%20#fragment`), 1)
    expect(server.requests[0]).toMatchObject({
      path: '/v2/KEY?a=1&b=%20',
      headers: { accept: 'application/json', 'content-type': 'application/json', host: `127.0.0.1:${server.port}`, 'user-agent': 'hexline' },
    })
  })

  test('has the user’s headers; those of the endpoint override those of the client', async () => {
    const server = await serve(honest)
    const headers = { 'X-A': 'client', 'x-b': 'client', 'User-Agent': 'mine' }
    await read(clientOf({ url: server.url, headers: { 'x-a': 'endpoint' } }, { headers }), 1)
    expect(server.requests[0]?.headers).toMatchObject({ 'x-a': 'endpoint', 'x-b': 'client', 'user-agent': 'mine' })
  })

  test('has the decoded user info of the URL as basic authorization, and nowhere else', async () => {
    for (const [user, password] of [
      ['me', 'secret'],
      ['a b', 'p:w/d@%é'],
      ['only', ''],
      ['', 'only'],
    ] as const) {
      const server = await serve(honest)
      await read(clientOf(server.url.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password)}@`)), 1)
      expect(server.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`)
      expect(server.requests[0]).toMatchObject({ path: '/', headers: { host: `127.0.0.1:${server.port}` } })
    }
  })

  test('has user info with a lone percent sign unchanged', async () => {
    const server = await serve(honest)
    await read(clientOf(server.url.replace('://', '://me:100%@')), 1)
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:100%').toString('base64')}`)
  })

  test('does not follow redirects, since its key is for this host', async () => {
    const other = await serve(honest)
    for (const status of [301, 302, 307, 308]) {
      const server = await serve(always('', { status, headers: { location: other.url } }))
      expect(await errorOf(read(clientOf(server.url, { retry: false }), 1))).toMatchObject({
        name: 'HttpError',
        status,
        message: `${new URL(server.url).host} answered HTTP ${status} with an empty body; redirects are not followed: use the final URL`,
      })
    }
    expect(other.requests).toHaveLength(0)
  })
})

describe('connections', () => {
  test('are kept: a hundred calls in sequence use one', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    for (let i = 0; i < 100; i++) await read(client, i)
    expect(server.opened).toBe(1)
  })

  test('are kept after errors reported by the node', async () => {
    const server = await serve(refuse(-32000, 'no', { status: 500 }), always('oops', { status: 404 }), always('<html>'), honest)
    const client = clientOf(server.url, { retry: false })
    for (let i = 0; i < 3; i++) await errorOf(read(client, i))
    await read(client, 3)
    expect(server.opened).toBe(1)
  })

  test('are at most as many as the POSTs in flight', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url, { concurrency: 3, batch: false })
    await Promise.all(Array.from({ length: 100 }, (_, i) => read(client, i)))
    expect(server.opened).toBeLessThanOrEqual(3)
  })

  test('that the server closes while idle lose no call', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    for (let i = 0; i < 5; i++) {
      expect(await read(client, i)).toEqual(answerTo([i]))
      for (const socket of server.sockets) socket.end()
    }
  })

  test('have only the headers of their own client', async () => {
    const server = await serve(honest)
    const clients = ['a', 'b', 'c'].map((name) => ({ name, client: clientOf(`${server.url}/rpc`, { headers: { authorization: `Bearer ${name}` } }) }))
    await Promise.all(Array.from({ length: 30 }, (_, i) => clients.map(({ name, client }) => read(client, name, i))).flat())
    const seen = (request: Received) => new Set(request.entries.map(({ params }) => `Bearer ${params[0]}`))
    for (const request of server.requests) expect(seen(request)).toEqual(new Set([request.headers.authorization]))
    expect(server.requests).toHaveLength(3)
  })

  test('are tried at every address of a host', async () => {
    const server = await serve(each(right))
    // The server listens at 127.0.0.1 only; on most machines the name also has an IPv6 address.
    expect(await read(clientOf(`http://localhost:${server.port}`), 1)).toEqual(answerTo([1]))
  })
})

test('a timer of the exchange does not outlive it', async () => {
  const server = await serve(honest)
  const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const client = clientOf(server.url, { timeoutMs: 1_000_000, deadlineMs: 1_000_000 })
  await Promise.all(Array.from({ length: 300 }, (_, i) => read(client, i)))
  await promisify(setImmediate)()
  // The one timer of all deadlines may be left; it keeps nothing alive.
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length).toBeLessThanOrEqual(before + 1)
})

/* The same in virtual time, with all that follows from it: progress.test.ts. */
describe('a reply over a real socket', () => {
  const begin = (request: Received, response: ServerResponse) => {
    const body = JSON.stringify(right(request.entries[0] as Received['entries'][number]))
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.write(body.slice(0, 10))
    return body.slice(10)
  }

  test('that stalls is given up, its connection is closed, and the call is retried', async () => {
    const server = await serve(honest, (request, response) => void begin(request, response), honest)
    const client = clientOf(server.url, { timeoutMs: 600_000, deadlineMs: Number.POSITIVE_INFINITY })
    await read(client, 1)
    expect(await read(client, 2)).toEqual(answerTo([2]))
    await server.requests[1]?.hungUp
    expect(server.requests).toHaveLength(3)
  })

  test.each<[string, (response: ServerResponse) => void]>([
    ['its headers', (response) => void response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()],
    ['102', (response) => response.writeProcessing()],
    ['103', (response) => response.writeEarlyHints({ link: '</a>; rel=preload' })],
  ])('is waited for if the node sends %s at once, and only then starts to work', async (_, say) => {
    const server = await serve(honest, async (request, response) => {
      say(response)
      // Longer than a body may stall.
      await after(600)
      response.end(JSON.stringify(right(request.entries[0] as Received['entries'][number])))
    })
    const client = clientOf(server.url)
    await read(client, 1)
    expect(await read(client, 2)).toEqual(answerTo([2]))
    expect(server.requests).toHaveLength(2)
  })
})
