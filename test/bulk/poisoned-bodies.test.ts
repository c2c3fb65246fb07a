import { isDeepStrictEqual } from 'node:util'
import { type Block, JsonRpcProvider } from 'ethers'
import { createClient } from 'hexline'
import { type BlockField, getBlocks } from 'hexline/bulk'
import { HexlineProvider } from 'hexline/ethers'
import { bulkActions, hexline } from 'hexline/viem'
import { createPublicClient, formatBlock, type RpcBlock } from 'viem'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { makeBlocks, makeReceipts } from '../../bench/made-blocks.ts'
import { blockLines } from '../../src/bulk/blocks/lines.ts'
import { checkBlockOptions } from '../../src/bulk/get-blocks.ts'
import { BodyPool } from '../../src/rpc/body-pool.ts'
import { blockHash, hexOf, type SeenCall } from '../support/chain-server.ts'
import { asSent, startPieces } from '../support/pieces-server.ts'
import { poisons } from '../support/poison.ts'
import { runs } from '../support/runs.ts'

/*
 * Blocks of mixed sizes, read from bodies that are overwritten as soon as they are released, and
 * compared value by value with what was sent. The nightly tests read 100,000.
 */

let released = 0

beforeEach(() => {
  released = 0
  const { take, release } = BodyPool.prototype
  vi.spyOn(BodyPool.prototype, 'take').mockImplementation(function (this: BodyPool, size) {
    return take.call(this, size)?.fill(0xff)
  })
  vi.spyOn(BodyPool.prototype, 'release').mockImplementation(function (this: BodyPool, bytes) {
    release.call(this, bytes)
    if (bytes.length > 0) released++
    poisons['other digits'](bytes)
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

const made = makeBlocks().map((block) => ({ block, receipts: makeReceipts(block) as unknown as Record<string, unknown>[] }))

/** A block of 0 to 15 transactions in the shape of mainnet's, as JSON gives it. */
function blockAt(number: number): Record<string, unknown> & { transactions: Record<string, unknown>[] } {
  const { block } = made[number % made.length] as (typeof made)[number]
  const own = { blockHash: blockHash(number), blockNumber: hexOf(number) }
  const transactions = block.transactions.slice(0, (number * 7) % 16).map((each) => ({ ...each, ...own }))
  return { ...block, number: hexOf(number), hash: blockHash(number), parentHash: blockHash(number - 1), transactions } as never
}

function receiptsAt(number: number): object[] {
  const { receipts } = made[number % made.length] as (typeof made)[number]
  const own = { blockHash: blockHash(number), blockNumber: hexOf(number) }
  return receipts.slice(0, (number * 7) % 16).map((each) => ({ ...each, ...own, logs: (each.logs as object[]).map((log) => ({ ...log, ...own })) }))
}

function answer({ method, params: [tag, full] }: SeenCall): unknown {
  if (method === 'eth_chainId') return '0x1'
  if (method === 'eth_blockNumber') return '0xfffffff'
  if (method === 'eth_getBlockReceipts') return receiptsAt(Number(tag))
  return full ? blockAt(Number(tag)) : withHashes(Number(tag))
}

function withHashes(number: number): object {
  const block = blockAt(number)
  return { ...block, transactions: block.transactions.map(({ hash }) => hash) }
}

const FIELDS = ['timestamp', 'transactions.hash', 'transactions.value', 'transactions.input'] as const satisfies BlockField[]

function withFields(number: number): object {
  const { timestamp, hash, parentHash, transactions } = blockAt(number)
  return { timestamp, number: hexOf(number), hash, parentHash, transactions: transactions.map(({ hash, value, input }) => ({ hash, value, input })) }
}

/** The blocks of a range, each beside the right one, in a form that can be compared. */
type Read = (url: string, range: { from: number; to: number }) => AsyncGenerator<readonly [received: unknown, right: unknown]>

const decoded = (options: object, rightOf: (number: number) => unknown): Read =>
  async function* (url, range) {
    await using client = createClient(url)
    let number = range.from
    for await (const block of getBlocks(client, { ...range, ...options })) yield [asSent(block), rightOf(number++)]
  }

const ways: Record<string, Read> = {
  'with whole transactions': decoded({ transactions: 'full' }, blockAt),
  'with hashes': decoded({ transactions: 'hashes' }, withHashes),
  'with receipts': decoded({ transactions: 'full', receipts: true }, (number) => ({ ...blockAt(number), receipts: receiptsAt(number) })),
  'with some fields': decoded({ transactions: 'full', fields: FIELDS }, withFields),
  'as lines': async function* (url, range) {
    await using client = createClient(url)
    let number = range.from
    const options = checkBlockOptions({ ...range, transactions: 'full' })
    for await (const line of blockLines(client, options)) yield [JSON.parse(Buffer.concat(line).toString()), blockAt(number++)]
  },
  'through viem': async function* (url, { from, to }) {
    const client = createPublicClient({ transport: hexline(url) }).extend(bulkActions())
    let number = from
    const range = { fromBlock: BigInt(from), toBlock: BigInt(to), includeTransactions: true }
    for await (const block of client.getBlocks(range)) yield [block, formatBlock(blockAt(number++) as unknown as RpcBlock)]
    await client.transport.client.close()
  },
  'through ethers': async function* (url, { from, to }) {
    const options = { staticNetwork: true }
    const [provider, own] = [new HexlineProvider(url, 1, options), new JsonRpcProvider(url, 1, options)]
    onTestFinished(() => own.destroy())
    const network = await own.getNetwork()
    let number = from
    for await (const block of provider.getBlocks(from, to, { prefetchTxs: true })) {
      const right = own._wrapBlock(blockAt(number++) as never, network)
      yield [jsonOf(block), jsonOf(right)]
    }
    provider.destroy()
  },
}

function jsonOf(block: Block): unknown {
  return [block.toJSON(), block.prefetchedTransactions.map((each) => each.toJSON())]
}

const FIRST = 0x1400000
const { numRuns: BLOCKS } = runs(2500)

describe.each(['identity', 'gzip'])('from released bodies that are overwritten, sent with coding %s,', (coding) => {
  test.each(Object.keys(ways))('blocks %s are what was sent', async (name) => {
    const { url } = await startPieces(false, { coding, ends: 'counted', piece: () => 200_000 }, answer)
    const count = Math.ceil(BLOCKS / 2 / Object.keys(ways).length)
    const wrong: number[] = []
    let number = FIRST
    for await (const [received, right] of (ways[name] as Read)(url, { from: FIRST, to: FIRST + count - 1 })) {
      if (!isDeepStrictEqual(received, right)) wrong.push(number)
      number++
    }
    expect(wrong).toEqual([])
    expect(number).toBe(FIRST + count)
    expect(released).toBeGreaterThan(0)
  })
})
