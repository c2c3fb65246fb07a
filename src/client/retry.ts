import type { Layer } from '../rpc/call.ts'
import { type RetryOptions as LayerOptions, retry as retryLayer } from '../rpc/retry.ts'
import type { Backoff } from '../rpc/retry-delay.ts'
import { systemClock } from '../wait/clock.ts'
import { Waiting } from '../wait/waiting.ts'

/** How long the retry layer waits, and which calls it may repeat beyond those that are safe. */
export interface RetryOptions extends Backoff {
  /** What is known, beyond JSON-RPC, about calls that must not simply run twice. */
  readonly recovery?: LayerOptions['recovery']
}

/**
 * The retry layer with waits of your own, for the option `layers`:
 *
 *     createClient(url, { layers: () => [cache, retry({ baseDelayMs: 50, maxDelayMs: 1000 })] })
 *
 * A wait ends early with the signal or the deadline of its call. After `client.close()`, a call that
 * waits fails with its next attempt.
 */
export function retry({ baseDelayMs, maxDelayMs, recovery }: RetryOptions): Layer {
  return retryLayer({ baseDelayMs, maxDelayMs, recovery, waiting: new Waiting(systemClock) })
}
