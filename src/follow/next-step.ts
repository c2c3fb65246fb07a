import type { Hash } from '../eth/codec/hex.ts'
import type { HeldChain } from './held-chain.ts'

/** The newest block that may be delivered, as a node has it. */
export interface Target {
  readonly number: number
  /** Undefined where only the number is known. */
  readonly hash: Hash | undefined
}

/** What to do next. */
export type Step =
  /** Nothing is new. */
  | { readonly type: 'wait' }
  /** Far behind: fetch these blocks at bulk speed, then look again. */
  | { readonly type: 'catch-up'; readonly from: number; readonly to: number }
  /** Near the head: fetch these blocks, which may still be replaced. */
  | { readonly type: 'fetch'; readonly from: number; readonly to: number }
  /** A block that was delivered may have been replaced. */
  | { readonly type: 'compare' }

/** Blocks at most this far below the target are near: twice as far as reorganisations reach. */
export const NEAR = 128

/** What a stream does next, by what it has delivered and what a node has. */
export function nextStep(chain: HeldChain, target: Target | undefined): Step {
  if (target === undefined) return { type: 'wait' }
  const { number } = target
  const { next: from } = chain
  if (number - from >= 2 * NEAR) return { type: 'catch-up', from, to: number - NEAR }
  if (number >= from) return { type: 'fetch', from, to: number }
  return { type: mayBeReplaced(chain, target) ? 'compare' : 'wait' }
}

/**
 * Whether a node that has no next block may have replaced one that was delivered. It may also lag
 * behind, so a lower head is no reason, but a different hash at the same height is one. Without a
 * hash, a lower head has to do: comparing costs a call, and shows what a node that lags has.
 */
function mayBeReplaced(chain: HeldChain, { number, hash }: Target): boolean {
  const { tip } = chain
  if (tip === undefined) return false
  if (hash === undefined) return number < tip.number
  const held = chain.hashAt(number)
  return held !== undefined && held !== hash
}
