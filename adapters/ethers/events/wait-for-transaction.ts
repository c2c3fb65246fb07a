import { isError, type JsonRpcProvider, makeError, type TransactionReceipt } from 'ethers'
import { readHeader } from '../../block-header.ts'
import { Destroyed } from '../format/ethers-error.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { replacementOf } from './replacement.ts'
import { report } from './report.ts'

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
  let isOver = false
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
        if (isOver) return
        try {
          const receipt = await provider.getTransactionReceipt(hash)
          hasAnswered = true
          if (receipt === null) await checkReplacement(block)
          else if (block - receipt.blockNumber + 1 < confirms) return
          else if (confirms === 1 || (await isConfirmed(provider, receipt, confirms))) resolve(receipt)
          else if (!isOver) repetition = provider._setTimeout(() => onBlock(block), provider.pollingInterval)
        } catch (error) {
          if (!hasAnswered || isError(error, 'TRANSACTION_REPLACED')) reject(error)
          else report(provider, error)
        }
      })
      // In this order, so that no block falls between the first check and the first event.
      void provider.on('block', onBlock)
      provider.getBlockNumber().then(onBlock, reject)
    })
  } finally {
    isOver = true
    clearTimeout(timer)
    provider._clearTimeout(repetition)
    end.removeEventListener('abort', onEnd)
    void provider.off('block', onBlock)
  }
}

/**
 * Whether the receipt's block is followed by the others that confirm it, each linked to the one
 * before. One of several backends may have announced the last, and another one, which has not
 * replaced its blocks yet, may have sent the receipt.
 */
async function isConfirmed(provider: JsonRpcProvider, { blockNumber, blockHash }: TransactionReceipt, confirms: number): Promise<boolean> {
  const numbers = Array.from({ length: confirms - 1 }, (_, i) => blockNumber + 1 + i)
  const calls = numbers.map((number) => provider.send('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]).catch(skipped))
  const blocks: unknown[] = await Promise.all(calls)
  let parent = blockHash
  return blocks.every((block) => {
    if (block === SKIPPED) return true
    const header = readHeader(block)
    if (header?.parentHash !== parent) return false
    parent = header.hash
    return true
  })
}

/** The chain has no block of a number, as Filecoin where nobody won a round. */
const SKIPPED: unique symbol = Symbol('no block of this number')

/** Takes the refusal of such a number; throws any other. */
function skipped(error: unknown): typeof SKIPPED {
  const { message } = ((error as { readonly error?: unknown } | null)?.error ?? error) as { readonly message?: unknown }
  if (/null round/i.test(String(message))) return SKIPPED
  throw error
}
