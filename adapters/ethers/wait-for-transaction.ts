import { makeError, type TransactionReceipt } from 'ethers'
import { Destroyed } from './ethers-error.ts'
import type { HexlineProvider } from './provider.ts'

/**
 * ethers' `waitForTransaction`, which ends with the provider, and rejects when the node cannot be asked at the start; a failure later
 * on is told to the listeners of `error`, and the next block asks again.
 */
export async function waitForTransaction(
  provider: HexlineProvider,
  hash: string,
  confirms: number,
  timeoutMs: number | undefined,
  end: AbortSignal,
): Promise<TransactionReceipt | null> {
  if (confirms === 0) return provider.getTransactionReceipt(hash)
  const receiptAt = async (blockNumber: number) => {
    const receipt = await provider.getTransactionReceipt(hash)
    return receipt !== null && blockNumber - receipt.blockNumber + 1 >= confirms ? receipt : undefined
  }

  let onBlock = (_: number): void => {}
  let onEnd = () => {}
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  try {
    return await new Promise<TransactionReceipt>((resolve, reject) => {
      onEnd = () => reject(new Destroyed().errorOf('waitForTransaction'))
      if (end.aborted) return onEnd()
      end.addEventListener('abort', onEnd)
      if (timeoutMs !== undefined) {
        timer = setTimeout(() => reject(makeError('timeout', 'TIMEOUT', { operation: 'waitForTransaction', reason: 'timeout' })), timeoutMs)
      }
      onBlock = (blockNumber) => {
        receiptAt(blockNumber).then(
          (receipt) => receipt && resolve(receipt),
          (error) => void provider.emit('error', error),
        )
      }
      provider
        .getBlockNumber()
        .then(receiptAt)
        .then((receipt) => {
          if (receipt !== undefined) resolve(receipt)
          else if (!isOver) void provider.on('block', onBlock)
        }, reject)
    })
  } finally {
    isOver = true
    clearTimeout(timer)
    end.removeEventListener('abort', onEnd)
    void provider.off('block', onBlock)
  }
}
