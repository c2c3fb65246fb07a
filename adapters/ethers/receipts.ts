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
