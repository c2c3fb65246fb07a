import { createClient, type Client as HexlineClient } from 'hexline'
import { bulkActions, chainFor, type HexlineTransport, hexline } from 'hexline/viem'
import { type Block, createPublicClient, createWalletClient, fallback, type GetBlockReturnType, type HttpTransportConfig, type TransactionReceipt } from 'viem'
import { type base, mainnet, optimism } from 'viem/chains'
import { describe, expectTypeOf, test } from 'vitest'

describe('hexline()', () => {
  test('takes the arguments of a hexline client, or a client, or nothing', () => {
    expectTypeOf(hexline('http://a')).toEqualTypeOf<HexlineTransport>()
    hexline(['http://a', { url: 'http://b', headers: { a: 'b' } }])
    hexline({ baseUrl: 'http://a', chain: 'base', apiKey: 'k' })
    hexline(createClient('http://a'))
    hexline()
    hexline(undefined, { timeout: 1, retryCount: 0, batch: { batchSize: 2 }, fetchOptions: { headers: {} }, concurrency: 2 })
    // @ts-expect-error no chain of the service
    hexline({ baseUrl: 'http://a', chain: 'solana', apiKey: 'k' })
    // @ts-expect-error hexline has no fetch
    hexline('http://a', { fetchFn: fetch })
  })

  test('refuses options of fetch only, also in a variable', () => {
    const config: HttpTransportConfig = { fetchFn: fetch }
    // @ts-expect-error it may have a fetchFn, which hexline refuses
    hexline('http://a', config)
    const listening = { onFetchRequest() {} }
    // @ts-expect-error hexline has no fetch
    hexline('http://a', listening)
    const including = { fetchOptions: { credentials: 'include' as const } }
    // @ts-expect-error of fetch's options there are the headers
    hexline('http://a', including)
    const { fetchFn, onFetchRequest, onFetchResponse, fetchOptions, ...others } = config
    hexline('http://a', others)
    hexline('http://a', { fetchFn: undefined })
  })

  test('is a transport for every viem client', () => {
    const client = createPublicClient({ chain: mainnet, transport: hexline('http://a') })
    expectTypeOf(client.transport.client).toEqualTypeOf<HexlineClient>()
    expectTypeOf(client.transport.type).toEqualTypeOf<'hexline'>()
    expectTypeOf(client.getBlockNumber()).resolves.toEqualTypeOf<bigint>()
    expectTypeOf(createWalletClient({ transport: hexline('http://a') }).transport.client).toEqualTypeOf<HexlineClient>()
    const members = createPublicClient({ transport: fallback([hexline('http://a'), hexline('http://b')]) }).transport.transports
    expectTypeOf(members[0].value?.client).toEqualTypeOf<HexlineClient | undefined>()
  })
})

describe('getBlocks yields the type of getBlock', () => {
  type Item<T> = T extends AsyncIterable<infer I> ? I : never

  test('without a chain', () => {
    const client = createPublicClient({ transport: hexline('http://a') }).extend(bulkActions())
    const hashes = client.getBlocks({ fromBlock: 0n })
    expectTypeOf<Item<typeof hashes>['transactions']>().toEqualTypeOf<`0x${string}`[]>()
    expectTypeOf<Item<typeof hashes>['number']>().toEqualTypeOf<bigint>()
    const full = client.getBlocks({ fromBlock: 0n, includeTransactions: true })
    expectTypeOf<Item<typeof full>['transactions']>().toEqualTypeOf<Block<bigint, true, 'latest'>['transactions']>()
    // @ts-expect-error no receipts were asked for
    type _None = Item<typeof full>['receipts']
    const receipts = client.getBlocks({ fromBlock: 'earliest', toBlock: 'finalized', includeReceipts: true })
    expectTypeOf<Item<typeof receipts>['receipts']>().toEqualTypeOf<TransactionReceipt[]>()
  })

  test("by the chain's formatters", () => {
    const client = createPublicClient({ chain: optimism, transport: hexline('http://a') }).extend(bulkActions())
    const full = client.getBlocks({ fromBlock: 0n, includeTransactions: true, includeReceipts: true })
    expectTypeOf<Item<typeof full>['transactions']>().toEqualTypeOf<GetBlockReturnType<typeof optimism, true>['transactions']>()
    expectTypeOf<Item<typeof full>['receipts'][number]['l1Fee']>().toEqualTypeOf<bigint | null>()
  })

  test('of valid parameters', () => {
    const client = createPublicClient({ transport: hexline('http://a') }).extend(bulkActions())
    // @ts-expect-error a pending block is in no range
    client.getBlocks({ fromBlock: 0n, toBlock: 'pending' })
    // @ts-expect-error it has to begin somewhere
    client.getBlocks({ toBlock: 1n })
  })
})

test('chainFor returns the exact chain', () => {
  expectTypeOf(chainFor('base')).toEqualTypeOf<typeof base>()
  // @ts-expect-error no chain of the service
  chainFor('solana')
})
