/** How the waits between attempts grow. */
export interface Backoff {
  /** Upper bound of the first wait, in ms. */
  readonly baseDelayMs: number
  /** Upper bound of any wait, in ms. */
  readonly maxDelayMs: number
}

/**
 * Full jitter: anywhere between 0 and `baseDelayMs` doubled for each failure before, so that clients that failed together
 * do not come back together. `failures` counts from 1.
 * https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function fullJitter({ baseDelayMs, maxDelayMs }: Backoff, failures: number, random: () => number = Math.random): number {
  return random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (failures - 1))
}

/**
 * What `Retry-After` asks for, in ms: seconds or an HTTP date (RFC 9110, 10.2.3). A date is compared with the reply's own
 * `Date` where it has one, since the clocks of two machines differ. Undefined when there is none that can be read.
 */
export function retryAfterMs(headers: Readonly<Record<string, string | string[] | undefined>>): number | undefined {
  const value = headers['retry-after']
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000
  // An HTTP date begins with the name of a day; `Date.parse` reads much else.
  if (!/^[A-Za-z]{3,9},? /.test(text)) return undefined
  const now = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN
  const wait = Date.parse(/GMT$/i.test(text) ? text : `${text} GMT`) - (Number.isNaN(now) ? Date.now() : now)
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}
