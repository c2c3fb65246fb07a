import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { constants, deflateRawSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { ClosedError, type HexlineError } from '../../src/errors.ts'
import { BodyProgress } from '../../src/http/progress.ts'
import { Alarms } from '../../src/wait/alarms.ts'
import { systemClock } from '../../src/wait/clock.ts'
import { OpenSocket, SILENT_MS, type SocketHandler } from '../../src/ws/open-socket.ts'
import { holdThreads } from '../support/held-threads.ts'
import { holdTime } from '../support/held-time.ts'
import { nightly } from '../support/runs.ts'
import { answerTo, clientOf, errorOf, read } from '../support/server.ts'
import { never, type Reaction, rightly, serveWebSocket } from '../support/web-socket-server.ts'

const ONCE = { retry: false, batch: false } as const

describe('heartbeat', () => {
  test('asks a silent server for a sign of life, and goes on when it gives one', async () => {
    const time = holdTime()
    const server = await serveWebSocket(never, rightly)
    const client = clientOf(server.url, { ...ONCE, timeoutMs: 600_000, deadlineMs: 600_000 })
    const answer = read(client, 1)
    const message = await server.received(1)
    for (let times = 0; times < 3; times++) {
      const pinged = once(message.peer.webSocket, 'ping')
      await time.pass(SILENT_MS)
      await pinged
      // The pong is on its way, before this reply.
      expect(await read(client, 'passes')).toEqual(answerTo(['passes']))
    }
    rightly(message)
    expect(await answer).toEqual(answerTo([1]))
    expect(server.peers).toHaveLength(1)
  })

  test('gives up a socket that stays silent, long before the calls time out', async () => {
    const time = holdTime()
    const server = await serveWebSocket((message) => void message.peer.socket.pause())
    const client = clientOf(server.url, { ...ONCE, timeoutMs: 60_000 })
    const error = errorOf(read(client, 1))
    await server.received(1)
    await time.pass(SILENT_MS)
    await turn()
    await time.pass(SILENT_MS)
    expect(await error).toMatchObject({ kind: 'network', message: expect.stringContaining('does not answer a ping') })
    server.script(rightly)
    expect(await read(client, 2)).toEqual(answerTo([2]))
    expect(server.peers).toHaveLength(2)
  })

  test('asks at once on a socket that was idle for long', async () => {
    const time = holdTime()
    const server = await serveWebSocket(rightly)
    const client = clientOf(server.url, ONCE)
    await read(client, 1)
    const { webSocket } = await server.opened(1)
    await time.pass(10 * SILENT_MS)
    const pinged = once(webSocket, 'ping')
    expect(await read(client, 2)).toEqual(answerTo([2]))
    await pinged
  })

  test("answers the server's pings", async () => {
    const server = await serveWebSocket(({ peer }) => peer.webSocket.ping('are you there?'))
    void errorOf(read(clientOf(server.url, ONCE), 1))
    const { peer } = await server.received(1)
    const [data] = await once(peer.webSocket, 'pong')
    expect(String(data)).toBe('are you there?')
  })
})

describe('a message that stops in its middle', () => {
  /** The start of a frame of `length` bytes of text, and this much of its payload. */
  const begin = (length: number, payload: string) => Buffer.concat([Buffer.from([0x81, 126, length >> 8, length & 0xff]), Buffer.from(payload)])
  /** Passes time in small steps: each may set the next alarm. */
  const passing = async (time: ReturnType<typeof holdTime>, ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      await time.pass(250)
      await turn()
    }
  }

  test('ends the socket long before the calls time out, and they continue on another one', async () => {
    const time = holdTime()
    const server = await serveWebSocket(({ peer }) => void peer.socket.write(begin(1000, '{"jsonrpc"')), rightly)
    const client = clientOf(server.url, { batch: false, timeoutMs: 60_000, deadlineMs: 600_000, retry: { attempts: 3, baseDelayMs: 1 } })
    const answers = [read(client, 1), read(client, 2)]
    await server.received(2)
    const retried = Promise.all(answers)
    let isDone = false
    void retried.then(() => {
      isDone = true
    })
    let passed = 0
    while (!isDone) {
      await passing(time, 250)
      passed += 250
      await new Promise((resolve) => setImmediate(resolve))
      if (passed > 30_000) throw new Error('the calls wait')
    }
    expect(await retried).toEqual([answerTo([1]), answerTo([2])])
    expect(server.peers).toHaveLength(2)
  })

  test('fails a call by its own timeout, where it has no second attempt', async () => {
    const time = holdTime()
    const server = await serveWebSocket(({ peer }) => void peer.socket.write(begin(1000, '{"jsonrpc"')))
    const client = clientOf(server.url, { ...ONCE, timeoutMs: 8_000 })
    const error = errorOf(read(client, 1))
    await server.received(1)
    let reason: unknown
    void error.then((failure) => {
      reason = failure
    })
    await passing(time, 7_750)
    expect(reason).toBeUndefined()
    await passing(time, 500)
    expect(await error).toMatchObject({ kind: 'timeout', message: expect.stringContaining('within 8000 ms') })
  })

  test('loses a subscription, which is made again: when nothing comes, and when bytes trickle', async () => {
    const time = holdTime()
    const payload = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result: '0x01' } })
    const server = await serveWebSocket(({ entries: [entry], peer }) => {
      peer.send({ jsonrpc: '2.0', id: entry?.id, result: '0x1' })
    })
    const client = clientOf(server.url, { timeoutMs: 20_000, retry: { baseDelayMs: 1, maxDelayMs: 1 } })
    const items = client.subscribe('newPendingTransactions')
    const next = items.next()
    const first = await server.received(1)
    first.peer.socket.write(begin(1000, payload))
    const until = async (sockets: number, each: () => void = () => {}) => {
      for (let passed = 0; server.peers.length < sockets; passed += 250) {
        if (passed > 60_000) throw new Error('the subscription waits')
        each()
        await passing(time, 250)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await until(2)
    expect(await next).toEqual({ done: false, value: { type: 'gap' } })
    const { peer } = await server.received(2)
    peer.socket.write(begin(60_000, payload))
    await until(3, () => void (peer.socket.writable && peer.socket.write('x')))
    expect(await items.next()).toEqual({ done: false, value: { type: 'gap' } })
    await items.return()
  })
})

test('a server that closes is answered with its own code', async () => {
  const server = await serveWebSocket(({ peer }) => peer.webSocket.close(4029, 'slow down'))
  const error = errorOf(read(clientOf(server.url, ONCE), 1))
  const { peer } = await server.received(1)
  const [code] = await once(peer.webSocket, 'close')
  expect([code, (await error).message]).toEqual([4029, expect.stringContaining('closed the WebSocket with code 4029: slow down')])
})

test('no secret of the endpoint is shown, where a server that closes says it', async () => {
  const key = 'q7zSECRETq7z'
  const server = await serveWebSocket(({ peer }) => peer.webSocket.close(1008, `key ${key} is used up`))
  const error = await errorOf(read(clientOf(`${server.url}/eth/${key}`, ONCE), 1))
  expect(error.message).toContain('key [hidden] is used up')
})

describe('a process with nothing left to do exits on its own, over a socket that stays open,', () => {
  test.each<[string, Reaction]>([
    ['answered', rightly],
    ...nightly<[string, Reaction]>(['answered and closed', rightly], ['aborted before sending', never]),
    ['closed in back-off', ({ entries: [entry], peer }) => peer.send({ jsonrpc: '2.0', id: entry?.id, error: { code: -32603, message: 'no' } })],
  ])('when its calls were %s', async (what, reaction) => {
    const server = await serveWebSocket((message) => {
      const passes = message.entries.find(({ params }) => params[0] === 'passes')
      if (passes !== undefined) rightly(message)
      else reaction(message)
    })
    const script = fileURLToPath(new URL('../support/calling-process.ts', import.meta.url))
    const child = spawn(process.execPath, ['--import', 'tsx', script, server.url, what], { stdio: ['ignore', 'pipe', 'pipe'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
      })
    }
    const [code] = await once(child, 'exit')
    expect([output, code]).toEqual(['done\n', 0])
  })
})

/** More bytes than may wait for their decompression, in messages that each have 1 MB. */
function compressed(messages: number): Buffer {
  const frames = Array.from({ length: messages }, () => {
    const payload = deflateRawSync(randomBytes(1_000_000), { level: 0, finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
    const head = Buffer.alloc(10)
    // A whole message of text, compressed, with an 8-byte length.
    head.writeUInt16BE(0xc17f)
    head.writeBigUInt64BE(BigInt(payload.length), 2)
    return [head, payload]
  })
  return Buffer.concat(frames.flat())
}

test.skipIf(process.platform === 'win32')(
  'nothing more is read while too much waits for its decompression, and the server counts neither as silent nor as stalled',
  async () => {
    holdTime()
    const release = await holdThreads()
    const stream = new PassThrough()
    const alarms = new Alarms(systemClock)
    const messages: number[] = []
    let closedBy: HexlineError | undefined
    const handler: SocketHandler = {
      limitOf: () => 2_000_000,
      memoryFor: () => undefined,
      message: ({ length }) => void messages.push(length),
      tooLarge: () => expect.unreachable(),
      patience: () => 1,
      ending: () => expect.unreachable(),
      closed: (error) => {
        closedBy = error
      },
    }
    const options = { endpoint: 'node.example', scrub: (text: string) => text, alarms, progress: new BodyProgress(), timeoutMs: 1000 }
    const socket = new OpenSocket({ socket: stream as unknown as Socket, mayCompress: true }, handler, options)
    socket.use()
    const all = compressed(20)
    // The last message that is read has begun, and stops in its middle.
    for (let at = 0; at < all.length; at += 65_536) stream.push(all.subarray(at, at + 65_536))
    while (!stream.isPaused()) await turn()
    for (let times = 0; times < 4; times++) {
      vi.advanceTimersByTime(SILENT_MS)
      await turn()
    }
    expect([closedBy, stream.isPaused(), messages]).toEqual([undefined, true, []])
    expect(stream.readableLength).toBeGreaterThan(10_000_000)
    await release()
    while (messages.length < 20) await turn()
    expect(new Set(messages)).toEqual(new Set([1_000_000]))
    expect([closedBy, stream.isPaused()]).toEqual([undefined, false])
    socket.close(new ClosedError())
    stream.destroy()
  },
)
