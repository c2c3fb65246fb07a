import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Ringer } from '../../../../adapters/ethers/events/bell.ts'
import { BlockSubscriber, QUIET_MS } from '../../../../adapters/ethers/events/block-subscriber.ts'
import { holdTime } from '../../../support/held-time.ts'
import { node } from '../../../support/node.ts'
import { RecordingProvider } from '../../../support/recording-provider.ts'
import { gate, refuse, serve } from '../../../support/server.ts'

async function setUp() {
  const chain = { head: 5 }
  const answer = node({ head: () => chain.head })
  const server = await serve(answer)
  const provider = new RecordingProvider(server.url)
  const subscriber = new BlockSubscriber(provider)
  onTestFinished(() => subscriber.stop())
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
    // A poll, and what it asks to find out whether the node lags.
    await server.received(server.requests.length + 1 + 4)
    await polled()
    chain.head = 5
    await polled()
    expect(provider.emitted).toEqual([4, 5].map((number) => ['block', number]))
  })

  it('emits no block again when an endpoint that lags has answered', async () => {
    const { answer, server, provider, subscriber, polled } = await setUp()
    subscriber.start()
    await server.received(2)
    // The chain itself still has block 5.
    server.script(node({ head: () => 3 }), answer)
    await polled()
    await polled()
    expect(provider.emitted).toEqual([])
  })

  it('emits no block again when one of several nodes behind a URL lags, also when it is asked twice', async () => {
    const { answer, server, provider, subscriber, polled } = await setUp()
    subscriber.start()
    await server.received(2)
    const behind = node({ head: () => 3 })
    server.script(behind, behind, behind, answer)
    await polled()
    await polled()
    await polled()
    expect(provider.emitted).toEqual([])
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

describe('a block subscriber with a bell', () => {
  async function withBell() {
    const time = holdTime()
    const { chain, server, provider } = await setUp()
    let ringer: Ringer | undefined
    const rung: { isStopped?: boolean } = {}
    const subscriber = new BlockSubscriber(provider, (given) => {
      ringer = given
      return () => {
        rung.isStopped = true
      }
    })
    onTestFinished(() => subscriber.stop())
    subscriber.pollingInterval = 1_000
    subscriber.start()
    await server.received(1)
    /** Until the replies so far have arrived. */
    const settled = async () => {
      const { emitted } = provider
      for (let turns = 0, before = -1; turns < 20; turns++) {
        await provider.send('eth_chainId', [])
        if (before === emitted.length) return
        before = emitted.length
      }
    }
    await settled()
    return { time, chain, server, provider, subscriber, rung, settled, ring: (number?: number) => ringer?.rung(number), silence: () => ringer?.silent() }
  }

  it('polls when it rings, in order, and not by time', async () => {
    const { time, chain, provider, ring, settled } = await withBell()
    ring()
    await settled()
    chain.head = 7
    await time.pass(10_000)
    await settled()
    expect(provider.emitted).toEqual([])
    ring(7)
    await provider.hasEmitted(2)
    expect(provider.emitted).toEqual([6, 7].map((number) => ['block', number]))
  })

  it('polls after a ring that comes during a poll', async () => {
    const { chain, server, provider, ring } = await withBell()
    const late = gate(node({ head: () => 5 }))
    server.script(late.answer, node({ head: () => chain.head }))
    const before = server.requests.length
    ring(6)
    await server.received(before + 1)
    chain.head = 6
    ring(6)
    late.open()
    await provider.hasEmitted(1)
    expect(provider.emitted).toEqual([['block', 6]])
  })

  it('emits the blocks that it rings for where the chain has become shorter', async () => {
    const { chain, provider, ring } = await withBell()
    chain.head = 3
    ring(2)
    ring(3)
    await provider.hasEmitted(2)
    chain.head = 4
    ring(4)
    await provider.hasEmitted(3)
    expect(provider.emitted).toEqual([2, 3, 4].map((number) => ['block', number]))
  })

  it('emits them also where it rings during the poll that finds the chain shorter', async () => {
    const { chain, server, provider, ring } = await withBell()
    chain.head = 3
    const late = gate(node({ head: () => chain.head }))
    server.script(late.answer, node({ head: () => chain.head }))
    const before = server.requests.length
    ring()
    await server.received(before + 1)
    ring(3)
    late.open()
    await provider.hasEmitted(1)
    expect(provider.emitted).toEqual([['block', 3]])
  })

  it('polls by time until a block that was announced is there', async () => {
    const { time, chain, provider, ring, settled } = await withBell()
    ring(6)
    await settled()
    chain.head = 6
    await time.pass(1_000)
    await provider.hasEmitted(1)
    expect(provider.emitted).toEqual([['block', 6]])
  })

  it('polls once in a while, when it does not ring', async () => {
    const { time, chain, provider, ring, settled } = await withBell()
    ring(5)
    await settled()
    chain.head = 6
    await time.pass(QUIET_MS - 1)
    await settled()
    expect(provider.emitted).toEqual([])
    await time.pass(1)
    await provider.hasEmitted(1)
  })

  it('polls by time while it is silent', async () => {
    const { time, chain, provider, ring, silence, settled } = await withBell()
    ring(5)
    await settled()
    silence()
    chain.head = 6
    await time.pass(1_000)
    await provider.hasEmitted(1)
    expect(provider.emitted).toEqual([['block', 6]])
  })

  it('stops the bell, and hears it no more', async () => {
    const { chain, provider, subscriber, rung, ring, settled } = await withBell()
    subscriber.stop()
    expect(rung.isStopped).toBe(true)
    chain.head = 6
    ring(6)
    await settled()
    expect(provider.emitted).toEqual([])
  })
})
