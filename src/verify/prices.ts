import type { IntegrityError } from '../errors.ts'
import type { Block, Receipt, Transaction } from '../eth/objects.ts'
import { mismatch } from './mismatch.ts'

/**
 * The first price of gas that is not what the transaction's fees and the block's base fee make it
 * (EIP-1559), in a transaction or in a receipt; undefined if there is none. A string says why some
 * prices are not known.
 */
export function checkPrices(block: Block, transactions: readonly Transaction[], receipts: readonly Receipt[] | undefined): IntegrityError | string | undefined {
  let reason: string | undefined
  for (let i = 0; i < transactions.length; i++) {
    const transaction = transactions[i] as Transaction
    if (transaction.type > 4) continue
    const price = priceOf(transaction, block.baseFeePerGas)
    if (!isGiven(price)) {
      reason = 'the base fee, or a fee of a transaction, is missing'
      continue
    }
    const { gasPrice } = transaction
    if (isGiven(gasPrice) && gasPrice !== price) return mismatch(block, `transactions[${i}].gasPrice`, price, gasPrice)
    const effective = receipts?.[i]?.effectiveGasPrice
    if (isGiven(effective) && effective !== price) return mismatch(block, `receipts[${i}].effectiveGasPrice`, price, effective)
  }
  return reason
}

/** What a unit of gas costs, in wei. */
function priceOf({ type, gasPrice, maxFeePerGas, maxPriorityFeePerGas }: Transaction, baseFee: bigint | undefined): bigint | undefined {
  if (type < 2) return gasPrice
  if (!isGiven(baseFee) || !isGiven(maxFeePerGas) || !isGiven(maxPriorityFeePerGas)) return undefined
  const wanted = baseFee + maxPriorityFeePerGas
  return wanted < maxFeePerGas ? wanted : maxFeePerGas
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null
}
