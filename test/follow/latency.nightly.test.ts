import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { transform } from 'esbuild'
import { request } from 'undici'
import { createTestClient, http } from 'viem'
import { foundry } from 'viem/chains'
import { expect, it, onTestFinished } from 'vitest'
import { startAnvil } from '../support/anvil.ts'
import { reply, serveWebSocket } from '../support/web-socket-server.ts'

/** Before each announcement, in ms: all processes rest. */
const PAUSE_MS = 3
const WAYS = ['hexline follow', 'viem watchBlocks', "ethers on('block') and getBlock"]

/** As plain JavaScript: a loader of TypeScript in the process would slow down what is measured. */
const SCRIPT = (await transform(await readFile(new URL('../support/latency-process.ts', import.meta.url), 'utf8'), { loader: 'ts' })).code

/** A client in a process of its own, and the node that it follows. */
interface Follower {
  /** Announces the block, and resolves when the client has it: after this time, in ms. */
  announce(block: { readonly number: string }): Promise<number>
  stop(): Promise<void>
}

/**
 * The node is a WebSocket server of this process, which answers with blocks of anvil's that it has
 * asked for beforehand: anvil's own sends small messages up to 40 ms late (Nagle's algorithm).
 */
async function startFollower(way: string, first: { readonly number: string }, known: { readonly number: string }): Promise<Follower> {
  let newest = known
  const server = await serveWebSocket(
    reply(({ id, method, params }) => {
      const result = method === 'eth_subscribe' ? '0x5' : method === 'eth_getBlockByNumber' ? (params[0] === '0x0' ? first : newest) : newest.number
      return { jsonrpc: '2.0', id, result: method === 'eth_chainId' ? `0x${foundry.id.toString(16)}` : result }
    }),
  )
  const client = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, server.url, way], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  onTestFinished(() => void client.kill('SIGKILL'))
  while (!server.messages.some(({ entries }) => entries[0]?.method === 'eth_subscribe')) await server.received(server.messages.length + 1)
  return {
    async announce(block) {
      newest = block
      const number = Number(block.number)
      const arrived = new Promise<number>((resolve) => {
        const look = (told: { readonly number: number; readonly at: number }) => {
          if (told.number !== number) return
          client.off('message', look)
          resolve(told.at)
        }
        client.on('message', look)
      })
      const told = Number(process.hrtime.bigint()) / 1e6
      for (const peer of server.peers) peer.notify('0x5', block)
      return (await arrived) - told
    },
    async stop() {
      client.kill('SIGKILL')
      await once(client, 'exit')
    },
  }
}

it.each([
  { which: 'the first 300 blocks of a process', turns: 4, passed: 0, blocks: 300 },
  { which: 'blocks 1,001 to 3,000 of a process', turns: 1, passed: 1000, blocks: 3000 },
])('latency from a notification to the block, side by side: $which', async ({ which, turns, passed, blocks }) => {
  const anvil = await startAnvil()
  onTestFinished(() => anvil.stop())
  const node = createTestClient({ chain: foundry, mode: 'anvil', transport: http(anvil.url) })
  const block = async (tag: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: [tag, false] })
    const answered = await request(anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return ((await answered.body.json()) as { result: { number: string } }).result
  }
  const first = await block('0x0')
  const times = new Map<string, number[]>(WAYS.map((way) => [way, []]))
  for (let turn = 0; turn < turns; turn++) {
    const newest = await block('latest')
    const followers = await Promise.all(WAYS.map(async (way) => ({ way, ...(await startFollower(way, first, newest)) })))
    for (let i = 0; i < blocks; i++) {
      await node.mine({ blocks: 1 })
      const mined = await block('latest')
      // Each block for one after the other, so that what slows the machine down concerns all alike.
      for (const { way, announce } of followers.toSorted(() => Math.random() - 0.5)) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        const took = await announce(mined)
        if (i >= passed) times.get(way)?.push(took)
      }
    }
    await Promise.all(followers.map(({ stop }) => stop()))
  }
  const lines = [...times].map(([name, all]) => {
    expect(all).toHaveLength(turns * (blocks - passed))
    const sorted = all.sort((a, b) => a - b)
    const at = (share: number) => (sorted[Math.floor(share * sorted.length)] as number).toFixed(3)
    return `${name}: median ${at(0.5)} ms, 95 % within ${at(0.95)} ms`
  })
  console.log([`${which}:`, ...lines].join('\n'))
})
