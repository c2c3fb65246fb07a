/** The part of a response that says how a call went. */
export type Answer = { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } }

/**
 * How a limited node treats a call: it answers at once, or passes the call on with other params, or
 * changes the result. Undefined for a call that passes unchanged.
 */
export interface CallPlan {
  readonly answer?: Answer
  readonly params?: readonly unknown[]
  readonly read?: (result: unknown) => Answer
}

/** A plan to refuse the call. */
export function refuse(code: number, message: string): CallPlan {
  return { answer: { error: { code, message } } }
}

/** In the words of EIP-4444, geth and reth. */
export const pruned = refuse(4444, 'pruned history unavailable')
