import type { AnswerKind } from '../../errors.ts'
import type { Failure } from '../../rpc/post/reply-errors.ts'
import { LONGEST_MESSAGE } from '../../text.ts'

/**
 * One way in which a node or provider reports a failure. A row matches when all of its conditions
 * hold.
 *
 * @example
 * { kind: 'rate-limit', status: 429, source: 'RFC 6585' }
 */
export interface FailureRow {
  readonly kind: AnswerKind
  readonly message?: RegExp
  readonly code?: number
  /** HTTP status, or the first and last of a range. */
  readonly status?: number | readonly [number, number]
  readonly method?: RegExp
  /** Tested on the error's `data`, as text or JSON: some providers explain the failure there. */
  readonly data?: RegExp
  /** Only replies with `Retry-After`. */
  readonly asksToWait?: true
  /** Only where the endpoint answers other calls of the method, and this one may run twice. */
  readonly isOneOfMany?: true
  /**
   * The nodes and providers that report it so, or the standard. The tests have a sample of each,
   * with its page or thread.
   */
  readonly source: string
}

/** True when every condition of the row holds. */
export function matches({ message, code, status, method, data, asksToWait, isOneOfMany }: FailureRow, failure: Failure): boolean {
  if (code !== undefined && failure.code !== code) return false
  if (status !== undefined && !isInRange(failure.status, status)) return false
  if (method !== undefined && !method.test(failure.method)) return false
  if (asksToWait && failure.retryAfterMs === undefined) return false
  if (isOneOfMany && failure.isOneOfMany !== true) return false
  if (message !== undefined && !message.test(failure.message)) return false
  return data === undefined || data.test(startOf(failure.data))
}

/** The start of an error's `data`, as text or JSON. */
function startOf(data: unknown): string {
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
  return text.slice(0, LONGEST_MESSAGE)
}

function isInRange(status: number, range: number | readonly [number, number]): boolean {
  return typeof range === 'number' ? status === range : status >= range[0] && status <= range[1]
}
