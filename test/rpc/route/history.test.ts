import { describe, expect, it, onTestFinished } from 'vitest'
import { type Client, createClient, type Endpoint, type HexlineError } from '../../../src/index.ts'
import { getBlocks, getLogs } from '../../../src/index-bulk.ts'
import { History } from '../../../src/rpc/route/history.ts'
import { hexOf } from '../../support/chain-server.ts'
import { startLogChain } from '../../support/log-chain.ts'
import { nightly } from '../../support/runs.ts'
import { each, errorOf } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const world = virtualWorld()

describe('what is known of the history', () => {
  it('is the oldest block that has not failed, for each resource', () => {
    const history = new History()
    expect(history.lacks('state', 0, 0)).toBe(false)
    history.failed('state', 99, -1, undefined, 0)
    history.failed('state', 50, -1, undefined, 0)
    expect([history.lacks('state', 99, 1), history.lacks('state', 100, 1), history.lacks('blocks', 99, 1)]).toEqual([true, false, false])
    history.answered('state', 60, 0)
    expect([history.lacks('state', 59, 1), history.lacks('state', 60, 1)]).toEqual([true, false])
  })

  it('rises by a quarter of the way to the newest block, where the endpoint does not say', () => {
    const history = new History()
    const asked: number[] = []
    for (let block = 1; block < 700; block++) {
      if (history.lacks('state', block, 0)) continue
      asked.push(block)
      history.failed('state', block, 1000, undefined, 0)
    }
    expect(asked).toEqual([1, 250, 437, 577, 682])
  })

  it('is the block that the endpoint names', () => {
    const history = new History()
    history.failed('blocks', 10, 1e6, 5000, 0)
    history.toldOldest('stateproofs', Number.POSITIVE_INFINITY, 0)
    expect([history.lacks('blocks', 4999, 1), history.lacks('blocks', 5000, 1), history.lacks('stateproofs', 1e9, 1)]).toEqual([true, false, true])
  })

  it('is that of the whole where nothing is known of a part', () => {
    const history = new History()
    history.toldOldest('blocks', 700, 0)
    const lacks = (block: number) => history.lacks('logs', block, 1, 'blocks')
    expect([lacks(699), lacks(700)]).toEqual([true, false])
    history.answered('logs', 500, 0)
    expect([lacks(499), lacks(500)]).toEqual([true, false])
    history.toldOldest('logs', 800, 0)
    expect([lacks(799), lacks(800)]).toEqual([true, false])
  })

  it('is not what the endpoint names, if that is beyond the newest block or no newer than the one that failed', () => {
    for (const told of [1001, 2 ** 48, 100, 0, -5]) {
      const history = new History()
      history.failed('blocks', 100, 1000, told, 0)
      expect([history.lacks('blocks', 324, 1), history.lacks('blocks', 325, 1), history.lacks('blocks', 1000, 1)]).toEqual([true, false, false])
    }
    const unheard = new History()
    unheard.failed('blocks', 100, -1, 5000, 0)
    expect(unheard.lacks('blocks', 4999, 1)).toBe(true)
  })

  it('is forgotten after ten minutes, but not what the user says', () => {
    const history = new History(1000)
    history.failed('state', 5000, -1, undefined, 0)
    expect([history.lacks('state', 5000, 599_999), history.lacks('state', 5000, 600_000)]).toEqual([true, false])
    expect(history.lacks('state', 999, 1e9)).toBe(true)
    history.failed('state', 2000, -1, undefined, 700_000)
    expect(history.lacks('state', 5000, 700_001)).toBe(false)
  })
})

describe('an old block', () => {
  /** Fails `times` times, each asked after the failure before. */
  function fail(history: History, block: number, times: number, { isDeep = true, from = 1 } = {}): boolean[] {
    return Array.from({ length: times }, (_, i) => history.missed('blocks', block, isDeep, from + i, from + i))
  }

  it('is gone after four failures in a row', () => {
    expect(fail(new History(), 50, 4)).toEqual([false, false, false, true])
  })

  it('is not gone for calls that were sent together: they may all have met the same node', () => {
    const history = new History()
    for (let i = 0; i < 10; i++) expect(history.missed('blocks', 50, true, 0, 5)).toBe(false)
    expect(fail(history, 50, 3, { from: 6 })).toEqual([false, false, true])
  })

  it('is not gone where a node may lag that far behind', () => {
    expect(fail(new History(), 50, 100, { isDeep: false })).not.toContain(true)
  })

  it('is not gone where an older one was answered lately, but the genesis block proves nothing', () => {
    const history = new History()
    history.answered('blocks', 49, 0)
    expect(fail(history, 50, 10)).not.toContain(true)
    expect(fail(history, 48, 4)).toContain(true)
    expect(fail(history, 50, 4, { from: 600_000 })).toContain(true)
    const genesis = new History()
    genesis.answered('blocks', 0, 0)
    expect(fail(genesis, 50, 4)).toContain(true)
  })

  it('is not gone once it was answered, and is counted anew', () => {
    const history = new History()
    fail(history, 50, 3)
    history.answered('blocks', 50, 10)
    expect(fail(history, 50, 10, { from: 11 })).not.toContain(true)
    expect(fail(history, 49, 3, { from: 30 })).not.toContain(true)
  })

  it('is gone at once below what the user says', () => {
    const history = new History(10)
    expect(fail(history, 10, 1, { isDeep: false })).toEqual([false])
    expect(fail(history, 9, 1, { isDeep: false })).toEqual([true])
  })

  it('is gone at once below a block that is gone, and below what the endpoint has said', () => {
    const history = new History()
    fail(history, 50, 4)
    expect(fail(history, 49, 1, { isDeep: false })).toEqual([true])
    expect(fail(history, 51, 1)).toEqual([false])
    history.toldOldest('blocks', 700, 100)
    // A failure below what the endpoint has told does not raise it.
    history.failed('blocks', 400, 1e6, undefined, 100)
    expect(fail(history, 699, 1, { isDeep: false, from: 101 })).toEqual([true])
    expect(history.lacks('blocks', 700, 101)).toBe(false)
    history.answered('blocks', 650, 102)
    expect(fail(history, 650, 1, { isDeep: false, from: 103 })).toEqual([false])
  })

  it('counts for a minute', () => {
    const history = new History()
    fail(history, 50, 3)
    expect(fail(history, 50, 3, { from: 60_010 })).not.toContain(true)
    // A block that nobody asks for any more does not keep newer ones from being counted.
    expect(fail(history, 60, 4, { from: 200_000 })).toContain(true)
  })
})

const HEAD = 20_000_000
const FLOOR = 15_537_394
const address = `0x${'1'.repeat(40)}` as const

type Refusal = { readonly result: null | [] } | { readonly error: { readonly code: number; readonly message: string } }

/** How a node that has dropped a block says so. */
const ways = {
  4444: { error: { code: 4444, message: 'pruned history unavailable' } },
  archive: { error: { code: -32000, message: 'this request requires an archive node' } },
  'missing trie node': { error: { code: -32000, message: 'missing trie node 0a1b2c (path ) state 0x12 is not available' } },
  null: { result: null },
} as const satisfies Record<string, Refusal>
const refusals = Object.entries(ways)

interface NodeOptions {
  readonly head?: number
  /** The oldest block that it has. */
  readonly floor?: number
  readonly capabilities?: object
  /** Whether a call for this block meets a node without it. Default: below `floor`. */
  readonly lacks?: (block: number) => boolean
}

/** A node that refuses old blocks in this way. */
async function startNode(refusal: Refusal | undefined, options: NodeOptions = {}) {
  const { head = HEAD, floor = refusal === undefined ? 0 : FLOOR, capabilities, lacks = (block) => block < floor } = options
  const calls: { method: string; block: number }[] = []
  const chain = await startLogChain({
    head,
    range: { most: 50, says: () => ({ message: 'query exceeds max block range 50' }) },
    answer(method, params) {
      const block = blockOf(method, params)
      calls.push({ method, block })
      if (method === 'eth_capabilities' && capabilities !== undefined) return { result: capabilities }
      // A node that answers null for a block says of its state that it is missing.
      const isRefused = lacks(block) && (method === 'eth_getLogs' || !(refusal !== undefined && 'result' in refusal && refusal.result !== null))
      if (refusal !== undefined && isRefused) return method === 'eth_getBalance' && 'result' in refusal ? ways['missing trie node'] : refusal
      return method === 'eth_getBalance' ? { result: '0x7' } : undefined
    },
  })
  return { url: chain.url, logs: chain.logs, calls, refused: () => calls.filter(({ block }) => lacks(block)).length }
}

/** The number of the oldest block that a call needs; NaN where it needs none. */
function blockOf(method: string, params: readonly unknown[]): number {
  if (method === 'eth_getBalance') return Number(params[1])
  if (method === 'eth_getLogs') return Number((params[0] as { fromBlock: string }).fromBlock)
  return method === 'eth_getBlockByNumber' ? Number(params[0]) : Number.NaN
}

function clientOf(...endpoints: Endpoint[]) {
  const client = createClient(endpoints, { retry: { baseDelayMs: 1 } })
  onTestFinished(() => client.close())
  return client
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const numbersOf = async (blocks: AsyncIterable<{ number: bigint }>) => (await allOf(blocks)).map(({ number }) => Number(number))
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

describe.each<[string, Refusal, object?]>([
  ...refusals.filter(([name]) => name === 'null'),
  ...nightly(...refusals.filter(([name]) => name !== 'null')),
  ['4444 and eth_capabilities', ways[4444], { state: { oldestBlock: hexOf(HEAD - 128) }, blocks: { oldestBlock: hexOf(FLOOR) }, logs: { disabled: true } }],
])('a pool of a node that says %s of old blocks, and one that has them', (_, refusal, capabilities) => {
  /** The calls to each node, and those that the first one refused, in percent of all. */
  async function run(job: (client: Client) => Promise<void>) {
    const nodes = [await startNode(refusal, { capabilities: capabilities as object }), await startNode(undefined)] as const
    await job(clientOf(nodes[0].url, nodes[1].url))
    return (100 * nodes[0].refused()) / (nodes[0].calls.length + nodes[1].calls.length)
  }

  it('asks the first one for less than 1 % of the balances at block 1', async () => {
    const percent = await run(async (client) => {
      for (let i = 0; i < 300; i++) expect(await client.call('eth_getBalance', address, 1n)).toBe(7n)
    })
    expect(percent).toBeLessThan(1)
  })

  it('asks the first one for less than 1 % of the blocks 400 to 600', async () => {
    const percent = await run(async (client) => expect(await numbersOf(getBlocks(client, { from: 400n, to: 600n }))).toEqual(numbers(400, 600)))
    expect(percent).toBeLessThan(1)
  })

  it('asks the first one for less than 1 % of the logs', async () => {
    const percent = await run(async (client) => {
      const logs = await allOf(getLogs(client, { from: 400n, to: 10_399n, audit: 'none' }))
      expect(logs.map(({ blockNumber, logIndex }) => Number(blockNumber) * 5 + logIndex)).toEqual(numbers(2000, 51_999))
    })
    expect(percent).toBeLessThan(1)
  })

  it('gives a range of blocks and logs that begins below the floor', async () => {
    const nodes = [await startNode(refusal, { head: 1000, floor: 700 }), await startNode(undefined, { head: 1000 })] as const
    const client = clientOf(nodes[0].url, nodes[1].url)
    expect(await numbersOf(getBlocks(client, { from: 400n, to: 900n }))).toEqual(numbers(400, 900))
    expect(await allOf(getLogs(client, { from: 400n, to: 900n, audit: 'none' }))).toHaveLength(2505)
  })
})

describe('how far back a node reaches', () => {
  it('is asked once, and its answer is heeded', async () => {
    const capabilities = {
      head: { number: hexOf(1000), hash: '0x1' },
      state: { disabled: false, oldestBlock: hexOf(900) },
      blocks: { disabled: false, oldestBlock: hexOf(700) },
      logs: { disabled: true },
    }
    const [prunedNode, fullNode] = [await startNode(ways[4444], { head: 1000, floor: 700, capabilities }), await startNode(undefined, { head: 1000 })]
    const client = clientOf(prunedNode.url, fullNode.url)
    await client.call('eth_getBlockByNumber', 5n, false)
    while (!prunedNode.calls.some(({ method }) => method === 'eth_capabilities')) await client.call('eth_chainId')
    // What was told arrives with a reply of the same connection.
    await client.call('eth_getBlockByNumber', 6n, false)
    await client.call('eth_chainId')
    const { length } = prunedNode.calls
    for (let i = 600; i < 900; i++) await client.call('eth_getBalance', address, BigInt(i))
    expect(prunedNode.calls.slice(length).filter(({ method }) => method === 'eth_getBalance')).toEqual([])
    expect(prunedNode.calls.filter(({ method }) => method === 'eth_capabilities')).toHaveLength(1)
  })

  it('can be given by hand', async () => {
    const [recent, archive] = [await startNode(undefined), await startNode(undefined)]
    const client = clientOf({ url: recent.url, since: BigInt(FLOOR) }, archive.url)
    for (let i = 1; i < 700; i += 10) await client.call('eth_getBalance', address, BigInt(i))
    expect(recent.calls.filter(({ block }) => block < FLOOR)).toEqual([])
    expect(() => createClient({ url: recent.url, since: -1n })).toThrow(
      'endpoint.since: expected a block number (a whole number that is not negative), received -1',
    )
  })
})

describe.each(refusals)('a single node that says %s of old blocks', (_, refusal) => {
  const jobs: [string, (client: Client) => Promise<unknown>][] = [
    ['eth_getBalance', (client) => client.with({ priority: 'bulk' }).call('eth_getBalance', address, 1n)],
    ['getBlocks', (client) => allOf(getBlocks(client, { from: 400n, to: 600n }))],
    ['getLogs', (client) => allOf(getLogs(client, { from: 400n, to: 600n, audit: 'none' }))],
  ]

  it.each(jobs)('ends %s with `pruned`, not at the deadline', async (_, job) => {
    const node = await startNode(refusal)
    const error = await errorOf<HexlineError>(job(clientOf(node.url)))
    expect(error).toMatchObject({ kind: 'pruned' })
    expect(error.attempts).toBeLessThanOrEqual(4)
  })
})

describe('a single node', () => {
  const isNull = ways.null

  it('that says how far back it reaches is believed', async () => {
    // Not deep enough to be known from failures.
    const node = await startNode(isNull, { head: 1000, capabilities: { blocks: { disabled: false, oldestBlock: hexOf(700) } } })
    const error = await errorOf<HexlineError>(allOf(getBlocks(clientOf(node.url), { from: 650n, to: 660n })))
    expect(error).toMatchObject({ name: 'IntegrityError', kind: 'pruned' })
    expect(error.message).toMatch(
      /: eth_getBlockByNumber 0x28a: the node answers null for what must exist: .*; block 650 is old, so the node seems to have dropped it$/,
    )
    expect(node.calls.filter(({ method }) => method === 'eth_capabilities')).toHaveLength(1)
  })

  it('whose floor is given by hand is not asked again', async () => {
    const node = await startNode(isNull)
    await expect(allOf(getBlocks(clientOf({ url: node.url, since: 700n }), { from: 650n, to: 650n }))).rejects.toMatchObject({ kind: 'pruned', attempts: 1 })
  })

  it('is asked until the deadline for a block that it may not have yet', async () => {
    const answer = each(({ id, method }) => ({ id, result: method === 'eth_blockNumber' ? hexOf(1000) : null }))
    const { url } = await world.serve(answer)
    const client = world.clientOf(url).with({ deadlineMs: 3000 })
    await expect(allOf(getBlocks(client, { from: 900n, to: 905n }))).rejects.toMatchObject({ kind: 'lagging' })
    expect(world.clock.now()).toBeGreaterThan(2500)
  })

  /** A URL behind which a node lacks what another has: `isLacking` says whether a call meets it. */
  async function startMixed(isLacking: (block: number, times: number) => boolean, head: number) {
    const times = new Map<number, number>()
    return startNode(isNull, {
      head,
      lacks: (block) => {
        if (Number.isNaN(block)) return false
        times.set(block, (times.get(block) ?? 0) + 1)
        return isLacking(block, times.get(block) as number)
      },
    })
  }

  it.each<[string, (block: number, times: number) => boolean, number]>([
    ['pruned, and the other archives', (_, times) => times <= 3, HEAD],
    ['pruned, and the other has answered for an older block', (block, times) => block > 400 && times <= 6, HEAD],
    ['behind, and the other is not', (_, times) => times <= 8, 700],
  ])('behind whose URL one of two is %s is asked again', async (_, isLacking, head) => {
    const node = await startMixed(isLacking, head)
    expect(await numbersOf(getBlocks(clientOf(node.url), { from: 400n, to: 600n }))).toEqual(numbers(400, 600))
  })

  it('behind whose URL one of two lacks a block is asked again for it by each interactive call, however often that has failed', async () => {
    let lacked = 0
    const node = await startNode(isNull, { lacks: (block) => !Number.isNaN(block) && lacked-- > 0 })
    const client = clientOf(node.url)
    const outcomes: string[] = []
    for (const times of [0, 4, 0, 1, 0, 1, 3]) {
      lacked = times
      const asked = client.send({ method: 'eth_getBlockByNumber', params: ['0x64', false], required: true })
      outcomes.push(await asked.then(() => 'answered').catch(({ kind }: HexlineError) => kind))
    }
    // Once it has failed as often as a call may.
    expect(outcomes).toEqual(['answered', 'lagging', 'answered', 'answered', 'answered', 'answered', 'answered'])
  })

  it('that has dropped a block says so to interactive calls, too', async () => {
    const client = clientOf((await startNode(isNull)).url)
    const ask = () => errorOf<HexlineError>(client.send({ method: 'eth_getBlockByNumber', params: ['0x64', false], required: true }))
    await ask()
    expect(await ask()).toMatchObject({ kind: 'pruned', attempts: 1 })
    expect(await ask()).toMatchObject({ kind: 'pruned', attempts: 1 })
  })
})

describe('several nodes', () => {
  it('of which none has a block say so at once', async () => {
    const nodes = [await startNode(ways.null), await startNode(ways['missing trie node'])] as const
    const error = await errorOf<HexlineError>(allOf(getBlocks(clientOf(nodes[0].url, nodes[1].url), { from: 400n, to: 600n })))
    expect(error).toMatchObject({ kind: 'pruned' })
  })

  it('of which one answers [] for the logs of blocks that it has dropped are told apart by what it says', async () => {
    const node = await startNode({ result: [] }, { capabilities: { logs: { disabled: false, oldestBlock: hexOf(FLOOR) } } })
    const full = await startNode(undefined)
    expect(await allOf(getLogs(clientOf(node.url, full.url), { from: 400n, to: 600n, audit: 'none' }))).toHaveLength(1005)
    expect(node.calls.filter(({ method }) => method === 'eth_getLogs')).toEqual([])
  })
})
