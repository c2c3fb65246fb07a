import { beforeAll, describe, expect, test } from 'vitest'
import type { Block, Receipt, Transaction } from '../../src/index.ts'
import { uncoveredFields } from '../../src/verify/uncovered.ts'
import type { VerifyCheck } from '../../src/verify/verification.ts'
import { madeBlock } from '../support/decoded-blocks.ts'

const ALL: readonly VerifyCheck[] = ['hash', 'uncles', 'withdrawals', 'transactions', 'receipts', 'prices', 'size', 'senders']

let block: Block<true>
let receipts: Receipt[]
beforeAll(async () => {
  ;({ block, receipts } = await madeBlock())
})

const without = (...names: readonly VerifyCheck[]) => new Set(ALL.filter((check) => !names.includes(check)))
const ofBlock = (change: object, proven = without()) => uncoveredFields({ ...block, ...change } as Block, block.transactions, receipts, proven)
/** The uncovered fields of one transaction and, if it is given, its receipt. */
const ofOne = (transaction: object, receipt?: object, proven = without()) =>
  uncoveredFields({} as Block, [transaction as Transaction], receipt && [{ logs: [], ...receipt } as unknown as Receipt], proven)

describe('uncoveredFields', () => {
  test('names nothing where all is proven', () => expect(ofBlock({})).toEqual([]))

  test.each<[VerifyCheck, string[]]>([
    ['uncles', ['uncles']],
    ['withdrawals', ['withdrawals']],
    ['size', ['size']],
    ['prices', ['transactions.gasPrice', 'receipts.effectiveGasPrice']],
    ['senders', ['transactions.from', 'receipts.from', 'receipts.contractAddress']],
  ])('names what only the check of %s proves', (check, names) => {
    // The gas price of types 0 and 1 is in their hash.
    expect(ofBlock({}, without(check))).toEqual(names)
  })

  test('says nothing of transactions or receipts that were not proven at all', () => {
    const strange = { ...block.transactions[0], strange: 1 }
    expect(ofOne(strange)).toEqual(['transactions.strange'])
    expect(ofOne(strange, undefined, without('transactions'))).toEqual([])
    expect(ofOne(strange, { strange: 1 }, without('transactions', 'receipts'))).toEqual([])
  })

  test('names all that only a root in the header proves, if the header is not proven', () => {
    const { hash: _, transactions: __, ...header } = block
    const names = [...Object.keys(header), 'receipts', 'transactions.gasPrice']
    expect(ofBlock({}, without('hash')).sort()).toEqual(names.sort())
    expect(ofBlock({}, without('hash', 'receipts', 'withdrawals')).sort()).toEqual(names.filter((name) => name !== 'receipts'))
  })

  test('names each field once, and none that is null', () => {
    expect(ofBlock({ strange: 1, none: null, absent: undefined })).toEqual(['strange'])
    const twice = uncoveredFields(
      {} as Block,
      [
        { type: 2, strange: 1 },
        { type: 2, strange: 2 },
      ] as never,
      undefined,
      without(),
    )
    expect(twice).toEqual(['transactions.strange'])
  })

  test('names unknown fields within lists', () => {
    const list = [{ strange: 1 }]
    expect(ofBlock({ withdrawals: list })).toEqual(['withdrawals.strange'])
    expect(ofBlock({ withdrawals: list }, without('withdrawals'))).toEqual(['withdrawals'])
    expect(ofOne({ type: 2, accessList: list, authorizationList: [] })).toEqual(['transactions.authorizationList', 'transactions.accessList.strange'])
    expect(ofOne({ type: 4, authorizationList: list })).toEqual(['transactions.authorizationList.strange'])
    expect(ofOne({ type: 0 }, { logs: [{ strange: 1, data: '0x', removed: false }] })).toEqual(['receipts.logs.strange'])
  })
})

describe('of a transaction', () => {
  test.each<[object, string[]]>([
    // What the hash of another type covers.
    [{ type: 0, maxFeePerGas: 1n, accessList: [] }, ['transactions.maxFeePerGas', 'transactions.accessList']],
    [{ type: 2, maxFeePerBlobGas: 1n }, ['transactions.maxFeePerBlobGas']],
    // `v` says chain and parity, but not before EIP-155 and not of a system.
    [{ type: 0, v: 35n, yParity: 0, chainId: 0 }, []],
    [{ type: 0, v: 34n, yParity: 1, chainId: 0 }, ['transactions.chainId']],
    [{ type: 0, v: 27n, yParity: 0 }, []],
    [{ type: 0, v: 26n, yParity: 0, chainId: 1 }, ['transactions.yParity', 'transactions.chainId']],
    [{ type: 2, v: 1n, yParity: 1, chainId: 1 }, []],
    [{ type: 0x7e, v: 40n, yParity: 0, chainId: 1 }, ['transactions.v', 'transactions.yParity', 'transactions.chainId']],
    // A chain's own types have no signature, and their prices are not checked.
    [{ type: 0x64, from: '0x', gasPrice: 1n }, ['transactions.gasPrice']],
    [{ type: 0x6a, from: '0x' }, ['transactions.from']],
    // Nor has a message to OP Mainnet before Bedrock.
    [{ type: 0, from: '0x', v: 0n, r: '0x0', s: '0x00' }, ['transactions.from']],
    [{ type: 0, from: '0x', v: 27n, r: '0x0', s: '0x1' }, []],
    // Only one of two fees is in the hash.
    [{ type: 0x65, gasPrice: 1n }, []],
    [{ type: 0x65, gasPrice: 1n, maxFeePerGas: 1n }, ['transactions.gasPrice']],
    [{ type: 0x65, gasPrice: 1n, maxFeePerGas: null }, []],
    // Of an unknown type, the hash says nothing.
    [{ type: 5, nonce: 1, hash: '0x' }, ['transactions.nonce']],
  ])('%o', (transaction, names) => expect(ofOne(transaction)).toEqual(names))
})

describe('of a receipt', () => {
  const root = `0x${'1'.repeat(64)}`
  test.each<[object, object, string[]]>([
    [{ type: 0 }, { root, status: 1 }, ['receipts.status']],
    [{ type: 0 }, { root: '0x', status: 1 }, ['receipts.root']],
    [{ type: 0 }, { from: '0x', to: '0x', contractAddress: '0x' }, []],
    [{ type: 4 }, { contractAddress: '0x' }, []],
    [{ type: 0x7e }, { from: '0x', to: '0x', contractAddress: '0x' }, ['receipts.contractAddress']],
    [{ type: 0, v: 0n, r: '0x0', s: '0x0' }, { from: '0x', contractAddress: '0x' }, ['receipts.from', 'receipts.contractAddress']],
    [{ type: 0x6a }, { from: '0x', to: '0x' }, ['receipts.from', 'receipts.to']],
    [{ type: 4 }, { effectiveGasPrice: 1n }, []],
    [{ type: 5 }, { effectiveGasPrice: 1n }, ['receipts.effectiveGasPrice']],
    [{ type: 3 }, { blobGasUsed: 1n, blobGasPrice: 1n }, ['receipts.blobGasPrice']],
    [{ type: 2 }, { blobGasUsed: 1n }, ['receipts.blobGasUsed']],
    // Before Canyon, the root of the OP Stack leaves out the nonce; elsewhere, anyone can add one.
    [{ type: 0x7e }, { depositNonce: 1, depositReceiptVersion: 1 }, []],
    [{ type: 0x7e }, { depositNonce: 1 }, ['receipts.depositNonce']],
    [{ type: 2 }, { depositNonce: 1, depositReceiptVersion: null }, ['receipts.depositNonce']],
  ])('%o: %o', (transaction, receipt, names) => expect(ofOne(transaction, receipt)).toEqual(names))

  test('without its transaction, what it repeats is not proven', () => {
    const ofTransaction = { transactionHash: '0x', from: '0x', to: '0x', contractAddress: '0x', effectiveGasPrice: 1n, blobGasUsed: 1n }
    const receipt = { ...ofTransaction, logs: [{ transactionHash: '0x', logIndex: 0 }], gasUsed: 1n } as unknown as Receipt
    const names = [...Object.keys(ofTransaction), 'logs.transactionHash'].map((name) => `receipts.${name}`)
    expect(uncoveredFields({} as Block, undefined, [receipt], without())).toEqual(names)
    // The same if the transaction is there, but not proven.
    expect(ofOne({ type: 3 }, receipt, without('transactions'))).toEqual(names)
    expect(ofOne({ type: 3 }, receipt)).toEqual([])
  })
})
