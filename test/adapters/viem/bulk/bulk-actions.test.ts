import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from 'hexline'
import { bulkActions, type GetBlocksParameters, hexline } from 'hexline/viem'
import { type Block, type Chain, createPublicClient, defineBlock, defineChain, fallback, http, InvalidParamsRpcError, type Transport } from 'viem'
import { celo, mainnet, optimism, zksync } from 'viem/chains'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { seedChain } from '../../../../demo/chain.ts'
import { type Anvil, startAnvil } from '../../../support/anvil.ts'
import { blockHash, blockOf, type ChainOptions, hexOf, startChain, withLongFields } from '../../../support/chain-server.ts'
import { hasCorpus, noCorpus, readBlocks } from '../../../support/corpus.ts'
import { steadyTime } from '../../../support/held-time.ts'
import { isNewViem } from '../../../support/peers.ts'
import { nightly } from '../../../support/runs.ts'

/** Transactions with blobs. Before its first one, anvil prepares a trusted setup for seconds. */
const [BLOBS = 0] = nightly(2)

const cleanUp: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end()
})

/** A viem client on hexline that ends with the test. */
function clientOf<chain extends Chain | undefined = undefined>(url: string, chain?: chain) {
  const transport = hexline(url, { retryDelay: 1 })
  const client = createPublicClient({ chain: chain as chain, transport }).extend(bulkActions())
  cleanUp.push(() => client.transport.client.close())
  return client
}

async function chainOf(options: ChainOptions) {
  const server = await startChain(options)
  cleanUp.push(server.close)
  return { server, client: clientOf(server.url) }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function failureOf(items: AsyncIterable<unknown>): Promise<Error & Record<string, unknown>> {
  return all(items).then(
    () => Promise.reject(new Error('it did not fail')),
    (error) => error,
  )
}

function thrownBy(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was thrown')
}

describe("on a node, each block is what viem's own getBlock gives", () => {
  let anvil: Anvil
  let head: bigint
  beforeAll(async () => {
    anvil = await startAnvil({ pruneHistory: true, timestamp: 1_700_000_000 })
    head = (await seedChain(anvil.url, { blocks: 60, blobs: BLOBS })).head
  })
  afterAll(() => anvil.stop())

  it.each([
    { includeTransactions: true, includeReceipts: true },
    { includeTransactions: false, includeReceipts: false },
    ...nightly({ includeTransactions: true, includeReceipts: false }, { includeTransactions: false, includeReceipts: true }),
  ])('%j, with transactions of every type', async ({ includeTransactions, includeReceipts }) => {
    const client = clientOf(anvil.url)
    const peer = createPublicClient({ transport: http(anvil.url) })
    const blocks = await all(client.getBlocks({ fromBlock: 0n, toBlock: head, includeTransactions, includeReceipts }))
    expect(blocks.map(({ number }) => number)).toEqual(Array.from({ length: Number(head) + 1 }, (_, i) => BigInt(i)))
    const types = new Set<unknown>()
    for (const { receipts, ...block } of blocks as (Block & { receipts?: { transactionHash: `0x${string}`; type: string }[] })[]) {
      expect(block).toStrictEqual(await peer.getBlock({ blockNumber: block.number as bigint, includeTransactions }))
      expect(receipts === undefined).toBe(!includeReceipts)
      for (const receipt of receipts ?? []) {
        types.add(receipt.type)
        expect(receipt).toStrictEqual(await peer.getTransactionReceipt({ hash: receipt.transactionHash }))
      }
    }
    if (includeReceipts) expect([...types].sort()).toEqual(['eip1559', 'eip2930', ...(BLOBS > 0 ? ['eip4844'] : []), 'eip7702', 'legacy'])
  })
})

/** Answers every call with one block or its receipts, as the node of another chain sends them. */
async function startOneBlock(block: unknown, receipts: unknown = []): Promise<string> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const body = JSON.parse(text)
    const number = (block as { number: string }).number
    const answer = ({ id, method, params }: { id: number; method: string; params: [string] }) => {
      if (method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: number }
      if (method === 'eth_getBlockReceipts') return { jsonrpc: '2.0', id, result: receipts }
      if (method !== 'eth_getTransactionReceipt') return { jsonrpc: '2.0', id, result: block }
      return { jsonrpc: '2.0', id, result: (receipts as { transactionHash: string }[]).find(({ transactionHash }) => transactionHash === params[0]) }
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Asserts that hexline and viem return the same. */
async function equalBlocks(block: Record<string, unknown>, receipts: unknown[], chain: Chain | undefined) {
  const url = await startOneBlock(block, receipts)
  const includeTransactions = typeof (block.transactions as unknown[])[0] === 'object'
  const number = BigInt(block.number as string)
  const client = clientOf(url, chain)
  const peer = createPublicClient({ chain, transport: http(url) })
  const [got] = await all(client.getBlocks({ fromBlock: number, toBlock: number, includeTransactions, includeReceipts: true }))
  const { receipts: gotReceipts, ...gotBlock } = got as { receipts: { transactionHash: `0x${string}` }[] }
  expect(gotBlock).toStrictEqual(await peer.getBlock({ blockNumber: number, includeTransactions }))
  for (const receipt of gotReceipts) expect(receipt).toStrictEqual(await peer.getTransactionReceipt({ hash: receipt.transactionHash }))
  expect(gotReceipts).toHaveLength(receipts.length)
  return gotBlock as unknown as Block
}

describe('real blocks of other chains and forks', () => {
  const files = readBlocks().filter(({ receipts }) => receipts !== undefined)
  it.skipIf(!hasCorpus)(`there are some (otherwise ${noCorpus})`, () => expect(files.length).toBeGreaterThan(5))

  it.each(files)("$name, as viem's getBlock and getTransactionReceipt give them", async ({ block, receipts = [] }) => {
    await equalBlocks(block as unknown as Record<string, unknown>, receipts, undefined)
  })
})

describe("a chain's own formatters are used", () => {
  const number = '0x10'
  const hash = blockHash(16)
  const mined = { blockHash: hash, blockNumber: number, transactionIndex: '0x0', nonce: '0x1', gas: '0x5208', value: '0x2', input: '0x' }
  const receipt = (transactionHash: string, more: object) => ({
    ...{ transactionHash, transactionIndex: '0x0', blockHash: hash, blockNumber: number, status: '0x1', type: '0x7e' },
    ...{ gasUsed: '0x5208', cumulativeGasUsed: '0x5208', logs: [], ...more },
  })
  const blockWith = (transaction: object, more: object = {}) => ({
    ...blockOf(16, true),
    ...more,
    transactions: [{ hash: blockHash(99), ...mined, ...transaction }],
  })

  it('OP Stack: deposits', async () => {
    const deposit = { type: '0x7e', mint: '0x5', sourceHash: blockHash(1), isSystemTx: true }
    const fees = { l1Fee: '0x9', l1GasPrice: '0x3', l1GasUsed: '0x3', l1FeeScalar: '0.684', depositNonce: '0x7', depositReceiptVersion: '0x1' }
    const block = await equalBlocks(blockWith(deposit), [receipt(blockHash(99), fees)], optimism)
    expect(block.transactions[0]).toMatchObject({ type: 'deposit', mint: 5n, isSystemTx: true })
  })

  it('Celo: fee currencies', async () => {
    const block = await equalBlocks(blockWith({ type: '0x7b', feeCurrency: blockHash(3) }), [receipt(blockHash(99), {})], celo)
    expect(block.transactions[0]).toMatchObject({ feeCurrency: blockHash(3) })
  })

  it('zkSync: batches of L1', async () => {
    const more = { l1BatchNumber: '0x20', l1BatchTimestamp: '0x65' }
    const transaction = { type: '0x71', l1BatchNumber: '0x20', l1BatchTxIndex: '0x1' }
    const block = await equalBlocks(
      blockWith(transaction, more),
      [receipt(blockHash(99), { l1BatchNumber: '0x20', l1BatchTxIndex: '0x1', l2ToL1Logs: [] })],
      zksync,
    )
    expect(block).toMatchObject({ l1BatchNumber: 32n })
    expect(block.transactions[0]).toMatchObject({ type: 'eip712', l1BatchTxIndex: 1n })
  })

  it('a formatter’s failure names the block', async () => {
    const url = await startOneBlock(blockWith({ type: '0x7e', mint: '0xzz' }))
    const failure = await failureOf(clientOf(url, optimism).getBlocks({ fromBlock: 16n, toBlock: 16n, includeTransactions: true }))
    expect(failure).toMatchObject({ name: 'CodecError', path: 'blocks[16]' })
    expect(failure.message).toContain('0xzz')
  })

  it('the kind of transactions is checked before a formatter gets them', async () => {
    const url = await startOneBlock({ ...blockOf(16, true), transactions: [blockHash(7)] })
    const failure = await failureOf(clientOf(url, optimism).getBlocks({ fromBlock: 16n, toBlock: 16n, includeTransactions: true }))
    expect(failure.message).toBe(`blocks[16].transactions[0]: expected a transaction, received "${blockHash(7)}"`)
  })
})

it('blocks and receipts come from a node that adds a long field after each result', async () => {
  const { client } = await chainOf({ head: 12, transactions: () => 9, body: withLongFields })
  const blocks = await all(client.getBlocks({ fromBlock: 0n, toBlock: 12n, includeReceipts: true }))
  expect(blocks.map(({ transactions, receipts }) => [transactions.length, receipts.length])).toEqual(Array.from({ length: 13 }, () => [9, 9]))
})

describe('the range', () => {
  it("begins at 'earliest' and ends at the latest block by default", async () => {
    const { client } = await chainOf({ head: 12 })
    expect((await all(client.getBlocks({ fromBlock: 'earliest' }))).map(({ number }) => Number(number))).toEqual(Array.from({ length: 13 }, (_, i) => i))
  })

  it('may end at a tag', async () => {
    const { client } = await chainOf({ head: 12 })
    expect((await all(client.getBlocks({ fromBlock: 5n, toBlock: 'finalized' }))).map(({ number }) => Number(number))).toEqual([5, 6, 7, 8])
  })

  it.each<[object, string]>([
    [{ fromBlock: 5n, toBlock: 4n }, 'toBlock: expected at least the first block, 5, received 4'],
    [{ fromBlock: -1n }, 'fromBlock: expected a block number (a whole number that is not negative), received -1n'],
    [
      { fromBlock: 1n, toBlock: 'pending' },
      'toBlock: expected a block number (a whole number that is not negative), or one of latest, safe, finalized, earliest, received "pending"',
    ],
    [{ from: 1n }, 'parameters: expected only fromBlock, toBlock, includeTransactions, includeReceipts, signal, maxBytes, onProgress, received "from"'],
    [{ fromBlock: 1n, maxBytes: 0 }, 'maxBytes: expected a number of bytes above 0, received 0'],
    [{ fromBlock: 1n, includeReceipts: 'yes' }, 'includeReceipts: expected true or false, received "yes"'],
  ])('%o is refused at once', async (parameters, message) => {
    const { client, server } = await chainOf({ head: 12 })
    expect(thrownBy(() => client.getBlocks(parameters as GetBlocksParameters))).toBe(message)
    expect(server.calls).toEqual([])
  })
})

describe('when something is wrong', () => {
  it("a node's error is viem's own", async () => {
    const { client } = await chainOf({ head: 12, answer: ({ params }) => (params[0] === hexOf(7) ? { error: { code: -32602, message: 'no' } } : undefined) })
    const failure = await failureOf(client.getBlocks({ fromBlock: 0n }))
    expect(failure).toMatchObject({ name: 'RpcRequestError', code: InvalidParamsRpcError.code, details: 'no' })
  })

  it('blocks that do not link end it, after those that do', async () => {
    const { client } = await chainOf({
      head: 12,
      answer: (_, right) =>
        (right as { number?: string } | null)?.number === hexOf(7) ? { result: { ...(right as object), parentHash: blockHash(1) } } : undefined,
    })
    const came: unknown[] = []
    const failure = await (async () => {
      for await (const { number } of client.getBlocks({ fromBlock: 0n })) came.push(Number(number))
    })().catch((error) => error)
    expect(failure).toMatchObject({ name: 'IntegrityError' })
    expect(came).toEqual([0, 1, 2, 3, 4, 5, 6])
  })

  it('a field that cannot be read is named', async () => {
    const { client } = await chainOf({
      head: 3,
      answer: (_, right) => {
        const block = right as { transactions?: object[] } | null
        return block?.transactions ? { result: { ...block, transactions: block.transactions.map((each) => ({ ...each, value: '0x' })) } } : undefined
      },
    })
    const failure = await failureOf(client.getBlocks({ fromBlock: 2n, toBlock: 2n, includeTransactions: true }))
    // Blocks of an old viem have other fields: its own formatter makes them.
    const expected = isNewViem ? '.transactions[0].value: expected a hex quantity, received "0x"' : ": expected a value that the chain's formatter can read"
    expect(failure.message).toMatch(`blocks[2]${expected}`)
  })

  it('an abort ends it with its own reason', async () => {
    const { client } = await chainOf({ head: 500 })
    const controller = new AbortController()
    const reason = new Error('enough')
    const came: unknown[] = []
    const failure = await (async () => {
      for await (const { number } of client.getBlocks({ fromBlock: 0n, signal: controller.signal })) {
        came.push(number)
        if (came.length === 10) controller.abort(reason)
      }
    })().catch((error) => error)
    expect(failure).toBe(reason)
    expect(came).toHaveLength(10)
  })

  it.each<[string, Transport, string]>([
    ['http', http('http://127.0.0.1:1'), 'transport: expected hexline(), received http, which bulkActions cannot use'],
    [
      'fallback',
      fallback([http('http://127.0.0.1:1')]),
      'transport: expected hexline() (several nodes are hexline([url, url])), received fallback, which bulkActions cannot use',
    ],
  ])('another transport (%s) is refused at once', (_, transport, message) => {
    expect(thrownBy(() => createPublicClient({ chain: mainnet, transport }).extend(bulkActions()))).toBe(message)
  })
})

it('reports its progress', async () => {
  const { client } = await chainOf({ head: 30 })
  const told: number[] = []
  await all(client.getBlocks({ fromBlock: 10n, toBlock: 20n, onProgress: ({ done, total }) => told.push(done / total) }))
  expect(told).toHaveLength(11)
  expect(told.at(-1)).toBe(1)
})

describe('a formatter that changes the linking fields', () => {
  const format = (block: unknown) => block
  it.each<[string, object]>([
    ['leaves the parent out', { block: defineBlock({ exclude: ['parentHash'], format: () => ({}) }) }],
    ['makes the number a number', { block: defineBlock({ format: (block: { number: string }) => ({ number: Number(block.number) }) }) }],
    ['leaves the transactions out', { block: defineBlock({ exclude: ['transactions'], format: () => ({}) }) }],
    ['leaves the hash out', { block: { format: (block: object) => ({ ...block, hash: undefined }), type: 'block' } }],
    ['changes receipts', { block: { format, type: 'block' }, transactionReceipt: { format: () => ({}), type: 'transactionReceipt' } }],
  ])('one that %s is used anyway', async (_, formatters) => {
    const server = await startChain({ head: 5 })
    cleanUp.push(server.close)
    const client = clientOf(server.url, defineChain({ ...mainnet, formatters: formatters as never }))
    expect(await all(client.getBlocks({ fromBlock: 0n, toBlock: 5n, includeReceipts: true }))).toHaveLength(6)
  })

  it('blocks that do not link are still detected', async () => {
    const server = await startChain({
      head: 5,
      answer: (_, right) =>
        (right as { number?: string } | null)?.number === hexOf(3) ? { result: { ...(right as object), parentHash: blockHash(1) } } : undefined,
    })
    cleanUp.push(server.close)
    const client = clientOf(
      server.url,
      defineChain({ ...mainnet, formatters: { block: defineBlock({ exclude: ['parentHash'], format: () => ({}) }) } as never }),
    )
    expect(await failureOf(client.getBlocks({ fromBlock: 0n }))).toMatchObject({ name: 'IntegrityError' })
  })
})

it('a missing block below the head ends it with an explanation', async () => {
  steadyTime()
  const server = await startChain({
    head: 5,
    answer: ({ method, params }) => (method === 'eth_getBlockByNumber' && params[0] === hexOf(3) ? { result: null } : undefined),
  })
  cleanUp.push(server.close)
  const client = createClient(server.url, { retry: { baseDelayMs: 1, maxDelayMs: 5 }, deadlineMs: 100 })
  cleanUp.push(client.close)
  const failure = await failureOf(
    createPublicClient({ transport: hexline(client) })
      .extend(bulkActions())
      .getBlocks({ fromBlock: 0n }),
  )
  expect(failure).toMatchObject({ name: 'IntegrityError', kind: 'lagging' })
})

it('an authorization with huge numbers does not stop it (EIP-7702)', async () => {
  const authorization = { chainId: `0x${'f'.repeat(64)}`, nonce: '0xfffffffffffffffe', address: blockHash(1), yParity: '0x0', r: '0x1', s: '0x2' }
  const transaction = {
    hash: blockHash(99),
    blockHash: blockHash(16),
    blockNumber: '0x10',
    transactionIndex: '0x0',
    nonce: '0x1',
    gas: '0x5208',
    value: '0x2',
    input: '0x',
  }
  const url = await startOneBlock({ ...blockOf(16, true), transactions: [{ ...transaction, type: '0x4', authorizationList: [authorization] }] })
  const [block] = await all(clientOf(url).getBlocks({ fromBlock: 16n, toBlock: 16n, includeTransactions: true }))
  expect(block?.transactions[0]?.authorizationList).toEqual([{ ...authorization, chainId: 2 ** 256, nonce: 2 ** 64, yParity: 0 }])
})
