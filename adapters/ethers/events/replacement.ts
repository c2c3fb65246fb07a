import { type JsonRpcProvider, makeError, type TransactionResponse } from 'ethers'

/**
 * How many blocks back to look for the replacement if the nonce was already used at the first
 * check; ethers' own figure.
 */
const LOOK_BACK = 3

/**
 * Checks at each block whether another transaction has used the nonce of this one. Once that has
 * enough confirmations, the check rejects with TRANSACTION_REPLACED, as the `wait()` of a response
 * does. It needs the node to know the transaction at one of the checks at least, since nodes forget
 * replaced transactions.
 */
export function replacementOf(provider: JsonRpcProvider, hash: string, confirms: number): (block: number) => Promise<void> {
  let sent: TransactionResponse | null = null
  /** The first block that may hold a replacement. */
  let first: number | undefined

  return async (block) => {
    sent ??= await provider.getTransaction(hash)
    if (sent === null) return
    const { from, nonce } = sent
    if ((await provider.getTransactionCount(from, block)) <= nonce) {
      first = block + 1
      return
    }
    first ??= Math.max(0, block - LOOK_BACK)
    for (let number = first; number <= block; number++) {
      const mined = await provider.getBlock(number, true)
      if (mined === null) return
      const taker = mined.prefetchedTransactions.find((each) => each.nonce === nonce && each.from === from)
      if (taker === undefined) continue
      // It was mined itself, and its receipt is not available yet.
      if (taker.hash === hash || block - number + 1 < confirms) return
      const receipt = await provider.getTransactionReceipt(taker.hash)
      if (receipt === null) return
      const reason = reasonOf(sent, taker)
      throw makeError('transaction was replaced', 'TRANSACTION_REPLACED', {
        cancelled: reason !== 'repriced',
        reason,
        replacement: taker.replaceableTransaction(first),
        hash: taker.hash,
        receipt,
      })
    }
    // Blocks are searched again only as far back as a reorg may have replaced them.
    first = Math.max(first, block - LOOK_BACK)
  }
}

function reasonOf(sent: TransactionResponse, taker: TransactionResponse): 'repriced' | 'cancelled' | 'replaced' {
  if (taker.data === sent.data && taker.to === sent.to && taker.value === sent.value) return 'repriced'
  return taker.data === '0x' && taker.from === taker.to && taker.value === 0n ? 'cancelled' : 'replaced'
}
