import { type Block, JsonRpcProvider } from 'ethers'
import { createClient } from 'hexline'
import { type GetBlocksOptions, HexlineProvider } from 'hexline/ethers'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { isSameBlock } from '../../../../adapters/ethers/format/format-block.ts'
import { seedChain } from '../../../../demo/chain.ts'
import { type Anvil, startAnvil } from '../../../support/anvil.ts'
import { blockHash, type ChainOptions, hexOf, startChain } from '../../../support/chain-server.ts'
import { nightly } from '../../../support/runs.ts'

/** The type of blob transactions, for each of two: anvil takes 5 s to read the trusted setup. */
const BLOBS = nightly(3, 3)

const cleanUp: (() => unknown)[] = []
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end()
})

function providerOf(url: string) {
  const provider = new HexlineProvider(url, 1, { staticNetwork: true, retry: { baseDelayMs: 1, maxDelayMs: 5 } })
  cleanUp.push(() => provider.destroy())
  return provider
}

async function chainOf(options: ChainOptions) {
  const server = await startChain(options)
  cleanUp.push(server.close)
  return { server, provider: providerOf(server.url) }
}

async function all(blocks: AsyncIterable<Block>): Promise<Block[]> {
  const list: Block[] = []
  for await (const block of blocks) list.push(block)
  return list
}

async function failureOf(blocks: AsyncIterable<Block>): Promise<Error & Record<string, unknown>> {
  return all(blocks).then(
    () => Promise.reject(new Error('it did not fail')),
    (error) => error,
  )
}

/** A block with the fields that ethers requires. */
const whole = (right: unknown) =>
  right !== null && typeof right === 'object' && 'parentHash' in right
    ? { result: { ...right, difficulty: '0x0', nonce: '0x0000000000000000', extraData: '0x', miner: `0x${'11'.repeat(20)}` } }
    : undefined

describe('on a node', () => {
  let anvil: Anvil
  let head: bigint
  beforeAll(async () => {
    anvil = await startAnvil({ pruneHistory: true, timestamp: 1_700_000_000 })
    head = (await seedChain(anvil.url, { blocks: 120, blobs: BLOBS.length })).head
  })
  afterAll(() => anvil.stop())

  it.each([true, false])("each block is what ethers' own getBlock gives, with transactions of every type (prefetchTxs: %s)", async (prefetchTxs) => {
    const peer = new JsonRpcProvider(anvil.url, 31337, { staticNetwork: true, cacheTimeout: -1 })
    cleanUp.push(() => peer.destroy())
    const provider = await HexlineProvider.connect(anvil.url)
    cleanUp.push(() => provider.destroy())
    const blocks = await all(provider.getBlocks(0, 'latest', { prefetchTxs }))
    expect(blocks.map(({ number }) => number)).toEqual(Array.from({ length: Number(head) + 1 }, (_, i) => i))
    const types = new Set<number>()
    for (const block of blocks) {
      const same = (await peer.getBlock(block.number, prefetchTxs)) as Block
      if (prefetchTxs) {
        expect(isSameBlock(block, same)).toBe(true)
        for (const { type } of block.prefetchedTransactions) types.add(type)
      } else {
        expect(block.toJSON()).toEqual(same.toJSON())
        if (block.length > 0) expect(() => block.prefetchedTransactions).toThrow('transactions were not prefetched')
      }
    }
    if (prefetchTxs) expect([...types].sort()).toEqual([0, 1, 2, ...BLOBS.slice(0, 1), 4])
  })

  it('its transactions and receipts work like any others', async () => {
    const provider = await HexlineProvider.connect(anvil.url)
    cleanUp.push(() => provider.destroy())
    for await (const block of provider.getBlocks(1, 40, { prefetchTxs: true })) {
      const [first] = block.prefetchedTransactions
      if (first === undefined) continue
      const receipts = await provider.getBlockReceipts(block.number)
      expect(receipts?.map(({ hash }) => hash)).toEqual(block.transactions)
      expect(receipts?.[0]).toEqual(await first.wait())
      expect(await block.getTransaction(0)).toBe(first)
      return
    }
    throw new Error('there was no transaction')
  })
})

describe('the range', () => {
  it.each<[string, number | bigint, number | bigint | undefined | 'finalized', number[]]>([
    ['ends at the latest block by default', 10, undefined, [10, 11, 12]],
    ['includes both ends', 3n, 5n, [3, 4, 5]],
    ['may end at a tag', 5, 'finalized', [5, 6, 7, 8]],
  ])('%s', async (_, from, to, numbers) => {
    const { provider } = await chainOf({ head: 12, answer: (_, right) => whole(right) })
    expect((await all(provider.getBlocks(from, to))).map(({ number }) => number)).toEqual(numbers)
  })

  it.each<[unknown[], string]>([
    [[5, 4], 'to: expected at least the first block, 5, received 4'],
    [[-1], 'from: expected a block number (a whole number that is not negative), received -1'],
    [[1, 'pending'], 'to: expected a block number (a whole number that is not negative), or one of latest, safe, finalized, earliest, received "pending"'],
    [[1, 2, { full: true }], 'options: expected only prefetchTxs, signal, maxBytes, onProgress, received "full"'],
    [[1, 2, { prefetchTxs: 'yes' }], 'prefetchTxs: expected true or false, received "yes"'],
    [[1, 2, { maxBytes: 0 }], 'maxBytes: expected a number of bytes above 0, received 0'],
  ])('%j is refused at once', async (args, message) => {
    const { provider, server } = await chainOf({ head: 12 })
    expect(() => provider.getBlocks(...(args as [number, number, GetBlocksOptions]))).toThrow(message)
    expect(server.calls).toEqual([])
  })
})

describe('when something is wrong', () => {
  it("a node's failure is ethers' own error", async () => {
    const { provider } = await chainOf({
      head: 12,
      answer: ({ params }, right) => (params[0] === hexOf(7) ? { error: { code: -32601, message: 'no such method' } } : whole(right)),
    })
    expect(await failureOf(provider.getBlocks(0))).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'eth_getBlockByNumber' })
  })

  it('blocks that do not link end it, after those that do', async () => {
    const { provider } = await chainOf({
      head: 12,
      answer: (_, right) => whole((right as { number?: string } | null)?.number === hexOf(7) ? { ...(right as object), parentHash: blockHash(1) } : right),
    })
    const came: number[] = []
    const failure = await (async () => {
      for await (const { number } of provider.getBlocks(0)) came.push(number)
    })().catch((error) => error)
    expect(failure).toMatchObject({ name: 'IntegrityError' })
    expect(came).toEqual([0, 1, 2, 3, 4, 5, 6])
  })

  it("a field that cannot be read is ethers' own error", async () => {
    const { provider } = await chainOf({
      head: 3,
      answer: (_, right) => whole((right as { number?: string } | null)?.number === hexOf(2) ? { ...(right as object), gasUsed: '0xzz' } : right),
    })
    expect(await failureOf(provider.getBlocks(0, 3))).toMatchObject({ code: 'BAD_DATA', shortMessage: expect.stringContaining('value.gasUsed') })
  })

  it('an abort ends it with its own reason', async () => {
    const { provider } = await chainOf({ head: 500, answer: (_, right) => whole(right) })
    const controller = new AbortController()
    const reason = new Error('enough')
    const came: number[] = []
    const failure = await (async () => {
      for await (const { number } of provider.getBlocks(0, 'latest', { signal: controller.signal })) {
        came.push(number)
        if (came.length === 10) controller.abort(reason)
      }
    })().catch((error) => error)
    expect(failure).toBe(reason)
    expect(came).toHaveLength(10)
  })

  it('destroying the provider ends it', async () => {
    const { server } = await chainOf({ head: 500, answer: (_, right) => whole(right) })
    const client = createClient(server.url)
    cleanUp.push(client.close)
    const provider = new HexlineProvider(client, 1, { staticNetwork: true })
    const failure = await (async () => {
      for await (const { number } of provider.getBlocks(0)) if (number === 10) provider.destroy()
    })().catch((error) => error)
    expect(failure).toMatchObject({ code: 'UNSUPPORTED_OPERATION', shortMessage: 'provider destroyed; cancelled request' })
  })
})

it('destroying the provider that owns the client ends it at the next block, with an error that says so', async () => {
  const { provider } = await chainOf({ head: 500, answer: (_, right) => whole(right) })
  const came: number[] = []
  const failure = await (async () => {
    for await (const { number } of provider.getBlocks(0)) {
      came.push(number)
      if (number === 10) provider.destroy()
    }
  })().catch((error) => error)
  expect(came).toHaveLength(11)
  expect(failure).toMatchObject({ code: 'UNSUPPORTED_OPERATION', shortMessage: 'provider destroyed; cancelled request' })
  expect(await failureOf(provider.getBlocks(0))).toMatchObject({ code: 'UNSUPPORTED_OPERATION', shortMessage: 'provider destroyed; cancelled request' })
})

it.each<[string, object]>([
  ['without transactions', { transactions: undefined }],
  ['with an invalid number', { number: 'x' }],
  ['with an invalid transaction', { transactions: [null] }],
])("a block %s is the node's fault", async (_, fields) => {
  const { provider } = await chainOf({
    head: 5,
    answer: (_, right) => whole((right as { number?: string } | null)?.number === hexOf(3) ? { ...(right as object), ...fields } : right),
  })
  expect(await failureOf(provider.getBlocks(0, 5))).toMatchObject({
    code: 'BAD_DATA',
    shortMessage: expect.stringContaining('blocks[3]'),
  })
})

it('a subclass wraps blocks as it likes', async () => {
  class Mine extends HexlineProvider {
    override _wrapBlock(...args: Parameters<HexlineProvider['_wrapBlock']>): Block {
      return Object.assign(super._wrapBlock(...args), { mine: true })
    }
  }
  const { server } = await chainOf({ head: 2, answer: (_, right) => whole(right) })
  const provider = new Mine(server.url, 1, { staticNetwork: true })
  cleanUp.push(() => provider.destroy())
  expect((await all(provider.getBlocks(0))).map((block) => (block as Block & { mine: boolean }).mine)).toEqual([true, true, true])
})
