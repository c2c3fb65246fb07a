import {
  type Block,
  BrowserProvider,
  Contract,
  type ContractRunner,
  FallbackProvider,
  FetchRequest,
  type JsonRpcApiProvider,
  type JsonRpcProvider,
  Network,
  NonceManager,
  type Provider,
  type TransactionReceipt,
  Wallet,
} from 'ethers'
import { createClient, type Client as HexlineClient } from 'hexline'
import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { describe, expectTypeOf, test } from 'vitest'

declare const provider: HexlineProvider
declare const urls: string[]

describe('HexlineProvider', () => {
  test("can be used wherever ethers' own does", () => {
    expectTypeOf(provider).toExtend<JsonRpcProvider>()
    expectTypeOf(provider).toExtend<JsonRpcApiProvider>()
    expectTypeOf(provider).toExtend<Provider>()
    expectTypeOf(provider).toExtend<ContractRunner>()
    new Contract('0x', [], provider)
    new NonceManager(new Wallet('0x', provider))
    new FallbackProvider([provider, { provider, weight: 2 }])
    new BrowserProvider(provider.client)
  })

  test('takes the options of a hexline client and those of ethers', () => {
    new HexlineProvider()
    new HexlineProvider('http://a', 1, { staticNetwork: true, polling: true, concurrency: 4 })
    new HexlineProvider('http://a', 'any')
    new HexlineProvider('http://a', Network.from(1), { staticNetwork: Network.from(1) })
    new HexlineProvider(['http://a', { url: 'http://b', headers: { a: 'b' } }])
    new HexlineProvider(urls)
    new HexlineProvider({ baseUrl: 'http://a', chain: 'base', apiKey: 'k' })
    new HexlineProvider(new FetchRequest('http://a'))
    new HexlineProvider(createClient('http://a'))
    expectTypeOf<HexlineProviderOptions['batchMaxCount']>().toEqualTypeOf<number | undefined>()
    // @ts-expect-error no chain of the service
    new HexlineProvider({ baseUrl: 'http://a', chain: 'solana', apiKey: 'k' })
    // @ts-expect-error no such option
    new HexlineProvider('http://a', 1, { pollInterval: 1 })
  })

  test('has what ethers lacks', () => {
    expectTypeOf(HexlineProvider.connect('http://a')).resolves.toEqualTypeOf<HexlineProvider>()
    expectTypeOf(provider.client).toEqualTypeOf<HexlineClient>()
    expectTypeOf(provider.getBlockReceipts('latest')).resolves.toEqualTypeOf<TransactionReceipt[] | null>()
    expectTypeOf(provider.getBlocks(0)).toEqualTypeOf<AsyncGenerator<Block, void, undefined>>()
    provider.getBlocks(0n, 'finalized', { prefetchTxs: true, onProgress: ({ done }) => done })
    provider.getBlocks(1, urls[0] as string, { prefetchTxs: undefined, signal: undefined })
    expectTypeOf(provider.send('eth_gasPrice', [])).resolves.toBeAny()
  })
})
