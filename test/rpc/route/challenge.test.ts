import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { encodeFrame } from '../../../src/ws/encode-frame.ts'
import { TEXT } from '../../../src/ws/frames.ts'
import { eventsOf } from '../../support/events.ts'
import { steadyTime } from '../../support/held-time.ts'
import { node } from '../../support/node.ts'
import { type Answer, answerTo, clientOf, type Entry, read, right, serve, silent } from '../../support/server.ts'
import { type Message, serveWebSocket } from '../../support/web-socket-server.ts'

/** By the clock of the clients, which a test may hold. */
const clientSleep = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

/** Over real sockets. The rest of it is in route.test.ts, in virtual time. */
describe('an endpoint that works on slow calls', () => {
  const isSlow = ({ entries }: { entries: readonly Entry[] }) => entries.some(({ method }) => method === 'eth_call')
  const slow: Answer = async (request, response) => {
    if (isSlow(request)) await sleep(3_000)
    await node()(request, response)
  }

  test('keeps them where they take up all its POSTs at a time: the question has a socket of its own', async () => {
    const [a, b] = [await serve(slow), await serve(node())]
    const client = clientOf([a.url, b.url], { concurrency: 2, batch: false, retry: false })
    await read(client, 0)
    const route = eventsOf('hexline:route')
    await Promise.all([0, 1].map((i) => client.request({ method: 'eth_call', params: [{ nonce: `0x${i}` }] })))
    expect(route).toEqual([])
    expect(a.requests.filter(isSlow)).toHaveLength(2)
  })

  test('keeps them where this process is busy, and reads no answer for more than a second', async () => {
    const [a, b] = [await serve(slow), await serve(node())]
    const client = clientOf([a.url, b.url], { retry: false })
    await read(client, 0)
    const route = eventsOf('hexline:route')
    const never = new Int32Array(new SharedArrayBuffer(4))
    const busy = setInterval(() => Atomics.wait(never, 0, 0, 1_200), 100)
    try {
      await client.request({ method: 'eth_call', params: [{}] })
    } finally {
      clearInterval(busy)
    }
    expect(route).toEqual([])
  })

  test('keeps one whose large reply comes slowly, and holds up the answer', async () => {
    steadyTime()
    const params = [{ blockHash: `0x${'1'.repeat(64)}` }]
    const slowly: Answer = async (request, response) => {
      const [entry] = request.entries as [Entry]
      if (entry.method === 'eth_blockNumber' && !request.isBatch) return silent(request, response)
      if (entry.method !== 'eth_getLogs') return node()(request, response)
      response.writeHead(200, { 'content-type': 'application/json' })
      for (let sent = 0; sent < 30; sent++) {
        response.write(' ')
        await clientSleep(100)
      }
      response.end(JSON.stringify(right(entry)))
    }
    const [a, b] = [await serve(slowly), await serve(node())]
    const client = clientOf([a.url, b.url])
    await read(client, 0)
    const route = eventsOf('hexline:route')
    expect(await client.request({ method: 'eth_getLogs', params })).toEqual(answerTo(params))
    expect(route).toEqual([])
  })
})

test('an endpoint from which nothing comes any more is left out: reads go to the other one', async () => {
  const [a, b] = [await serve(node(), silent), await serve(node())]
  const client = clientOf([a.url, b.url], { concurrency: 2, batch: false })
  await read(client, 0)
  expect(await Promise.all([1, 2, 3, 4].map((i) => read(client, i)))).toEqual([1, 2, 3, 4].map((i) => answerTo([i])))
})

describe('a WebSocket endpoint', () => {
  const resultOf = ({ method, params }: Entry) => (method === 'eth_chainId' ? '0x1' : method === 'eth_blockNumber' ? '0x64' : answerTo(params))
  const reply = ({ entries, isBatch, peer }: Message) => {
    const replies = entries.map((entry) => ({ jsonrpc: '2.0', id: entry.id, result: resultOf(entry) }))
    peer.send(isBatch ? replies : replies[0])
  }

  test('keeps a call whose long reply takes seconds to come: all other answers are behind it', async () => {
    steadyTime()
    let sent = Promise.resolve()
    const inOrder = async (message: Message) => {
      const [entry] = message.entries
      if (entry?.method !== 'eth_call') return reply(message)
      const frame = encodeFrame(TEXT, JSON.stringify({ jsonrpc: '2.0', id: entry.id, result: 'x'.repeat(300_000) }), false)
      for (let i = 0; i < frame.length; i += 10_000) {
        message.peer.socket.write(frame.subarray(i, i + 10_000))
        await clientSleep(100)
      }
    }
    const a = await serveWebSocket((message) => {
      sent = sent.then(() => inOrder(message))
    })
    const client = clientOf([a.url, (await serve(node())).url], { retry: false, batch: false })
    await read(client, 0)
    const route = eventsOf('hexline:route')
    expect(await client.request({ method: 'eth_call', params: [{}] })).toHaveLength(300_000)
    expect(route).toEqual([])
  })

  test('is back over another socket, where its own has gone silent', async () => {
    let isDead = false
    const a = await serveWebSocket((message) => {
      if (!isDead || message.peer !== a.peers[0]) reply(message)
    })
    const client = clientOf([a.url, (await serve(node())).url], { retry: false })
    await read(client, 0)
    isDead = true
    const route = eventsOf('hexline:route')
    for (; route.at(-1)?.change !== 'back'; await sleep(100)) await read(client, 0)
    expect(route.map(({ change }) => change)).toEqual(['left-out', 'moved', 'back'])
    expect(a.handshakes).toHaveLength(2)
  })
})
