import { describe, expect, test } from 'vitest'
import { planSubscription, subscriptionFields } from '../../src/eth/subscriptions.ts'

const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

describe('a subscription', () => {
  test.each([
    ['newHeads', {}, []],
    ['logs', {}, [{}]],
    [
      'logs',
      { address: `0x${'ab'.repeat(20)}`, topics: [null, [hash(1), hash(2)]] },
      [{ address: `0x${'ab'.repeat(20)}`, topics: [null, [hash(1), hash(2)]] }],
    ],
    ['newPendingTransactions', {}, []],
    ['newPendingTransactions', { full: false }, []],
    ['newPendingTransactions', { full: true }, [true]],
    ['syncing', {}, []],
    ['transactionReceipts', {}, []],
    ['transactionReceipts', { transactionHashes: [hash(1)] }, [{ transactionHashes: [hash(1)] }]],
  ])('%s with %j has its params', (name, fields, params) => {
    expect(planSubscription(name, fields).params).toEqual([name, ...params])
  })

  test.each([
    ['newHeads', {}, { number: '0x5', hash: hash(1) }, { number: 5n, hash: hash(1) }],
    [
      'logs',
      {},
      { address: '0x01', topics: [], data: '0x', logIndex: '0x5', blockNumber: '0x7' },
      { address: '0x01', topics: [], data: '0x', logIndex: 5, blockNumber: 7n },
    ],
    ['newPendingTransactions', {}, hash(1), hash(1)],
    ['newPendingTransactions', { full: true }, { hash: hash(1), nonce: '0x3' }, { hash: hash(1), nonce: 3 }],
    // Of a node that does not have whole transactions.
    ['newPendingTransactions', { full: true }, hash(1), hash(1)],
    ['syncing', {}, false, false],
    ['syncing', {}, true, true],
    ['syncing', {}, { syncing: true, status: { currentBlock: 7, other: 1 } }, { syncing: true, status: { currentBlock: 7n, other: 1 } }],
    ['syncing', {}, { isSyncing: true, highestBlock: '0x8' }, { isSyncing: true, highestBlock: 8n }],
    ['transactionReceipts', {}, [{ transactionHash: hash(1), status: '0x1', gasUsed: '0x5208' }], [{ transactionHash: hash(1), status: 1, gasUsed: 21_000n }]],
  ])('%s with %j decodes what it brings', (name, fields, value, decoded) => {
    expect(planSubscription(name, fields).decode(value)).toEqual(decoded)
  })

  test.each([
    ['newHeads', {}, 'x'],
    ['logs', {}, { address: '0x01', topics: [], data: '0x', logIndex: 'x' }],
    ['newPendingTransactions', {}, { hash: hash(1) }],
    ['syncing', {}, 'no'],
    ['syncing', {}, { currentBlock: 'first' }],
    ['syncing', {}, { syncing: true, status: { highestBlock: 'last' } }],
    ['transactionReceipts', {}, { transactionHash: hash(1) }],
    ['transactionReceipts', {}, [{ transactionHash: hash(1), gasUsed: 'all' }]],
  ])('%s with %j rejects %j', (name, fields, value) => {
    expect(() => planSubscription(name, fields).decode(value)).toThrow(expect.objectContaining({ name: 'CodecError' }))
  })

  test('to logs by an invalid address or topic is refused', () => {
    for (const fields of [{ address: '0x1' }, { topics: ['0x1'] }, { topics: 'x' }])
      expect(() => planSubscription('logs', fields), JSON.stringify(fields)).toThrow(expect.objectContaining({ name: 'CodecError' }))
  })

  test.each([
    [['0x1'], '[0]: expected a hash (32 bytes in hex), received "0x1"'],
    [hash(1), ': expected an array, received "0x'],
    [null, ': expected an array, received null'],
    // To the node, this would mean all.
    [[], ': expected one hash or more, received an array of 0'],
  ])('to receipts of the transactions %j is refused', (transactionHashes, message) => {
    expect(() => planSubscription('transactionReceipts', { transactionHashes })).toThrow(`params[0].transactionHashes${message}`)
  })

  test('has the fields of its kind', () => {
    const kinds = ['newHeads', 'logs', 'newPendingTransactions', 'syncing', 'transactionReceipts']
    expect(kinds.map(subscriptionFields)).toEqual([[], ['address', 'topics'], ['full'], [], ['transactionHashes']])
  })

  test.each([
    ['newhead', '(did you mean `newHeads`?)'],
    ['toString', 'one of newHeads, logs, newPendingTransactions, syncing, transactionReceipts'],
    [5, 'received 5'],
    [['newHeads'], 'received an array of 1'],
    [undefined, 'received undefined'],
  ])('of the unknown kind %s is refused', (name, message) => {
    for (const find of [subscriptionFields, (each: string) => planSubscription(each, {})])
      expect(() => find(name as string)).toThrow(expect.objectContaining({ name: 'OptionError', message: expect.stringContaining(message) }))
  })
})
