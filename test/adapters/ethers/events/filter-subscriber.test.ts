import type { HexlineProviderOptions } from 'hexline/ethers'
import { describe, expect, it } from 'vitest'
import { FilterSubscriber } from '../../../../adapters/ethers/events/filter-subscriber.ts'
import { eventually } from '../../../support/eventually.ts'
import { node } from '../../../support/node.ts'
import { RecordingProvider } from '../../../support/recording-provider.ts'
import { type Entry, failed, serve } from '../../../support/server.ts'

/**
 * A node with filters for pending transactions, and a provider whose block events the test makes.
 */
async function setUp(options: HexlineProviderOptions = {}) {
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
  const provider = new RecordingProvider(server.url, options)
  const announce = provider.blocksByHand()
  const subscriber = FilterSubscriber.ofPending(provider)
  return {
    ...{ filters, asked, asks, provider, subscriber },
    announce,
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

  it.each([
    [-32000, 'no'],
    [-32005, 'rate limit exceeded for eth_getFilterChanges'],
    [-32000, 'internal error in eth_getFilterChanges'],
  ])('keeps its filter if a poll fails for another reason: %i %s', async (code, message) => {
    const { filters, provider, subscriber, announce, asks, goesWrong } = await setUp({ retry: { attempts: 2, baseDelayMs: 1 } })
    subscriber.start()
    await asks(2)
    goesWrong((entry) => failed(entry, code, message))
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

/**
 * A node with a filter for logs, which these blocks have, and a subscriber whose block events the
 * test makes.
 */
async function setUpLogs(withLogs: readonly number[], { hasFilters = true } = {}) {
  const address = `0x${'ee'.repeat(20)}`
  const word = (number: number) => `0x${number.toString(16).padStart(64, '0')}`
  const logAt = (number: number) => ({
    ...{ address, topics: [], data: '0x', blockNumber: `0x${number.toString(16)}`, removed: false },
    blockHash: word(number < chain.replacedFrom ? number : 5000 + number),
    ...{ transactionHash: word(1000 + number), transactionIndex: '0x0', logIndex: '0x0' },
  })
  const logsOf = (from: number, to: number) => withLogs.filter((number) => from <= number && number <= to).map(logAt)
  const chain = {
    head: 101,
    /** The block from which the filter tells of logs; undefined without a filter. */
    next: undefined as number | undefined,
    /** How often the filter has been polled, and the node has answered. */
    polled: 0,
    /** No filter is known when it is polled. */
    isLost: false,
    /** The node makes filters. */
    hasFilters,
    /** What it says of one that it cannot make or read. */
    refusal: 'filter not found',
    /** The last block of the node that is asked for the head and for logs. */
    lastOfOther: Number.POSITIVE_INFINITY,
    /** Logs that the filter will say were removed. */
    removed: [] as object[],
    /** The blocks from here on have been replaced. */
    replacedFrom: Number.POSITIVE_INFINITY,
  }
  const answers: Record<string, (params: readonly unknown[]) => unknown> = {
    eth_blockNumber: () => `0x${Math.min(chain.head, chain.lastOfOther).toString(16)}`,
    eth_newFilter() {
      if (!chain.hasFilters) return undefined
      chain.next = chain.head + 1
      return '0x1'
    },
    eth_getFilterChanges() {
      const { next, head } = chain
      chain.polled++
      if (next === undefined || chain.isLost) return undefined
      chain.next = head + 1
      return [...chain.removed.splice(0), ...logsOf(next, head)]
    },
    eth_getLogs([range]) {
      const { fromBlock, toBlock } = range as { fromBlock: string; toBlock: string }
      return logsOf(Number(fromBlock), Math.min(Number(toBlock), chain.lastOfOther))
    },
  }
  const server = await serve(
    node({
      answer(entry) {
        const answer = answers[entry.method]
        if (answer === undefined) return undefined
        const result = answer(entry.params)
        return result === undefined ? failed(entry, -32000, chain.refusal) : { jsonrpc: '2.0', id: entry.id, result }
      },
    }),
  )
  const provider = new RecordingProvider(server.url)
  const announce = provider.blocksByHand()
  /** Resolves once the filter has been polled this many times in all. */
  const polls = (count: number) => eventually(() => expect(chain.polled).toBeGreaterThanOrEqual(count))
  /** The blocks of the logs that were emitted; all else was an error. */
  const emitted = () => provider.emitted.filter(([event]) => event !== 'error').map(([, log]) => Number((log as { readonly blockNumber: number }).blockNumber))
  const subscriber = FilterSubscriber.ofEvent(provider, { address })
  subscriber.start()
  if (hasFilters) await polls(1)
  else await provider.hasEmitted(1)
  return { chain, provider, subscriber, announce, polls, emitted, logAt }
}

it.each([
  { when: 'after its first block event', isPolled: true },
  { when: 'before its first block event', isPolled: false },
])('loses no log, and emits none twice, when the node drops the filter $when, and mines blocks before the new one', async ({ isPolled }) => {
  const { chain, provider, announce, polls, emitted } = await setUpLogs([102, 104, 105])
  if (isPolled) announce(101)
  const before = isPolled ? 2 : 1
  await polls(before)
  chain.next = undefined
  chain.head = 102
  announce(102)
  await provider.hasEmitted(1)
  // Two more are mined before the new filter is made.
  chain.head = 104
  announce(103)
  await polls(before + 2)
  chain.head = 105
  announce(104)
  announce(105)
  await provider.hasEmitted(4)
  // What it emitted before would come again with one of these polls.
  const far = chain.polled
  announce(106)
  await polls(far + 1)
  expect(provider.emitted[0]?.[0]).toBe('error')
  expect(emitted()).toEqual([102, 104, 105])
})

it('loses no log when the node comes back with a shorter chain, and without the filter', async () => {
  const { chain, provider, announce, emitted } = await setUpLogs([2, 3])
  chain.next = undefined
  chain.head = 2
  announce(2)
  await provider.hasEmitted(1)
  chain.head = 3
  announce(3)
  await provider.hasEmitted(3)
  expect(emitted()).toEqual([2, 3])
})

it('emits no log twice when the node drops the filter after it has given logs of blocks that were not announced', async () => {
  const { chain, provider, announce, polls, emitted } = await setUpLogs([102, 103, 104])
  // The filter is read when there are two more blocks than announced.
  chain.head = 103
  announce(101)
  await polls(2)
  chain.next = undefined
  announce(102)
  await provider.hasEmitted(3)
  chain.head = 104
  announce(103)
  await provider.hasEmitted(4)
  const far = chain.polled
  announce(104)
  await polls(far + 1)
  expect(emitted()).toEqual([102, 103, 104])
})

it('emits each log once where each filter is lost before it is read, as behind a load balancer', async () => {
  const { chain, announce, polls, emitted } = await setUpLogs([102, 103, 105, 106])
  for (let block = 102; block <= 108; block++) {
    chain.next = undefined
    chain.isLost = true
    // One more is mined than announced.
    chain.head = Math.min(block + 1, 108)
    const far = chain.polled
    announce(block)
    await polls(far + 1)
  }
  await eventually(() => expect(emitted()).toEqual([102, 103, 105, 106]))
})

it('loses no log where the first filter could not be made', async () => {
  const { chain, provider, announce, emitted } = await setUpLogs([102, 103, 104], { hasFilters: false })
  chain.head = 102
  announce(102)
  await provider.hasEmitted(2)
  chain.hasFilters = true
  chain.head = 103
  announce(103)
  await eventually(() => expect(emitted()).toEqual([102, 103]))
  chain.head = 104
  announce(104)
  await eventually(() => expect(emitted()).toEqual([102, 103, 104]))
})

it('loses no log of several blocks where the first filter could not be made', async () => {
  const { chain, provider, announce, emitted } = await setUpLogs([102, 103, 104], { hasFilters: false })
  chain.head = 103
  announce(102)
  announce(103)
  await provider.hasEmitted(2)
  chain.hasFilters = true
  chain.head = 104
  announce(104)
  await eventually(() => expect(emitted()).toEqual([102, 103, 104]))
})

it('emits no log twice where a poll fails, and the next one comes with the end of a pause', async () => {
  const { chain, provider, subscriber, announce, polls, emitted } = await setUpLogs([102, 103])
  chain.isLost = true
  chain.refusal = 'internal error'
  chain.head = 102
  announce(102)
  await provider.hasEmitted(1)
  chain.isLost = false
  subscriber.pause()
  subscriber.resume()
  await polls(3)
  chain.head = 103
  announce(103)
  await polls(4)
  announce(104)
  await polls(5)
  expect(emitted()).toEqual([102, 103])
})

it('loses no log of blocks that are replaced while the node has dropped the filter', async () => {
  const { chain, provider, announce, polls, emitted } = await setUpLogs([101, 102, 103, 104, 105])
  chain.head = 103
  announce(103)
  await polls(2)
  chain.next = undefined
  chain.replacedFrom = 102
  chain.head = 104
  announce(104)
  await provider.hasEmitted(3)
  chain.head = 105
  announce(105)
  await eventually(() => expect(emitted()).toEqual([102, 103, 102, 103, 104, 105]))
})

it('emits no log twice where a filter tells late of logs that were requested in place of lost ones', async () => {
  const { chain, provider, announce, polls, emitted } = await setUpLogs([102, 103, 106])
  chain.next = undefined
  chain.head = 102
  announce(102)
  await provider.hasEmitted(1)
  chain.head = 104
  announce(104)
  await eventually(() => expect(emitted()).toEqual([102, 103]))
  const far = chain.polled
  announce(105)
  await polls(far + 1)
  // The node of the filter was behind.
  chain.next = 102
  chain.head = 106
  announce(106)
  await eventually(() => expect(emitted()).toContain(106))
  expect(emitted()).toEqual([102, 103, 106])
})

it('loses no log where the node that is asked for those of a lost filter is behind the one that has the new filter', async () => {
  const { chain, provider, announce, emitted } = await setUpLogs([102, 103, 104])
  chain.next = undefined
  chain.head = 102
  announce(102)
  await provider.hasEmitted(1)
  chain.head = 103
  chain.lastOfOther = 102
  announce(103)
  await eventually(() => expect(emitted()).toEqual([102]))
  chain.head = 104
  chain.lastOfOther = 104
  announce(104)
  await eventually(() => expect(emitted()).toEqual([102, 103, 104]))
})

it('emits no log twice that the filter has said was removed, where a node that is behind still has it', async () => {
  const { chain, provider, announce, polls, emitted, logAt } = await setUpLogs([102])
  chain.head = 102
  announce(102)
  await provider.hasEmitted(1)
  chain.isLost = true
  chain.refusal = 'internal error'
  announce(103)
  await provider.hasEmitted(2)
  chain.isLost = false
  chain.removed.push({ ...logAt(102), removed: true })
  announce(104)
  await provider.hasEmitted(3)
  for (const block of [105, 106]) {
    const far = chain.polled
    announce(block)
    await polls(far + 1)
  }
  expect(emitted()).toEqual([102, 102])
})

it.each([0, 2])('emits no log from before the subscription where a poll fails at the end of a pause, at a node that is %d blocks behind', async (behind) => {
  const { chain, provider, subscriber, announce, polls, emitted } = await setUpLogs([99, 100, 101, 102])
  chain.lastOfOther = 101 - behind
  chain.isLost = true
  chain.refusal = 'internal error'
  subscriber.pause()
  subscriber.resume()
  await provider.hasEmitted(1)
  chain.isLost = false
  subscriber.pause()
  subscriber.resume()
  await polls(3)
  chain.head = 102
  chain.lastOfOther = 102
  announce(102)
  await eventually(() => expect(emitted()).toContain(102))
  expect(emitted()).toEqual([102])
})

it('emits no log from before the subscription where a pause ends at a node that is behind, and then the filter is lost', async () => {
  const { chain, provider, subscriber, announce, polls, emitted } = await setUpLogs([99, 100, 101, 102, 103])
  chain.lastOfOther = 99
  subscriber.pause()
  subscriber.resume()
  await polls(2)
  chain.next = undefined
  chain.head = 102
  chain.lastOfOther = 102
  announce(102)
  await provider.hasEmitted(1)
  chain.head = 103
  chain.lastOfOther = 103
  announce(103)
  await eventually(() => expect(emitted()).toContain(103))
  expect(emitted()).toEqual([102, 103])
})
