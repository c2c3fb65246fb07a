import type { LogParams } from 'ethers'
import { describe, expect, it } from 'vitest'
import { eventsOf, LogSubscriber, logsOf } from '../../../../adapters/ethers/events/log-subscriber.ts'
import { collector } from '../../../support/ethers-flows.ts'
import { hex, node } from '../../../support/node.ts'
import { RecordingProvider } from '../../../support/recording-provider.ts'
import { type Entry, gate, refuse, serve } from '../../../support/server.ts'

/**
 * A node whose blocks up to `logs` have one log each, and a provider whose block events the test
 * makes.
 */
async function setUp() {
  const chain = { head: 5, logs: Number.POSITIVE_INFINITY }
  const asked: [number, number][] = []
  const answer = node({
    head: () => chain.head,
    answer(entry: Entry) {
      if (entry.method !== 'eth_getLogs') return undefined
      const [{ fromBlock, toBlock }] = entry.params as [{ fromBlock: string; toBlock: string }]
      const [from, to] = [Number(fromBlock), Number(toBlock)]
      asked.push([from, to])
      const blocks = Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((block) => block <= chain.logs)
      return { jsonrpc: '2.0', id: entry.id, result: blocks.map((block) => ({ blockNumber: hex(block) })) }
    },
  })
  const server = await serve(answer)
  const provider = new RecordingProvider(server.url)
  const announce = provider.blocksByHand()
  /** Starts a subscriber, and collects the blocks of the first `count` logs. */
  const start = async (count: number) => {
    const logs = collector<number>(count)
    const subscriber = new LogSubscriber(provider, { filter: {}, emit: ({ blockNumber }) => logs.add(Number(blockNumber)) })
    subscriber.start()
    await server.received(1)
    return { subscriber, logs }
  }
  return { chain, asked, answer, server, provider, start, announce }
}

describe('a log subscriber', () => {
  it('emits the logs of every block after the head at its start', async () => {
    const { asked, server, start, announce } = await setUp()
    const { logs } = await start(4)
    announce(6)
    await server.received(2)
    announce(9)
    expect(await logs.all).toEqual([6, 7, 8, 9])
    expect(asked).toEqual([
      [6, 6],
      [7, 9],
    ])
  })

  it('emits no logs from before its start, where a block is announced late, and before the head is known', async () => {
    const { asked, start, announce } = await setUp()
    const { logs } = await start(1)
    announce(3)
    announce(6)
    expect(await logs.all).toEqual([6])
    expect(asked).toEqual([[6, 6]])
  })

  it('emits any number of logs at once, and goes on after them', async () => {
    const { asked, server, start, announce } = await setUp()
    const { logs } = await start(150_001)
    announce(6)
    await server.received(2)
    announce(150_005)
    await server.received(3)
    announce(150_006)
    expect((await logs.all).slice(-2)).toEqual([150_005, 150_006])
    expect(asked.at(-1)).toEqual([150_006, 150_006])
  })

  it('requests blocks without logs again, at most the last 60', async () => {
    const { chain, asked, server, start, announce } = await setUp()
    chain.logs = 0
    const { logs } = await start(61)
    announce(6)
    await server.received(2)
    announce(100)
    await server.received(3)
    chain.logs = 101
    announce(101)
    expect((await logs.all).at(0)).toBe(41)
    expect(asked).toEqual([
      [6, 6],
      [6, 100],
      [41, 101],
    ])
  })

  it('reports a failure, and requests the same blocks with the next one', async () => {
    const { asked, answer, server, provider, start, announce } = await setUp()
    const { logs } = await start(2)
    server.script(refuse(-32000, 'no'), answer)
    announce(6)
    await provider.hasEmitted(1)
    expect(provider.emitted).toEqual([['error', expect.objectContaining({ error: expect.objectContaining({ message: 'no' }) })]])
    announce(7)
    expect(await logs.all).toEqual([6, 7])
    expect(asked).toEqual([[6, 7]])
  })

  it('emits the logs of a pause after it, each once', async () => {
    const { chain, answer, server, start, announce } = await setUp()
    const { subscriber, logs } = await start(3)
    const late = gate(answer)
    server.script(late.answer, answer)
    announce(6)
    await server.received(2)
    subscriber.pause()
    late.open()
    chain.head = 8
    subscriber.resume()
    expect(await logs.all).toEqual([6, 7, 8])
  })

  it('drops the logs of a pause if asked to', async () => {
    const { chain, server, start, announce } = await setUp()
    const { subscriber, logs } = await start(1)
    subscriber.pause(true)
    announce(7)
    chain.head = 8
    subscriber.resume()
    await server.received(2)
    announce(9)
    expect(await logs.all).toEqual([9])
  })
})

describe('the logs of a range', () => {
  it('are requested with the filter, in hex', async () => {
    const { server, provider } = await setUp()
    await logsOf(provider, { address: '0x1', topics: [] }, 10, 255)
    expect(server.requests[0]?.entries.find(({ method }) => method === 'eth_getLogs')?.params).toEqual([
      { address: '0x1', topics: [], fromBlock: '0xa', toBlock: '0xff' },
    ])
  })

  it('are requested in halves where the node may have cut them without saying so', async () => {
    const { server, provider } = await setUp()
    const asked: number[][] = []
    server.script(
      node({
        answer({ id, method, params: [filter] }) {
          if (method !== 'eth_getLogs') return undefined
          const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
          const blocks = Array.from({ length: Number(toBlock) - Number(fromBlock) + 1 }, (_, i) => Number(fromBlock) + i)
          asked.push([Number(fromBlock), Number(toBlock)])
          const logs = blocks.flatMap((number) =>
            Array.from({ length: 100 }, (_, i) => ({ blockNumber: `0x${number.toString(16)}`, logIndex: `0x${i.toString(16)}` })),
          )
          return { jsonrpc: '2.0', id, result: logs.slice(0, 500) }
        },
      }),
    )
    const logs = await logsOf(provider, {}, 11, 20)
    expect(logs.map(({ blockNumber }) => Number(blockNumber))).toEqual(Array.from({ length: 1000 }, (_, i) => 11 + Math.floor(i / 100)))
    expect(asked).toEqual([
      [11, 20],
      [11, 15],
      [11, 13],
      [14, 15],
      [16, 20],
      [16, 18],
      [19, 20],
    ])
  })

  it('are empty for a range without blocks, and not requested', async () => {
    const { server, provider } = await setUp()
    expect(await logsOf(provider, {}, 7, 6)).toEqual([])
    expect(server.requests).toEqual([])
  })
})

it('a subscription keeps the filter as it was', async () => {
  const { provider } = await setUp()
  await provider.getNetwork()
  const filter = { address: `0x${'11'.repeat(20)}`, topics: ['0x1'] }
  const events = eventsOf(provider, filter)
  filter.topics.push('0x2')
  const word = `0x${'1b'.repeat(32)}`
  const place = { blockNumber: '0x1', blockHash: word, transactionHash: word, transactionIndex: '0x0', logIndex: '0x0' }
  events.emit({ ...place, address: filter.address, topics: [], data: '0x', removed: false } as unknown as LogParams)
  expect(provider.emitted).toEqual([[{ address: filter.address, topics: ['0x1'] }, expect.objectContaining({ provider })]])
})
