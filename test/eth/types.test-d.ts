import { describe, expectTypeOf, test } from 'vitest'
import type {
  AccessListResult,
  Address,
  Block,
  BlockId,
  BlockNumber,
  CallObject,
  Client,
  FeeHistory,
  Hash,
  Hex,
  Json,
  Log,
  LogFilter,
  MethodParams,
  MethodResult,
  MinedLog,
  MinedTransaction,
  PendingBlock,
  Proof,
  Quantity,
  Receipt,
  ServiceMethodName,
  Transaction,
  Uncle,
} from '../../src/index.ts'

declare const client: Client
declare const address: Address
declare const hash: Hash
declare const either: boolean
declare const tag: BlockNumber

describe('call returns the decoded result', () => {
  test('of the head', () => {
    expectTypeOf(client.call('eth_blockNumber')).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_chainId')).toEqualTypeOf<Promise<number>>()
    expectTypeOf(client.call('eth_gasPrice')).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_maxPriorityFeePerGas')).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_feeHistory', 4, 'latest')).toEqualTypeOf<Promise<FeeHistory>>()
    expectTypeOf(client.call('eth_feeHistory', 4n, '0x10', [25, 75])).toEqualTypeOf<Promise<FeeHistory>>()
  })

  test('of accounts', () => {
    expectTypeOf(client.call('eth_getBalance', address)).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_getBalance', address, 21_000_000n)).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_getBalance', address, { blockHash: hash, requireCanonical: true })).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_getTransactionCount', address)).toEqualTypeOf<Promise<number>>()
    expectTypeOf(client.call('eth_getCode', address, 'safe')).toEqualTypeOf<Promise<Hex>>()
    expectTypeOf(client.call('eth_getStorageAt', address, 0n)).toEqualTypeOf<Promise<Hex>>()
    expectTypeOf(client.call('eth_getProof', address, [0, 1n, '0x2'])).toEqualTypeOf<Promise<Proof>>()
  })

  test('with null for an omitted argument', () => {
    expectTypeOf(client.call('eth_call', { to: address }, null)).toEqualTypeOf<Promise<Hex>>()
    expectTypeOf(client.call('eth_estimateGas', { to: address }, null)).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_createAccessList', { to: address }, null)).toEqualTypeOf<Promise<AccessListResult>>()
    expectTypeOf(client.call('eth_feeHistory', 1, 'latest', null)).toEqualTypeOf<Promise<FeeHistory>>()
    expectTypeOf(client.call('eth_getBalance', address, null)).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_getTransactionCount', address, null)).toEqualTypeOf<Promise<number>>()
    expectTypeOf(client.call('eth_getCode', address, null)).toEqualTypeOf<Promise<Hex>>()
    expectTypeOf(client.call('eth_getStorageAt', address, 0n, null)).toEqualTypeOf<Promise<Hex>>()
    expectTypeOf(client.call('eth_getProof', address, [0n], null)).toEqualTypeOf<Promise<Proof>>()
    // @ts-expect-error a block that has to be given
    client.call('eth_getBlockByNumber', null, true)
  })

  test('of calls', () => {
    expectTypeOf(client.call('eth_call', { to: address, data: '0x' })).toEqualTypeOf<Promise<Hex>>()
    expectTypeOf(client.call('eth_call', { to: null }, 'latest', { [address]: { balance: 1n } }, { number: 1 })).toEqualTypeOf<Promise<Hex>>()
    expectTypeOf(client.call('eth_estimateGas', { value: 1n })).toEqualTypeOf<Promise<bigint>>()
    expectTypeOf(client.call('eth_createAccessList', {})).toEqualTypeOf<Promise<AccessListResult>>()
    expectTypeOf(client.call('eth_sendRawTransaction', '0x02')).toEqualTypeOf<Promise<Hash>>()
  })

  test('of blocks, whose transactions follow the flag', () => {
    expectTypeOf(client.call('eth_getBlockByNumber', 21_000_000n, true)).toEqualTypeOf<Promise<Block<true> | null>>()
    expectTypeOf(client.call('eth_getBlockByNumber', 'latest', false)).toEqualTypeOf<Promise<Block<false> | null>>()
    expectTypeOf(client.call('eth_getBlockByNumber', 1, either)).toEqualTypeOf<Promise<Block<boolean> | null>>()
    expectTypeOf(client.call('eth_getBlockByHash', hash, true)).toEqualTypeOf<Promise<Block<true> | null>>()
    expectTypeOf(client.call('eth_getBlockByHash', hash, false)).toEqualTypeOf<Promise<Block<false> | null>>()
    expectTypeOf<Block<true>['transactions']>().toEqualTypeOf<MinedTransaction[]>()
    expectTypeOf<Block<false>['transactions']>().toEqualTypeOf<Hash[]>()
    expectTypeOf<Block['transactions']>().toEqualTypeOf<MinedTransaction[] | Hash[]>()
  })

  test('of blocks, of which only one at `pending` is without a hash', () => {
    expectTypeOf(client.call('eth_getBlockByNumber', 'pending', true)).toEqualTypeOf<Promise<PendingBlock<true> | null>>()
    expectTypeOf(client.call('eth_getBlockByNumber', tag, false)).toEqualTypeOf<Promise<PendingBlock<false> | null>>()
    expectTypeOf<PendingBlock['hash']>().toEqualTypeOf<Hash | null>()
    expectTypeOf<PendingBlock['miner']>().toEqualTypeOf<Address | null>()
    expectTypeOf<PendingBlock['nonce']>().toEqualTypeOf<Hex | null>()
    expectTypeOf<PendingBlock<true>['transactions']>().toEqualTypeOf<Transaction[]>()
    expectTypeOf<Block>().toExtend<PendingBlock>()
    expectTypeOf<Block<true>>().toExtend<PendingBlock<true>>()
    expectTypeOf<MinedTransaction['blockHash']>().toEqualTypeOf<Hash>()
    expectTypeOf<MinedTransaction['to']>().toEqualTypeOf<Address | null | undefined>()
  })

  test('of what belongs to blocks', () => {
    expectTypeOf(client.call('eth_getBlockTransactionCountByHash', hash)).toEqualTypeOf<Promise<number | null>>()
    expectTypeOf(client.call('eth_getBlockTransactionCountByNumber', 'earliest')).toEqualTypeOf<Promise<number | null>>()
    expectTypeOf(client.call('eth_getBlockReceipts', hash)).toEqualTypeOf<Promise<Receipt[] | null>>()
    expectTypeOf(client.call('eth_getUncleByBlockHashAndIndex', hash, 0)).toEqualTypeOf<Promise<Uncle | null>>()
    expectTypeOf(client.call('eth_getUncleByBlockNumberAndIndex', 1n, 0)).toEqualTypeOf<Promise<Uncle | null>>()
    expectTypeOf(client.call('eth_getUncleCountByBlockHash', hash)).toEqualTypeOf<Promise<number | null>>()
    expectTypeOf(client.call('eth_getUncleCountByBlockNumber', '0x1')).toEqualTypeOf<Promise<number | null>>()
    expectTypeOf<Uncle>().not.toHaveProperty('transactions')
  })

  test('of transactions, receipts and logs', () => {
    expectTypeOf(client.call('eth_getTransactionByHash', hash)).toEqualTypeOf<Promise<Transaction | null>>()
    expectTypeOf(client.call('eth_getTransactionByBlockHashAndIndex', hash, 0n)).toEqualTypeOf<Promise<MinedTransaction | null>>()
    expectTypeOf(client.call('eth_getTransactionByBlockNumberAndIndex', 'pending', '0x0')).toEqualTypeOf<Promise<Transaction | null>>()
    expectTypeOf(client.call('eth_getTransactionReceipt', hash)).toEqualTypeOf<Promise<Receipt | null>>()
    expectTypeOf(client.call('eth_getLogs', { fromBlock: 1n, toBlock: 'latest', address: [address], topics: [null, hash, [hash]] })).toEqualTypeOf<
      Promise<Log[]>
    >()
  })
})

test('the 28 methods of the service, and no other', () => {
  expectTypeOf<ServiceMethodName>().toEqualTypeOf<
    | 'eth_blockNumber'
    | 'eth_call'
    | 'eth_chainId'
    | 'eth_createAccessList'
    | 'eth_estimateGas'
    | 'eth_feeHistory'
    | 'eth_gasPrice'
    | 'eth_getBalance'
    | 'eth_getBlockByHash'
    | 'eth_getBlockByNumber'
    | 'eth_getBlockTransactionCountByHash'
    | 'eth_getBlockTransactionCountByNumber'
    | 'eth_getBlockReceipts'
    | 'eth_getCode'
    | 'eth_getLogs'
    | 'eth_getProof'
    | 'eth_getStorageAt'
    | 'eth_getTransactionByHash'
    | 'eth_getTransactionByBlockHashAndIndex'
    | 'eth_getTransactionByBlockNumberAndIndex'
    | 'eth_getTransactionCount'
    | 'eth_getTransactionReceipt'
    | 'eth_getUncleByBlockHashAndIndex'
    | 'eth_getUncleByBlockNumberAndIndex'
    | 'eth_getUncleCountByBlockHash'
    | 'eth_getUncleCountByBlockNumber'
    | 'eth_maxPriorityFeePerGas'
    | 'eth_sendRawTransaction'
  >()
})

test('params are named, and optional ones may be omitted', () => {
  expectTypeOf<MethodParams<'eth_blockNumber'>>().toEqualTypeOf<[]>()
  expectTypeOf<MethodParams<'eth_getBalance'>>().toEqualTypeOf<[address: Address, block?: BlockId | null]>()
  expectTypeOf<MethodParams<'eth_call'>>().toEqualTypeOf<[call: CallObject, block?: BlockId | null, stateOverrides?: Json, blockOverrides?: Json]>()
  expectTypeOf<MethodParams<'eth_feeHistory'>>().toEqualTypeOf<[blockCount: Quantity, newestBlock: BlockNumber, rewardPercentiles?: readonly number[] | null]>()
  expectTypeOf<MethodParams<'eth_getBlockByNumber'>>().toEqualTypeOf<[block: BlockNumber, full: boolean]>()
  expectTypeOf<MethodParams<'eth_getLogs'>>().toEqualTypeOf<[filter: LogFilter]>()
})

test('results by name of the method', () => {
  expectTypeOf<MethodResult<'eth_chainId'>>().toEqualTypeOf<number>()
  expectTypeOf<MethodResult<'eth_getLogs'>>().toEqualTypeOf<Log[]>()
  expectTypeOf<MethodResult<'eth_getTransactionReceipt'>>().toEqualTypeOf<Receipt | null>()
  expectTypeOf<MethodResult<'eth_getBlockByNumber'>>().toEqualTypeOf<Block | PendingBlock | null>()
  expectTypeOf<MethodResult<'eth_getBlockByHash'>>().toEqualTypeOf<Block | null>()
})

test('request is raw', () => {
  expectTypeOf(client.request({ method: 'eth_blockNumber' })).toEqualTypeOf<Promise<unknown>>()
  expectTypeOf(client.request({ method: 'anything_at_all', params: [1, 'two'] }, { signal: new AbortController().signal })).toEqualTypeOf<Promise<unknown>>()
})

describe('fields of decoded objects', () => {
  test('quantities are bigint, counts and indexes are numbers, the rest is as sent', () => {
    expectTypeOf<Block['number']>().toEqualTypeOf<bigint>()
    expectTypeOf<Block['hash']>().toEqualTypeOf<Hash>()
    expectTypeOf<Block['nonce']>().toEqualTypeOf<Hex>()
    expectTypeOf<Block['baseFeePerGas']>().toEqualTypeOf<bigint | undefined>()
    expectTypeOf<Transaction['type']>().toEqualTypeOf<number>()
    expectTypeOf<Transaction['nonce']>().toEqualTypeOf<number>()
    expectTypeOf<Transaction['value']>().toEqualTypeOf<bigint>()
    expectTypeOf<Transaction['blockNumber']>().toEqualTypeOf<bigint | null>()
    expectTypeOf<Transaction['to']>().toEqualTypeOf<Address | null | undefined>()
    expectTypeOf<Transaction['v']>().toEqualTypeOf<bigint | undefined>()
    expectTypeOf<Transaction['r']>().toEqualTypeOf<Hex>()
    expectTypeOf<Receipt['status']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<Receipt['logs']>().toEqualTypeOf<MinedLog[]>()
    expectTypeOf<Receipt['l1FeeScalar']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<Log['logIndex']>().toEqualTypeOf<number | null>()
    expectTypeOf<Log['removed']>().toEqualTypeOf<boolean>()
    expectTypeOf<Proof['storageProof'][number]['value']>().toEqualTypeOf<bigint>()
    expectTypeOf<FeeHistory['reward']>().toEqualTypeOf<bigint[][] | undefined>()
    expectTypeOf<FeeHistory['gasUsedRatio']>().toEqualTypeOf<number[]>()
    expectTypeOf<AccessListResult['gasUsed']>().toEqualTypeOf<bigint>()
  })
})

test('a call object may be of any type with its fields', () => {
  interface Sent {
    readonly to: Address
    readonly value: bigint
  }
  expectTypeOf<Sent>().toExtend<CallObject>()
  expectTypeOf(client.call('eth_call', {} as Sent)).toEqualTypeOf<Promise<Hex>>()
})

test('invalid calls do not compile', () => {
  // @ts-expect-error a misspelt field of a call object
  const misspelt: CallObject = { to: address, vaule: 1n }
  client.call('eth_call', misspelt)
  // @ts-expect-error the same in place
  client.call('eth_call', { to: address, vaule: 1n })
  // @ts-expect-error a misspelt field of a filter
  client.call('eth_getLogs', { fromBlock: 1n, adress: address })
  // @ts-expect-error no such method
  client.call('eth_getBlock', 1n)
  // @ts-expect-error in neither table: `request` sends it
  client.call('eth_coinbase')
  // @ts-expect-error too few
  client.call('eth_getBalance')
  // @ts-expect-error too few: whole transactions or hashes?
  client.call('eth_getBlockByNumber', 1n)
  // @ts-expect-error too many
  client.call('eth_blockNumber', 'latest')
  // @ts-expect-error too many
  client.call('eth_getBalance', address, 'latest', true)
  // @ts-expect-error an address is hex
  client.call('eth_getBalance', 'vitalik.eth')
  // @ts-expect-error no such tag
  client.call('eth_getBalance', address, 'newest')
  // @ts-expect-error a decimal string is not a quantity
  client.call('eth_getBlockByNumber', '21000000', true)
  // @ts-expect-error a flag, not a string
  client.call('eth_getBlockByNumber', 1n, 'true')
  // @ts-expect-error a block by number is not named by an object
  client.call('eth_getBlockByNumber', { blockHash: hash }, true)
  // @ts-expect-error gas is a quantity
  client.call('eth_call', { to: address, gas: '21000' })
  // @ts-expect-error topics are hashes
  client.call('eth_getLogs', { topics: [1] })
  // @ts-expect-error no such field of a filter
  client.call('eth_getLogs', { from: 1n })
  // @ts-expect-error percentiles are numbers
  client.call('eth_feeHistory', 1, 'latest', ['25'])
  // @ts-expect-error a raw transaction is hex
  client.call('eth_sendRawTransaction', new Uint8Array(1))
})
