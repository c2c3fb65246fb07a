import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Pool } from '../../src/http/undici.ts'
import { Alarms } from '../../src/wait/alarms.ts'
import { systemClock } from '../../src/wait/clock.ts'
import { openWebSocket, WEB_SOCKET_GUID } from '../../src/ws/handshake.ts'
import { holdTime } from '../support/held-time.ts'
import { errorOf } from '../support/server.ts'
import { refusal, rightly, serveWebSocket } from '../support/web-socket-server.ts'

/**
 * What a server answers to a handshake with this key, with other headers beside or in place of the
 * right ones.
 */
const accepted = (key: string, headers: Readonly<Record<string, string | undefined>> = {}) => {
  const accept = createHash('sha1')
    .update(key + WEB_SOCKET_GUID)
    .digest('base64')
  const all = { upgrade: 'websocket', connection: 'upgrade', 'sec-websocket-accept': accept, ...headers }
  const lines = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}\r\n`]))
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`
}

/** A server, and a way to open a socket to it. */
async function setUp() {
  const server = await serveWebSocket(rightly)
  const dispatcher = new Pool(server.url.replace('ws', 'http'), { pipelining: 1 })
  onTestFinished(() => dispatcher.destroy())
  const open = (options: { compression?: boolean; headers?: Record<string, string>; signal?: AbortSignal; timeoutMs?: number } = {}) => {
    const { compression = true, headers = {}, signal = new AbortController().signal, timeoutMs = 60_000 } = options
    const url = new URL(`${server.url}/path/KEY?a=b`)
    const scrub = (text: string) => text.replaceAll('KEY', '[hidden]')
    return openWebSocket({ url, headers, dispatcher, timeoutMs, compression, scrub, alarms: new Alarms(systemClock) }, signal)
  }
  /** Answers handshakes by their key. */
  const answerWith = (answer: (key: string) => string) => {
    server.refuse((socket: Socket) => void socket.write(answer(String(server.handshakes.at(-1)?.headers['sec-websocket-key']))))
  }
  return { server, open, answerWith }
}

describe('a handshake', () => {
  test('opens a socket, with the headers and the path that are given', async () => {
    const { server, open } = await setUp()
    const opened = await open({ headers: { 'x-mine': '1' } })
    expect(opened).toMatchObject({ mayCompress: false, socket: expect.anything() })
    expect(server.handshakes[0]?.url).toBe('/path/KEY?a=b')
    expect(server.handshakes[0]?.headers).toMatchObject({ 'x-mine': '1', upgrade: 'websocket', 'sec-websocket-version': '13' })
    expect(Buffer.from(String(server.handshakes[0]?.headers['sec-websocket-key']), 'base64')).toHaveLength(16)
    expect(server.handshakes[0]?.headers['sec-websocket-extensions']).toMatch(/^permessage-deflate; client_no_context_takeover; server_no_context_takeover$/)
  })

  test('offers compression only where it is asked to, and takes it', async () => {
    const { server, open, answerWith } = await setUp()
    await open({ compression: false })
    expect(server.handshakes[0]?.headers['sec-websocket-extensions']).toBeUndefined()
    answerWith((key) => accepted(key, { 'sec-websocket-extensions': 'permessage-deflate; server_no_context_takeover' }))
    expect(await open()).toMatchObject({ mayCompress: true })
    expect(await errorOf(open({ compression: false }))).toMatchObject({ message: expect.stringContaining('an extension that was not asked for') })
  })

  test.each<[string, (key: string) => string, RegExp]>([
    ['another key', () => accepted('another'), /does not answer the key/],
    ['no key', (key) => accepted(key, { 'sec-websocket-accept': undefined }), /does not answer the key/],
    ['a subprotocol', (key) => accepted(key, { 'sec-websocket-protocol': 'chat' }), /a subprotocol/],
    ['another extension', (key) => accepted(key, { 'sec-websocket-extensions': 'x-mine' }), /an extension/],
    ['two extensions', (key) => accepted(key, { 'sec-websocket-extensions': 'permessage-deflate; server_no_context_takeover, x' }), /an extension/],
    ['messages that need each other', (key) => accepted(key, { 'sec-websocket-extensions': 'permessage-deflate' }), /an extension/],
    ['a page', () => 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi', /no WebSocket: the server answered HTTP 200/],
  ])('answered with %s fails, unsent, without the path', async (_, answer, message) => {
    const { open, answerWith } = await setUp()
    answerWith(answer)
    const error = await errorOf(open())
    expect(error).toMatchObject({ name: 'NetworkError', unsent: true, message: expect.stringMatching(message) })
    expect(error.message).not.toContain('KEY')
  })

  test.each([301, 400, 401, 429, 503])('refused with %d gives the reply', async (status) => {
    const { server, open } = await setUp()
    server.refuse(refusal(status, 'no', { 'retry-after': '7' }))
    const reply = await open()
    expect(reply).toMatchObject({ status, unsent: true, wireBytes: 2, headers: { 'retry-after': '7' } })
    expect('body' in reply && reply.body?.toString()).toBe('no')
  })

  test('refused with a body without an end gives what has come of it: its first bytes, or all within the timeout', async () => {
    const time = holdTime()
    const { server, open } = await setUp()
    server.refuse((socket) => void socket.write(`HTTP/1.1 503 No\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(20_000)}`))
    const long = await open()
    expect(long).toMatchObject({ status: 503 })
    expect('body' in long && long.body.length).toBeGreaterThanOrEqual(16_384)
    const written = new Promise<void>((resolve) => {
      server.refuse((socket) => void socket.write('HTTP/1.1 503 No\r\ncontent-length: 10\r\n\r\nxyz', () => resolve()))
    })
    const short = open({ timeoutMs: 500 })
    await written
    let isOpen = false
    void short.then(() => {
      isOpen = true
    })
    while (!isOpen) {
      await time.pass(100)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect('status' in (await short)).toBe(true)
  })

  test('without an answer times out, unsent', async () => {
    const time = holdTime()
    const { server, open } = await setUp()
    const asked = new Promise<void>((resolve) => server.refuse(() => resolve()))
    const error = errorOf(open({ timeoutMs: 500 }))
    await asked
    await time.pass(500)
    expect(await error).toMatchObject({ name: 'TimeoutError', unsent: true, message: `127.0.0.1:${server.port}: no connection within 500 ms` })
  })

  test('ends with its signal, aborted before it or during it', async () => {
    const { server, open } = await setUp()
    await expect(open({ signal: AbortSignal.abort('before') })).rejects.toBe('before')
    expect(server.handshakes).toHaveLength(0)
    const aborting = new AbortController()
    server.refuse(() => aborting.abort('meanwhile'))
    await expect(open({ signal: aborting.signal })).rejects.toBe('meanwhile')
  })

  test('at a server that is gone fails with the code', async () => {
    const { server, open } = await setUp()
    await server.close()
    expect(await errorOf(open())).toMatchObject({ name: 'NetworkError', code: 'ECONNREFUSED', unsent: true })
  })
})
