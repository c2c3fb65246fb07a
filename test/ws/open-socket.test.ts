import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SILENT_MS } from '../../src/ws/open-socket.ts'
import { holdTime } from '../support/held-time.ts'
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
      // One look finds what has come since the last one, the next one asks.
      for (let looks = 0; looks < 2; looks++) {
        await time.pass(SILENT_MS)
        await turn()
      }
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
    for (let looks = 0; looks < 3; looks++) {
      await time.pass(SILENT_MS)
      await turn()
    }
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
    ['answered and closed', rightly],
    ['aborted before sending', never],
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
