import { describe, expectTypeOf, test } from 'vitest'
import type { Address, Client, Hash, Header, Log, Receipt, Subscription, SubscriptionItem, SyncNotice, Transaction } from '../../src/index.ts'

declare const client: Client
declare const address: Address
declare const topic: Hash
declare const signal: AbortSignal
declare const either: boolean

describe('client.subscribe', () => {
  test('gives headers, logs, hashes or transactions', () => {
    expectTypeOf(client.subscribe('newHeads')).toEqualTypeOf<Subscription<Header>>()
    expectTypeOf(client.subscribe('newHeads', { signal })).toEqualTypeOf<Subscription<Header>>()
    expectTypeOf(client.subscribe('logs')).toEqualTypeOf<Subscription<Log>>()
    expectTypeOf(client.subscribe('logs', { address, topics: [topic, null, [topic]], signal })).toEqualTypeOf<Subscription<Log>>()
    expectTypeOf(client.subscribe('logs', { address: [address] })).toEqualTypeOf<Subscription<Log>>()
    expectTypeOf(client.subscribe('newPendingTransactions')).toEqualTypeOf<Subscription<Hash>>()
    expectTypeOf(client.subscribe('newPendingTransactions', { full: false })).toEqualTypeOf<Subscription<Hash>>()
    expectTypeOf(client.subscribe('newPendingTransactions', { full: true, signal })).toEqualTypeOf<Subscription<Transaction>>()
    expectTypeOf(client.subscribe('newPendingTransactions', { full: either })).toEqualTypeOf<Subscription<Hash | Transaction>>()
    expectTypeOf(client.subscribe('syncing', { signal })).toEqualTypeOf<Subscription<SyncNotice | boolean>>()
    expectTypeOf(client.subscribe('transactionReceipts')).toEqualTypeOf<Subscription<Receipt[]>>()
    expectTypeOf(client.subscribe('transactionReceipts', { transactionHashes: [topic] })).toEqualTypeOf<Subscription<Receipt[]>>()
  })

  test('says where something may be missing', () => {
    expectTypeOf<SubscriptionItem<Header>>().toEqualTypeOf<{ readonly type: 'value'; readonly value: Header } | { readonly type: 'gap' }>()
  })

  test('takes the options of its event only', () => {
    // @ts-expect-error: heads cannot be filtered
    client.subscribe('newHeads', { address })
    // @ts-expect-error: logs are always whole
    client.subscribe('logs', { full: true })
    // @ts-expect-error: an address is needed
    client.subscribe('logs', { address: 5 })
    // @ts-expect-error: pending transactions cannot be filtered
    client.subscribe('newPendingTransactions', { topics: [] })
    // @ts-expect-error: hashes are 32 bytes in hex
    client.subscribe('transactionReceipts', { transactionHashes: [7] })
    // @ts-expect-error: there is no such event
    client.subscribe('newBlocks')
  })
})
