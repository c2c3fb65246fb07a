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

/** Blocks below the target, from which on blocks are near: twice what reorganisations reach. */
export const NEAR = 128

/**
 * What a stream does next, by what it has delivered and what a node has. A node that is shorter may
 * just lag behind, so only a different hash at the same height is a reason to compare. Where the
 * hash is not known, being shorter is such a reason: comparing costs a call, and shows what a node
 * that lags has.
 */
export function nextStep(chain: HeldChain, target: Target | undefined): Step {
  if (target === undefined) return { type: 'wait' }
  const { next, tip } = chain
  const { number, hash } = target
  if (number >= next) {
    const isFar = number - next >= 2 * NEAR
    return { type: isFar ? 'catch-up' : 'fetch', from: next, to: isFar ? number - NEAR : number }
  }
  if (tip === undefined) return { type: 'wait' }
  if (hash === undefined) return { type: number < tip.number ? 'compare' : 'wait' }
  const held = chain.hashAt(number)
  return { type: held !== undefined && held !== hash ? 'compare' : 'wait' }
}
