import { follow } from '../../src/index-bulk.ts'
import { CONTRACT, ForkingChain, headerOf } from './forking-chain.ts'
import { randomFrom } from './random.ts'
import { Replay } from './replay.ts'
import { clientOf } from './server.ts'
import { serveWebSocket } from './web-socket-server.ts'

/**
 * Follows a chain over a WebSocket that is cut this often, while blocks come and are replaced, and
 * heads are told twice, late or not at all. Gives what the consumer has at the end.
 */
export async function followWithCuts(cuts: number, seed: number) {
  const random = randomFrom(seed)
  const below = (most: number) => Math.floor(random() * most)
  const chain = new ForkingChain(30)
  let late: object | undefined
  const server = await serveWebSocket(({ entries, isBatch, peer }) => {
    const replies = entries.map((entry) =>
      entry.method === 'eth_subscribe' || entry.method === 'eth_unsubscribe' ? { jsonrpc: '2.0', id: entry.id, result: '0x5' } : chain.reply(entry),
    )
    // In the middle of replies, too.
    if (left > 0 && random() < 0.05) cut()
    peer.send(isBatch ? replies : replies[0])
  })
  let left = cuts
  const cut = () => {
    left--
    server.peers.at(-1)?.socket.destroy()
  }
  const tell = () => {
    const head = headerOf(chain.blocks.at(-1) as (typeof chain.blocks)[number])
    const told = [[head], [head, head], [late ?? head, head], [], [{ ...head, hash: chain.hashes[3] }]][below(5)] as object[]
    for (const each of told) server.peers.at(-1)?.notify('0x5', each)
    late = head
  }
  const replay = new Replay(5)
  for await (const item of follow(clientOf(server.url), { from: 5, logs: { address: CONTRACT } })) {
    replay.apply(item)
    if (replay.hashes.at(-1) !== chain.hashes.at(-1)) continue
    if (left <= 0) break
    if (random() < 0.7) chain.mine(1 + below(3))
    else chain.reorganise(1 + below(20), 1 + below(25))
    tell()
    if (random() < 0.8) cut()
  }
  return { replay, chain, sockets: server.peers.length }
}
