import { describe, expect, it, onTestFinished } from 'vitest'
import { getBlocks } from '../../../src/bulk/index.ts'
import { createClient, type Endpoint } from '../../../src/index.ts'
import { History } from '../../../src/rpc/route/history.ts'
import { type ChainOptions, type ChainServer, hexOf, startChain } from '../../support/chain-server.ts'

describe('what is known of the history', () => {
  it('is the oldest block that has not failed, for each resource', () => {
    const history = new History()
    expect(history.lacks('state', 0, 0)).toBe(false)
    history.fails('state', 99, -1, undefined, 0)
    history.fails('state', 50, -1, undefined, 0)
    expect([history.lacks('state', 99, 1), history.lacks('state', 100, 1), history.lacks('blocks', 99, 1)]).toEqual([true, false, false])
    history.has('state', 60)
    expect([history.lacks('state', 59, 1), history.lacks('state', 60, 1)]).toEqual([true, false])
  })

  it('rises by a quarter of the way to the newest block, where the endpoint does not tell it', () => {
    const history = new History()
    const asked: number[] = []
    for (let block = 1; block < 700; block++) {
      if (history.lacks('state', block, 0)) continue
      asked.push(block)
      history.fails('state', block, 1000, undefined, 0)
    }
    expect(asked).toEqual([1, 250, 437, 577, 682])
  })

  it('is the block that the endpoint names', () => {
    const history = new History()
    history.fails('blocks', 10, 1e6, 5000, 0)
    history.reachesTo('stateproofs', Number.POSITIVE_INFINITY, 0)
    expect([history.lacks('blocks', 4999, 1), history.lacks('blocks', 5000, 1), history.lacks('stateproofs', 1e9, 1)]).toEqual([true, false, true])
  })

  it('is not what the endpoint names, if that is beyond the newest block or no newer than the one that failed', () => {
    for (const told of [1001, 2 ** 48, 100, 0, -5]) {
      const history = new History()
      history.fails('blocks', 100, 1000, told, 0)
      expect([history.lacks('blocks', 324, 1), history.lacks('blocks', 325, 1), history.lacks('blocks', 1000, 1)]).toEqual([true, false, false])
    }
    const unheard = new History()
    unheard.fails('blocks', 100, -1, 5000, 0)
    expect(unheard.lacks('blocks', 4999, 1)).toBe(true)
  })

  it('is forgotten after ten minutes, but not what the user says', () => {
    const history = new History(1000)
    history.fails('state', 5000, -1, undefined, 0)
    expect([history.lacks('state', 5000, 599_999), history.lacks('state', 5000, 600_000)]).toEqual([true, false])
    expect(history.lacks('state', 999, 1e9)).toBe(true)
    history.fails('state', 2000, -1, undefined, 700_000)
    expect(history.lacks('state', 5000, 700_001)).toBe(false)
  })
})

const FLOOR = 700
const old = { transactions: () => 1, head: 1000 }

/** How a node that has dropped what is below the floor says so. */
type Answer = NonNullable<ChainOptions['answer']>
const ways: [string, Answer][] = [
  ['4444', pruned({ error: { code: 4444, message: 'pruned history unavailable' } })],
  ['4444 and the oldest block', pruned({ error: { code: 4444, message: `pruned history unavailable: requested block 1, earliest available ${FLOOR}` } })],
  ['archive', pruned({ error: { code: -32000, message: 'this request requires an archive node' } })],
  ['missing trie node', pruned({ error: { code: -32000, message: 'missing trie node 0a1b2c (path ) state 0x12 is not available' } })],
  ['null', pruned({ result: null })],
]

function pruned(refusal: { result: null } | { error: { code: number; message: string } }): Answer {
  return ({ method, params }) => {
    const number = Number(method === 'eth_getBalance' ? params[1] : params[0])
    if (method === 'eth_chainId') return { result: '0x1' }
    if (method === 'eth_getBalance' && !(number < FLOOR)) return { result: '0x7' }
    const isOld = (method === 'eth_getBalance' || method === 'eth_getBlockByNumber') && number < FLOOR
    // A node that answers null for a block says of state that it is missing.
    if (isOld && method === 'eth_getBalance' && 'result' in refusal) return { error: { code: -32000, message: 'missing trie node' } }
    return isOld ? refusal : undefined
  }
}

async function start(options: ChainOptions): Promise<ChainServer> {
  const server = await startChain(options)
  onTestFinished(() => server.close())
  return server
}

const full: Answer = ({ method }) => (method === 'eth_chainId' ? { result: '0x1' } : method === 'eth_getBalance' ? { result: '0x7' } : undefined)

function clientOf(...endpoints: Endpoint[]) {
  const client = createClient(endpoints, { retry: { baseDelayMs: 1 } })
  onTestFinished(() => client.close())
  return client
}

const below = ({ calls }: ChainServer) =>
  calls.filter(
    ({ method, params }) => (method === 'eth_getBalance' && Number(params[1]) < FLOOR) || (method === 'eth_getBlockByNumber' && Number(params[0]) < FLOOR),
  ).length

describe.each(ways)('a pool of a node that says %s of old blocks, and one that has them', (_, answer) => {
  it('answers all calls, and asks the first one for old state hardly ever', async () => {
    const [prunedNode, fullNode] = [await start({ ...old, answer }), await start({ ...old, answer: full })]
    const client = clientOf(prunedNode.url, fullNode.url)
    await client.call('eth_blockNumber')
    for (let i = 0; i < 500; i++) expect(await client.call('eth_getBalance', `0x${'1'.repeat(40)}`, BigInt(i + 1))).toBe(7n)
    expect(below(prunedNode)).toBeLessThanOrEqual(5)
  })

  it('gives a range of blocks that begins below the floor', async () => {
    const [prunedNode, fullNode] = [await start({ ...old, answer }), await start({ ...old, answer: full })]
    const numbers: bigint[] = []
    for await (const { number } of getBlocks(clientOf(prunedNode.url, fullNode.url), { from: 400n, to: 900n })) numbers.push(number)
    expect(numbers).toEqual(Array.from({ length: 501 }, (_, i) => BigInt(400 + i)))
  })
})

describe('how far back a node reaches', () => {
  it('is asked once, when it has failed an old block, and what it tells is heeded', async () => {
    const capabilities = {
      head: { number: hexOf(1000), hash: '0x1' },
      state: { disabled: false, oldestBlock: hexOf(900) },
      blocks: { disabled: false, oldestBlock: hexOf(FLOOR) },
      logs: { disabled: true },
    }
    const answer: Answer = (call, right) =>
      call.method === 'eth_capabilities' ? { result: capabilities } : pruned({ error: { code: 4444, message: 'pruned history unavailable' } })(call, right)
    const [prunedNode, fullNode] = [await start({ ...old, answer }), await start({ ...old, answer: full })]
    const client = clientOf(prunedNode.url, fullNode.url)
    await client.call('eth_getBlockByNumber', 5n, false)
    while (!prunedNode.calls.some(({ method }) => method === 'eth_capabilities')) await client.call('eth_chainId')
    // What was told arrives with a reply of the same connection.
    await client.call('eth_getBlockByNumber', 6n, false)
    await client.call('eth_chainId')
    const { length } = prunedNode.calls
    for (let i = 600; i < 900; i++) await client.call('eth_getBalance', `0x${'1'.repeat(40)}`, BigInt(i))
    expect(prunedNode.calls.slice(length).filter(({ method }) => method === 'eth_getBalance')).toEqual([])
    expect(prunedNode.calls.filter(({ method }) => method === 'eth_capabilities')).toHaveLength(1)
  })

  it('can be given by hand', async () => {
    const [recent, archive] = [await start({ ...old, answer: full }), await start({ ...old, answer: full })]
    const client = clientOf({ url: recent.url, since: BigInt(FLOOR) }, archive.url)
    for (let i = 1; i < FLOOR; i += 10) await client.call('eth_getBalance', `0x${'1'.repeat(40)}`, BigInt(i))
    expect(below(recent)).toBe(0)
    expect(() => createClient({ url: recent.url, since: -1n })).toThrow(
      'endpoint.since: expected a block number (a whole number that is not negative), received -1',
    )
  })

  it('is said at once where there is only one node', async () => {
    const { url, calls } = await start({ ...old, answer: ways[0]?.[1] as Answer })
    await expect(clientOf(url).call('eth_getBlockByNumber', 5n, false)).rejects.toMatchObject({ kind: 'pruned', attempts: 1 })
    expect(calls.filter(({ method }) => method === 'eth_getBlockByNumber')).toHaveLength(1)
  })
})
