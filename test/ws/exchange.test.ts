import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { constants, deflateRawSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { createClient } from '../../src/index.ts'
import { startAnvil } from '../support/anvil.ts'
import { eventsOf } from '../support/events.ts'
import { holdThreads } from '../support/held-threads.ts'
import { holdTime } from '../support/held-time.ts'
import { answerTo, clientOf, errorOf, failed, honest, read, right, serve } from '../support/server.ts'
import { never, type Reaction, refusal, reply, rightly, serveWebSocket, serveWebSocketWith } from '../support/web-socket-server.ts'

/** One attempt for each call, so that a test sees its failure. */
const ONCE = { retry: false, batch: false } as const

describe('calls', () => {
  test('go over one socket, which the first one opens', async () => {
    const server = await serveWebSocket(rightly)
    const client = clientOf(server.url)
    await turn()
    expect(server.handshakes).toHaveLength(0)
    expect(await Promise.all([read(client, 1), read(client, 2)])).toEqual([answerTo([1]), answerTo([2])])
    expect(await read(client, 3)).toEqual(answerTo([3]))
    expect(server.handshakes).toHaveLength(1)
    expect(server.messages.map(({ isBatch, entries }) => [isBatch, entries.length])).toEqual([
      [true, 2],
      [false, 1],
    ])
  })

  test('are matched by id, in any order and in any form of reply', async () => {
    const waiting: Parameters<Reaction>[0][] = []
    const server = await serveWebSocket((message) => void waiting.push(message))
    const client = clientOf(server.url, { batch: false })
    const answers = [1, 2, 3, 4, 5].map((who) => read(client, who))
    await server.received(5)
    const [a, b, c, d, e] = waiting.map(({ entries: [entry], peer }) => ({ entry: entry as (typeof waiting)[0]['entries'][0], peer }))
    e?.peer.send(right(e.entry))
    c?.peer.send({ result: answerTo([3]), jsonrpc: '2.0', id: c.entry.id })
    a?.peer.send([right(a.entry)])
    d?.peer.send(`\n { "id" : "${d.entry.id}", "result" : ${JSON.stringify(answerTo([4]))} }`)
    b?.peer.send(Buffer.from(JSON.stringify(right(b.entry))))
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5].map((who) => answerTo([who])))
  })

  test('work with a real node, batches and errors included', async () => {
    const anvil = await startAnvil()
    try {
      const client = clientOf(anvil.url.replace('http', 'ws'))
      const [chain, number, block, error] = await Promise.all([
        client.call('eth_chainId'),
        client.call('eth_blockNumber'),
        client.call('eth_getBlockByNumber', 0, true),
        errorOf(client.request({ method: 'eth_getBalance', params: ['nonsense', 'latest'] })),
      ])
      expect([chain, number, block?.number, error.kind]).toEqual([31337, 0n, 0n, 'invalid'])
      expect(client.endpoints).toEqual([anvil.url.replace('http', 'ws')])
    } finally {
      await anvil.stop()
    }
  })

  test('give the same results as over HTTP, as values, as bytes and decoded from bytes', async () => {
    const block = { hash: '0x01', number: '0x7', transactions: [], extraData: `0x${'ab'.repeat(10_000)}` }
    const make = ({ id }: { id: number }) => ({ jsonrpc: '2.0', id, result: block })
    const server = await serveWebSocket(reply(make))
    const client = clientOf(server.url)
    expect(await client.request({ method: 'any' })).toEqual(block)
    const bytes = (await client.send({ method: 'any', as: 'bytes' })).take() as Uint8Array
    expect(JSON.parse(Buffer.from(bytes).toString())).toEqual(block)
    server.script(reply(({ id }) => ({ jsonrpc: '2.0', id, result: [{ address: '0x02', topics: [], data: block.extraData, logIndex: '0x5' }] })))
    expect(await client.call('eth_getLogs', {})).toMatchObject([{ logIndex: 5 }])
  })

  test('are joined, split and throttled as over HTTP', async () => {
    const server = await serveWebSocket(({ entries, isBatch, peer }) => {
      if (entries.length > 2) peer.send([failed(entries[0] as { id: number }, -32600, 'batch too large')])
      else peer.send(isBatch ? entries.map(right) : right(entries[0] as Parameters<typeof right>[0]))
    })
    const client = clientOf(server.url)
    const answers = await Promise.all([1, 2, 3, 4, 5, 5].map((who) => read(client, who)))
    expect(answers).toEqual([1, 2, 3, 4, 5, 5].map((who) => answerTo([who])))
    expect(Math.max(...server.messages.slice(-3).map(({ entries }) => entries.length))).toBeLessThanOrEqual(2)
  })

  test('move to an HTTP endpoint when the socket ends, and events report it', async () => {
    const posts = eventsOf('hexline:post')
    const webSocket = await serveWebSocket(({ peer }) => peer.socket.destroy())
    const http = await serve(honest)
    const client = clientOf([webSocket.url, http.url])
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(posts.map(({ endpoint, failures, status }) => [endpoint, failures, status])).toEqual(
      expect.arrayContaining([
        [`127.0.0.1:${webSocket.port}`, { network: expect.any(Number) }, undefined],
        [`127.0.0.1:${http.port}`, {}, 200],
      ]),
    )
  })
})

describe('a message that answers no call by its id', () => {
  test.each<[string, (id: number) => unknown, string, RegExp]>([
    ['that is not JSON', () => 'upstream connect error', 'malformed', /not JSON.*upstream connect error/],
    ['that throttles in words', () => 'rate limit exceeded', 'rate-limit', /rate limit exceeded/],
    ['with an error without an id', () => ({ jsonrpc: '2.0', id: null, error: { code: -32005, message: 'too many requests' } }), 'rate-limit', /too many/],
    ['with an id that was not sent', (id) => ({ jsonrpc: '2.0', id: id + 1000, result: 1 }), 'malformed', /no reply with its id/],
    ['that is empty', () => '', 'malformed', /empty/],
    ['in bytes that are not text', () => Buffer.from([0xff, 0xfe, 0x00]), 'malformed', /not JSON/],
    ['with a value that is not a reply', () => 'null', 'malformed', /no reply with its id/],
  ])('%s, is the reply to the only call in flight', async (_, make, kind, message) => {
    const server = await serveWebSocket(({ entries: [entry], peer }) => peer.send(make(entry?.id as number)))
    expect(await errorOf(read(clientOf(server.url, ONCE), 1))).toMatchObject({ kind, message: expect.stringMatching(message) })
  })

  test('is the reply to the one call that is left when all others have been answered', async () => {
    const server = await serveWebSocket(never)
    const client = clientOf(server.url, ONCE)
    const answers = [1, 2, 3].map((who) => errorOf(read(client, who)).catch(() => 'answered'))
    await server.received(3)
    const [first, second, third] = server.messages
    first?.peer.send('no JSON')
    for (const message of [third, first]) rightly(message as Parameters<Reaction>[0])
    expect(await Promise.all(answers)).toEqual(['answered', expect.objectContaining({ kind: 'malformed' }), 'answered'])
    expect(second?.entries[0]?.params).toEqual([2])
  })

  test.each<[string, unknown]>([
    ['another subscription', { jsonrpc: '2.0', method: 'debug_subscription', params: { subscription: '0x1', result: {} } }],
    ['a keep-alive', { jsonrpc: '2.0', method: 'keepalive', id: null }],
    ['a request of the server', { jsonrpc: '2.0', method: 'ping', id: 0, params: [] }],
  ])('is not the reply to the only call where it is a notification: %s', async (_, notification) => {
    const server = await serveWebSocket((message) => {
      message.peer.send(notification)
      rightly(message)
    })
    expect(await read(clientOf(server.url, ONCE), 1)).toEqual(answerTo([1]))
  })

  test('that comes twice, late, or for no call changes nothing', async () => {
    const server = await serveWebSocket((message) => {
      rightly(message)
      rightly(message)
      message.peer.notify('0x1', {})
      message.peer.send({ jsonrpc: '2.0', method: 'eth_subscription', params: 'nonsense' })
      message.peer.send({ jsonrpc: '2.0', method: 'other' })
    })
    const client = clientOf(server.url, ONCE)
    for (const who of [1, 2, 3]) expect(await read(client, who)).toEqual(answerTo([who]))
  })
})

describe('a socket that ends with calls in flight', () => {
  test.each<[string, Reaction, RegExp]>([
    ['without a word', ({ peer }) => peer.socket.destroy(), /the (connection was closed|server ended the connection)/],
    ['with a reset', ({ peer }) => peer.socket.resetAndDestroy(), /ECONNRESET/],
    ['with a close frame', ({ peer }) => peer.webSocket.close(1013, 'try later'), /code 1013: try later/],
    ['in the middle of a frame', ({ peer }) => peer.socket.end(Buffer.from([0x81, 126, 1, 0, 0x7b])), /in the middle of a message \(1 bytes\)/],
  ])('%s, fails them as `network`', async (_, reaction, message) => {
    const server = await serveWebSocket(({ entries, ...rest }) => {
      if (server.messages.length === 3) reaction({ entries, ...rest })
    })
    const client = clientOf(server.url, ONCE)
    const errors = await Promise.all([1, 2, 3].map((who) => errorOf(read(client, who))))
    for (const error of errors) expect(error).toMatchObject({ kind: 'network', unsent: false, message: expect.stringMatching(message) })
    server.script(rightly)
    expect(await read(client, 4)).toEqual(answerTo([4]))
    expect(server.peers).toHaveLength(2)
  })

  test('leaves reads to be retried on the next socket, and sends no transaction twice', async () => {
    const server = await serveWebSocket(({ peer }) => peer.socket.destroy(), rightly)
    const client = clientOf(server.url)
    expect(await read(client, 1)).toEqual(answerTo([1]))
    server.script(({ peer }) => peer.socket.destroy(), rightly)
    expect(await errorOf(client.request({ method: 'unknown_write', params: [] }))).toMatchObject({ kind: 'network', attempts: 1 })
  })

  test.each([
    ['frames', Buffer.from([0x83, 0x00]), 1002],
    ['masked frames', Buffer.from([0x81, 0x80, 0, 0, 0, 0]), 1002],
    ['impossible lengths', Buffer.from([0x81, 127, 255, 255, 255, 255, 255, 255, 255, 255]), 1009],
  ])('because of its invalid %s, is told why', async (_, bytes, code) => {
    const server = await serveWebSocket(({ peer }) => void peer.socket.write(bytes))
    const client = clientOf(server.url, ONCE)
    const error = await errorOf(read(client, 1))
    expect(error).toMatchObject({ kind: 'malformed', message: expect.stringContaining('the WebSocket is not valid') })
    const { webSocket } = server.peers[0] as { webSocket: { readyState: number; once: (name: string, on: (code: number) => void) => void } }
    if (webSocket.readyState < 3) expect(await new Promise((resolve) => webSocket.once('close', resolve))).toBe(code)
  })
})

describe('a server that refuses the WebSocket', () => {
  test.each<[number, string, Record<string, string>, object]>([
    [401, 'no key', {}, { kind: 'auth', status: 401 }],
    [403, '', {}, { kind: 'auth', status: 403 }],
    [429, '', { 'retry-after': '2' }, { kind: 'rate-limit', status: 429, retryAfterMs: 2000 }],
    [500, 'oops', {}, { kind: 'server', status: 500 }],
    [503, '', {}, { kind: 'server', status: 503 }],
    [400, 'Bad Request', {}, { kind: 'invalid', status: 400 }],
    [301, '', { location: 'https://elsewhere.example.com/KEY' }, { kind: 'invalid', status: 301 }],
  ])('with %d fails every call as that status does over HTTP, and proves that none ran', async (status, body, headers, expected) => {
    const server = await serveWebSocket(rightly)
    server.refuse(refusal(status, body, headers))
    const client = clientOf(server.url, { retry: false })
    const errors = await Promise.all([1, 2].map((who) => errorOf(client.with({ whilePaused: 'fail' }).request({ method: 'eth_getBalance', params: [who] }))))
    for (const error of errors) expect(error).toMatchObject({ ...expected, unsent: true })
    expect(server.handshakes).toHaveLength(1)
  })

  test('is asked again, for a call that must not run twice, too', async () => {
    const server = await serveWebSocket(rightly)
    server.refuse((socket) => {
      server.refuse(undefined)
      socket.end(refusal(500))
    })
    expect(await clientOf(server.url).request({ method: 'unknown_write', params: [7] })).toEqual(answerTo([7]))
  })

  test.each([
    ['a page', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi', /no WebSocket: the server answered HTTP 200/],
    ['a key that is not the answer', 'HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: x\r\n\r\n', /Sec-WebSocket-Accept/],
    ['nothing', '', /no connection/],
    ['no HTTP', 'hello\r\n\r\n', /no connection/],
  ])('with %s fails every call as `network`, unsent', async (_, answer, message) => {
    const server = await serveWebSocket(rightly)
    server.refuse(answer)
    const error = await errorOf(read(clientOf(server.url, ONCE), 1))
    expect(error).toMatchObject({ kind: 'network', unsent: true, message: expect.stringMatching(message) })
  })

  test('because there is no server, no such host, or no TLS, fails every call as `network`, unsent', async () => {
    const server = await serve(honest)
    const { port } = server
    const tls = await errorOf(read(clientOf(`wss://127.0.0.1:${port}/KEY`, ONCE), 1))
    await server.close()
    const gone = await errorOf(read(clientOf(`ws://127.0.0.1:${port}/KEY`, ONCE), 1))
    const nowhere = await errorOf(read(clientOf('ws://nowhere.invalid/KEY', ONCE), 1))
    for (const error of [tls, gone, nowhere]) expect(error).toMatchObject({ kind: 'network', unsent: true })
    expect(gone).toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('time', () => {
  test('a call without a reply times out, and the others go on', async () => {
    const time = holdTime()
    const server = await serveWebSocket(({ entries: [entry], peer }) => {
      if (entry?.params[0] !== 1) peer.send(right(entry as Parameters<typeof right>[0]))
    })
    const client = clientOf(server.url, { ...ONCE, timeoutMs: 5000 })
    const slow = errorOf(read(client, 1))
    expect(await read(client, 2)).toEqual(answerTo([2]))
    await time.pass(5000)
    expect(await slow).toMatchObject({ kind: 'timeout', unsent: false, message: expect.stringContaining('no reply within 5000 ms') })
    expect(await read(client, 3)).toEqual(answerTo([3]))
    expect(server.peers).toHaveLength(1)
  })

  test('a socket that never answers is replaced after a timeout', async () => {
    const time = holdTime()
    const server = await serveWebSocket(never)
    const client = clientOf(server.url, { ...ONCE, timeoutMs: 5000 })
    const first = errorOf(read(client, 1))
    const { peer } = await server.received(1)
    const closed = new Promise((resolve) => peer.webSocket.once('close', resolve))
    await time.pass(5000)
    expect(await first).toMatchObject({ kind: 'timeout' })
    await closed
    server.script(rightly)
    expect(await read(client, 2)).toEqual(answerTo([2]))
    expect(server.peers).toHaveLength(2)
  })

  test('a handshake without an answer times out, unsent', async () => {
    const time = holdTime()
    const server = await serveWebSocket(rightly)
    const asked = new Promise<void>((resolve) => server.refuse(() => resolve()))
    const error = errorOf(read(clientOf(server.url, { ...ONCE, timeoutMs: 5000 }), 1))
    await asked
    await time.pass(5000)
    expect(await error).toMatchObject({ kind: 'timeout', unsent: true, message: expect.stringContaining('no connection within 5000 ms') })
  })

  test('an aborted call ends alone, and its late reply is not taken for another one', async () => {
    const server = await serveWebSocket(never)
    const client = clientOf(server.url, ONCE)
    const controller = new AbortController()
    const given = client.request({ method: 'eth_getBalance', params: [1] }, { signal: controller.signal })
    const first = await server.received(1)
    controller.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    const second = read(client, 2)
    first.peer.send('no JSON')
    rightly(await server.received(2))
    expect(await second).toEqual(answerTo([2]))
  })

  test('closing the client ends every call, and the socket', async () => {
    const server = await serveWebSocket(never)
    const client = createClient(server.url)
    const error = errorOf(read(client, 1))
    const { peer } = await server.received(1)
    const closed = new Promise((resolve) => peer.webSocket.once('close', resolve))
    await client.close()
    expect(await error).toMatchObject({ kind: 'closed' })
    expect(await closed).toBe(1000)
  })
})

describe('maxResponseBytes', () => {
  const large = (id: number) => ({ jsonrpc: '2.0', id, result: 'x'.repeat(5000) })

  test.each([
    ['a reply', false],
    ['a compressed reply', true],
  ])('fails the call of %s that is too large, and no other', async (_, deflate) => {
    const server = await serveWebSocketWith({ deflate: deflate && { threshold: 0 } }, ({ entries: [entry], peer }) =>
      peer.send(entry?.params[0] === 1 ? large(entry.id) : right(entry as Parameters<typeof right>[0])),
    )
    const client = clientOf(server.url, { ...ONCE, maxResponseBytes: 1000, compression: deflate })
    const [first] = await Promise.all([errorOf(read(client, 1))])
    expect(first).toMatchObject({ name: 'LimitError', kind: 'response-too-large', limit: 1000 })
    expect(await read(client, 2)).toEqual(answerTo([2]))
    expect(server.peers).toHaveLength(1)
  })

  test.each([
    ['a notification', false],
    ['a compressed notification', true],
  ])('skips %s that is too large: its subscriber gets a gap, and the calls in flight their replies', async (_, deflate) => {
    const hashOf = (digit: string) => `0x${digit.repeat(64)}`
    const server = await serveWebSocketWith({ deflate: deflate && { threshold: 0 } }, ({ entries: [entry], peer }) => {
      if (entry?.method === 'eth_subscribe') {
        peer.send({ jsonrpc: '2.0', id: entry.id, result: '0x1' })
        return peer.notify('0x1', hashOf('0'))
      }
      peer.notify('0x1', 'x'.repeat(5000))
      peer.notify('0x1', hashOf(String(entry?.params[0])))
      peer.send(right(entry as Parameters<typeof right>[0]))
    })
    const client = clientOf(server.url, { ...ONCE, maxResponseBytes: 1000, compression: deflate })
    const hashes = client.subscribe('newPendingTransactions')
    expect((await hashes.next()).value).toEqual({ type: 'value', value: hashOf('0') })
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(await Promise.all([2, 3].map((who) => read(client, who)))).toEqual([2, 3].map((who) => answerTo([who])))
    const gap = { type: 'gap' }
    const items: unknown[] = []
    while (items.length < 6) items.push((await hashes.next()).value)
    expect(items).toEqual(['1', '2', '3'].flatMap((digit) => [gap, { type: 'value', value: hashOf(digit) }]))
    expect(server.peers).toHaveLength(1)
    await hashes.return()
  })

  test.each<[string, (id: number) => unknown]>([
    ['a notification of another method', () => ({ jsonrpc: '2.0', method: 'debug_subscription', params: 'x'.repeat(5000) })],
    ['a duplicate reply', (id) => ({ id: id - 1, jsonrpc: '2.0', result: 'x'.repeat(5000) })],
  ])('skips %s that is too large', async (_, make) => {
    const server = await serveWebSocket(rightly, (message) => {
      message.peer.send(make(message.entries[0]?.id as number))
      rightly(message)
    })
    const client = clientOf(server.url, { ...ONCE, maxResponseBytes: 1000 })
    for (const who of [1, 2]) expect(await read(client, who)).toEqual(answerTo([who]))
  })

  test.skipIf(process.platform === 'win32')('is not told of a message before what came earlier is decompressed', async () => {
    const server = await serveWebSocketWith({ deflate: true }, never)
    const reply = read(clientOf(server.url, { ...ONCE, compression: true, maxResponseBytes: 1000 }), 1)
    const { entries, peer } = await server.received(1)
    const release = await holdThreads()
    peer.socket.write(deflated(JSON.stringify(right(entries[0] as Parameters<typeof right>[0]))))
    // A compressed message of 5,000 bytes.
    peer.socket.write(Buffer.concat([Buffer.from([0xc1, 126, 5000 >> 8, 5000 & 0xff]), Buffer.alloc(5000)]))
    const ponged = once(peer.webSocket, 'pong')
    peer.webSocket.ping()
    await ponged
    await release()
    expect(await reply).toEqual(answerTo([1]))
  })

  test('of a reply that does not begin with its id is known when it is the only one, or all others have been answered', async () => {
    const server = await serveWebSocket(never)
    const client = clientOf(server.url, { ...ONCE, maxResponseBytes: 1000 })
    const only = errorOf(read(client, 1))
    const { peer, entries } = await server.received(1)
    const odd = (id?: number) => ({ jsonrpc: '2.0', result: 'x'.repeat(5000), id })
    peer.send(odd(entries[0]?.id))
    expect(await only).toMatchObject({ kind: 'response-too-large' })
    const [left, other] = [errorOf(read(client, 2)), read(client, 3)]
    const third = await server.received(3)
    third.peer.send(odd(server.messages[1]?.entries[0]?.id))
    rightly(third)
    expect(await other).toEqual(answerTo([3]))
    expect(await left).toMatchObject({ kind: 'response-too-large' })
    expect(server.peers).toHaveLength(1)
  })
})

test('replies are decompressed, where the server compresses', async () => {
  const server = await serveWebSocketWith({ deflate: { threshold: 0 } }, ({ entries: [entry], peer }) => {
    peer.notify('0x1', 'before')
    peer.send(right(entry as Parameters<typeof right>[0]))
  })
  const client = clientOf(server.url, { compression: true, batch: false })
  expect(await Promise.all([1, 2, 3].map((who) => read(client, who)))).toEqual([1, 2, 3].map((who) => answerTo([who])))
  expect(server.peers[0]?.webSocket.extensions).toBe('permessage-deflate')
  const plain = clientOf(server.url, { compression: false })
  await read(plain, 4)
  expect(server.handshakes.at(-1)?.headers['sec-websocket-extensions']).toBeUndefined()
})

test.skipIf(process.platform === 'win32')('a reply may take longer to undo than the endpoint has for it', async () => {
  const time = holdTime()
  const server = await serveWebSocketWith({ deflate: true }, never)
  const reply = read(clientOf(server.url, { ...ONCE, compression: true, timeoutMs: 1000 }), 1)
  const { entries, peer } = await server.received(1)
  const release = await holdThreads()
  peer.socket.write(deflated(JSON.stringify(right(entries[0] as Parameters<typeof right>[0]))))
  await time.pass(1500)
  await turn()
  await release()
  expect(await reply).toEqual(answerTo([1]))
})

test.skipIf(process.platform === 'win32')('a socket that ends while a reply is undone takes no more calls, and still gives that reply', async () => {
  const server = await serveWebSocketWith({ deflate: true }, never, rightly)
  const client = clientOf(server.url, { ...ONCE, compression: true })
  const reply = read(client, 1)
  const { entries, peer } = await server.received(1)
  const release = await holdThreads()
  peer.socket.write(deflated(JSON.stringify(right(entries[0] as Parameters<typeof right>[0]))))
  const closed = once(peer.socket, 'close')
  peer.socket.end()
  await closed
  // A call that must not run twice.
  expect(await client.request({ method: 'unknown_write', params: [2] })).toEqual(answerTo([2]))
  expect(server.peers).toHaveLength(2)
  await release()
  expect(await reply).toEqual(answerTo([1]))
})

/** A compressed message of text, of less than 126 bytes. */
function deflated(text: string): Buffer {
  const payload = deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
  return Buffer.concat([Buffer.from([0xc1, payload.length]), payload])
}

test('headers and user info are sent with the handshake', async () => {
  const server = await serveWebSocket(rightly)
  const url = server.url.replace('//', '//user:pass@')
  await read(clientOf({ url: `${url}/v3/key?a=b`, headers: { 'x-own': '1' } }, { headers: { 'x-all': '2' } }), 1)
  const { url: path, headers } = server.handshakes[0] as IncomingMessage
  expect([path, headers['x-own'], headers['x-all'], headers.authorization]).toEqual(['/v3/key?a=b', '1', '2', `Basic ${btoa('user:pass')}`])
})

test('a dispatcher opens the sockets', async () => {
  const { agentForAnyHost } = await import('../support/agent.ts')
  const server = await serveWebSocket(rightly)
  const agent = agentForAnyHost()
  const dispatch = vi.spyOn(agent, 'dispatch')
  const client = clientOf(`ws://node.example.com:${server.port}`, { dispatcher: agent })
  expect(await read(client, 1)).toEqual(answerTo([1]))
  expect(dispatch).toHaveBeenCalledTimes(1)
})
