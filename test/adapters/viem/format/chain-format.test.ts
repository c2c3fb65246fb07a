import fc from 'fast-check'
import { formatBlock, formatTransactionReceipt } from 'viem'
import { describe, expect, it } from 'vitest'
import { formatBlockOf, formatReceiptsOf, isLikeViem } from '../../../../adapters/viem/format/chain-format.ts'
import { sampleBlock, sampleReceipt } from '../../../../adapters/viem/format/samples.ts'
import { runs } from '../../../support/runs.ts'

it('agrees with the installed viem; otherwise the fast formatter is never used', () => {
  expect(isLikeViem()).toBe(true)
})

const quantity = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => `0x${value.toString(16)}`)
const small = fc.nat(2 ** 31 - 1).map((value) => `0x${value.toString(16)}`)
const hash = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map((value) => `0x${value.toString(16).padStart(64, '0')}`)
const v = fc.oneof(fc.constantFrom('0x0', '0x1', '0x1b', '0x1c', '0x23', '0x24', '0x25', '0x26', '0x2', '0x1d'), small)

/** A field as nodes send it: present, null, or absent. */
const perhaps = <T>(field: fc.Arbitrary<T>) => fc.option(fc.option(field, { nil: null }), { nil: undefined, freq: 8 })

function present(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))
}

const authorization = fc
  .record({ chainId: quantity, address: hash, nonce: quantity, yParity: fc.option(fc.constantFrom('0x0', '0x1'), { nil: undefined }), r: hash, s: hash })
  .map(present)

const transaction = fc
  .record({
    hash,
    blockHash: perhaps(hash),
    blockNumber: perhaps(small),
    blockTimestamp: perhaps(small),
    transactionIndex: perhaps(small),
    from: hash,
    to: perhaps(hash),
    type: perhaps(fc.constantFrom('0x0', '0x1', '0x2', '0x3', '0x4', '0x7e', '0x64')),
    chainId: perhaps(small),
    nonce: perhaps(small),
    gas: perhaps(quantity),
    gasPrice: perhaps(quantity),
    maxFeePerGas: perhaps(quantity),
    maxPriorityFeePerGas: perhaps(quantity),
    maxFeePerBlobGas: perhaps(quantity),
    value: perhaps(quantity),
    input: hash,
    v: perhaps(v),
    yParity: perhaps(fc.constantFrom('0x0', '0x1')),
    accessList: perhaps(fc.constant([])),
    authorizationList: perhaps(fc.array(authorization, { maxLength: 2 })),
    unknown: perhaps(small),
  })
  .map(present)

const header = fc
  .record({
    number: small,
    hash,
    parentHash: hash,
    nonce: perhaps(hash),
    logsBloom: perhaps(hash),
    baseFeePerGas: perhaps(quantity),
    blobGasUsed: perhaps(quantity),
    difficulty: perhaps(quantity),
    excessBlobGas: perhaps(quantity),
    gasLimit: perhaps(quantity),
    gasUsed: perhaps(quantity),
    size: perhaps(quantity),
    timestamp: perhaps(small),
    totalDifficulty: perhaps(quantity),
    withdrawals: perhaps(fc.constant([{ index: '0x1', amount: '0x2' }])),
  })
  .map(present)

const log = fc
  .record({
    address: hash,
    topics: fc.array(hash, { maxLength: 4 }),
    data: hash,
    blockHash: perhaps(hash),
    blockNumber: perhaps(small),
    blockTimestamp: perhaps(small),
    logIndex: perhaps(small),
    transactionHash: perhaps(hash),
    transactionIndex: perhaps(small),
  })
  .map(present)

const receipt = fc
  .record({
    transactionHash: hash,
    blockHash: hash,
    blockNumber: perhaps(small),
    contractAddress: perhaps(hash),
    cumulativeGasUsed: perhaps(quantity),
    effectiveGasPrice: perhaps(quantity),
    gasUsed: perhaps(quantity),
    blobGasPrice: perhaps(quantity),
    blobGasUsed: perhaps(quantity),
    logs: perhaps(fc.array(log, { maxLength: 3 })),
    to: perhaps(hash),
    transactionIndex: perhaps(small),
    status: perhaps(fc.constantFrom('0x0', '0x1')),
    type: perhaps(fc.constantFrom('0x0', '0x1', '0x2', '0x3', '0x4', '0x7e')),
    root: perhaps(hash),
  })
  .map(present)

describe('the same as viem, for any fields', () => {
  it('of blocks with transactions', () => {
    fc.assert(
      fc.property(header, fc.array(transaction, { maxLength: 4 }), (head, transactions) => {
        const block = { ...head, transactions }
        expect(formatBlockOf(undefined, true, true)(structuredClone(block)).value).toStrictEqual(formatBlock(structuredClone(block) as never))
      }),
      runs(1000),
    )
  })

  it('of blocks with hashes', () => {
    fc.assert(
      fc.property(header, fc.array(hash, { maxLength: 4 }), (head, transactions) => {
        const block = { ...head, transactions }
        expect(formatBlockOf(undefined, false, true)(structuredClone(block)).value).toStrictEqual(formatBlock(structuredClone(block) as never))
      }),
    )
  })

  it('of receipts', () => {
    fc.assert(
      fc.property(receipt, (raw) => {
        expect(formatReceiptsOf(undefined, true)([structuredClone(raw)])[0]?.value).toStrictEqual(formatTransactionReceipt(structuredClone(raw) as never))
      }),
      runs(500),
    )
  })
})

describe('refuses an invalid value, with its path', () => {
  const withTransaction = (fields: object) => ({ ...sampleBlock(), transactions: [{ hash: '0x01', ...fields }] })

  it.each<[string, unknown, string]>([
    ['no block', 'x', 'expected a block, received "x"'],
    ['no transactions', { number: '0x1', hash: '0x' }, 'transactions: expected the transactions of a block, received undefined'],
    ['hashes for transactions', { ...sampleBlock(), transactions: ['0x01'] }, 'transactions[0]: expected a transaction, received "0x01"'],
    ['a decimal', withTransaction({ gas: '21000' }), 'transactions[0].gas: expected a hex quantity, received "21000"'],
    [
      'a nonce too large',
      withTransaction({ nonce: '0x20000000000000' }),
      'transactions[0].nonce: expected a hex quantity of at most 2^53 - 1, received "0x20000000000000"',
    ],
    [
      'an authorization',
      withTransaction({ authorizationList: [{ address: '0x', chainId: '1' }] }),
      'transactions[0].authorizationList[0].chainId: expected a hex quantity, received "1"',
    ],
  ])('%s', (_, raw, message) => {
    expect(() => formatBlockOf(undefined, true, true)(raw)).toThrow(message)
  })

  it('transactions for hashes', () => {
    expect(() => formatBlockOf(undefined, false, true)(sampleBlock())).toThrow('transactions[0]: expected a transaction hash, received an object')
  })

  it('a log of a receipt', () => {
    const raw = sampleReceipt() as { logs: Record<string, unknown>[] }
    ;(raw.logs[1] as Record<string, unknown>).logIndex = 'x'
    expect(() => formatReceiptsOf(undefined, true)([raw])).toThrow('[0].logs[1].logIndex: expected a hex quantity, received "x"')
  })
})
