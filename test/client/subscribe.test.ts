import { getEventListeners, once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { createClient, isHexlineError, OptionError, type Subscription } from '../../src/index.ts'
import { startAnvil } from '../support/anvil.ts'
import { clientOf, type Entry, errorOf, failed, honest, right, serve } from '../support/server.ts'
import { type Message, type Peer, type Reaction, serveWebSocket } from '../support/web-socket-server.ts'

const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}` as const
const header = (n: number) => ({ hash: hash(n), parentHash: hash(n - 1), number: `0x${n.toString(16)}`, timestamp: '0x5' })
const log = (n: number) => ({ address: '0x01', topics: [], data: '0x', blockNumber: `0x${n.toString(16)}`, logIndex: '0x0', removed: false })

/** Answers `eth_subscribe` with ids of its own and other calls rightly. */
function node(then: (id: string, message: Message) => void = () => {}): Reaction {
  let ids = 0
  return (message) => {
    const [entry] = message.entries as [Entry]
    const id = `0x${++ids}`
    const isSubscribe = entry.method === 'eth_subscribe'
    message.peer.send(isSubscribe ? { jsonrpc: '2.0', id: entry.id, result: id } : right(entry))
    if (isSubscribe) then(id, message)
  }
}

/** The next `count` items. */
async function take<T>(items: Subscription<T>, count: number) {
  const taken: (T | 'gap')[] = []
  while (taken.length < count) {
    const { done, value } = await items.next()
    if (done) throw new Error(`ended after ${taken.length}`)
    taken.push(value.type === 'gap' ? 'gap' : value.value)
  }
  return taken
}

describe('values', () => {
  test('are decoded headers, logs, hashes, transactions, receipts and states of a sync', async () => {
    const server = await serveWebSocket(
      node((id, { entries: [entry], peer }) => {
        const [name, more] = entry?.params ?? []
        if (name === 'newHeads') peer.notify(id, header(7))
        else if (name === 'logs') peer.notify(id, log(8))
        else if (name === 'syncing') peer.notify(id, { syncing: true, highestBlock: 9 })
        else if (name === 'transactionReceipts') peer.notify(id, [{ transactionHash: hash(9), gasUsed: '0x5208' }])
        else peer.notify(id, more === true ? { hash: hash(9), value: '0x10', nonce: '0x1' } : hash(9))
      }),
    )
    const client = clientOf(server.url)
    const logs = { address: '0x00000000000000000000000000000000000000aa', topics: [null, [hash(1), hash(2)]] } as const
    expect(await take(client.subscribe('newHeads'), 1)).toEqual([{ ...header(7), number: 7n, timestamp: 5n }])
    expect(await take(client.subscribe('logs', logs), 1)).toMatchObject([{ blockNumber: 8n, logIndex: 0 }])
    expect(await take(client.subscribe('newPendingTransactions'), 1)).toEqual([hash(9)])
    expect(await take(client.subscribe('newPendingTransactions', { full: true }), 1)).toMatchObject([{ hash: hash(9), value: 16n, nonce: 1 }])
    expect(await take(client.subscribe('syncing'), 1)).toEqual([{ syncing: true, highestBlock: 9n }])
    const receipts = { transactionHashes: [hash(9)] }
    expect(await take(client.subscribe('transactionReceipts', receipts), 1)).toEqual([[{ transactionHash: hash(9), gasUsed: 21_000n }]])
    const sent = server.messages.map(({ entries: [entry] }) => entry).filter((entry) => entry?.method === 'eth_subscribe')
    expect(sent.map((entry) => entry?.params)).toEqual([
      ...[['newHeads'], ['logs', logs], ['newPendingTransactions'], ['newPendingTransactions', true]],
      ...[['syncing'], ['transactionReceipts', receipts]],
    ])
  })

  test('come in order, doubles included, and those before the reply to eth_subscribe, too', async () => {
    const server = await serveWebSocket(({ entries: [entry], peer }) => {
      peer.notify('0xab', header(1))
      peer.notify('0xother', header(100))
      peer.notify('0xab', header(2))
      peer.send({ jsonrpc: '2.0', id: entry?.id, result: '0xab' })
      peer.notify('0xab', header(2))
      peer.notify('0xother', header(101))
      peer.notify('0xab', header(1))
    })
    const heads = await take(clientOf(server.url).subscribe('newHeads'), 4)
    expect(heads.map((each) => each !== 'gap' && each.number)).toEqual([1n, 2n, 2n, 1n])
  })

  test('of several subscriptions and of calls share one socket', async () => {
    const server = await serveWebSocket(node((id, { peer }) => peer.notify(id, header(Number(id)))))
    const client = clientOf(server.url)
    const items = [1, 2, 3].map(() => client.subscribe('newHeads'))
    const taken = await Promise.all([...items.map((each) => take(each, 1)), client.request({ method: 'eth_call', params: [1] })])
    expect(taken.slice(0, 3).flat()).toMatchObject([{ number: 1n }, { number: 2n }, { number: 3n }])
    expect(server.peers).toHaveLength(1)
  })

  test('of a real node', async () => {
    const anvil = await startAnvil()
    try {
      const client = clientOf(anvil.url.replace('http', 'ws'))
      const heads = client.subscribe('newHeads')
      const hashes = client.subscribe('newPendingTransactions')
      const [from, to] = (await client.request({ method: 'eth_accounts' })) as [string, string]
      const first = take(heads, 1)
      const pending = take(hashes, 1)
      // The subscriptions were asked for first, on the same socket.
      const sent = await client.request({ method: 'eth_sendTransaction', params: [{ from, to, value: '0x1' }] })
      expect(await first).toMatchObject([{ number: 1n, parentHash: expect.stringMatching(/^0x[0-9a-f]{64}$/), gasLimit: expect.any(BigInt) }])
      expect(await pending).toEqual([sent])
      await Promise.all([heads.return(), hashes.return()])
    } finally {
      await anvil.stop()
    }
  })
})

describe('a gap', () => {
  test('stands where a slow consumer has lost values, after those that were kept', async () => {
    const server = await serveWebSocket(node())
    const client = clientOf(server.url)
    const heads = client.subscribe('newHeads')
    const first = take(heads, 1)
    const { peer } = await server.received(1)
    for (let n = 0; n <= 1500; n++) peer.notify('0x1', header(n))
    expect(await first).toMatchObject([{ number: 0n }])
    // Whatever was sent before this reply has been read.
    await client.request({ method: 'eth_call', params: [] })
    const kept = await take(heads, 1001)
    expect(kept.at(-2)).toMatchObject({ number: 1000n })
    expect(kept.at(-1)).toBe('gap')
    peer.notify('0x1', header(2000))
    expect(await take(heads, 1)).toMatchObject([{ number: 2000n }])
  })

  test('stands where large values would fill the memory', async () => {
    const server = await serveWebSocket(node())
    const client = clientOf(server.url)
    const logs = client.subscribe('logs')
    const first = take(logs, 1)
    const { peer } = await server.received(1)
    const large = { ...log(1), data: `0x${'00'.repeat(1024 * 1024)}` }
    for (let n = 0; n < 12; n++) peer.notify('0x1', large)
    await client.request({ method: 'eth_call', params: [] })
    await first
    const kept = await take(logs, 8)
    expect(kept.map((each) => each === 'gap')).toEqual([...Array(7).fill(false), true])
  })
})

describe('leaving', () => {
  test.each<[string, (items: Subscription<unknown>) => Promise<unknown>]>([
    ['return()', (items) => items.return()],
    ['asyncDispose', (items) => items[Symbol.asyncDispose]()],
    [
      'break',
      async (items) => {
        for await (const item of items) if (item.type === 'value') break
      },
    ],
  ])('by %s unsubscribes; what comes then is dropped', async (_, leave) => {
    const server = await serveWebSocket(
      node((id, { peer }) => {
        peer.notify(id, header(1))
        peer.notify(id, header(2))
      }),
    )
    const heads = clientOf(server.url).subscribe('newHeads')
    await take(heads, 1)
    await leave(heads)
    const { entries, peer } = await server.received(2)
    expect(entries).toMatchObject([{ method: 'eth_unsubscribe', params: ['0x1'] }])
    peer.notify('0x1', header(3))
    expect(await heads.next()).toEqual({ done: true, value: undefined })
    expect(await heads.next()).toEqual({ done: true, value: undefined })
  })

  test('before the reply to eth_subscribe unsubscribes when it has come', async () => {
    const server = await serveWebSocket(() => {})
    const heads = clientOf(server.url).subscribe('newHeads')
    const waiting = heads.next()
    const first = await server.received(1)
    await heads.return()
    expect(await waiting).toEqual({ done: true, value: undefined })
    node()(first)
    expect((await server.received(2)).entries).toMatchObject([{ method: 'eth_unsubscribe', params: ['0x1'] }])
  })

  test('while the same is subscribed to subscribes again where the node gives the id that it is about to end', async () => {
    const server = await serveWebSocket(() => {})
    const client = clientOf(server.url)
    const [old, next] = [client.subscribe('newHeads'), client.subscribe('newHeads')]
    const before = take(old, 1)
    const { peer } = await server.received(1)
    const answer = async (n: number, result: unknown) => peer.send({ jsonrpc: '2.0', id: (await server.received(n)).entries[0]?.id, result })
    await answer(1, '0x1')
    peer.notify('0x1', header(1))
    await before
    const after = take(next, 1)
    await server.received(2)
    await old.return()
    await server.received(3)
    await answer(2, '0x1')
    peer.notify('0x1', header(2))
    await answer(3, true)
    await answer(4, '0x1')
    peer.notify('0x1', header(3))
    expect(await after).toMatchObject([{ number: 3n }])
    const methods = server.messages.map(({ entries }) => entries[0]?.method)
    expect(methods).toEqual(['eth_subscribe', 'eth_subscribe', 'eth_unsubscribe', 'eth_subscribe'])
  })

  test('before it began sends nothing', async () => {
    const server = await serveWebSocket(node())
    const heads = clientOf(server.url).subscribe('newHeads')
    await heads.return()
    expect(await heads.next()).toEqual({ done: true, value: undefined })
    expect(server.handshakes).toHaveLength(0)
  })

  test('by its signal, or by that of its client, throws the reason after what has come', async () => {
    const server = await serveWebSocket(node((id, { peer }) => peer.notify(id, header(1))))
    const client = clientOf(server.url)
    const [own, ofClient] = [new AbortController(), new AbortController()]
    const a = client.subscribe('newHeads', { signal: own.signal })
    const b = client.with({ signal: ofClient.signal }).subscribe('newHeads', { signal: own.signal })
    await Promise.all([take(a, 1), take(b, 1)])
    ofClient.abort(new Error('client'))
    await expect(b.next()).rejects.toThrow('client')
    const next = a.next()
    own.abort(new Error('own'))
    await expect(next).rejects.toThrow('own')
    expect(await a.next()).toEqual({ done: true, value: undefined })
    const late = client.subscribe('newHeads', { signal: own.signal })
    await expect(late.next()).rejects.toThrow('own')
  })

  test('leaves no trace in signals that live longer', async () => {
    const server = await serveWebSocket(node((id, { peer }) => peer.notify(id, header(1))))
    const [own, ofClient] = [new AbortController(), new AbortController()]
    const client = clientOf(server.url).with({ signal: ofClient.signal })
    for (let i = 0; i < 3; i++) for await (const item of client.subscribe('newHeads', { signal: own.signal })) if (item.type === 'value') break
    for (const { signal } of [own, ofClient]) {
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
      // Where `AbortSignal.any` keeps the signals that it has made.
      const dependants = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals')
      const made = dependants && (Reflect.get(signal, dependants) as ReadonlySet<unknown> | undefined)
      expect(made?.size ?? 0).toBe(0)
    }
  })

  test('by closing the client ends with `closed`', async () => {
    const server = await serveWebSocket(node())
    const client = createClient(server.url)
    const heads = client.subscribe('newHeads')
    const next = errorOf(heads.next())
    const { peer } = await server.received(1)
    const gone = once(peer.webSocket, 'close')
    await client.close()
    expect(await next).toMatchObject({ kind: 'closed' })
    await gone
    expect(await errorOf(client.subscribe('newHeads').next())).toMatchObject({ kind: 'closed' })
  })
})

describe('failures', () => {
  test('a client without a WebSocket, and invalid options, are refused at once', async () => {
    const http = await serve(honest)
    const server = await serveWebSocket(node())
    expect(() => clientOf(http.url).subscribe('newHeads')).toThrow(
      new OptionError('subscribe', 'a client with a WebSocket endpoint (wss:// or ws://)', 'one without'),
    )
    const client = clientOf([http.url, server.url])
    const subscribe = client.subscribe as (name: unknown, options?: unknown) => unknown
    for (const [name, options, message] of [
      [
        'newHead',
        {},
        'subscribe: expected one of newHeads, logs, newPendingTransactions, syncing, transactionReceipts, received "newHead" (did you mean `newHeads`?)',
      ],
      [undefined, {}, 'subscribe: expected one of newHeads, logs, newPendingTransactions, syncing, transactionReceipts, received undefined'],
      ['newHeads', { address: '0x' }, 'options: expected only signal, received "address"'],
      ['logs', { fromBlock: 1 }, 'options: expected only address, topics, signal, received "fromBlock"'],
      ['logs', { address: '0x1' }, 'params[0].address: expected an address (20 bytes in hex), received "0x1"'],
      ['newPendingTransactions', { full: 1 }, 'full: expected true or false, received 1'],
      ['newHeads', { signal: 1 }, 'signal: expected an AbortSignal, received 1'],
    ] as const) {
      expect(() => subscribe(name, options)).toThrow(message)
    }
    expect(server.handshakes).toHaveLength(0)
  })

  test("a node that refuses: its error, from the iterator's first next", async () => {
    const server = await serveWebSocket(({ entries: [entry], peer }) => peer.send(failed(entry as Entry, -32601, 'notifications not supported')))
    const error = await errorOf(clientOf(server.url).subscribe('newHeads').next())
    expect(error).toMatchObject({ kind: 'unsupported', code: -32601, method: 'eth_subscribe' })
    expect(isHexlineError(error)).toBe(true)
    expect(server.messages).toHaveLength(1)
  })

  test('a reply that is not an id is malformed, and asked for again as any call', async () => {
    const server = await serveWebSocket(({ entries: [entry], peer }) => peer.send({ jsonrpc: '2.0', id: entry?.id, result: 7 }))
    const error = await errorOf(
      clientOf(server.url, { retry: { attempts: 2, baseDelayMs: 1 } })
        .subscribe('newHeads')
        .next(),
    )
    expect(error).toMatchObject({ kind: 'malformed', message: expect.stringContaining('expected the id of a subscription, received 7') })
    expect(server.messages).toHaveLength(2)
  })

  test('a value that cannot be decoded ends it, without a secret', async () => {
    const key = 'q7zSECRETq7z'
    const server = await serveWebSocket(node((id, { peer }) => peer.notify(id, { ...header(1), number: key })))
    const heads = clientOf(`${server.url}/${key}`).subscribe('newHeads')
    const error = await errorOf(heads.next())
    expect(error).toMatchObject({ name: 'CodecError', path: 'number', received: '"[hidden]"' })
    expect(await heads.next()).toEqual({ done: true, value: undefined })
    expect((await server.received(2)).entries).toMatchObject([{ method: 'eth_unsubscribe' }])
  })

  test('notifications that make no sense are passed over', async () => {
    const server = await serveWebSocket(
      node((id, { peer }: { peer: Peer }) => {
        for (const params of [undefined, null, 7, {}, { subscription: 7 }]) peer.send({ jsonrpc: '2.0', method: 'eth_subscription', params })
        peer.send('{"jsonrpc":"2.0","method":"eth_subscription","params":')
        peer.notify(id, header(1))
      }),
    )
    expect(await take(clientOf(server.url).subscribe('newHeads'), 1)).toMatchObject([{ number: 1n }])
  })
})
