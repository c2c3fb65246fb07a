import { describe, expect, it } from 'vitest'
import { FilterSubscriber } from '../../../adapters/ethers/filter-subscriber.ts'
import { node } from '../../support/node.ts'
import { RecordingProvider } from '../../support/recording-provider.ts'
import { type Entry, failed, serve } from '../../support/server.ts'

/**
 * A node with filters for pending transactions, and a provider whose block events the test makes.
 */
async function setUp() {
  const filters = new Map<unknown, string[]>()
  const asked: string[] = []
  const awaited: { count: number; resolve: () => void }[] = []
  /** Resolves once the node has been asked this many times in all. */
  const asks = (count: number) => new Promise<void>((resolve) => (asked.length >= count ? resolve() : awaited.push({ count, resolve })))
  let wrong: ((entry: Entry) => object | undefined) | undefined
  let made = 0
  const results: Record<string, (id: unknown) => unknown> = {
    eth_newPendingTransactionFilter: () => {
      const id = `0x${++made}`
      filters.set(id, [])
      return id
    },
    eth_uninstallFilter: (id) => filters.delete(id),
    eth_getFilterChanges: (id) => filters.get(id)?.splice(0),
  }
  const server = await serve(
    node({
      answer(entry) {
        const { id, method, params } = entry
        const result = results[method]
        if (result === undefined) return undefined
        asked.push(method.slice('eth_'.length))
        for (const { count, resolve } of awaited) if (count === asked.length) setImmediate(resolve)
        const fault = wrong?.(entry)
        if (fault !== undefined) return fault
        if (method === 'eth_getFilterChanges' && !filters.has(params[0])) return failed(entry, -32000, 'filter not found')
        return { jsonrpc: '2.0', id, result: result(params[0]) }
      },
    }),
  )
  const provider = new RecordingProvider(server.url)
  let announce = (_: number) => {}
  provider.on = async (_, listener) => {
    announce = listener
    return provider
  }
  provider.off = async () => provider
  const subscriber = FilterSubscriber.ofPending(provider)
  return {
    ...{ filters, asked, asks, provider, subscriber },
    announce: (block: number) => announce(block),
    goesWrong(fault: typeof wrong) {
      wrong = fault
    },
  }
}

describe('a filter subscriber', () => {
  it('emits the changes of its filter at each block', async () => {
    const { filters, provider, subscriber, announce, asks } = await setUp()
    subscriber.start()
    await asks(2)
    filters.get('0x1')?.push('0xa', '0xb')
    announce(101)
    await provider.hasEmitted(2)
    filters.get('0x1')?.push('0xc')
    announce(102)
    await provider.hasEmitted(3)
    expect(provider.emitted).toEqual(['0xa', '0xb', '0xc'].map((hash) => ['pending', hash]))
    expect(filters.size).toBe(1)
  })

  it('uninstalls its filter when it is stopped', async () => {
    const { filters, asked, subscriber, asks } = await setUp()
    subscriber.start()
    await asks(2)
    subscriber.stop()
    await asks(3)
    expect(asked.at(-1)).toBe('uninstallFilter')
    expect(filters.size).toBe(0)
  })

  it('keeps its filter during a pause, and emits the changes after it', async () => {
    const { filters, provider, subscriber, asks, asked } = await setUp()
    subscriber.start()
    await asks(2)
    subscriber.pause()
    filters.get('0x1')?.push('0xa')
    subscriber.resume()
    await provider.hasEmitted(1)
    expect(provider.emitted).toEqual([['pending', '0xa']])
    expect(asked.filter((method) => method !== 'getFilterChanges')).toEqual(['newPendingTransactionFilter'])
  })

  it('reports that the node has dropped its filter, and installs a new one at the next block', async () => {
    const { filters, provider, subscriber, announce, asks } = await setUp()
    subscriber.start()
    await asks(2)
    filters.clear()
    announce(101)
    await provider.hasEmitted(1)
    expect(provider.emitted).toEqual([['error', expect.objectContaining({ error: expect.objectContaining({ message: 'filter not found' }) })]])
    announce(102)
    await asks(5)
    filters.get('0x2')?.push('0xa')
    announce(103)
    await provider.hasEmitted(2)
    expect(provider.emitted[1]).toEqual(['pending', '0xa'])
  })

  it('keeps its filter if a poll fails for another reason', async () => {
    const { filters, provider, subscriber, announce, asks, goesWrong } = await setUp()
    subscriber.start()
    await asks(2)
    goesWrong((entry) => failed(entry, -32000, 'no'))
    announce(101)
    await provider.hasEmitted(1)
    goesWrong(undefined)
    filters.get('0x1')?.push('0xa')
    announce(102)
    await provider.hasEmitted(2)
    expect(provider.emitted[1]).toEqual(['pending', '0xa'])
  })

  it('says nothing when the provider is destroyed during a poll', async () => {
    const { provider, subscriber, asks, goesWrong } = await setUp()
    goesWrong((entry) => {
      provider.destroy()
      return failed(entry, -32000, 'no')
    })
    subscriber.start()
    await asks(1)
    await expect(provider.getBlockNumber()).rejects.toThrow('provider destroyed')
    expect(provider.emitted).toEqual([])
  })
})
