import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SeededChain, seedChain } from '../../demo/chain.ts'
import { type Block, type Client, createClient, type Receipt } from '../../src/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'

const BLOCKS = 60

describe('a seeded chain of 60 blocks', () => {
  let anvil: Anvil
  let client: Client
  let seeded: SeededChain
  const progress: number[] = []
  const blocks: Block<true>[] = []
  const receipts: Receipt[] = []

  beforeAll(async () => {
    anvil = await startAnvil({ timestamp: 1_700_000_000 })
    client = createClient(anvil.url)
    seeded = await seedChain(anvil.url, { blocks: BLOCKS, onProgress: (done) => progress.push(done) })
    const numbers = Array.from({ length: BLOCKS + 1 }, (_, i) => BigInt(i))
    for (const block of await Promise.all(numbers.map((number) => client.call('eth_getBlockByNumber', number, true)))) if (block) blocks.push(block)
    for (const list of await Promise.all(numbers.map((number) => client.call('eth_getBlockReceipts', number)))) if (list) receipts.push(...list)
  })

  afterAll(async () => {
    await client?.close()
    await anvil?.stop()
  })

  it('has the head it promises, and every block below it', async () => {
    expect(await client.call('eth_blockNumber')).toBe(BigInt(BLOCKS))
    expect(seeded.head).toBe(BigInt(BLOCKS))
    expect(blocks.map((block) => block.number)).toEqual(Array.from({ length: BLOCKS + 1 }, (_, i) => BigInt(i)))
    for (const [i, block] of blocks.entries()) if (i > 0) expect(block.parentHash).toBe(blocks[i - 1]?.hash)
  })

  it('has blocks 12 seconds apart', () => {
    expect(blocks.map((block) => block.timestamp)).toEqual(blocks.map((_, i) => 1_700_000_000n + 12n * BigInt(i)))
  })

  it('has transactions of the types 0 to 4, as many as it says', () => {
    const types: Record<number, number> = {}
    for (const { type } of blocks.flatMap((block) => block.transactions)) types[type as number] = (types[type as number] ?? 0) + 1
    expect(Object.keys(types)).toEqual(['0', '1', '2', '3', '4'])
    expect(types).toEqual(seeded.types)
    expect(receipts).toHaveLength(seeded.transactions)
  })

  it('has empty blocks, small ones and crowded ones', () => {
    const sizes = blocks.slice(1).map((block) => block.transactions.length)
    expect(sizes.filter((size) => size === 0)).toHaveLength(seeded.emptyBlocks)
    expect(seeded.emptyBlocks).toBeGreaterThan(0)
    expect(sizes.filter((size) => size >= 1 && size <= 5).length).toBeGreaterThan(BLOCKS / 2)
    expect(Math.max(...sizes)).toBe(seeded.busiest)
    expect(seeded.busiest).toBeGreaterThan(50)
  })

  it('keeps the order of the plan within a block', () => {
    for (const { transactions } of blocks) {
      const fees = transactions.map((each) => ('maxFeePerGas' in each ? each.maxFeePerGas : each.gasPrice) as bigint)
      expect(fees).toEqual(fees.toSorted((a, b) => Number(b - a)))
    }
  })

  it('has logs of tokens, of a collectible, and of accounts that lent themselves a token', async () => {
    const logs = await client.call('eth_getLogs', { fromBlock: 0n, toBlock: 'latest' })
    expect(logs).toHaveLength(seeded.logs)
    expect(logs.filter((log) => log.address === seeded.collectible).every((log) => log.topics.length === 4)).toBe(true)
    const transfers = logs.filter((log) => log.topics.length === 3)
    expect(new Set(transfers.map((log) => log.address)).size).toBeGreaterThan(seeded.tokens.length)
    for (const token of seeded.tokens) {
      const [own, counter] = await Promise.all([client.call('eth_getLogs', { fromBlock: 0n, address: token }), client.call('eth_getStorageAt', token, 0n)])
      expect(own.length).toBeGreaterThan(0)
      expect(BigInt(counter)).toBe(BigInt(own.length))
    }
  })

  it('has calls that reverted, and no other failures', () => {
    expect(receipts.filter((receipt) => receipt.status === 0)).toHaveLength(seeded.reverted)
    expect(seeded.reverted).toBeGreaterThan(0)
  })

  it('has its blob transactions where it says', () => {
    const found = blocks.filter((block) => block.transactions.some((each) => each.type === 3)).map((block) => block.number)
    expect(found).toEqual(seeded.blobBlocks)
  })

  it('reports its progress', () => {
    expect(progress.at(-1)).toBe(BLOCKS)
    expect(progress).toEqual(progress.toSorted((a, b) => a - b))
  })

  it('leaves a node that mines what it is sent', async () => {
    const [from] = (await client.request({ method: 'eth_accounts' })) as [string]
    const hash = (await client.request({ method: 'eth_sendTransaction', params: [{ from, to: from, value: '0x1' }] })) as `0x${string}`
    await expect.poll(() => client.call('eth_getTransactionReceipt', hash)).toMatchObject({ status: 1, blockNumber: seeded.head + 1n })
  })
})

describe('another seeded chain', () => {
  it('is the same to the last hash when its node has the same first timestamp', async () => {
    const heads = []
    for (let i = 0; i < 2; i++) {
      const anvil = await startAnvil({ timestamp: 1_700_000_000 })
      const client = createClient(anvil.url)
      await seedChain(anvil.url, { blocks: 20, blobs: 0 })
      heads.push((await client.call('eth_getBlockByNumber', 'latest', false))?.hash)
      await client.close()
      await anvil.stop()
    }
    expect(heads[0]).toMatch(/^0x/)
    expect(heads[0]).toBe(heads[1])
  })

  it('is refused when it could not hold what a seeded chain holds', async () => {
    await expect(seedChain('http://127.0.0.1:1', { blocks: 19 })).rejects.toThrow('blocks: expected a whole number of at least 20, received 19')
    await expect(seedChain('http://127.0.0.1:1', { blocks: 20, blobs: 5 })).rejects.toThrow('blobs: expected a whole number from 0 to a fifth of the blocks')
  })
})
