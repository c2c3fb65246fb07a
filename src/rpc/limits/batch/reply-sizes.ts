import type { Call } from '../../call.ts'
import { setBounded } from '../../set-bounded.ts'

/** Weight of the newest POST in the mean size of a method's replies. */
const NEWEST = 0.3
/**
 * Expected size of a reply to an unknown method, in bytes: small enough not to shorten a first
 * batch.
 */
const UNKNOWN_BYTES = 1024

/** How large the replies to each method are expected to be: the mean of the last ones. */
export class ReplySizes {
  readonly #bytesOf = new Map<string, number>()

  /** Expected size of a reply to `method`, in bytes. */
  of(method: string): number {
    return this.#bytesOf.get(method) ?? UNKNOWN_BYTES
  }

  /** Expected size of the replies to these calls together, in bytes. */
  sum(calls: readonly Call[]): number {
    let bytes = 0
    let last: string | undefined
    let ofLast = 0
    for (const { method } of calls) {
      if (method !== last) ofLast = this.of(method)
      last = method
      bytes += ofLast
    }
    return bytes
  }

  /**
   * The replies to `calls` had this many `bytes` together. The share of each method is not known
   * and need not be: every expectation is corrected by the same factor. What was expected when the
   * calls were sent does not matter: it has been corrected since.
   */
  learn(calls: readonly Call[], bytes: number): void {
    const expected = this.sum(calls)
    if (expected === 0) return
    const factor = bytes / expected
    for (const method of methodsOf(calls)) {
      const before = this.#bytesOf.get(method)
      setBounded(this.#bytesOf, method, before === undefined ? UNKNOWN_BYTES * factor : before + NEWEST * (before * factor - before))
    }
  }
}

/** Each method once. Most POSTs have only one. */
function methodsOf(calls: readonly Call[]): Iterable<string> {
  const first = calls[0]?.method as string
  return calls.every(({ method }) => method === first) ? [first] : new Set(calls.map(({ method }) => method))
}
