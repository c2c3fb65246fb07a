import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Client as HexlineClient, type Post, RpcError, replyOf } from 'hexline'
import { hexline } from 'hexline/viem'
import { type Address, createPublicClient, type Log, type PublicClient, parseAbiItem } from 'viem'
import { describe, expect, onTestFinished, test } from 'vitest'
import { PolledFilters } from '../../../../adapters/viem/live/polled-filters.ts'
import { eventsOf } from '../../../support/events.ts'
import { eventually } from '../../../support/eventually.ts'
import { TOKEN, TRANSFER } from '../../../support/live-chain.ts'
import { type Entry, each, failed, type Received, serve } from '../../../support/server.ts'

const event = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')
const hex = (n: number) => `0x${n.toString(16)}` as const
const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}` as const

interface Block {
  readonly hash: string
  readonly log: object
}

/** A node behind the URL: its filters, with the next block of each, and how far it lags behind. */
interface Backend {
  readonly filters: Map<unknown, number>
  lag: number
}

interface Options {
  readonly backends?: number
  /** The id of the `n`th filter. */
  readonly idOf?: (n: number) => string
}

/**
 * One URL with several nodes behind it, which answer a POST each in turn. Blocks have a log each,
 * whose value is a number that no other log has.
 */
async function startNodes({ backends: count = 1, idOf = (n) => hex(0xf000 + n) }: Options = {}) {
  const blocks: Block[] = []
  const backends: Backend[] = Array.from({ length: count }, () => ({ filters: new Map(), lag: 0 }))
  const calls: Entry[] = []
  /** Errors in place of results, by method. */
  const faults = new Map<string, object>()
  /** What is done to the POST with the next poll, in place of its answer, once the node has it. */
  let next: ((request: Received) => void) | undefined
  let made = 0
  let value = 0
  let turn = 0
  const add = () => {
    const hash = word(0x1000 + value)
    const data = word(value++)
    const place = { blockNumber: hex(blocks.length), blockHash: hash, transactionHash: word(0x9000 + value), transactionIndex: '0x0', logIndex: '0x0' }
    blocks.push({ hash, log: { address: TOKEN, topics: [TRANSFER, word(0), word(1)], data, ...place, removed: false } })
  }
  for (let i = 0; i < 5; i++) add()
  const logs = (from: number, to: number) => blocks.slice(from, to + 1).map(({ log }) => log)
  /** Methods whose answers wait. */
  const held = new Map<string, Promise<void>>()
  const server = await serve(async (request, response) => {
    calls.push(...request.entries)
    for (const { method } of request.entries) await held.get(method)
    const { filters, lag } = backends[turn++ % count] as Backend
    const head = blocks.length - 1 - lag
    const answers: Record<string, (params: readonly unknown[]) => unknown> = {
      eth_chainId: () => '0x1',
      eth_blockNumber: () => hex(head),
      eth_getBlockByNumber: ([tag]) => {
        const number = tag === 'latest' ? head : Number(tag)
        return number > head ? null : { number: hex(number), hash: blocks[number]?.hash }
      },
      eth_getLogs: ([filter]) => logs(Number((filter as { fromBlock: string }).fromBlock), Number((filter as { toBlock: string }).toBlock)),
      eth_newFilter: () => {
        const id = idOf(made++)
        filters.set(id, head + 1)
        return id
      },
      eth_getFilterChanges: ([id]) => {
        const from = filters.get(id) as number
        filters.set(id, head + 1)
        return logs(from, head)
      },
      eth_uninstallFilter: ([id]) => filters.delete(id),
    }
    const isPoll = request.entries.some(({ method }) => method === 'eth_getFilterChanges')
    return each((entry) => {
      const { id, method, params } = entry
      if (method === 'eth_getFilterChanges' && !filters.has(params[0])) return failed(entry, -32000, 'filter not found')
      const fault = faults.get(method)
      if (fault !== undefined) return { jsonrpc: '2.0', id, error: fault }
      const { toBlock } = (params[0] ?? {}) as { toBlock?: string }
      if (method === 'eth_getLogs' && Number(toBlock) > head) return failed(entry, -32602, 'block range extends beyond current head block')
      const result = answers[method]?.(params)
      const cut = isPoll ? next : undefined
      if (cut !== undefined) {
        next = undefined
        cut(request)
      }
      return { jsonrpc: '2.0', id, result }
    })(request, response)
  })
  return {
    ...{ url: server.url, blocks, backends, calls, faults },
    mine(count = 1) {
      for (let i = 0; i < count; i++) add()
    },
    /** Replaces the last blocks, without a word to the filters. */
    replace(depth: number) {
      blocks.splice(-depth)
      for (let i = 0; i < depth; i++) add()
    },
    /** Answers to a method wait for a call of the function that this gives. */
    hold(method: string) {
      let answer = () => {}
      held.set(
        method,
        new Promise((resolve) => {
          answer = resolve
        }),
      )
      return () => answer()
    },
    cutNextPoll() {
      next = ({ socket }) => socket.destroy()
    },
  }
}

/** Watches transfers, and tells the values of the logs that come; negative for removed ones. */
async function watch({ url, calls }: { readonly url: string; readonly calls: readonly Entry[] }, options: { address?: Address; client?: PublicClient } = {}) {
  const { address, client = clientOf(url) } = options
  const polls = () => new Set(calls.flatMap(({ method, params: [id] }) => (method === 'eth_getFilterChanges' ? [id] : []))).size
  const before = polls()
  const values: number[] = []
  const errors: Error[] = []
  const numberOf = ({ args, removed }: Log<bigint, number, false, typeof event>) => (removed ? -1 : 1) * Number(args.value)
  const unwatch = client.watchEvent({
    event,
    ...(address && { address }),
    onLogs: (logs) => values.push(...logs.map(numberOf)),
    onError: (error) => errors.push(error),
  })
  onTestFinished(unwatch)
  await eventually(() => expect(polls()).toBeGreaterThan(before))
  return { values, errors, unwatch }
}

function clientOf(url: string) {
  const client = createPublicClient({ transport: hexline(url), pollingInterval: 5 })
  onTestFinished(() => client.transport.client.close())
  return client as PublicClient
}

describe('viem’s watchEvent over HTTP delivers each log once', () => {
  test('where the node keeps its filter, by polls alone', async () => {
    const nodes = await startNodes()
    const { values, errors } = await watch(nodes)
    nodes.mine(2)
    await eventually(() => expect(values).toEqual([5, 6]))
    nodes.mine()
    await eventually(() => expect(values).toEqual([5, 6, 7]))
    expect(errors).toEqual([])
    expect(nodes.calls.map(({ method }) => method).filter((method) => method !== 'eth_getFilterChanges')).toEqual(['eth_blockNumber', 'eth_newFilter'])
  })

  test('where the node forgets its filter', async () => {
    const nodes = await startNodes()
    const { values, errors } = await watch(nodes)
    for (const last of [6, 8, 10]) {
      nodes.mine()
      nodes.backends[0]?.filters.clear()
      nodes.mine()
      await eventually(() => expect(values.at(-1)).toBe(last))
    }
    expect(values).toEqual([5, 6, 7, 8, 9, 10])
    expect(errors).toEqual([])
  })

  test('where nodes take turns behind one URL, each with its own filters', async () => {
    const nodes = await startNodes({ backends: 3 })
    const { values, errors } = await watch(nodes)
    for (let last = 5; last < 20; last++) {
      nodes.mine()
      await eventually(() => expect(values.at(-1)).toBe(last))
    }
    expect(values).toEqual(Array.from({ length: 15 }, (_, i) => 5 + i))
    expect(errors).toEqual([])
  })

  test('where a node behind the same URL lags: what it does not have yet was not replaced', async () => {
    const nodes = await startNodes({ backends: 2 })
    const { values, errors } = await watch(nodes)
    ;(nodes.backends[1] as Backend).lag = 1
    for (let mined = 0; mined < 10; mined++) {
      nodes.mine()
      await eventually(() => expect(values.at(-1)).toBeGreaterThanOrEqual(4 + mined))
    }
    ;(nodes.backends[1] as Backend).lag = 0
    await eventually(() => expect(values.at(-1)).toBe(14))
    expect(values).toEqual(Array.from({ length: 10 }, (_, i) => 5 + i))
    expect(errors).toEqual([])
  })

  test('where the reply with them is lost, which onError is told', async () => {
    const nodes = await startNodes()
    const { values, errors } = await watch(nodes)
    nodes.cutNextPoll()
    nodes.mine(2)
    await eventually(() => expect(errors).toHaveLength(1))
    nodes.mine()
    await eventually(() => expect(values).toEqual([5, 6, 7]))
  })

  test('where the logs in between cannot be fetched at first: they come in their order', async () => {
    const nodes = await startNodes()
    const { values, errors } = await watch(nodes)
    nodes.mine()
    await eventually(() => expect(values).toEqual([5]))
    nodes.faults.set('eth_getLogs', { code: -32000, message: 'no' })
    nodes.cutNextPoll()
    for (let i = 0; i < 3; i++) {
      const failures = errors.length
      nodes.mine()
      await eventually(() => expect(errors.length).toBeGreaterThan(failures))
    }
    nodes.faults.clear()
    await eventually(() => expect(values).toEqual([5, 6, 7, 8]))
    // viem made no other filter meanwhile.
    expect(nodes.calls.filter(({ method }) => method === 'eth_newFilter')).toHaveLength(1)
  })

  test('where the logs in between cannot be fetched, and a poll takes longer than the failure', async () => {
    const nodes = await startNodes()
    const client = createPublicClient({ transport: hexline(nodes.url, { batch: false }), pollingInterval: 5 })
    onTestFinished(() => client.transport.client.close())
    const { values, errors } = await watch(nodes, { client })
    nodes.faults.set('eth_getLogs', { code: -32000, message: 'no' })
    nodes.cutNextPoll()
    nodes.mine()
    await eventually(() => expect(errors).toHaveLength(1))
    const failed = () => nodes.calls.filter(({ method }) => method === 'eth_getLogs').length
    const before = failed()
    const answerPoll = nodes.hold('eth_getFilterChanges')
    nodes.mine()
    await eventually(() => expect(failed()).toBeGreaterThan(before))
    await sleep(20)
    answerPoll()
    nodes.mine()
    await eventually(() => expect(errors.length).toBeGreaterThan(1))
    nodes.faults.clear()
    await eventually(() => expect(values).toEqual([5, 6, 7]))
  })

  test('where a poll fails with an error that is not about the filter, which stays', async () => {
    const nodes = await startNodes()
    const { values, errors } = await watch(nodes)
    nodes.faults.set('eth_getFilterChanges', { code: -32005, message: 'eth_getFilterChanges: limit exceeded for this filter' })
    nodes.mine()
    const polls = () => nodes.calls.filter(({ method }) => method === 'eth_getFilterChanges').length
    const before = polls()
    await eventually(() => expect(polls()).toBeGreaterThan(before))
    nodes.faults.clear()
    nodes.mine()
    await eventually(() => expect(values).toEqual([5, 6]))
    expect(nodes.calls.filter(({ method }) => method === 'eth_newFilter')).toHaveLength(1)
    expect(errors).toEqual([])
  })

  test('where the node has no eth_getLogs: what was lost is told once, and what comes is delivered', async () => {
    const nodes = await startNodes()
    const { values, errors } = await watch(nodes)
    nodes.faults.set('eth_getLogs', { code: -32601, message: 'the method eth_getLogs does not exist/is not available' })
    nodes.cutNextPoll()
    nodes.mine()
    await eventually(() => expect(errors).toHaveLength(2))
    nodes.mine()
    await eventually(() => expect(values).toEqual([6]))
    expect(errors).toHaveLength(2)
  })

  test('where blocks are replaced while there is no filter: their logs are removed first', async () => {
    const nodes = await startNodes()
    const { values } = await watch(nodes)
    nodes.mine(3)
    await eventually(() => expect(values).toEqual([5, 6, 7]))
    nodes.replace(2)
    nodes.backends[0]?.filters.clear()
    await eventually(() => expect(values).toEqual([5, 6, 7, -7, -6, 8, 9]))
  })

  test('where a node that has restarted gives the id of another filter again', async () => {
    let restarted = 0
    const nodes = await startNodes({ idOf: (n) => hex(n - restarted) })
    const client = clientOf(nodes.url)
    const [one, two] = [await watch(nodes, { client }), await watch(nodes, { client, address: TOKEN })]
    nodes.mine()
    await eventually(() => expect([one.values, two.values]).toEqual([[5], [5]]))
    nodes.backends[0]?.filters.clear()
    restarted = 2
    nodes.mine()
    await eventually(() =>
      expect([one.values, two.values]).toEqual([
        [5, 6],
        [5, 6],
      ]),
    )
    nodes.mine(2)
    await eventually(() =>
      expect([one.values, two.values]).toEqual([
        [5, 6, 7, 8],
        [5, 6, 7, 8],
      ]),
    )
    expect([...one.errors, ...two.errors]).toEqual([])
  })
})

function signal() {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

describe('where the node has no eth_getLogs, the logs of the poll after one that was lost are delivered', () => {
  test.each(['before', 'after'])('the fetch of the lost ones fails %s it is answered', async (order) => {
    const [answered, refused] = [signal(), signal()]
    const post: Post = async ([call]) => {
      if (call?.method === 'eth_blockNumber') return [replyOf('0x9')]
      if (order === 'after') await answered.given
      setImmediate(refused.give)
      return [new RpcError({ code: -32601, message: 'the method eth_getLogs does not exist' }, { kind: 'unsupported' })]
    }
    const client = createClient(post)
    onTestFinished(() => client.close())
    const filters = new PolledFilters(client)
    const log = (n: number) => ({ address: TOKEN, topics: [], blockNumber: hex(n), blockHash: word(n), logIndex: '0x0', data: '0x' })
    let next = 6
    const ask = async (method: string) => {
      if (method !== 'eth_getFilterChanges') return method === 'eth_blockNumber' ? '0x5' : '0x1'
      const n = next++
      if (n === 6) throw new Error('lost')
      if (n === 7 && order === 'before') await refused.given
      setImmediate(answered.give)
      return [log(n)]
    }
    const id = await filters.send('eth_newFilter', [{}], ask)
    const poll = () => filters.send('eth_getFilterChanges', [id], ask)
    await expect(poll()).rejects.toThrow('lost')
    await expect(poll()).rejects.toThrow('eth_getLogs')
    expect([await poll(), await poll()]).toEqual([[log(7), log(8)], [log(9)]])
  })
})

describe('a poll whose missing logs take long to fetch', () => {
  async function setUp(config: { timeout?: number }) {
    const nodes = await startNodes()
    const { request } = createPublicClient({ transport: hexline(nodes.url, { ...config, retryCount: 0 }) })
    const id = await request({ method: 'eth_newFilter', params: [{}] })
    const poll = (signal?: AbortSignal) =>
      request({ method: 'eth_getFilterChanges', params: [id] }, { ...(signal && { signal }) } as never) as Promise<unknown[]>
    nodes.backends[0]?.filters.clear()
    nodes.mine()
    return { nodes, poll, answer: nodes.hold('eth_getLogs') }
  }

  /** Polls until the log has come. */
  async function cameOnce(poll: () => Promise<unknown[]>): Promise<void> {
    const logs: unknown[] = []
    await eventually(async () => {
      logs.push(...(await poll().catch(() => [])))
      expect(logs).toHaveLength(1)
    })
  }

  test('ends at its timeout, and a later one has the logs', async () => {
    const { poll, answer } = await setUp({ timeout: 1_000 })
    await expect(poll()).rejects.toThrow('took too long to respond')
    answer()
    await cameOnce(poll)
  })

  test('ends at the timeout of the client where viem is not given one', async () => {
    const nodes = await startNodes()
    const client = createClient(nodes.url, { timeoutMs: 1_000 })
    onTestFinished(() => client.close())
    const { request } = createPublicClient({ transport: hexline(client) })
    const id = await request({ method: 'eth_newFilter', params: [{}] })
    nodes.backends[0]?.filters.clear()
    nodes.mine()
    const answer = nodes.hold('eth_getLogs')
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const late = sleep(20_000, 'late', { signal: stop.signal }).catch(() => {})
    const polled = request({ method: 'eth_getFilterChanges', params: [id] }).catch((error: Error) => error.message)
    expect(await Promise.race([polled, late])).toContain('took too long')
    answer()
  })

  test('ends with its signal, and a later one has the logs', async () => {
    const { nodes, poll, answer } = await setUp({})
    const stop = new AbortController()
    const polled = poll(stop.signal)
    polled.catch(() => {})
    await eventually(() => expect(nodes.calls.some(({ method }) => method === 'eth_getLogs')).toBe(true))
    stop.abort(new Error('enough'))
    await expect(polled).rejects.toThrow('enough')
    answer()
    await cameOnce(poll)
  })
})

test('a filter that was made again is the one that is uninstalled', async () => {
  const nodes = await startNodes()
  const { values, unwatch } = await watch(nodes)
  nodes.backends[0]?.filters.clear()
  nodes.mine()
  await eventually(() => expect(values).toEqual([5]))
  expect(nodes.backends[0]?.filters.size).toBe(1)
  await unwatch()
  await eventually(() => expect(nodes.backends[0]?.filters.size).toBe(0))
})

test('unwatch ends the polls although the filter cannot be uninstalled any more', async () => {
  const nodes = await startNodes()
  const client = clientOf(nodes.url)
  const { unwatch } = await watch(nodes, { client })
  await (client as unknown as { transport: { client: HexlineClient } }).transport.client.close()
  const polls = eventsOf('hexline:call')
  await eventually(() => expect(polls.length).toBeGreaterThan(2))
  await unwatch()
  const before = polls.length
  await sleep(50)
  // One may have been under way.
  expect(polls.length - before).toBeLessThan(2)
})

test.each([{ toBlock: '0x20' }, { blockHash: word(1) }, { fromBlock: 'finalized' }])('a filter with %j is the node’s alone', async (filter) => {
  const nodes = await startNodes()
  const { request } = createPublicClient({ transport: hexline(nodes.url) })
  const id = await request({ method: 'eth_newFilter', params: [filter] as never })
  nodes.mine()
  expect(await request({ method: 'eth_getFilterChanges', params: [id] })).toHaveLength(1)
  nodes.backends[0]?.filters.clear()
  await expect(request({ method: 'eth_getFilterChanges', params: [id] })).rejects.toThrow('filter not found')
})
