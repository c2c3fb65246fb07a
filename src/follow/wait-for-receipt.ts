import * as check from '../check.ts'
import { type Client, checkClient } from '../client/client.ts'
import { OptionError } from '../errors.ts'
import { type Hash, isHash } from '../eth/codec/hex.ts'
import type { Receipt } from '../eth/objects.ts'
import { show } from '../text.ts'

/** Options of `waitForReceipt`. */
export interface WaitForReceiptOptions {
  /**
   * Number of blocks that have to hold the transaction or follow it: 1 (default) is its own block,
   * as in viem and ethers.
   */
  readonly confirmations?: number | undefined
  /** Time for all of it, in ms. Default: no limit. */
  readonly deadlineMs?: number | undefined
  /** Ends the wait; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Waits until a transaction is in a block, and gives its receipt:
 *
 *     const receipt = await waitForReceipt(client, hash, { confirmations: 2 })
 *
 * It looks whenever a WebSocket endpoint of the client announces a new block; without one, about as
 * often as the chain has new blocks. Where the block is replaced, it waits for the next one that
 * has the transaction. The receipt's block is part of the node's chain when it is given. A
 * transaction that failed has a receipt, too: see its `status`.
 *
 * Rejects with `TransactionLostError` when another transaction of the sender has taken its nonce
 * (`replaced`), with the same confirmations, and when no node has known it for 10 s (`dropped`).
 * Rejects with `TimeoutError` at the deadline, with `IntegrityError` for the receipt of another
 * transaction, with `OptionError` for invalid arguments, and otherwise as `client.call` does: at
 * once if the first call fails, and later only for what waiting cannot cure.
 */
export async function waitForReceipt(client: Client, hash: Hash, options: WaitForReceiptOptions = {}): Promise<Receipt> {
  checkClient(client)
  if (!isHash(hash)) throw new OptionError('hash', 'the hash of a transaction (32 bytes in hex)', show(hash))
  check.onlyKnown('options', options, ['confirmations', 'deadlineMs', 'signal'])
  const { confirmations = 1, deadlineMs = Number.POSITIVE_INFINITY, signal } = options
  check.whole('confirmations', confirmations)
  check.msOrInfinity('deadlineMs', deadlineMs)
  if (signal !== undefined) check.signal(signal)
  signal?.throwIfAborted()
  // Loaded on demand, since most programs never wait.
  const { awaitReceipt } = await import('./await-receipt.ts')
  return awaitReceipt(client, hash, { confirmations, deadlineMs, signal })
}
