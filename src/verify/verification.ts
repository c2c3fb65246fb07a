/**
 * What is checked.
 *
 * - `hash`: the header has the block's hash.
 * - `uncles`: there are none, as the header says.
 * - `withdrawals`: they have the header's root.
 * - `transactions`: they have the header's root, and each its own hash and place.
 * - `receipts`: they have the header's root and bloom, and each its own place, gas and logs.
 * - `prices`: what gas cost is what the block's base fee and the transaction's fees make it.
 * - `size`: the block has the size that it says.
 * - `senders`: each signature is the sender's.
 */
export type VerifyCheck = 'hash' | 'uncles' | 'withdrawals' | 'transactions' | 'receipts' | 'prices' | 'size' | 'senders'

/** A check that was not made, or whose failure proves nothing. */
export interface SkippedCheck {
  readonly check: VerifyCheck
  /** Why, in words that are the same for all blocks with this reason. */
  readonly reason: string
}

/** What was proven of a block. */
export interface Verification {
  readonly checks: readonly VerifyCheck[]
  readonly skipped: readonly SkippedCheck[]
  /**
   * Fields of this block that nothing proves, such as `totalDifficulty` or `transactions.from`: no
   * root covers them, and they follow from nothing else.
   */
  readonly uncovered: readonly string[]
}

/** How far a block is verified: `header` leaves out transactions and receipts. */
export type BlockLevel = 'header' | 'full'
