import { describe, expect, it } from 'vitest'
import { bytesOf, type Fetched, Fetcher, type FetcherOptions } from '../../src/bulk/fetch.ts'
import { createReader, parseResult } from '../../src/eth/codec/reader.ts'
import { blockDecoder } from '../../src/eth/objects.ts'
import { blockHash, blockOf, type ChainOptions, startChain } from '../support/chain-server.ts'
import { clientOf, errorOf } from '../support/server.ts'

const both: FetcherOptions = { full: false, receipts: true }

async function start(chain: Partial<ChainOptions>, options: FetcherOptions = both) {
  const server = await startChain({ head: 10, transactions: () => 2, ...chain })
  const fetcher = new Fetcher(clientOf(server.url), options)
  const { signal } = new AbortController()
  return { fetch: (number: bigint) => fetcher.fetch(number, signal), methods: () => server.calls.map(({ method }) => method), close: server.close }
}

/** The decoded bytes of a block and of its receipts. */
function read({ block, receipts }: Fetched) {
  return { block: parseResult(bytesOf(block)), receipts: receipts && parseResult(bytesOf(receipts)) }
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
    expect(createReader(blockDecoder(true))(bytesOf((await fetch(7n)).block))).toMatchObject({ number: 7n, hash: blockHash(7) })
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

describe('a node without eth_getBlockReceipts', () => {
  const without = {
    answer: ({ method }: { method: string }) => (method === 'eth_getBlockReceipts' ? { error: { code: -32601, message: 'method not found' } } : undefined),
  }
  it('is asked for them once, and then for each receipt', async () => {
    const { fetch, methods, close } = await start(without)
    expect(read(await fetch(7n)).receipts).toMatchObject([{ transactionIndex: '0x0' }, { transactionIndex: '0x1' }])
    expect(read(await fetch(8n)).block).toMatchObject({ hash: blockHash(8) })
    expect(methods().filter((method) => method === 'eth_getBlockReceipts')).toHaveLength(1)
    expect(methods().filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(4)
    await close()
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
