import { describe, expect, it, test } from 'vitest'
import type { Decode } from '../../src/eth/codec/schema.ts'
import {
  blockDecoder,
  decodeAccessListResult,
  decodeFeeHistory,
  decodeLogs,
  decodeProof,
  decodeReceipt,
  decodeTransaction,
  decodeUncle,
} from '../../src/eth/objects.ts'

const HASH = `0x${'ab'.repeat(32)}`
const transaction = () => ({ hash: HASH, nonce: '0x5', value: '0xde0b6b3a7640000', type: '0x7e', to: null, blockNumber: null })
const block = (transactions: unknown[]) => ({ hash: HASH, number: '0x10', timestamp: '0x1', gasUsed: '0x2', transactions })

function refusal(decode: Decode<unknown>, value: unknown): string {
  try {
    decode(value)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was decoded')
}

describe('amounts are bigints, indexes and nonces numbers, and bytes stay as sent', () => {
  it.each<[string, Decode<unknown>, unknown, unknown]>([
    ['a transaction', decodeTransaction, transaction(), { hash: HASH, nonce: 5, value: 10n ** 18n, type: 126, to: null, blockNumber: null }],
    [
      'an authorization whose nonce has 64 bits',
      decodeTransaction,
      { hash: HASH, authorizationList: [{ address: '0x1', chainId: '0x1', nonce: '0xffffffffffffffff', yParity: '0x1' }] },
      { hash: HASH, authorizationList: [{ address: '0x1', chainId: 1, nonce: 2n ** 64n - 1n, yParity: 1 }] },
    ],
    [
      'a receipt and its logs',
      decodeReceipt,
      { transactionHash: HASH, status: '0x1', gasUsed: '0x5208', logs: [{ address: '0x1', topics: [HASH], logIndex: '0x7', data: '0x' }] },
      { transactionHash: HASH, status: 1, gasUsed: 21000n, logs: [{ address: '0x1', topics: [HASH], logIndex: 7, data: '0x' }] },
    ],
    [
      'a block with withdrawals',
      blockDecoder(false),
      { ...block([HASH]), withdrawals: [{ index: '0x1', validatorIndex: '0x2', address: '0x1', amount: '0x3' }] },
      { ...block([HASH]), number: 16n, timestamp: 1n, gasUsed: 2n, withdrawals: [{ index: 1, validatorIndex: 2, address: '0x1', amount: 3n }] },
    ],
    ['an uncle', decodeUncle, { hash: HASH, number: '0x1', size: '0x2' }, { hash: HASH, number: 1n, size: 2n }],
    [
      'a fee history',
      decodeFeeHistory,
      { oldestBlock: '0x1', baseFeePerGas: ['0x2', '0x3'], gasUsedRatio: [0.5], reward: [['0x4']] },
      { oldestBlock: 1n, baseFeePerGas: [2n, 3n], gasUsedRatio: [0.5], reward: [[4n]] },
    ],
    [
      'a proof',
      decodeProof,
      { address: '0x1', balance: '0x2', nonce: '0x3', storageProof: [{ key: '0x0', value: '0x4', proof: ['0x5'] }] },
      { address: '0x1', balance: 2n, nonce: 3, storageProof: [{ key: '0x0', value: 4n, proof: ['0x5'] }] },
    ],
    ['an access list', decodeAccessListResult, { accessList: [], gasUsed: '0x1', error: 'reverted' }, { accessList: [], gasUsed: 1n, error: 'reverted' }],
  ])('%s', (_, decode, sent, expected) => {
    expect(decode(sent)).toEqual(expected)
  })
})

test('a block with the other kind of transactions is refused', () => {
  expect(blockDecoder(true)(block([transaction()])).transactions[0]?.nonce).toBe(5)
  expect(blockDecoder(false)(block([HASH])).transactions).toEqual([HASH])
  expect(refusal(blockDecoder(true), block([HASH]))).toMatch(/^transactions\[0\]: expected a transaction, received "0xab/)
  expect(refusal(blockDecoder(false), block([HASH, transaction()]))).toBe('transactions[1]: expected a transaction hash, received an object')
})

test.each<[string, Decode<unknown>, string]>([
  ['transaction', decodeTransaction, 'hash'],
  ['receipt', decodeReceipt, 'transactionHash'],
  ['log', (value) => decodeLogs([value]), 'address'],
  ['block', blockDecoder(true), 'hash'],
  ['uncle', decodeUncle, 'hash'],
  ['proof', decodeProof, 'address'],
  ['fee history', decodeFeeHistory, 'oldestBlock'],
])('a %s is recognised by its identifying fields', (name, decode, field) => {
  expect(refusal(decode, {})).toContain(`${field}: expected the ${field} of a`)
  expect(refusal(decode, {})).toContain(name)
})
