import { type BlockTag, type JsonRpcProvider, makeError, type TransactionReceipt } from 'ethers'
import { encodeArguments } from '../../../src/eth/methods.ts'

/** The receipts of a block; null if there is no such block. */
export async function receiptsOf(provider: JsonRpcProvider, block: BlockTag): Promise<TransactionReceipt[] | null> {
  const params = encodeArguments('eth_getBlockReceipts', [await provider._getBlockTag(block)])
  const [network, raw] = await Promise.all([provider.getNetwork(), provider.send('eth_getBlockReceipts', params)])
  if (raw === null) return null
  if (!Array.isArray(raw)) throw makeError("a block's receipts must be an array", 'BAD_DATA', { value: raw })
  const receipts: RawReceipt[] = raw.some(hasNoPrice) ? withPrices(raw, await provider.send('eth_getBlockByHash', [raw[0]?.blockHash, true])) : raw
  return receipts.map((receipt) => provider._wrapTransactionReceipt(receipt as never, network))
}

/** A receipt as a node sent it. */
export interface RawReceipt {
  readonly transactionHash: string
  readonly effectiveGasPrice?: unknown
  readonly gasPrice?: unknown
}

export function hasNoPrice({ effectiveGasPrice, gasPrice }: RawReceipt): boolean {
  return (effectiveGasPrice ?? gasPrice ?? undefined) === undefined
}

/**
 * Adds missing prices. Nodes may omit the price of old receipts; the transaction's own is used
 * then, as ethers does for a single receipt.
 */
export function withPrices(receipts: readonly RawReceipt[], block: { transactions?: readonly { hash: string; gasPrice?: unknown }[] } | null): RawReceipt[] {
  const prices = new Map(block?.transactions?.map(({ hash, gasPrice }) => [hash, gasPrice]))
  return receipts.map((receipt) => (hasNoPrice(receipt) ? { ...receipt, gasPrice: prices.get(receipt.transactionHash) } : receipt))
}
