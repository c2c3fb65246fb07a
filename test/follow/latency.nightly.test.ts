import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { createTestClient, http } from 'viem'
import { foundry } from 'viem/chains'
import { expect, it, onTestFinished } from 'vitest'
import { startAnvil } from '../support/anvil.ts'
import { reply, serveWebSocket } from '../support/web-socket-server.ts'

const BLOCKS = 300
const TURNS = 4
const WAYS = ['hexline follow', 'viem watchBlocks', "ethers on('block') and getBlock"]

const SCRIPT = fileURLToPath(new URL('../support/latency-process.ts', import.meta.url))

/**
 * Times from the notification of a block to the block, in ms. The client has a process of its own.
 * The node is anvil behind a WebSocket server of this process, which has asked it beforehand:
 * anvil's own sends small messages up to 40 ms late (Nagle's algorithm).
 */
async function latencies(way: string): Promise<number[]> {
  const anvil = await startAnvil()
  onTestFinished(() => anvil.stop())
  const node = createTestClient({ chain: foundry, mode: 'anvil', transport: http(anvil.url) })
  const ask = async (body: unknown) => {
    const answered = await request(anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    return (await answered.body.json()) as { result: { number: string } }
  }
  const block = async (tag: string) => (await ask({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: [tag, false] })).result
  let newest = await block('latest')
  const first = await block('0x0')
  const server = await serveWebSocket(
    reply(({ id, method, params }) => {
      const result = method === 'eth_subscribe' ? '0x5' : method === 'eth_getBlockByNumber' ? (params[0] === '0x0' ? first : newest) : newest.number
      return { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? `0x${foundry.id.toString(16)}` : result }
    }),
  )
  const client = fork(SCRIPT, [server.url, way], { execArgv: ['--import', 'tsx'] })
  onTestFinished(() => void client.kill('SIGKILL'))
  while (!server.messages.some(({ entries }) => entries[0]?.method === 'eth_subscribe')) await server.received(server.messages.length + 1)
  const times: number[] = []
  while (times.length < BLOCKS) {
    await node.mine({ blocks: 1 })
    newest = await block('latest')
    const number = Number(newest.number)
    const arrived = new Promise<number>((resolve) => {
      const look = (told: { readonly number: number; readonly at: number }) => {
        if (told.number !== number) return
        client.off('message', look)
        resolve(told.at)
      }
      client.on('message', look)
    })
    const told = Number(process.hrtime.bigint()) / 1e6
    for (const peer of server.peers) peer.notify('0x5', newest)
    times.push((await arrived) - told)
  }
  client.kill('SIGKILL')
  await once(client, 'exit')
  return times
}

it('latency from a notification to the block, side by side', async () => {
  // By turns, so that what slows the machine down concerns all alike.
  const times = new Map<string, number[]>()
  for (let turn = 0; turn < TURNS; turn++) {
    for (const way of WAYS) times.set(way, [...(times.get(way) ?? []), ...(await latencies(way))])
  }
  const lines = [...times].map(([name, all]) => {
    expect(all).toHaveLength(TURNS * BLOCKS)
    const sorted = all.sort((a, b) => a - b)
    const at = (share: number) => (sorted[Math.floor(share * sorted.length)] as number).toFixed(2)
    return `${name}: median ${at(0.5)} ms, 95 % within ${at(0.95)} ms`
  })
  console.log(lines.join('\n'))
})
