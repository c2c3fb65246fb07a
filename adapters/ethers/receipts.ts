/** A receipt as a node sent it. */
export interface RawReceipt {
  readonly transactionHash: string
  readonly effectiveGasPrice?: unknown
  readonly gasPrice?: unknown
}

export function hasNoPrice({ effectiveGasPrice, gasPrice }: RawReceipt): boolean {
  return (effectiveGasPrice ?? gasPrice ?? undefined) === undefined
}

/** Nodes may leave the price out of old receipts: it is the transaction's then, as ethers has it for a single receipt. */
export function withPrices(receipts: readonly RawReceipt[], block: { transactions?: readonly { hash: string; gasPrice?: unknown }[] } | null): RawReceipt[] {
  const prices = new Map(block?.transactions?.map(({ hash, gasPrice }) => [hash, gasPrice]))
  return receipts.map((receipt) => (hasNoPrice(receipt) ? { ...receipt, gasPrice: prices.get(receipt.transactionHash) } : receipt))
}
