import { setImmediate as turn } from 'node:timers/promises'
import type { LogParams } from 'ethers'
import { describe, expect, it, vi } from 'vitest'
import { LiveLogSubscriber } from '../../../../adapters/ethers/events/live-log-subscriber.ts'
import { collector } from '../../../support/ethers-flows.ts'
import { eventually } from '../../../support/eventually.ts'
import { holdTime } from '../../../support/held-time.ts'
import { liveChain } from '../../../support/live-chain.ts'
import { RecordingProvider } from '../../../support/recording-provider.ts'

/**
 * A chain with a log in each block, from block 6 on, a provider whose block events the test makes,
 * and a subscriber that has not been started.
 */
async function make() {
  const chain = await liveChain()
  const provider = new RecordingProvider(chain.server.url)
  let listener = (_: number) => {}
  provider.on = async (_, given) => {
    listener = given
    return provider
  }
  provider.off = async () => provider
  const seen = collector<string>(Number.POSITIVE_INFINITY)
  const events = { filter: {}, emit: (log: LogParams) => seen.add(`${Number(log.blockNumber)}:${Number(log.data)}`) }
  const subscriber = new LiveLogSubscriber(provider, events)
  return { chain, provider, subscriber, seen: seen.values, announce: (block: number) => listener(block) }
}

/** The same, once it has been started. */
async function setUp() {
  const { chain, provider, subscriber, seen, announce } = await make()
  subscriber.start()
  // The head, and the blocks below it.
  await chain.server.received(2)
  /** Until all that was asked has been answered and read. */
  const settled = async () => {
    for (let calls = -1; calls !== chain.calls.length; ) {
      calls = chain.calls.length + 1
      await provider.send('eth_chainId', [])
      await turn()
    }
  }
  await settled()
  const asked = () => chain.calls.filter((method) => method !== 'eth_chainId')
  return {
    chain,
    provider,
    subscriber,
    seen,
    settled,
    asked,
    async announce(block = chain.blocks.length - 1) {
      announce(block)
      await settled()
    },
  }
}

/** Of the chain's logs from block `from` on. */
const logsFrom = (chain: { readonly logs: readonly { blockNumber: string; data: string }[] }, from: number) =>
  chain.logs.map((log) => `${Number(log.blockNumber)}:${Number(log.data)}`).filter((log) => Number.parseInt(log, 10) >= from)

describe('logs of new blocks', () => {
  it('come each once, also where blocks were not announced', async () => {
    const { chain, seen, announce } = await setUp()
    chain.mine()
    await announce()
    await announce()
    chain.mine(4)
    await announce()
    expect(seen).toEqual(logsFrom(chain, 6))
    expect(seen).toHaveLength(5)
  })

  it('come without another block where theirs is announced before it is there', async () => {
    const { chain, seen, announce } = await setUp()
    chain.mine()
    const { length } = chain.calls
    chain.answers.set('eth_getBlockByNumber', () => null)
    await announce()
    await expect.poll(() => chain.calls.length).toBeGreaterThan(length + 4)
    expect(seen).toEqual([])
    chain.answers.delete('eth_getBlockByNumber')
    await expect.poll(() => seen).toEqual(logsFrom(chain, 6))
  })

  it('take two calls a block', async () => {
    const { chain, asked, announce } = await setUp()
    chain.mine()
    await announce()
    const before = asked().length
    chain.mine()
    await announce()
    expect(asked().slice(before)).toEqual(['eth_getBlockByNumber', 'eth_getLogs'])
  })

  it('take three calls for two blocks, and a batch for the first ones below the start', async () => {
    const { chain, asked, announce } = await setUp()
    expect(asked()).toEqual(Array.from({ length: 5 }, () => 'eth_getBlockByNumber'))
    chain.mine(2)
    await announce()
    expect(asked().slice(5)).toEqual(['eth_getBlockByNumber', 'eth_getBlockByNumber', 'eth_getLogs'])
  })

  it('of a block that the node does not have yet come with the next one', async () => {
    const { chain, seen, announce } = await setUp()
    await announce(6)
    expect(seen).toEqual([])
    chain.mine(2)
    await announce(7)
    expect(seen).toEqual(logsFrom(chain, 6))
  })

  it('do not include those from before the subscription, where a block is announced late', async () => {
    const { chain, seen, announce } = await setUp()
    await announce(3)
    chain.mine()
    await announce()
    expect(seen).toEqual(logsFrom(chain, 6))
  })

  it('come from the first block that was announced, where the head at the start is answered late', async () => {
    holdTime()
    const { chain, subscriber, seen, announce } = await make()
    chain.mine(2)
    chain.answers.set('eth_getBlockByNumber', ([tag]) => {
      if (tag === 'latest') vi.advanceTimersByTime(500)
      return (tag === 'latest' ? chain.blocks.at(-1) : chain.blocks[Number(tag)])?.raw
    })
    subscriber.start()
    announce(6)
    announce(7)
    await eventually(() => expect(seen).toEqual(logsFrom(chain, 6)))
  })

  it('do not include those from before the subscription, where the head at the start has no number', async () => {
    const { chain, provider, subscriber, seen, announce } = await make()
    const { raw } = chain.blocks.at(-1) ?? {}
    chain.answers.set('eth_getBlockByNumber', () => ({ ...raw, number: null }))
    subscriber.start()
    await chain.server.received(1)
    await provider.send('eth_chainId', [])
    chain.answers.delete('eth_getBlockByNumber')
    chain.mine()
    announce(6)
    await eventually(() => expect(seen).toContain(logsFrom(chain, 6)[0]))
    expect(seen).toEqual(logsFrom(chain, 6))
  })

  it('that the node has later than the block come with the next one, from the last 60 blocks', async () => {
    const { chain, seen, announce } = await setUp()
    chain.answers.set('eth_getLogs', () => [])
    chain.mine(100)
    await announce()
    chain.answers.delete('eth_getLogs')
    chain.mine()
    await announce()
    expect(seen).toEqual(logsFrom(chain, 46))
  })

  it.each([
    { which: 'that was announced', isAnnounced: true, blocks: 1 },
    { which: 'that was not announced', isAnnounced: false, blocks: 2 },
  ])('of a block $which, and that another backend has not replaced yet, come with the next one', async ({ isAnnounced, blocks }) => {
    const { chain, seen, announce } = await setUp()
    chain.mine()
    if (isAnnounced) await announce()
    const old = chain.blocks[6]?.logs
    chain.reorganise(1, blocks)
    chain.answers.set('eth_getLogs', () => old)
    await announce()
    chain.answers.delete('eth_getLogs')
    chain.mine()
    await announce()
    expect(seen.slice(isAnnounced ? 1 : 0)).toEqual(logsFrom(chain, 6))
  })

  it('are asked for in halves, where the node takes no long range', async () => {
    const { chain, seen, announce } = await setUp()
    chain.limits.logRange = 10
    chain.mine(50)
    await announce()
    expect(seen).toEqual(logsFrom(chain, 6))
  })

  it('that could not be fetched come with the next block, and the failure is reported', async () => {
    const { chain, provider, seen, announce } = await setUp()
    chain.answers.set('eth_getBlockByNumber', () => ({ number: 'none' }))
    chain.mine()
    await announce()
    expect(provider.emitted).toEqual([['error', expect.objectContaining({ code: 'BAD_DATA' })]])
    chain.answers.delete('eth_getBlockByNumber')
    chain.mine()
    await announce()
    expect(seen).toEqual(logsFrom(chain, 6))
  })
})

describe('logs of blocks that replace others', () => {
  it.each([1, 2, 5, 30, 200])('come at a depth of %d, and no log comes twice', async (depth) => {
    const { chain, seen, announce } = await setUp()
    for (let i = 0; i < depth + 3; i++) {
      chain.mine()
      await announce()
    }
    const before = logsFrom(chain, 6)
    chain.reorganise(depth, depth + 2)
    await announce()
    expect(seen).toEqual([...before, ...logsFrom(chain, 6).filter((log) => !before.includes(log))])
    expect(seen).toHaveLength(2 * depth + 5)
  })

  it('come where the second of two reorganisations reaches below the blocks that are known by then', async () => {
    const { chain, seen, announce } = await setUp()
    chain.mine(3)
    await announce()
    chain.reorganise(6, 9)
    await announce()
    const before = [...seen]
    chain.reorganise(3, 4)
    await announce()
    expect(seen).toEqual([...before, ...logsFrom(chain, 9)])
  })

  it('come where another backend has not replaced all of them yet', async () => {
    const { chain, seen, announce } = await setUp()
    for (let i = 0; i < 4; i++) {
      chain.mine()
      await announce()
    }
    const before = [...seen]
    const old = chain.blocks[8]?.raw
    chain.reorganise(3, 4)
    let looks = 0
    chain.answers.set('eth_getBlockByNumber', ([tag]) => {
      if (tag === '0x8' && ++looks === 1) return old
      return (tag === 'latest' ? chain.blocks.at(-1) : chain.blocks[Number(tag)])?.raw ?? null
    })
    await announce()
    chain.mine()
    await announce()
    expect(seen).toEqual([...before, ...logsFrom(chain, 7)])
  })

  it.each([2, 5])('come where the chain changed %d blocks below the start of the subscription', async (depth) => {
    const { chain, seen, announce } = await setUp()
    chain.reorganise(depth, depth + 1)
    await announce()
    expect(seen).toEqual(logsFrom(chain, 6 - depth))
  })

  it('come where the chain is begun anew after a start at its first block, below which no block is requested', async () => {
    const { chain, subscriber, seen, announce } = await make()
    chain.reorganise(5, 0)
    const tags: unknown[] = []
    chain.answers.set('eth_getBlockByNumber', ([tag]) => {
      tags.push(tag)
      return (tag === 'latest' ? chain.blocks.at(-1) : chain.blocks[Number(tag)])?.raw ?? null
    })
    subscriber.start()
    await expect.poll(() => tags).toEqual(['latest'])
    chain.reorganise(1, 2)
    announce(1)
    await expect.poll(() => seen).toEqual(logsFrom(chain, 0))
    expect(new Set(tags)).toEqual(new Set(['latest', '0x1', '0x0']))
  })

  it('come where that happened later, and the blocks below the start could not be requested at first', async () => {
    const { chain, subscriber, seen, announce, settled } = await setUp()
    subscriber.pause(true)
    chain.answers.set('eth_getBlockByNumber', ([tag]) => (tag === 'latest' ? chain.blocks.at(-1)?.raw : { number: 'none' }))
    subscriber.resume()
    await settled()
    chain.answers.delete('eth_getBlockByNumber')
    chain.mine()
    await announce()
    const before = [...seen]
    chain.reorganise(5, 6)
    await announce()
    expect(before).toHaveLength(1)
    expect(seen).toEqual([...before, ...logsFrom(chain, 2)])
  })

  it.each([
    { which: 'some blocks below the start', depth: 3 },
    { which: 'all known blocks', depth: 6 },
  ])('come where $which were replaced, and another backend, which has not done so, has logs from before the subscription', async ({ depth }) => {
    const { chain, seen, announce } = await setUp()
    const old = chain.blocks.slice(6 - depth).flatMap(({ logs }) => logs)
    chain.reorganise(depth, depth + 1)
    chain.answers.set('eth_getLogs', () => old)
    await announce()
    chain.answers.delete('eth_getLogs')
    chain.mine()
    await announce()
    expect(seen).toEqual(logsFrom(chain, 6 - depth))
  })

  it('come where that happened, and the node had not answered at the start', async () => {
    const { chain, subscriber, seen, announce, settled } = await setUp()
    subscriber.pause(true)
    chain.answers.set('eth_getBlockByNumber', () => ({ number: 'none' }))
    subscriber.resume()
    await settled()
    chain.answers.delete('eth_getBlockByNumber')
    chain.mine()
    await announce()
    const before = [...seen]
    chain.reorganise(5, 6)
    await announce()
    expect(before).toHaveLength(1)
    expect(seen).toEqual([...before, ...logsFrom(chain, 2)])
  })

  it('are not those of blocks that one of several backends has below those of another at the start', async () => {
    const { chain, subscriber, seen, announce, settled } = await setUp()
    subscriber.pause(true)
    chain.answers.set('eth_getBlockByNumber', ([tag]) => {
      const { raw } = chain.blocks[tag === 'latest' ? chain.blocks.length - 1 : Number(tag)] ?? {}
      return tag === 'latest' ? raw : { ...raw, hash: `0x${'0b'.repeat(32)}` }
    })
    subscriber.resume()
    await settled()
    chain.answers.delete('eth_getBlockByNumber')
    chain.mine()
    await announce()
    expect(seen).toEqual(logsFrom(chain, 6))
  })

  it.each([
    { which: 'the next block', blocks: 1 },
    { which: 'several blocks', blocks: 3 },
  ])('come with $which, where another backend says that the last block is not replaced', async ({ blocks }) => {
    const { chain, seen, announce } = await setUp()
    chain.mine()
    await announce()
    const before = [...seen]
    const old = chain.blocks[6]?.raw
    chain.reorganise(2, 2 + blocks)
    let looks = 0
    chain.answers.set('eth_getBlockByNumber', ([tag]) => (tag === '0x6' && ++looks === 1 ? old : (chain.blocks[Number(tag)]?.raw ?? null)))
    await announce()
    await expect.poll(() => seen).toEqual([...before, ...logsFrom(chain, 5)])
  })

  it('come where several blocks were missed, and another backend has the logs of those that were replaced', async () => {
    const { chain, seen, announce } = await setUp()
    chain.mine()
    const old = chain.blocks[6]?.logs
    chain.reorganise(1, 12)
    chain.answers.set('eth_getLogs', () => old)
    await announce()
    chain.answers.delete('eth_getLogs')
    chain.mine()
    await announce()
    expect(seen.slice(1)).toEqual(logsFrom(chain, 6))
  })

  it('come where the next block follows another one than the last', async () => {
    const { chain, seen, announce } = await setUp()
    chain.mine()
    await announce()
    const before = [...seen]
    chain.reorganise(1, 2)
    await announce()
    expect(seen).toEqual([...before, ...logsFrom(chain, 6)])
  })

  it('come where the chain became shorter, and grew again', async () => {
    const { chain, seen, announce } = await setUp()
    chain.mine(6)
    await announce()
    const before = [...seen]
    chain.reorganise(4, 1)
    await announce()
    chain.mine(1)
    await announce()
    expect(seen).toEqual([...before, ...logsFrom(chain, 8)])
  })

  it('come where the logs were those of the replaced blocks, while the block was not', async () => {
    const { chain, seen, announce } = await setUp()
    chain.mine(2)
    // Between the block and its logs.
    chain.answers.set('eth_getLogs', () => {
      chain.answers.delete('eth_getLogs')
      chain.reorganise(2, 2)
      return []
    })
    await announce()
    chain.mine()
    await announce()
    expect(seen).toEqual(logsFrom(chain, 6))
  })
})

describe('a pause', () => {
  it('holds the logs back until it ends', async () => {
    const { chain, subscriber, seen, announce, settled } = await setUp()
    chain.mine()
    await announce()
    subscriber.pause()
    chain.mine(2)
    await announce()
    expect(seen).toHaveLength(1)
    subscriber.resume()
    await settled()
    expect(seen).toEqual(logsFrom(chain, 6))
  })

  it('drops them, where it is asked to', async () => {
    const { chain, subscriber, seen, announce, settled } = await setUp()
    chain.mine()
    await announce()
    subscriber.pause(true)
    chain.mine(2)
    subscriber.resume()
    await settled()
    chain.mine()
    await announce()
    expect(seen).toEqual([logsFrom(chain, 6)[0], logsFrom(chain, 9)[0]])
  })

  it('that begins while replaced blocks are looked for loses no logs of those in their place', async () => {
    const { chain, subscriber, seen, announce, settled } = await setUp()
    for (let i = 0; i < 2; i++) {
      chain.mine()
      await announce()
    }
    const before = [...seen]
    chain.reorganise(1, 2)
    chain.answers.set('eth_getBlockByNumber', ([tag]) => {
      if (tag === '0x6') subscriber.pause()
      return chain.blocks[Number(tag)]?.raw ?? null
    })
    await announce()
    chain.answers.delete('eth_getBlockByNumber')
    subscriber.resume()
    await settled()
    expect(seen).toEqual([...before, ...logsFrom(chain, 7)])
  })
})
