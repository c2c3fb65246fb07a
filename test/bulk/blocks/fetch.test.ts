import { describe, expect, it, onTestFinished } from 'vitest'
import { type Fetched, Fetcher, type FetcherOptions } from '../../../src/bulk/blocks/fetch.ts'
import { createReader, parseResult } from '../../../src/eth/codec/reader.ts'
import { blockDecoder } from '../../../src/eth/objects.ts'
import type { Client } from '../../../src/index.ts'
import { takeBytes } from '../../../src/rpc/reply.ts'
import { agentForAnyHost } from '../../support/agent.ts'
import { blockHash, blockOf, type ChainOptions, type ChainServer, chainAnswer, startChain } from '../../support/chain-server.ts'
import { clientOf, errorOf } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

/** For what waits; all else goes over real sockets. */
const world = virtualWorld()

const both: FetcherOptions = { full: false, receipts: true }

async function start(chain: Partial<ChainOptions>, options: FetcherOptions = both) {
  const server = await startChain({ head: 10, transactions: () => 2, ...chain })
  const fetcher = new Fetcher(clientOf(server.url), options)
  const { signal } = new AbortController()
  return { fetch: (number: bigint) => fetcher.fetch(number, signal), methods: () => server.calls.map(({ method }) => method), close: server.close }
}

/** The decoded bytes of a block and of its receipts. */
function read({ block, receipts }: Fetched) {
  return { block: parseResult(takeBytes(block)), receipts: receipts && parseResult(takeBytes(receipts)) }
}

describe('a block', () => {
  it('arrives as the node’s bytes, with transactions or with hashes', async () => {
    for (const full of [true, false]) {
      const { fetch, close } = await start({}, { full, receipts: false })
      const fetched = await fetch(7n)
      expect(fetched).toMatchObject({ number: 7n, receipts: undefined, bytes: JSON.stringify(blockOf(7, full, { transactions: () => 2 })).length })
      expect(read(fetched).block).toEqual(blockOf(7, full, { transactions: () => 2 }))
      await close()
    }
  })

  it('can be decoded from its bytes', async () => {
    const { fetch, close } = await start({}, { full: true, receipts: false })
    expect(createReader(blockDecoder(true))(takeBytes((await fetch(7n)).block))).toMatchObject({ number: 7n, hash: blockHash(7) })
    await close()
  })

  it('arrives with its receipts, in two calls', async () => {
    const { fetch, methods, close } = await start({})
    const fetched = await fetch(7n)
    expect(methods()).toEqual(['eth_getBlockByNumber', 'eth_getBlockReceipts'])
    expect(fetched.origins.receipts?.attempts).toBe(1)
    expect(read(fetched).receipts).toMatchObject([{ blockHash: blockHash(7) }, { blockHash: blockHash(7) }])
    await close()
  })
})

const without = {
  answer: ({ method }: { method: string }) => (method === 'eth_getBlockReceipts' ? { error: { code: -32601, message: 'method not found' } } : undefined),
}

describe('a node without eth_getBlockReceipts', () => {
  it('is asked for it once, and then for each receipt', async () => {
    const { fetch, methods, close } = await start(without)
    expect(read(await fetch(7n)).receipts).toMatchObject([{ transactionIndex: '0x0' }, { transactionIndex: '0x1' }])
    expect(read(await fetch(8n)).block).toMatchObject({ hash: blockHash(8) })
    expect(methods().filter((method) => method === 'eth_getBlockReceipts')).toHaveLength(1)
    expect(methods().filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(4)
    await close()
  })

  it('is asked for it again after a minute', async () => {
    let hasMethod = false
    const seen: string[] = []
    const server = await world.serve(
      chainAnswer({
        head: 10,
        answer: (call) => {
          seen.push(call.method)
          return hasMethod ? undefined : without.answer(call)
        },
      }),
    )
    const fetch = fetching(world.clientOf(server.url))
    await fetch(1n)
    hasMethod = true
    await world.sleep(59_000)
    await fetch(2n)
    await world.sleep(1_001)
    await fetch(3n)
    await fetch(4n)
    const [byBlock, single] = ['eth_getBlockReceipts', 'eth_getTransactionReceipt']
    expect(seen.filter((method) => method !== 'eth_getBlockByNumber')).toEqual([byBlock, single, single, byBlock, byBlock])
  })

  it('gives an empty list for a block without transactions', async () => {
    const { fetch, close } = await start({ ...without, transactions: () => 0 })
    expect(read(await fetch(7n)).receipts).toEqual([])
    await close()
  })
})

it('any other failure does not count as a missing method', async () => {
  const { fetch, methods, close } = await start({
    answer: ({ method }) => (method === 'eth_getBlockReceipts' ? { error: { code: -32602, message: 'invalid params' } } : undefined),
  })
  expect(await errorOf(fetch(7n))).toMatchObject({ kind: 'invalid', method: 'eth_getBlockReceipts' })
  expect(methods()).not.toContain('eth_getTransactionReceipt')
  await close()
})

function fetching(client: Client) {
  const fetcher = new Fetcher(client, both)
  return (number: bigint) => fetcher.fetch(number, new AbortController().signal)
}

/** A node whose blocks have as many transactions as their number says. */
async function node(options: Partial<ChainOptions> = {}): Promise<ChainServer> {
  const server = await startChain({ head: 100, transactions: (number) => number, ...options })
  onTestFinished(() => server.close())
  return server
}

const receiptsOf = ({ calls }: ChainServer) => calls.map(({ method }) => method).filter((method) => method.endsWith('Receipts') || method.endsWith('Receipt'))

describe('of several endpoints', () => {
  it('those with eth_getBlockReceipts are asked for receipts', async () => {
    const [lacking, full] = [await node(without), await node()]
    const fetch = fetching(clientOf([lacking.url, full.url]))
    for (let number = 1n; number <= 8n; number++) expect(read(await fetch(number)).receipts).toHaveLength(Number(number))
    expect(receiptsOf(lacking).length).toBeLessThanOrEqual(1)
    expect(receiptsOf(full)).toEqual(Array(8).fill('eth_getBlockReceipts'))
  })

  it('any is asked for single receipts if none has the method', async () => {
    const [one, two] = [await node(without), await node(without)]
    const fetch = fetching(clientOf([one.url, two.url]))
    expect(read(await fetch(3n)).receipts).toHaveLength(3)
    expect([...receiptsOf(one), ...receiptsOf(two)].filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(3)
  })
})

describe('at Infura, which charges 1000 credits for the receipts of a block and 80 for one,', () => {
  const infura = ({ url }: ChainServer) => `http://mainnet.infura.io:${new URL(url).port}/v3/KEY`
  const dispatcher = agentForAnyHost

  it('receipts come one by one for blocks of at most 12 transactions', async () => {
    const server = await node()
    const fetch = fetching(clientOf(infura(server), { dispatcher: dispatcher() }))
    const asked: Record<string, string[]> = {}
    for (const number of [0n, 1n, 12n, 13n]) {
      const { receipts } = read(await fetch(number))
      expect(receipts).toHaveLength(Number(number))
      asked[`${number}`] = receiptsOf(server)
      server.calls.length = 0
    }
    expect(asked).toEqual({
      0: [],
      1: ['eth_getTransactionReceipt'],
      12: Array(12).fill('eth_getTransactionReceipt'),
      13: ['eth_getBlockReceipts'],
    })
  })

  it('they are requested from an endpoint where they cost less', async () => {
    const [dear, own] = [await node(), await node()]
    const fetch = fetching(clientOf([infura(dear), own.url], { dispatcher: dispatcher() }))
    for (let number = 1n; number <= 12n; number++) expect(read(await fetch(number)).receipts).toHaveLength(Number(number))
    expect(receiptsOf(dear)).toEqual([])
    expect(receiptsOf(own)).toEqual(Array(12).fill('eth_getBlockReceipts'))
  })
})
