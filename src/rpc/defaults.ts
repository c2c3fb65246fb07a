/** The defaults of calls, and of the GETs of the REST API. */
export const DEFAULTS = {
  attempts: 4,
  /** viem's `retryDelay`. */
  baseDelayMs: 150,
  maxDelayMs: 10_000,
  timeoutMs: 30_000,
  deadlineMs: 120_000,
} as const
