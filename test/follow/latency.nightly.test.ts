import { WebSocketProvider } from 'ethers'
import { request } from 'undici'
import { createPublicClient, createTestClient, http, webSocket as viemWebSocket } from 'viem'
import { foundry } from 'viem/chains'
import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/index.ts'
import { follow } from '../../src/index-bulk.ts'
import { startAnvil } from '../support/anvil.ts'
import { eventually } from '../support/eventually.ts'
import { serveWebSocket } from '../support/web-socket-server.ts'

const BLOCKS = 300
const TURNS = 4

/** Starts to deliver blocks of a node; resolves to what stops it, once it is subscribed. */
type Start = (url: string, onBlock: (number: number) => void) => Promise<() => unknown>

const ways: Record<string, Start> = {
  'hexline follow': async (url, onBlock) => {
    const client = createClient(url)
    const stream = follow(client, { from: 'latest' })
    await stream.next()
    void (async () => {
      for await (const item of stream) if (item.type === 'block') onBlock(Number(item.block.number))
    })().catch(() => {})
    return () => client.close()
  },
  'viem watchBlocks': async (url, onBlock) => {
    const client = createPublicClient({ chain: foundry, transport: viemWebSocket(url) })
    const unwatch = client.watchBlocks({ onBlock: (block) => onBlock(Number(block.number)) })
    return async () => {
      unwatch()
      const { socket } = await client.transport.getRpcClient()
      socket.close()
    }
  },
  "ethers on('block') and getBlock": async (url, onBlock) => {
    const provider = new WebSocketProvider(url, foundry.id)
    await provider.on('block', async (number: number) => {
      const block = await provider.getBlock(number)
      if (block !== null) onBlock(block.number)
    })
    return () => provider.destroy()
  },
}

/**
 * Times from the notification of a block to the block, in ms. The node is anvil behind a WebSocket
 * server of this process: anvil's own sends small messages up to 40 ms late (Nagle's algorithm).
 */
async function latencies(start: Start): Promise<number[]> {
  const anvil = await startAnvil()
  onTestFinished(() => anvil.stop())
  const node = createTestClient({ chain: foundry, mode: 'anvil', transport: http(anvil.url) })
  const ask = async (body: unknown) => {
    const reply = await request(anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    return (await reply.body.json()) as { result: { number: string } }
  }
  const server = await serveWebSocket(async ({ entries, isBatch, peer }) => {
    if (entries[0]?.method === 'eth_subscribe') peer.send({ jsonrpc: '2.0', id: entries[0].id, result: '0x5' })
    else peer.send(await ask(isBatch ? entries : entries[0]))
  })
  const got = new Map<number, number>()
  let look = () => {}
  const stop = await start(server.url, (number) => {
    got.set(number, performance.now())
    look()
  })
  await eventually(() => {
    if (!server.messages.some(({ entries }) => entries[0]?.method === 'eth_subscribe')) throw new Error('not subscribed')
  })
  const times: number[] = []
  for (let i = 0; i < BLOCKS; i++) {
    await node.mine({ blocks: 1 })
    const { result: header } = await ask({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] })
    const number = Number(header.number)
    const arrived = new Promise<void>((resolve) => {
      look = () => got.has(number) && resolve()
    })
    const told = performance.now()
    for (const peer of server.peers) peer.notify('0x5', header)
    look()
    await arrived
    times.push((got.get(number) as number) - told)
  }
  await stop()
  return times
}

it('latency from a notification to the block, side by side', async () => {
  // By turns, so that what warms up or slows down concerns all alike; the first turn only warms up.
  const times = new Map<string, number[]>()
  for (let turn = 0; turn <= TURNS; turn++) {
    for (const [name, start] of Object.entries(ways)) {
      const some = await latencies(start)
      if (turn > 0) times.set(name, [...(times.get(name) ?? []), ...some])
    }
  }
  const lines = [...times].map(([name, all]) => {
    expect(all).toHaveLength(TURNS * BLOCKS)
    const sorted = all.sort((a, b) => a - b)
    const at = (share: number) => (sorted[Math.floor(share * sorted.length)] as number).toFixed(2)
    return `${name}: median ${at(0.5)} ms, 95 % within ${at(0.95)} ms`
  })
  console.log(lines.join('\n'))
})
