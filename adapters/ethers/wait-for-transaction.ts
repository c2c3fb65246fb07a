import { isError, type JsonRpcProvider, makeError, type TransactionReceipt } from 'ethers'
import { Destroyed } from './ethers-error.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { replacementOf } from './replacement.ts'

/**
 * ethers' `waitForTransaction`, which ends when the provider is destroyed, rejects with
 * TRANSACTION_REPLACED when another transaction has used the nonce, and rejects if the first
 * request fails. Later failures are reported to the listeners of `error`, and the next block tries
 * again.
 */
export async function waitForTransaction(
  provider: JsonRpcProvider,
  hash: string,
  confirms: number,
  timeoutMs: number | undefined,
  end: AbortSignal,
): Promise<TransactionReceipt | null> {
  if (confirms === 0) return provider.getTransactionReceipt(hash)
  const checkReplacement = replacementOf(provider, hash, confirms)

  let onBlock = (_: number): void => {}
  let onEnd = () => {}
  let timer: NodeJS.Timeout | undefined
  let repetition = 0
  try {
    return await new Promise<TransactionReceipt>((resolve, reject) => {
      onEnd = () => reject(new Destroyed().errorOf('waitForTransaction'))
      if (end.aborted) return onEnd()
      end.addEventListener('abort', onEnd)
      if (timeoutMs !== undefined) {
        timer = setTimeout(() => reject(makeError('timeout', 'TIMEOUT', { operation: 'waitForTransaction', reason: 'timeout' })), timeoutMs)
      }
      let hasAnswered = false
      onBlock = oneAtATime(async (block) => {
        provider._clearTimeout(repetition)
        try {
          const receipt = await provider.getTransactionReceipt(hash)
          hasAnswered = true
          if (receipt === null) await checkReplacement(block)
          else if (block - receipt.blockNumber + 1 < confirms) return
          else if (confirms === 1 || (await isConfirmed(provider, receipt, confirms))) resolve(receipt)
          else repetition = provider._setTimeout(() => onBlock(block), provider.pollingInterval)
        } catch (error) {
          if (!hasAnswered || isError(error, 'TRANSACTION_REPLACED')) reject(error)
          else if (!provider.destroyed) void provider.emit('error', error)
        }
      })
      // In this order, so that no block falls between the first check and the first event.
      void provider.on('block', onBlock)
      provider.getBlockNumber().then(onBlock, reject)
    })
  } finally {
    clearTimeout(timer)
    provider._clearTimeout(repetition)
    end.removeEventListener('abort', onEnd)
    void provider.off('block', onBlock)
  }
}

/**
 * Whether a node has the receipt's block, and as many blocks from there on. The block that was
 * announced may follow another one, and be that of another backend. Both calls go in one batch.
 */
async function isConfirmed(provider: JsonRpcProvider, { blockNumber, blockHash }: TransactionReceipt, confirms: number): Promise<boolean> {
  const numbers = [blockNumber, blockNumber + confirms - 1]
  const blocks = numbers.map((number) => provider.send('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]))
  const [own, last] = (await Promise.all(blocks)) as ({ readonly hash?: unknown } | null)[]
  return own?.hash === blockHash && last !== null
}
