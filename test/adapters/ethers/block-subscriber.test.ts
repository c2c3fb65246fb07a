import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { BlockSubscriber } from '../../../adapters/ethers/block-subscriber.ts'
import { node } from '../../support/node.ts'
import { RecordingProvider } from '../../support/recording-provider.ts'
import { gate, refuse, serve } from '../../support/server.ts'

async function setUp() {
  const chain = { head: 5 }
  const answer = node({ head: () => chain.head })
  const server = await serve(answer)
  const provider = new RecordingProvider(server.url)
  const subscriber = new BlockSubscriber(provider)
  /** Resolves when a poll that starts from now on is complete: the next one is under way. */
  const polled = () => server.received(server.requests.length + 2)
  return { chain, answer, server, provider, subscriber, polled }
}

describe('a block subscriber', () => {
  it('emits every block after the head at its start, in order', async () => {
    const { chain, server, provider, subscriber, polled } = await setUp()
    subscriber.start()
    await server.received(2)
    expect(provider.emitted).toEqual([])
    chain.head = 8
    await polled()
    expect(provider.emitted).toEqual([6, 7, 8].map((number) => ['block', number]))
  })

  it('skips no block while it is paused, unless these are to be dropped', async () => {
    const { chain, server, provider, subscriber, polled } = await setUp()
    subscriber.start()
    await server.received(2)
    subscriber.pause()
    chain.head = 7
    subscriber.resume()
    await polled()
    expect(provider.emitted).toEqual([6, 7].map((number) => ['block', number]))
    subscriber.pause(true)
    chain.head = 20
    subscriber.resume()
    await polled()
    chain.head = 21
    await polled()
    expect(provider.emitted.slice(2)).toEqual([['block', 21]])
  })

  it('emits blocks again after the chain became shorter', async () => {
    const { chain, server, provider, subscriber, polled } = await setUp()
    subscriber.start()
    await server.received(2)
    chain.head = 3
    await polled()
    chain.head = 5
    await polled()
    expect(provider.emitted).toEqual([4, 5].map((number) => ['block', number]))
  })

  it('reports a failed poll and makes the next one', async () => {
    const { chain, answer, server, provider, subscriber } = await setUp()
    server.script(refuse(-32601, 'no'), answer)
    subscriber.start()
    await server.received(3)
    chain.head = 6
    await provider.hasEmitted(2)
    expect(provider.emitted).toEqual([
      ['error', expect.objectContaining({ code: 'UNSUPPORTED_OPERATION' })],
      ['block', 6],
    ])
  })

  it('ignores a reply that arrives after it was stopped', async () => {
    const { chain, answer, server, provider, subscriber, polled } = await setUp()
    const late = gate(node({ head: () => 2 }))
    server.script(late.answer, answer)
    subscriber.start()
    await server.received(1)
    subscriber.stop()
    chain.head = 9
    subscriber.start()
    await server.received(3)
    late.open()
    await polled()
    chain.head = 10
    await provider.hasEmitted(1)
    expect(provider.emitted).toEqual([['block', 10]])
  })

  it('polls once at a time if it is started twice', async () => {
    const { answer, server, subscriber } = await setUp()
    const held = gate(answer)
    server.script(held.answer)
    subscriber.start()
    subscriber.start()
    await server.received(1)
    await turn()
    expect(server.requests.flatMap(({ entries }) => entries)).toHaveLength(1)
  })

  it('does nothing on a destroyed provider', async () => {
    const { provider, subscriber } = await setUp()
    provider.destroy()
    subscriber.start()
    await expect(provider.getBlockNumber()).rejects.toThrow('provider destroyed')
    await turn()
    expect(provider.emitted).toEqual([])
  })
})
