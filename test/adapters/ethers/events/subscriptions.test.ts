import { setImmediate as turn } from 'node:timers/promises'
import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { type Entry, send, serve } from '../../../support/server.ts'

const topic = `0x${'7'.repeat(64)}`
const hex = (value: number) => `0x${value.toString(16)}`
const hashOf = (block: number) => `0x${block.toString(16).padStart(64, '0')}`
const logOf = (block: number) => ({
  ...{ address: `0x${'11'.repeat(20)}`, topics: [topic], data: '0x', blockNumber: hex(block), blockHash: hashOf(block) },
  ...{ transactionHash: hashOf(block), transactionIndex: '0x0', logIndex: '0x0', removed: false },
})

const receiptOf = (hash: string, block: number) => ({
  ...{ transactionHash: hash, transactionIndex: '0x0', blockNumber: hex(block), blockHash: hashOf(block), from: `0x${'11'.repeat(20)}`, to: null },
  ...{ contractAddress: null, gasUsed: '0x1', cumulativeGasUsed: '0x1', effectiveGasPrice: '0x1', status: '0x1', type: '0x0', logs: [], logsBloom: '0x' },
})

/** The timeout only bounds a failing test. */

type Fault = (entry: Entry) => { error: { code: number; message: string } } | { status: number } | undefined

/** A node with filters, one log in each block, and faults as the test sets them. */
async function startNode(options: HexlineProviderOptions = {}) {
  const node = {
    head: 1,
    filters: new Map<string, number>(),
    asked: [] as string[],
    fault: (() => undefined) as Fault,
    /** Awaited before a call is answered. */
    gate: (() => undefined) as (entry: Entry) => Promise<void> | undefined,
    /** Awaited after the answer is computed and before it is sent. */
    hold: (() => undefined) as (entry: Entry) => Promise<void> | undefined,
    receipts: new Set<string>(),
  }
  let nextFilter = 1
  const logs = (from: number, to: number) => Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => logOf(from + i))
  const results: Record<string, (params: readonly unknown[]) => unknown> = {
    eth_chainId: () => '0x1',
    eth_blockNumber: () => hex(node.head),
    eth_newFilter: () => {
      const id = hex(nextFilter++)
      node.filters.set(id, node.head)
      return id
    },
    eth_uninstallFilter: ([id]) => node.filters.delete(id as string),
    eth_getFilterChanges: ([id]) => {
      const from = node.filters.get(id as string)
      if (from === undefined) throw { code: -32000, message: 'filter not found' }
      node.filters.set(id as string, node.head)
      return logs(from + 1, node.head)
    },
    eth_getLogs: ([filter]) => logs(Number((filter as { fromBlock: string }).fromBlock), Number((filter as { toBlock: string }).toBlock)),
    eth_getBlockByNumber: () => null,
    eth_getTransactionReceipt: ([hash]) => (node.receipts.has(hash as string) ? receiptOf(hash as string, node.head) : null),
  }
  const server = await serve(async (request, response) => {
    let status = 200
    const replies = []
    for (const entry of request.entries) {
      const { id, method, params } = entry
      node.asked.push(method)
      await node.gate(entry)
      const fault = node.fault(entry)
      if (fault !== undefined && 'status' in fault) status = fault.status
      else if (fault !== undefined) replies.push({ id, ...fault })
      else {
        try {
          replies.push({ id, result: results[method]?.(params) ?? null })
        } catch (error) {
          replies.push({ id, error })
        }
      }
      await node.hold(entry)
    }
    if (status === 200) send(response, JSON.stringify(request.isBatch ? replies : replies[0]))
    else send(response, 'no', { status })
  })
  const provider = new HexlineProvider(server.url, 1, {
    staticNetwork: true,
    cacheTimeout: -1,
    pollingInterval: 5,
    retry: { baseDelayMs: 1, maxDelayMs: 2 },
    ...options,
  })
  onTestFinished(() => provider.destroy())
  const got: number[] = []
  const errors: unknown[] = []
  const listener = (log: { blockNumber: number }) => void got.push(log.blockNumber)
  await provider.on('error', (error) => errors.push(error))
  return {
    node,
    server,
    provider,
    got,
    errors,
    listener,
    listen: () => provider.on({ topics: [topic] }, listener),
    count: (method: string) => node.asked.filter((each) => each === method).length,
    /** Mines a block, and waits until its log is out, or the node was asked for changes. */
    async mine() {
      const asked = node.asked.length
      node.head++
      await eventually(() => expect(node.asked.slice(asked).some((method) => method === 'eth_getFilterChanges' || method === 'eth_getLogs')).toBe(true))
      await turn()
    },
  }
}

type Node = Awaited<ReturnType<typeof startNode>>

/** Listens, and waits until the filter has been asked for the first time. */
async function listening(bed: Node) {
  await bed.listen()
  await eventually(() => expect(bed.count('eth_getFilterChanges')).toBe(1))
  await eventually(() => expect(bed.count('eth_blockNumber')).toBeGreaterThan(1))
}

describe('events by a filter', () => {
  it('are not lost when one poll fails: the filter and its contents remain', async () => {
    const bed = await startNode()
    await listening(bed)
    await bed.mine()
    bed.node.fault = ({ method }) => (method === 'eth_getFilterChanges' ? { status: 502 } : undefined)
    await bed.mine()
    await eventually(() => expect(bed.errors.length).toBeGreaterThan(0))
    bed.node.fault = () => undefined
    await bed.mine()
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2, 3, 4, 5]))
    expect(bed.count('eth_newFilter')).toBe(1)
    expect(bed.node.filters.size).toBe(1)
  })

  it('are not lost when the reply to a poll is lost, and with it what the filter had', async () => {
    const bed = await startNode()
    await listening(bed)
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2]))
    bed.node.hold = async ({ method }) => {
      if (method !== 'eth_getFilterChanges') return
      bed.node.hold = () => undefined
      for (const socket of bed.server.sockets) socket.destroy()
    }
    await bed.mine()
    await eventually(() => expect(bed.errors).toHaveLength(1))
    await bed.mine()
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2, 3, 4, 5]))
    expect(bed.count('eth_newFilter')).toBe(1)
  })

  it('are not lost when the node drops the filter: a new one is made, and the logs in between are requested', async () => {
    const bed = await startNode()
    await listening(bed)
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2]))
    bed.node.filters.clear()
    await bed.mine()
    await eventually(() => expect(bed.errors).toHaveLength(1))
    await bed.mine()
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2, 3, 4, 5]))
    expect(bed.count('eth_newFilter')).toBe(2)
  })

  it('are not lost if the request for those in between fails, too', async () => {
    const bed = await startNode()
    await listening(bed)
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2]))
    bed.node.filters.clear()
    bed.node.fault = ({ method }) => (method === 'eth_getLogs' ? { error: { code: -32602, message: 'no' } } : undefined)
    await bed.mine()
    await bed.mine()
    await eventually(() => expect(bed.errors).toHaveLength(2))
    bed.node.fault = () => undefined
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2, 3, 4, 5]))
  })

  it('that arrive during a pause are emitted once each after it, with one request per block', async () => {
    const bed = await startNode()
    await listening(bed)
    let open = () => {}
    bed.node.gate = ({ method }) => (method === 'eth_getFilterChanges' ? new Promise<void>((resolve) => (open = resolve)) : undefined)
    await bed.mine()
    bed.provider.pause()
    bed.provider.resume()
    bed.provider.pause()
    bed.node.gate = () => undefined
    open()
    await turn()
    bed.provider.resume()
    await eventually(() => expect(bed.got).toEqual([2]))
    const before = bed.count('eth_getFilterChanges')
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2, 3]))
    expect(bed.count('eth_getFilterChanges')).toBe(before + 1)
  })

  it('dropped during a pause are not emitted, and the old filter is uninstalled', async () => {
    const bed = await startNode()
    await listening(bed)
    bed.provider.pause(true)
    await eventually(() => expect(bed.node.filters.size).toBe(0))
    bed.node.head += 3
    bed.provider.resume()
    await eventually(() => expect(bed.count('eth_getFilterChanges')).toBe(2))
    await eventually(() => expect(bed.node.filters.size).toBe(1))
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([5]))
    expect(bed.errors).toEqual([])
  })

  it('that end before the first answer cause no error', async () => {
    const bed = await startNode()
    let open = () => {}
    bed.node.gate = ({ method }) => (method === 'eth_getFilterChanges' ? new Promise<void>((resolve) => (open = resolve)) : undefined)
    await bed.listen()
    await eventually(() => expect(bed.count('eth_getFilterChanges')).toBe(1))
    await bed.provider.off({ topics: [topic] }, bed.listener)
    open()
    await eventually(() => expect(bed.node.filters.size).toBe(0))
    await turn()
    expect(bed.errors).toEqual([])
  })

  it('are requested block by block if the node supports no filters, after one try', async () => {
    const bed = await startNode()
    bed.node.fault = ({ method }) => (method === 'eth_newFilter' ? { error: { code: -32601, message: 'the method eth_newFilter does not exist' } } : undefined)
    await bed.listen()
    await eventually(() => expect(bed.count('eth_blockNumber')).toBeGreaterThan(2))
    await bed.mine()
    await bed.mine()
    await eventually(() => expect(bed.got).toEqual([2, 3]))
    expect(bed.count('eth_newFilter')).toBe(1)
  })
})

describe('a block that arrives during a request is handled next, even if no other block follows', () => {
  const unknown = ({ method }: Entry) =>
    method === 'eth_newFilter' ? { error: { code: -32601, message: 'the method eth_newFilter does not exist' } } : undefined

  it.each<[string, HexlineProviderOptions, Fault, string]>([
    ['with polling', { polling: true }, () => undefined, 'eth_getLogs'],
    ['without filters', {}, unknown, 'eth_getLogs'],
    ['with a filter', {}, () => undefined, 'eth_getFilterChanges'],
  ])('for events, %s', async (_, options, fault, asking) => {
    const bed = await startNode(options)
    bed.node.fault = fault
    const blocks: number[] = []
    await bed.provider.on('block', (block) => blocks.push(block))
    await bed.listen()
    await eventually(() => expect(bed.count('eth_blockNumber')).toBeGreaterThan(2))
    if (asking === 'eth_getFilterChanges') await eventually(() => expect(bed.count(asking)).toBe(1))
    let open = () => {}
    bed.node.hold = ({ method }) => (method === asking ? new Promise<void>((resolve) => (open = resolve)) : undefined)
    await bed.mine()
    bed.node.hold = () => undefined
    bed.node.head++
    await eventually(() => expect(blocks).toEqual([2, 3]))
    open()
    await eventually(() => expect(bed.got).toEqual([2, 3]))
  })

  it('also without any other block listener, if the first answer is late', async () => {
    const bed = await startNode()
    let open = () => {}
    bed.node.hold = ({ method }) => (method === 'eth_getFilterChanges' ? new Promise<void>((resolve) => (open = resolve)) : undefined)
    await bed.listen()
    await eventually(() => expect(bed.count('eth_getFilterChanges')).toBe(1))
    await turn()
    bed.node.hold = () => undefined
    bed.node.head++
    open()
    await eventually(() => expect(bed.got).toEqual([2]))
  })

  it.each<[string, (provider: HexlineProvider, done: () => void) => unknown]>([
    ['for a transaction', (provider, done) => provider.on(hashOf(9), done)],
    ['for waitForTransaction', (provider, done) => provider.waitForTransaction(hashOf(9)).then(done)],
  ])('%s', async (_, wait) => {
    const bed = await startNode()
    bed.node.hold = async ({ method }) => {
      if (method !== 'eth_getTransactionReceipt') return
      bed.node.hold = () => undefined
      bed.node.receipts.add(hashOf(9))
      bed.node.head++
    }
    let isDone = false
    void wait(bed.provider, () => {
      isDone = true
    })
    await eventually(() => expect(isDone).toBe(true))
  })
})

describe('an outage', () => {
  it('is reported to the listeners of `error` by everything that waits for blocks; blocks continue after it', async () => {
    const bed = await startNode()
    const blocks: number[] = []
    await bed.provider.on('block', (block) => blocks.push(block))
    await eventually(() => expect(bed.count('eth_blockNumber')).toBeGreaterThan(1))
    bed.node.fault = () => ({ status: 502 })
    await eventually(() => expect(bed.errors.length).toBeGreaterThan(1))
    expect(bed.errors[0]).toMatchObject({ code: 'SERVER_ERROR', info: { responseStatus: '502 Bad Gateway' } })
    bed.node.head += 2
    bed.node.fault = () => undefined
    await eventually(() => expect(blocks).toEqual([2, 3]))
  })

  it('is not reported after the provider has stopped', async () => {
    const bed = await startNode()
    bed.node.gate = () => new Promise(() => {})
    await bed.provider.on('block', () => {})
    await eventually(() => expect(bed.count('eth_blockNumber')).toBeGreaterThan(0))
    bed.provider.destroy()
    await turn()
    expect(bed.errors).toEqual([])
  })
})

describe('a subscription with a dead node or a destroyed provider never ends the process', () => {
  const unhandled: unknown[] = []
  const listen = () => {
    unhandled.length = 0
    const note = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
  }

  it.each<[string, unknown]>([
    ['safe', 'safe'],
    ['finalized', 'finalized'],
    ['a transaction', hashOf(9)],
    ['events', { topics: [topic] }],
    ['pending', 'pending'],
    ['block', 'block'],
  ])('%s', async (_, event) => {
    listen()
    const bed = await startNode()
    bed.node.fault = () => ({ status: 500 })
    await bed.provider.on(event as never, () => {})
    await eventually(() => expect(bed.node.asked.length).toBeGreaterThan(3))
    bed.node.gate = () => new Promise(() => {})
    bed.provider.destroy()
    await turn()
    await turn()
    expect(unhandled).toEqual([])
  })

  it('no request is made for a listener of a destroyed provider', async () => {
    const bed = await startNode()
    bed.provider.destroy()
    const before = bed.node.asked.length
    await bed.provider.on('block', () => {})
    await bed.provider.on({ topics: [topic] }, () => {})
    await turn()
    expect(bed.node.asked).toHaveLength(before)
  })
})
