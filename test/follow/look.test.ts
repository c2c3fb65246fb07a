import { describe, expect, it } from 'vitest'
import { HeldChain } from '../../src/follow/held-chain.ts'
import { look, targetFrom } from '../../src/follow/look.ts'
import { follow } from '../../src/index-bulk.ts'
import { ForkingChain } from '../support/forking-chain.ts'
import { clientOf, serve } from '../support/server.ts'
import { reply, serveWebSocket } from '../support/web-socket-server.ts'

describe('look', () => {
  it('gives the newest block that may be delivered', async () => {
    const chain = new ForkingChain(20)
    const server = await serve(chain.node())
    const client = clientOf(server.url)
    expect(await look(client, 0)).toEqual({ number: 20, hash: chain.hashes[20] })
    expect(await look(client, 'safe')).toEqual({ number: 18, hash: chain.hashes[18] })
    expect(await look(client, 'finalized')).toEqual({ number: 16, hash: chain.hashes[16] })
    expect(await look(client, 7)).toEqual({ number: 13, hash: undefined })
    expect(await look(client, 21)).toBeUndefined()
    expect(await look(clientOf((await serve(new ForkingChain(2).node())).url), 'finalized')).toBeUndefined()
  })
})

describe('targetFrom', () => {
  const chain = new ForkingChain(20)
  const held = new HeldChain({
    from: 18,
    number: 20,
    hashes: chain.blocks
      .slice(18)
      .reverse()
      .map(({ hash }) => hash),
  })
  const told = (number: number, hash = 'other') => ({ number, hash })

  it('asks at once for a block that is told, and for those before it', () => {
    expect(targetFrom(told(21), held, 0)).toEqual({ number: 21, hash: undefined })
    expect(targetFrom(told(30), held, 0)).toEqual({ number: 30, hash: undefined })
  })

  it('knows a block that was delivered', () => {
    expect(targetFrom(told(20, chain.hashes[20]), held, 0)).toEqual({ number: 20, hash: chain.hashes[20] })
  })

  it('leaves to the node what may not be true: a head far away, an older one, confirmations, and tags', () => {
    expect(targetFrom(undefined, held, 0)).toBeUndefined()
    expect(targetFrom(told(200), held, 0)).toBeUndefined()
    expect(targetFrom(told(20), held, 0)).toBeUndefined()
    expect(targetFrom(told(30), held, 5)).toBeUndefined()
    expect(targetFrom(told(21), held, 'safe')).toBeUndefined()
    expect(targetFrom(told(21), new HeldChain({ from: 18, number: 17, hashes: [] }), 0)).toBeUndefined()
  })
})

it('confirmations are those of the chain, not of a head that does not exist and is announced', async () => {
  const chain = new ForkingChain(20)
  const server = await serveWebSocket(
    reply((entry) => (entry.method === 'eth_subscribe' ? { jsonrpc: '2.0', id: entry.id, result: '0x5' } : chain.reply(entry))),
  )
  const numbers: bigint[] = []
  let isAsked = false
  for await (const item of follow(clientOf(server.url), { from: 10, confirmations: 3 })) {
    if (item.type === 'block') numbers.push(item.block.number)
    if (numbers.at(-1) === 17n && !isAsked) {
      isAsked = true
      // Once the stream waits for the bell.
      setTimeout(() => server.peers.at(-1)?.notify('0x5', { number: '0x18', hash: `0x${'e'.repeat(64)}` }), 50)
      setTimeout(() => {
        chain.mine()
        server.peers.at(-1)?.notify('0x5', { number: '0x15', hash: chain.hashes.at(-1) })
      }, 200)
    }
    expect(numbers.at(-1)).toBeLessThanOrEqual(BigInt(chain.head - 3))
    if (chain.head === 21 && numbers.at(-1) === 18n) break
  }
})
