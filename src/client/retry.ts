import * as check from '../check.ts'
import type { Layer } from '../rpc/call.ts'
import { type RetryOptions as LayerOptions, retry as retryLayer } from '../rpc/retry.ts'
import type { Backoff } from '../rpc/retry-delay.ts'
import { systemClock } from '../wait/clock.ts'
import { Waiting } from '../wait/waiting.ts'

/** Delays of the retry layer, and which calls it may repeat beyond the safe ones. */
export interface RetryOptions extends Backoff {
  /** How to recover a call that must not simply run twice. */
  readonly recovery?: LayerOptions['recovery']
}

/**
 * The retry layer with your own delays, for the option `layers`:
 *
 *     createClient(url, { layers: () => [cache, retry({ baseDelayMs: 50, maxDelayMs: 1000 })] })
 *
 * A wait ends early with the signal or the deadline of its call. After `client.close()`, a waiting
 * call fails at its next attempt. Throws `OptionError` for invalid options.
 */
export function retry(options: RetryOptions): Layer {
  check.onlyKnown('options', options, ['baseDelayMs', 'maxDelayMs', 'recovery'])
  const { recovery } = options
  const baseDelayMs = check.positive('baseDelayMs', options.baseDelayMs)
  const maxDelayMs = check.positive('maxDelayMs', options.maxDelayMs)
  return retryLayer({ baseDelayMs, maxDelayMs, recovery, waiting: new Waiting(systemClock) })
}
