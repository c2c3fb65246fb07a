import { type JsonRpcProvider, makeError, type TransactionResponse } from 'ethers'

/** Where the nonce was used before the first look: how many blocks back the transaction that used it is looked for, as ethers does. */
const LOOK_BACK = 3

/**
 * Looks, at a block, for another transaction that has taken the nonce of this one: rejects with TRANSACTION_REPLACED, as the `wait()` of a
 * response does, once it has enough confirmations. It can be found when the node has known the transaction at one of the looks, since a
 * node forgets a replaced one.
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
      // Itself: its receipt is not there yet.
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
    // Blocks are looked through again only as far back as they may have been replaced themselves.
    first = Math.max(first, block - LOOK_BACK)
  }
}

function reasonOf(sent: TransactionResponse, taker: TransactionResponse): 'repriced' | 'cancelled' | 'replaced' {
  if (taker.data === sent.data && taker.to === sent.to && taker.value === sent.value) return 'repriced'
  return taker.data === '0x' && taker.from === taker.to && taker.value === 0n ? 'cancelled' : 'replaced'
}
