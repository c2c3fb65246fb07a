import { setTimeout as after } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/index.ts'
import { type FollowItem, follow } from '../../src/index-bulk.ts'
import { CONTRACT, type ForkBlock, ForkingChain, headerOf } from '../support/forking-chain.ts'
import { Replay } from '../support/replay.ts'
import { serve } from '../support/server.ts'
import { reply, serveWebSocket } from '../support/web-socket-server.ts'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

const MINUTE_MS = 60_000
const MB = 1e6
const options = { from: 0, logs: { address: CONTRACT } }

/** Serves a chain over a WebSocket, with subscriptions. */
function serveHeads(chain: ForkingChain) {
  return serveWebSocket(reply((entry) => (entry.method === 'eth_subscribe' ? { jsonrpc: '2.0', id: entry.id, result: '0x5' } : chain.reply(entry))))
}

/** Follows until the consumer has the chain. */
async function catchUp(stream: AsyncGenerator<FollowItem>, replay: Replay, chain: ForkingChain): Promise<void> {
  while (replay.hashes.at(-1) !== chain.hashes.at(-1)) replay.apply((await stream.next()).value)
}

/** A client as users have it: it waits as long as it waits for them. */
function clientFor(url: string) {
  const client = createClient(url)
  onTestFinished(() => client.close())
  return client
}

it('a consumer that stalls for a minute, while 60,000 heads are told: memory stays flat, and no block is lost', async () => {
  const chain = new ForkingChain(300)
  const server = await serveHeads(chain)
  const client = clientFor(server.url)
  const stream = follow(client, options)
  const replay = new Replay(0)
  await catchUp(stream, replay, chain)
  const tell = () => server.peers.at(-1)?.notify('0x5', headerOf(chain.blocks.at(-1) as ForkBlock))
  const heap = async () => {
    // Its reply comes after what was told before.
    await client.request({ method: 'eth_chainId' })
    gc()
    return process.memoryUsage().heapUsed
  }
  chain.mine(200)
  tell()
  const [before, calls, from] = [await heap(), server.messages.length, performance.now()]
  const heaps: number[] = []
  for (let second = 0; second < 60; second++) {
    for (let i = 0; i < 1000; i++) tell()
    heaps.push((await heap()) - before)
    await after(Math.max(0, from + 1000 * (second + 1) - performance.now()))
  }
  // One call a second is that of this test.
  expect(server.messages.length - calls).toBe(heaps.length)
  expect(Math.max(...heaps)).toBeLessThan(5 * MB)
  await catchUp(stream, replay, chain)
  expect(replay.hashes).toEqual(chain.hashes)
  console.log(`a stalled consumer: at most ${(Math.max(...heaps) / MB).toFixed(1)} MB more after 60,000 heads`)
})

it.each(['http', 'ws'] as const)(
  'a node that is gone for a minute, over %s: asked a few times, hardly any CPU time, and followed when it is back',
  async (scheme) => {
    const chain = new ForkingChain(50)
    let isGone = false
    let refused = 0
    let url: string
    let cut = () => {}
    if (scheme === 'ws') {
      const server = await serveHeads(chain)
      url = server.url
      cut = () => {
        server.refuse((socket) => {
          refused++
          socket.destroy()
        })
        for (const { socket } of server.peers) socket.destroy()
      }
      void after(MINUTE_MS + 500).then(() => server.refuse(undefined))
    } else {
      const answer = chain.node()
      const server = await serve((post, response) => {
        if (!isGone) return answer(post, response)
        refused++
        post.socket.destroy()
      })
      url = server.url
    }
    const failures: unknown[] = []
    const stream = follow(clientFor(url), { ...options, onProgress: ({ failure }) => void (failure && failures.push(failure.kind)) })
    const replay = new Replay(0)
    await catchUp(stream, replay, chain)
    isGone = true
    cut()
    chain.mine(300)
    const cpu = process.cpuUsage()
    const back = catchUp(stream, replay, chain)
    await after(MINUTE_MS)
    const { user, system } = process.cpuUsage(cpu)
    const cpuMs = (user + system) / 1000
    isGone = false
    await back
    expect(replay.hashes).toEqual(chain.hashes)
    expect(failures[0]).toBe('network')
    console.log(`a node that is gone for a minute, over ${scheme}: asked ${refused} times, ${cpuMs.toFixed(0)} ms of CPU time`)
    expect(refused).toBeGreaterThan(4)
    expect(refused).toBeLessThan(100)
    expect(cpuMs).toBeLessThan(MINUTE_MS / 20)
  },
)
