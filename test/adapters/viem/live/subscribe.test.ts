import { createPublicClient, fallback, http, parseAbiItem } from 'viem'
import { describe, expect, test } from 'vitest'
import { hexline } from '../../../../adapters/viem/index.ts'
import { createClient } from '../../../../src/index.ts'
import { liveChain } from '../../../support/live-chain.ts'
import { type Entry, failed, honest, serve } from '../../../support/server.ts'
import { uncaughtErrors } from '../../../support/uncaught.ts'
import { closing } from '../../../support/viem-clients.ts'
import { collector } from '../../../support/viem-flows.ts'
import { type Message, type Reaction, serveWebSocket, serveWebSocketWith } from '../../../support/web-socket-server.ts'

const transfer = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 amount)')
const topic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const party = `0x${'0'.repeat(64)}`
const hex = (n: number) => `0x${n.toString(16)}`
const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

/** The log of one transfer in block `n`. */
const logOf = (n: number) => ({
  address: '0x00000000000000000000000000000000000000aa',
  topics: [topic, party, party],
  data: word(n),
  blockHash: word(n),
  blockNumber: hex(n),
  transactionHash: word(n),
  transactionIndex: '0x0',
  logIndex: '0x0',
  removed: false,
})

const blockOf = (n: number) => ({ number: hex(n), hash: word(n), parentHash: word(n - 1), timestamp: hex(n), transactions: [] })

/**
 * A node with one transfer in each block. It notifies of a block only over the sockets that it
 * tells to.
 */
function chain() {
  const state = { head: 5, id: '', subscribed: 0 }
  const reaction: Reaction = ({ entries, isBatch, peer }) => {
    const replies = entries.map(({ id, method, params }) => {
      if (method === 'eth_subscribe') {
        state.id = hex(++state.subscribed)
        return { jsonrpc: '2.0', id, result: state.id }
      }
      if (method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: hex(state.head) }
      if (method === 'eth_getBlockByNumber') return { jsonrpc: '2.0', id, result: blockOf(Number(params[0])) }
      if (method !== 'eth_getLogs') return { jsonrpc: '2.0', id, result: true }
      const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }]
      const numbers = Array.from({ length: Number(toBlock) - Number(fromBlock) + 1 }, (_, i) => Number(fromBlock) + i)
      return { jsonrpc: '2.0', id, result: numbers.map(logOf) }
    })
    peer.send(isBatch ? replies : replies[0])
  }
  /** Mines a block; tells of it if there is someone to tell. */
  const mine = ({ peer }: Message | { peer?: undefined }) => {
    state.head++
    peer?.notify(state.id, logOf(state.head))
  }
  return { state, reaction, mine }
}

const subscribes = async (server: Awaited<ReturnType<typeof serveWebSocket>>, times: number) => {
  for (let n = 1; ; n++) {
    const message = await server.received(n)
    if (message.entries.some(({ method }) => method === 'eth_subscribe') && --times === 0) return message
  }
}

describe('type and subscribe', () => {
  test('are those of webSocket(), where an endpoint is a WebSocket', async () => {
    const [a, b] = [await serveWebSocket(chain().reaction), await serve(honest)]
    const own = createClient(a.url)
    try {
      for (const transport of [closing(hexline(a.url as 'ws://')), closing(hexline([b.url, a.url])), hexline(own)]) {
        const { config, value } = transport({})
        expect([config.type, config.key, typeof (value as { subscribe?: unknown }).subscribe]).toEqual(['webSocket', 'hexline', 'function'])
      }
      const { config, value } = closing(hexline(b.url))({})
      expect([config.type, Object.keys(value ?? {})]).toEqual(['hexline', ['client']])
    } finally {
      await own.close()
    }
  })

  test('are found in a fallback', async () => {
    const { server, subscribed, mine } = await liveChain()
    const http2 = await serve(honest)
    const client = createPublicClient({ transport: fallback([closing(hexline(server.url as 'ws://')), http(http2.url)]) })
    const seen = collector<bigint>(1)
    const unwatch = client.watchBlockNumber({ onBlockNumber: (number) => seen.add(number) })
    await subscribed(1)
    mine()
    expect(await seen.all).toEqual([6n])
    unwatch()
  })
})

describe('a lost socket', () => {
  test('loses no log and doubles none', async () => {
    const node = chain()
    const server = await serveWebSocket(node.reaction)
    const client = createPublicClient({ transport: closing(hexline(server.url as 'ws://', { retryDelay: 1 })) })
    const seen = collector<number>(60)
    const unwatch = client.watchEvent({
      event: transfer,
      onLogs: (logs) => {
        for (const { args } of logs) seen.add(Number(args.amount))
      },
    })
    for (let times = 1; times <= 20; times++) {
      const message = await subscribes(server, times)
      node.mine(message)
      node.mine(message)
      const gone = new Promise((resolve) => message.peer.webSocket.once('close', resolve))
      message.peer.webSocket.close()
      await gone
      node.mine({})
    }
    expect(await seen.all).toEqual(Array.from({ length: 60 }, (_, i) => 6 + i))
    unwatch()
  })

  test('a log that comes live and with the missed ones comes once, and one of a replaced block again', async () => {
    const node = chain()
    const server = await serveWebSocket(node.reaction)
    const client = createPublicClient({ transport: closing(hexline(server.url as 'ws://', { retryDelay: 1 })) })
    const seen = collector<string>(6)
    const unwatch = client.watchEvent({
      event: transfer,
      onLogs: (logs) => {
        for (const { args, removed } of logs) seen.add(`${removed ? '-' : ''}${args.amount}`)
      },
    })
    const first = await subscribes(server, 1)
    first.peer.webSocket.terminate()
    node.state.head = 8
    const { peer } = await subscribes(server, 2)
    peer.notify(node.state.id, logOf(7))
    peer.notify(node.state.id, logOf(8))
    peer.notify(node.state.id, { ...logOf(8), removed: true })
    peer.notify(node.state.id, { ...logOf(8), blockHash: word(88) })
    peer.notify(node.state.id, logOf(9))
    expect(await seen.all).toEqual(['6', '7', '8', '-8', '8', '9'])
    unwatch()
  })
})

describe('a callback that throws', () => {
  test.each([
    ['as they are', false],
    ['compressed', true],
  ])('breaks neither the socket nor later notifications, which come %s; the process is told', async (_, isCompressed) => {
    const node = chain()
    const server = await serveWebSocketWith({ deflate: isCompressed && { threshold: 0 } }, node.reaction)
    const { subscribe } = createPublicClient({ transport: closing(hexline(server.url as 'ws://', { retryDelay: 1 })) }).transport
    for (const params of [['logs', {}], ['syncing']] as const) {
      const uncaught = uncaughtErrors()
      const seen = collector<unknown>(4)
      const { unsubscribe } = await subscribe({
        params: params as ['syncing'],
        onData({ result }) {
          seen.add(result)
          throw new Error('of the user')
        },
      })
      const [peer] = server.peers
      const results = [1, 2, 3, 4].map((n) => ({ n }))
      for (const result of results) peer?.notify(node.state.id, result)
      expect(await seen.all).toEqual(results)
      await expect.poll(() => uncaught).toEqual(Array(4).fill('of the user'))
      expect(server.peers).toHaveLength(1)
      await unsubscribe()
    }
  })

  test('loses none of the logs that are fetched after a gap', async () => {
    const node = chain()
    const server = await serveWebSocket(node.reaction)
    const { subscribe } = createPublicClient({ transport: closing(hexline(server.url as 'ws://', { retryDelay: 1 })) }).transport
    const uncaught = uncaughtErrors()
    const seen = collector<number>(3)
    await subscribe({
      params: ['logs', {}],
      onData({ result }) {
        seen.add(Number((result as { data: string }).data))
        throw new Error('of the user')
      },
    })
    node.state.head = 8
    server.peers[0]?.webSocket.terminate()
    expect(await seen.all).toEqual([6, 7, 8])
    await expect.poll(() => uncaught).toEqual(Array(3).fill('of the user'))
  })

  test('with an error, too', async () => {
    const node = chain()
    const server = await serveWebSocket(node.reaction)
    const { subscribe, client } = createPublicClient({ transport: closing(hexline(server.url as 'ws://')) }).transport
    const uncaught = uncaughtErrors()
    await subscribe({
      params: ['syncing'],
      onData() {},
      onError(error) {
        throw error
      },
    })
    await client.close()
    await expect.poll(() => uncaught).toHaveLength(1)
  })
})

describe('blocks over 40 lost sockets', () => {
  test('are all delivered, each once, in order, by watchBlocks and watchBlockNumber', async () => {
    const chain = await liveChain()
    // The request for a block may be lost with any number of sockets.
    const transport = closing(hexline(chain.server.url as 'ws://', { retryDelay: 1, retryCount: 100 }))
    const client = createPublicClient({ transport })
    const numbers = collector<bigint>(160)
    const blocks = collector<bigint>(160)
    const unwatch = [
      client.watchBlockNumber({ onBlockNumber: (number) => numbers.add(number) }),
      client.watchBlocks({ onBlock: ({ number }) => blocks.add(number) }),
    ]
    await chain.subscribed(2)
    for (let times = 2; times <= 41; times++) {
      chain.mine()
      chain.cut()
      chain.mine(3)
      await chain.subscribed(2 * times)
    }
    const expected = Array.from({ length: 160 }, (_, i) => BigInt(6 + i))
    expect(await numbers.all).toEqual(expected)
    // viem fetches each block by itself, and tells it when it is there.
    expect((await blocks.all).toSorted((a, b) => Number(a - b))).toEqual(expected)
    for (const end of unwatch) end()
  })
})

describe('ends', () => {
  test('unwatching unsubscribes', async () => {
    const { server, calls } = await liveChain()
    const client = createPublicClient({ transport: closing(hexline(server.url as 'ws://')) })
    const { subscriptionId, unsubscribe } = await client.transport.subscribe({ params: ['newHeads'], onData() {} })
    expect(subscriptionId).toMatch(/^0x[0-9a-f]{32}$/)
    expect(await unsubscribe()).toMatchObject({ result: true })
    expect((await server.received(3)).entries).toMatchObject([{ method: 'eth_unsubscribe', params: ['0x1'] }])
    expect(calls).toEqual(['eth_getBlockByNumber', 'eth_subscribe', 'eth_unsubscribe'])
  })

  test('a node that refuses rejects with viem’s error', async () => {
    const server = await serveWebSocket(({ entries: [entry], peer }) => peer.send(failed(entry as Entry, -32601, 'no subscriptions')))
    const { subscribe } = createPublicClient({ transport: closing(hexline(server.url as 'ws://')) }).transport
    await expect(subscribe({ params: ['newHeads'], onData() {} })).rejects.toMatchObject({ name: 'RpcRequestError', code: -32601, details: 'no subscriptions' })
  })
})

describe('a block that one backend announces before another one has it', () => {
  /** What `watchBlocks` tells, at a node that answers null for the new block this many times. */
  const watching = async (nulls: number) => {
    const { server, answers, blocks, subscribed, mine, calls } = await liveChain()
    let left = nulls
    answers.set('eth_getBlockByNumber', ([tag]) => (tag === '0x6' && left-- > 0 ? null : (tag === 'latest' ? blocks.at(-1) : blocks[Number(tag)])?.raw))
    const client = createPublicClient({ transport: closing(hexline(server.url as 'ws://', { retryDelay: 1 })) })
    const seen = collector<unknown>(1)
    const unwatch = client.watchBlocks({ onBlock: (block: { number: bigint } | undefined) => seen.add(block?.number) })
    await subscribed(1)
    mine()
    const told = await seen.all
    unwatch()
    return { told, client, asked: calls.filter((method) => method === 'eth_getBlockByNumber').length }
  }

  test('is asked for again, and delivered', async () => {
    const { told, asked } = await watching(2)
    expect(told).toEqual([6n])
    // The head before it, and thrice the block.
    expect(asked).toBe(4)
  })

  test('that never comes is what a null is for viem', async () => {
    const { told, client } = await watching(Number.POSITIVE_INFINITY)
    expect(told).toEqual([undefined])
    await expect(client.getBlock({ blockNumber: 6n })).rejects.toMatchObject({ name: 'BlockNotFoundError' })
  })
})
