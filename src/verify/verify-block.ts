import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import type { Block, Receipt } from '../eth/objects.ts'
import type { BlockVerifier } from './block-verifier.ts'
import type { BlockLevel, Verification } from './verification.ts'

/** Options of `verifyBlock`. */
export interface VerifyBlockOptions {
  /**
   * `header`: the block's hash, withdrawals and absence of uncles. `full` (the default): its
   * transactions and receipts, too.
   */
  readonly level?: BlockLevel | undefined
  /**
   * Whether the sender of each transaction is recovered from its signature, which takes about a
   * hundred times as long as all the rest. Default false.
   */
  readonly senders?: boolean | undefined
  /**
   * The chain that the block is from, for those whose hashes are not computed as Ethereum's are.
   * Default: the one that the block's transactions were signed for.
   */
  readonly chainId?: number | undefined
}

/**
 * Proves that a block, as `client.call` decodes it, is what its hash says: the header has the hash,
 * and transactions, receipts and withdrawals have the roots in the header.
 *
 *     const block = await client.call('eth_getBlockByNumber', 21_000_000n, true)
 *     const receipts = await client.call('eth_getBlockReceipts', 21_000_000n)
 *     const { checks, skipped } = await verifyBlock(block, receipts)
 *
 * The hash itself is the node's word: compare it with one that you trust. What hexline cannot
 * encode is skipped, with the reason, and not proven.
 *
 * Rejects with `IntegrityError`, which names the block, the field or root, and what was expected
 * and found; and with `OptionError` for invalid options.
 */
export async function verifyBlock(block: Block, receipts?: readonly Receipt[] | null, options: VerifyBlockOptions = {}): Promise<Verification> {
  check.anObject('block', block)
  if (receipts != null && !Array.isArray(receipts)) throw new OptionError('receipts', 'an array', check.withoutText(receipts))
  check.onlyKnown('options', options, ['level', 'senders', 'chainId'])
  const { level = 'full', senders = false, chainId } = options
  check.oneOf('level', level, ['header', 'full'])
  check.flag('senders', senders)
  if (chainId !== undefined) check.whole('chainId', chainId)
  const senderOf = senders ? await (await import('./sender.ts')).loadSenderOf() : undefined
  verifier ??= new (await import('./block-verifier.ts')).BlockVerifier()
  return verifier.verify(block, receipts ?? undefined, { level, chainId, senderOf })
}

/** Memory to work in. No verification leaves anything in it for the next one. */
let verifier: BlockVerifier | undefined
