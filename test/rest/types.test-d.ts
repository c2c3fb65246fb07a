import type { HexlineError } from 'hexline'
import {
  type CollectionsByCreatorParams,
  type DataChain,
  getCollectionsByCreator,
  getNftsByCollection,
  getNftTransfersByCollection,
  getNftTransfersByWallets,
  getStreams,
  getTransaction,
  getWalletTokens,
  type InternalTransaction,
  type LogEntry,
  type Nft,
  type NftCollection,
  type NftPage,
  type NftTransfer,
  type NftTransfersByWalletsParams,
  type Page,
  type Paged,
  type RestOptions,
  type Service,
  type ServiceError,
  type Stream,
  type StreamPage,
  type TokenBalance,
  type TokenPage,
  type Transaction,
} from 'hexline/rest'
import { describe, expectTypeOf, test } from 'vitest'

declare const service: Service

describe('results', () => {
  test('an amount is a bigint, a price a number, a flag a boolean, each maybe null', () => {
    expectTypeOf<TokenBalance['token_address']>().toEqualTypeOf<string | null>()
    expectTypeOf<TokenBalance['balance']>().toEqualTypeOf<bigint | null>()
    expectTypeOf<TokenBalance['decimals']>().toEqualTypeOf<number | null | undefined>()
    expectTypeOf<TokenBalance['usd_value']>().toEqualTypeOf<number | null | undefined>()
    expectTypeOf<TokenBalance['possible_spam']>().toEqualTypeOf<boolean | null | undefined>()
    expectTypeOf<Transaction['value']>().toEqualTypeOf<bigint | null | undefined>()
    expectTypeOf<Transaction['receipt_status']>().toEqualTypeOf<number | null | undefined>()
    expectTypeOf<InternalTransaction['block_number']>().toEqualTypeOf<bigint | null | undefined>()
    expectTypeOf<NftCollection['uri_mutable']>().toEqualTypeOf<boolean | null | undefined>()
    expectTypeOf<Stream['status']>().toEqualTypeOf<string | null | undefined>()
  })

  test('a time is a string, with its Date beside it', () => {
    expectTypeOf<Transaction['block_timestamp']>().toEqualTypeOf<string | null | undefined>()
    expectTypeOf<Transaction['block_timestamp_date']>().toEqualTypeOf<Date | null>()
    expectTypeOf<LogEntry['block_timestamp_date']>().toEqualTypeOf<Date | null>()
    expectTypeOf<NftTransfer['transaction_timestamp_date']>().toEqualTypeOf<Date | null>()
    expectTypeOf<Nft['last_transaction_timestamp_date']>().toEqualTypeOf<Date | null>()
    expectTypeOf<NftCollection['last_transaction_timestamp_date']>().toEqualTypeOf<Date | null>()
  })

  test('nested values are typed, too', () => {
    expectTypeOf<NonNullable<Transaction['logs']>[number]>().toEqualTypeOf<LogEntry>()
    expectTypeOf<NonNullable<Transaction['internal_transactions']>[number]>().toEqualTypeOf<InternalTransaction>()
    expectTypeOf<Nft['default_properties']>().toEqualTypeOf<Record<string, unknown> | null | undefined>()
    type One<T> = Exclude<T, readonly unknown[] | null | undefined>
    expectTypeOf<One<Stream['abi']>['stateMutability']>().toEqualTypeOf<string | null | undefined>()
    expectTypeOf<One<Stream['getNativeBalances']>['selectors']>().toEqualTypeOf<string[] | null | undefined>()
    expectTypeOf<One<One<Stream['triggers']>['functionAbi']>['payable']>().toEqualTypeOf<boolean | null | undefined>()
  })

  test('an unknown field may be present', () => {
    expectTypeOf<Nft['something_new']>().toBeUnknown()
  })
})

describe('calls', () => {
  test('return pages of their records, or a transaction or null', () => {
    expectTypeOf(getWalletTokens(service, { address: '0x' })).toEqualTypeOf<Paged<TokenPage>>()
    expectTypeOf(getTransaction(service, { transaction_hash: '0x' })).toEqualTypeOf<Promise<Transaction | null>>()
    expectTypeOf(getNftTransfersByCollection(service, { collection_data_id_hash: 'a', limit: 1 })).toEqualTypeOf<Paged<NftPage<NftTransfer>>>()
    expectTypeOf(getNftsByCollection(service, { collection_data_id_hash: 'a', limit: 1 })).toEqualTypeOf<Paged<NftPage<Nft>>>()
    expectTypeOf(getCollectionsByCreator(service, { creator_address: 'a', limit: 1 })).toEqualTypeOf<Paged<NftPage<NftCollection>>>()
    expectTypeOf(getNftTransfersByWallets(service, { wallet_addresses: ['a'], limit: 1 })).toEqualTypeOf<Paged<NftPage<NftTransfer>>>()
    expectTypeOf(getStreams(service, { limit: 1 })).toEqualTypeOf<Paged<StreamPage>>()
  })

  test('of lists can be awaited, iterated, and gone through by pages', async () => {
    const list = getWalletTokens(service, { address: '0x' })
    expectTypeOf(list).toExtend<PromiseLike<TokenPage>>()
    expectTypeOf(list).toExtend<AsyncIterable<TokenBalance>>()
    expectTypeOf(await list).toEqualTypeOf<TokenPage>()
    expectTypeOf((await list).result).toEqualTypeOf<TokenBalance[]>()
    expectTypeOf((await list).cursor).toEqualTypeOf<string | null>()
    expectTypeOf(await list.then(({ result }) => result.length)).toBeNumber()
    expectTypeOf(await list.catch(() => 'failed' as const)).toEqualTypeOf<TokenPage | 'failed'>()
    for await (const token of list) expectTypeOf(token).toEqualTypeOf<TokenBalance>()
    for await (const page of list.pages()) expectTypeOf(page).toEqualTypeOf<TokenPage>()
    expectTypeOf(list.cursor).toEqualTypeOf<string | null | undefined>()
    expectTypeOf<Awaited<typeof list>>().toExtend<Page<TokenBalance>>()
  })

  test('accept names and ids of the chains, and ids of others', () => {
    expectTypeOf<'polygon amoy' | '0x13882' | '0xaa37d' | '0xaa37dc' | '0x7e4'>().toExtend<DataChain>()
    // @ts-expect-error a name of the JSON-RPC group
    getWalletTokens(service, { address: '0x', chain: 'amoy' })
    // @ts-expect-error the number of a chain
    getTransaction(service, { transaction_hash: '0x', chain: 1 })
  })

  test('require the required parameters, and accept no unknown ones', () => {
    expectTypeOf<NftTransfersByWalletsParams>().pick('wallet_addresses').toEqualTypeOf<{ readonly wallet_addresses: readonly string[] }>()
    expectTypeOf<CollectionsByCreatorParams>().pick('limit').toEqualTypeOf<{ readonly limit: number }>()
    // @ts-expect-error no address
    getWalletTokens(service, {})
    // @ts-expect-error no limit
    getStreams(service, {})
    // @ts-expect-error no offset in this list
    getStreams(service, { limit: 1, offset: 1 })
    // @ts-expect-error another include
    getTransaction(service, { transaction_hash: '0x', include: 'logs' })
    // @ts-expect-error no key
    getStreams({ streamsUrl: 'http://a' }, { limit: 1 })
    // @ts-expect-error no such encoding
    expectTypeOf<{ arrays: 'comma' }>().toExtend<RestOptions>()
  })
})

test('an error is a hexline error with the service’s message', () => {
  expectTypeOf<ServiceError>().toExtend<HexlineError>()
  expectTypeOf<ServiceError['status']>().toBeNumber()
  expectTypeOf<ServiceError['said']>().toEqualTypeOf<string | undefined>()
  expectTypeOf<ServiceError['body']>().toBeUnknown()
})
