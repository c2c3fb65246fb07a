import type { Hash, TransactionReceipt } from 'viem'
import { eventually } from './eventually.ts'

/**
 * The receipt of a transaction that anvil mines by itself. viem's own wait looks again only at a
 * new block number, so that it can miss a receipt that appears a moment after its block.
 */
export function minedReceipt<R = TransactionReceipt>(viem: { getTransactionReceipt(of: { hash: Hash }): Promise<R> }, hash: Hash): Promise<R> {
  return eventually(() => viem.getTransactionReceipt({ hash })) as Promise<R>
}
