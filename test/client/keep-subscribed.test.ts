import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import type { Subscription } from '../../src/index.ts'
import { eventually } from '../support/eventually.ts'
import { type HeldTime, holdTime } from '../support/held-time.ts'
import { node as nodeOverHttp } from '../support/node.ts'
import { clientOf, type Entry, errorOf, failed, serve } from '../support/server.ts'
import { never, type Reaction, refusal, serveWebSocket, serveWebSocketWith, type WebSocketTestServer } from '../support/web-socket-server.ts'

const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

/** Answers `eth_subscribe`, and tells of the transaction `n` at once: another one each time. */
function node(first = 1): Reaction {
  let n = first
  return ({ entries: [entry], peer }) => {
    if (entry?.method !== 'eth_subscribe') return peer.send({ jsonrpc: '2.0', id: entry?.id, result: '0x1' })
    peer.send({ jsonrpc: '2.0', id: entry.id, result: `0x${n}` })
    peer.notify(`0x${n}`, hash(n++))
  }
}

const muteToSubscribers: Reaction = (message) => {
  if (message.entries[0]?.method !== 'eth_subscribe') node()(message)
}

/** Lets time pass in which the server shows that it lives, and sends nothing else. */
async function quietly(time: HeldTime, server: WebSocketTestServer, ms: number): Promise<void> {
  const { webSocket } = await server.opened(1)
  for (let passed = 0; passed < ms; passed += 10_000) {
    await time.pass(10_000)
    webSocket.ping()
    await once(webSocket, 'pong')
  }
}

async function next<T>(items: Subscription<T>): Promise<T | 'gap' | 'end'> {
  const { done, value } = await items.next()
  if (done) return 'end'
  return value.type === 'gap' ? 'gap' : value.value
}

describe('one endpoint', () => {
  test('that drops its socket is asked again, and a gap comes before what follows', async () => {
    const server = await serveWebSocket(node())
    const items = clientOf(server.url).subscribe('newPendingTransactions')
    for (let n = 1; n <= 20; n++) {
      if (n > 1) expect(await next(items)).toBe('gap')
      expect(await next(items)).toBe(hash(n))
      server.peers[n - 1]?.socket.destroy()
    }
  })

  test('that ends the socket with its first notification has delivered it', async () => {
    const server = await serveWebSocket((message) => {
      message.peer.socket.cork()
      node(server.messages.length)(message)
      message.peer.webSocket.close()
      message.peer.socket.uncork()
    })
    const items = clientOf(server.url, { retry: { attempts: 1 } }).subscribe('newPendingTransactions')
    expect(await next(items)).toBe(hash(1))
    expect([await next(items), await next(items)]).toEqual(['gap', hash(2)])
  })

  test('that is away for long is asked until it is back, at growing intervals', async () => {
    const server = await serveWebSocket(node())
    const items = clientOf(server.url, { retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 2 } }).subscribe('newPendingTransactions')
    expect(await next(items)).toBe(hash(1))
    let refused = 0
    server.refuse((socket) => {
      if (++refused === 30) server.refuse(undefined)
      socket.end(refusal(503))
    })
    server.peers[0]?.socket.destroy()
    expect([await next(items), await next(items)]).toEqual(['gap', hash(2)])
    expect(refused).toBe(30)
  })

  test('that was never there fails it after the attempts of a call', async () => {
    const server = await serveWebSocket(node())
    server.refuse(refusal(500))
    const client = clientOf(server.url, { retry: { attempts: 3, baseDelayMs: 1 } })
    expect(await errorOf(client.subscribe('newHeads').next())).toMatchObject({ kind: 'server', status: 500 })
    expect(server.handshakes).toHaveLength(3)
  })

  test('that does not take the key fails it at once', async () => {
    const server = await serveWebSocket(node())
    server.refuse(refusal(401))
    expect(await errorOf(clientOf(server.url).subscribe('newHeads').next())).toMatchObject({ kind: 'auth' })
    expect(server.handshakes).toHaveLength(1)
  })

  test.each([10_000, 30_000, 50_000])(
    'that brings nothing, and answers no question within %i ms, loses the subscription although it answers pings',
    async (timeoutMs) => {
      const time = holdTime()
      const server = await serveWebSocket(node(1), never)
      const items = clientOf(server.url, { timeoutMs, retry: { baseDelayMs: 1 } }).subscribe('newPendingTransactions')
      expect(await next(items)).toBe(hash(1))
      await quietly(time, server, 30_000)
      expect((await server.received(2)).entries).toMatchObject([{ method: 'eth_chainId' }])
      server.script(node(2))
      const gone = once(server.peers[0]?.webSocket as WebSocket, 'close')
      await quietly(time, server, timeoutMs - 10_000)
      await time.pass(10_000)
      await gone
      // The wait before it is asked again.
      await time.pass(1_000)
      expect([await next(items), await next(items)]).toEqual(['gap', hash(2)])
    },
  )

  test('that brings nothing for long is asked a question for all of its subscriptions, and keeps them when it answers', async () => {
    const time = holdTime()
    const server = await serveWebSocket(node(1))
    const client = clientOf(server.url, { timeoutMs: 1_000 })
    const [some, others] = [client.subscribe('newPendingTransactions'), client.subscribe('newPendingTransactions')]
    expect([await next(some), await next(others)]).toEqual([hash(1), hash(2)])
    await quietly(time, server, 30_000)
    await server.received(3)
    // Its answer is behind that to the question.
    await client.call('eth_blockNumber')
    await time.pass(1_000)
    server.peers[0]?.notify('0x1', hash(7))
    expect(await next(some)).toBe(hash(7))
    expect(server.messages.flatMap(({ entries }) => entries.map(({ method }) => method))).toEqual([
      'eth_subscribe',
      'eth_subscribe',
      'eth_chainId',
      'eth_blockNumber',
    ])
  })

  test('a wait for it ends when the last subscriber has left', async () => {
    const time = holdTime()
    const server = await serveWebSocket(node())
    const client = clientOf(server.url, { retry: { baseDelayMs: 1000, maxDelayMs: 1000 } })
    const items = client.subscribe('newPendingTransactions')
    await next(items)
    const end = next(items)
    const gone = new Promise((resolve) => server.peers[0]?.socket.once('close', resolve))
    server.peers[0]?.socket.destroy()
    await gone
    await items.return()
    expect(await end).toBe('end')
    await time.pass(5000)
    expect(server.handshakes).toHaveLength(1)
  })
})

describe('two endpoints', () => {
  test('the second one takes over at once, and the first one again', async () => {
    const [a, b] = [await serveWebSocket(node(1)), await serveWebSocket(node(100))]
    const items = clientOf([a.url, b.url]).subscribe('newPendingTransactions')
    expect(await next(items)).toBe(hash(1))
    a.peers[0]?.socket.destroy()
    expect([await next(items), await next(items)]).toEqual(['gap', hash(100)])
    b.peers[0]?.socket.destroy()
    expect([await next(items), await next(items)]).toEqual(['gap', expect.stringMatching(/^0x0/)])
  })

  test('one that refuses to subscribe leaves it to the other one', async () => {
    const a = await serveWebSocket(({ entries: [entry], peer }) => peer.send(failed(entry as Entry, -32601, 'the method eth_subscribe does not exist')))
    const b = await serveWebSocket(node(100))
    expect(await next(clientOf([a.url, b.url]).subscribe('newPendingTransactions'))).toBe(hash(100))
  })

  test.each([
    ['answers no handshake', never, () => {}],
    ['answers nothing', never, undefined],
    ['answers all but eth_subscribe', muteToSubscribers, undefined],
  ] as const)('one that %s leaves it to the other one, long before its timeout', async (_, reaction, handshake) => {
    const [a, b] = [await serveWebSocket(reaction), await serveWebSocket(node(100))]
    a.refuse(handshake)
    const items = clientOf([a.url, b.url], { timeoutMs: 600_000 }).subscribe('newPendingTransactions')
    expect(await next(items)).toBe(hash(100))
    // So it does where the other one has lost its socket.
    b.peers[0]?.socket.destroy()
    expect([await next(items), await next(items)]).toEqual(['gap', hash(101)])
  })

  test('one that answers late has a subscription that nobody wants: it is ended, and brings nothing', async () => {
    let answer = () => {}
    const a = await serveWebSocket((message) => {
      if (message.entries[0]?.method !== 'eth_subscribe') node(1)(message)
      else answer = () => void node(1)(message)
    })
    const b = await serveWebSocket(node(100))
    const items = clientOf([a.url, b.url]).subscribe('newPendingTransactions')
    expect(await next(items)).toBe(hash(100))
    answer()
    await eventually(() =>
      expect(a.messages.flatMap(({ entries }) => entries)).toContainEqual(expect.objectContaining({ method: 'eth_unsubscribe', params: ['0x1'] })),
    )
    b.peers[0]?.notify('0x100', hash(7))
    expect(await next(items)).toBe(hash(7))
  })

  test('one that takes long is waited for while the other one takes no subscriptions', async () => {
    const a = await serveWebSocket(async (message) => {
      if (message.entries[0]?.method === 'eth_subscribe') await sleep(1_500)
      node(1)(message)
    })
    const b = await serveWebSocket(({ entries: [entry], peer }) => {
      if (entry?.method === 'eth_subscribe') peer.send(failed(entry as Entry, -32601, 'the method eth_subscribe does not exist'))
      else peer.send({ jsonrpc: '2.0', id: entry?.id, result: '0x1' })
    })
    const items = clientOf([a.url, b.url], { retry: { baseDelayMs: 1 } }).subscribe('newPendingTransactions')
    expect(await next(items)).toBe(hash(1))
  })

  test('an endpoint that is out is asked last', async () => {
    const a = await serveWebSocketWith({}, node(1))
    const b = await serveWebSocket(node(100))
    a.refuse(refusal(401))
    const client = clientOf([a.url, b.url], { retry: false, batch: false })
    expect(await client.request({ method: 'eth_gasPrice' })).toBe('0x1')
    a.refuse(undefined)
    const handshakes = a.handshakes.length
    expect(await next(client.subscribe('newPendingTransactions'))).toBe(hash(100))
    expect(a.handshakes).toHaveLength(handshakes)
  })
})

describe('several endpoints of which one', () => {
  test('never takes a subscription: one that takes it is asked again after a lost socket', async () => {
    const a = await serveWebSocket(({ entries: [entry], peer }) => peer.send(failed(entry as Entry, -32601, 'no subscriptions')))
    const b = await serveWebSocket(node(100))
    const items = clientOf([a.url, b.url], { retry: { baseDelayMs: 1 } }).subscribe('newPendingTransactions')
    expect(await next(items)).toBe(hash(100))
    for (let times = 0; times < 5; times++) {
      b.peers[times]?.socket.destroy()
      expect([await next(items), await next(items)]).toEqual(['gap', hash(101 + times)])
    }
  })

  /** As `node`, on this chain. */
  const onChain = (id: string, first?: number): Reaction => {
    const inner = node(first)
    return (message) => {
      const [entry] = message.entries
      if (entry?.method === 'eth_chainId' && !message.isBatch) message.peer.send({ jsonrpc: '2.0', id: entry.id, result: id })
      else inner(message)
    }
  }

  test('is on another chain: it gets no subscription, not even when the others are away', async () => {
    const [a, b] = [await serveWebSocket(onChain('0x1', 100)), await serveWebSocket(onChain('0x2', 500))]
    const client = clientOf([a.url, b.url], { batch: false, retry: { baseDelayMs: 1 } })
    const items = client.subscribe('newPendingTransactions')
    expect(await next(items)).toBe(hash(100))
    for (let times = 0; times < 5; times++) {
      a.peers[times]?.socket.destroy()
      expect([await next(items), await next(items)]).toEqual(['gap', hash(101 + times)])
    }
    const methods = b.messages.flatMap(({ entries }) => entries.map(({ method }) => method))
    expect(methods).not.toContain('eth_subscribe')
  })

  test('is the only one with a WebSocket, and on another chain: the subscription fails', async () => {
    const [http, b] = [await serve(nodeOverHttp()), await serveWebSocket(onChain('0x2'))]
    const client = clientOf([http.url, b.url], { batch: false, retry: { baseDelayMs: 1 } })
    const error = await errorOf(client.subscribe('newHeads').next())
    expect(error).toMatchObject({ name: 'IntegrityError', message: `127.0.0.1:${b.port} gets no subscription: it is on chain 2, and the others are on 1` })
  })
})
