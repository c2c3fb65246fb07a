import type { Log as ViemLog } from 'viem'
import { expectTypeOf, test } from 'vitest'
import type { Block, Client, Hash, Hex, MinedTransaction, Receipt } from '../../src/index.ts'
import { type GetLogsOptions, getBlocks, getLogs, type MinedLog } from '../../src/index-bulk.ts'

declare const client: Client
type Item<T> = T extends AsyncIterable<infer I> ? I : never

test('blocks have the requested transactions and receipts', () => {
  const hashes = getBlocks(client, { from: 0, to: 1 })
  expectTypeOf<Item<typeof hashes>['transactions']>().toEqualTypeOf<Hash[]>()
  const full = getBlocks(client, { from: 0, to: 1, transactions: 'full', receipts: true })
  expectTypeOf<Item<typeof full>['transactions']>().toEqualTypeOf<MinedTransaction[]>()
  expectTypeOf<Item<typeof full>['receipts']>().toEqualTypeOf<Receipt[]>()
  expectTypeOf<Item<typeof full>>().toExtend<Block<true>>()
  const perhaps = getBlocks(client, { from: 0, to: 1, receipts: (Math.random() < 0.5) as boolean })
  expectTypeOf<Item<typeof perhaps>['receipts']>().toEqualTypeOf<Receipt[] | undefined>()
  const some = getBlocks(client, { from: 0, to: 1, receipts: (Math.random() < 0.5) as boolean, fields: ['number', 'receipts'] })
  expectTypeOf<Item<typeof some>['receipts']>().toEqualTypeOf<Receipt[] | undefined>()
})

test('with fields, they have these and the linking fields', () => {
  const some = getBlocks(client, { from: 0, to: 1, transactions: 'full', fields: ['timestamp', 'transactions.from', 'transactions.value'] })
  type Some = Item<typeof some>
  expectTypeOf<keyof Some>().toEqualTypeOf<'number' | 'hash' | 'parentHash' | 'timestamp' | 'transactions'>()
  expectTypeOf<Some['timestamp']>().toEqualTypeOf<bigint>()
  expectTypeOf<Some['transactions']>().toEqualTypeOf<{ from: Hex; value: bigint }[]>()

  const receipts = getBlocks(client, { from: 0, to: 1, receipts: true, fields: ['receipts.status'] })
  expectTypeOf<keyof Item<typeof receipts>['receipts'][number]>().toEqualTypeOf<'status' | 'transactionHash' | 'blockHash'>()
  expectTypeOf<Item<typeof receipts>['transactions']>().toEqualTypeOf<Hash[]>()

  // @ts-expect-error no such field
  getBlocks(client, { from: 0, to: 1, fields: ['gasUsd'] })
})

test('logs are those of a range, or of one block', () => {
  const hash: Hash = '0x'
  expectTypeOf<Item<ReturnType<typeof getLogs>>>().toEqualTypeOf<MinedLog>()
  // What viem decodes.
  expectTypeOf<Pick<MinedLog, 'address' | 'topics' | 'data'>>().toExtend<Pick<ViemLog, 'address' | 'topics' | 'data'>>()
  getLogs(client, { from: 0n, to: 'latest', address: '0x' })
  getLogs(client, { blockHash: hash, address: '0x' })
  const given = (options: GetLogsOptions) => getLogs(client, options)
  given({ from: 0n, to: 1 })
  // @ts-expect-error
  getLogs(client, {})
  // @ts-expect-error
  getLogs(client, { from: 0n })
  // @ts-expect-error
  getLogs(client, { from: 0n, to: 1n, blockHash: hash })
})
