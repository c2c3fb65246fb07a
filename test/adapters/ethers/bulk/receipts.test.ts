import { describe, expect, it } from 'vitest'
import { hasNoPrice, withPrices } from '../../../../adapters/ethers/bulk/receipts.ts'

describe('the price of a receipt', () => {
  it.each([
    [{ transactionHash: 'a' }, true],
    [{ transactionHash: 'a', effectiveGasPrice: null }, true],
    [{ transactionHash: 'a', gasPrice: null }, true],
    [{ transactionHash: 'a', effectiveGasPrice: '0x0' }, false],
    [{ transactionHash: 'a', gasPrice: '0x1' }, false],
    [{ transactionHash: 'a', effectiveGasPrice: null, gasPrice: '0x1' }, false],
  ])('%j: missing is %s', (receipt, isMissing) => {
    expect(hasNoPrice(receipt)).toBe(isMissing)
  })

  it('is added from the transaction with the same hash, only where it is missing', () => {
    const receipts = [{ transactionHash: 'b' }, { transactionHash: 'a', effectiveGasPrice: '0x5' }]
    const block = {
      transactions: [
        { hash: 'a', gasPrice: '0x1' },
        { hash: 'b', gasPrice: '0x2' },
      ],
    }
    expect(withPrices(receipts, block)).toEqual([{ transactionHash: 'b', gasPrice: '0x2' }, receipts[1]])
    expect(receipts[0]).toEqual({ transactionHash: 'b' })
  })

  it.each([[null], [{}], [{ transactions: [] }]])('stays missing with the block %j', (block) => {
    expect(withPrices([{ transactionHash: 'a' }], block)).toEqual([{ transactionHash: 'a' }])
  })
})
