import { describe, expect, test } from 'vitest'
import { type Block, IntegrityError, type Receipt, type Transaction } from '../../src/index.ts'
import { checkPrices } from '../../src/verify/prices.ts'

const BASE = 100n
const block = { number: 7n, baseFeePerGas: BASE } as Block

/** What is found of one transaction, or of its receipt. */
function found(transaction: Partial<Transaction>, receipt?: Partial<Receipt>, header = block): string | undefined {
  const result = checkPrices(header, [transaction as Transaction], receipt && [receipt as Receipt])
  return result instanceof IntegrityError ? result.message : result
}
const MISSING = 'the base fee, or a fee of a transaction, is missing'

describe('the price of gas', () => {
  test.each([
    // The base fee and the tip, up to the cap.
    [{ type: 2, maxFeePerGas: 105n, maxPriorityFeePerGas: 4n }, 104n],
    [{ type: 2, maxFeePerGas: 105n, maxPriorityFeePerGas: 5n }, 105n],
    [{ type: 2, maxFeePerGas: 105n, maxPriorityFeePerGas: 6n }, 105n],
    [{ type: 3, maxFeePerGas: 100n, maxPriorityFeePerGas: 0n }, 100n],
    [{ type: 4, maxFeePerGas: 200n, maxPriorityFeePerGas: 1n }, 101n],
    // As it was offered, before EIP-1559.
    [{ type: 0, gasPrice: 300n }, 300n],
    [{ type: 1, gasPrice: 50n }, 50n],
  ])('%o', (transaction, price) => {
    expect(found(transaction)).toBeUndefined()
    expect(found(transaction, { effectiveGasPrice: price })).toBeUndefined()
    if (transaction.type > 1) expect(found({ ...transaction, gasPrice: price })).toBeUndefined()
    for (const wrong of [price - 1n, price + 1n]) {
      expect(found(transaction, { effectiveGasPrice: wrong })).toBe(`block 7: receipts[0].effectiveGasPrice: expected ${price}n, found ${wrong}n`)
      if (transaction.type > 1)
        expect(found({ ...transaction, gasPrice: wrong })).toBe(`block 7: transactions[0].gasPrice: expected ${price}n, found ${wrong}n`)
    }
  })

  test('is not known of the types of a chain', () => {
    expect(found({ type: 5, gasPrice: 1n }, { effectiveGasPrice: 2n })).toBeUndefined()
  })

  test('is not known without the fees that make it, and the reason is given', () => {
    const transaction = { type: 2, maxFeePerGas: 105n, maxPriorityFeePerGas: 4n }
    expect(found(transaction, undefined, { number: 7n } as Block)).toBe(MISSING)
    expect(found({ ...transaction, maxFeePerGas: undefined as never })).toBe(MISSING)
    expect(found({ ...transaction, maxPriorityFeePerGas: null as never })).toBe(MISSING)
    expect(found({ type: 0 })).toBe(MISSING)
    expect(found({ type: 0, gasPrice: 1n }, undefined, { number: 7n } as Block)).toBeUndefined()
  })

  test('that is wrong is found after one that is not known', () => {
    const transactions = [{ type: 0 }, { type: 0, gasPrice: 3n }] as Transaction[]
    const result = checkPrices(block, transactions, [{}, { effectiveGasPrice: 4n }] as Receipt[])
    expect(result).toMatchObject({ field: 'receipts[1].effectiveGasPrice' })
  })
})
