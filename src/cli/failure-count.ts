import type { HexlineError } from '../errors.ts'
import type { Layer } from '../rpc/call.ts'
import { isFailure, isThrottled, mayRepeat } from '../rpc/failure-kinds.ts'

/** Counts the failed attempts of a job's calls. When a POST fails, each of its calls counts. */
export class FailureCount {
  retries = 0
  throttled = 0
  /** The last of these failures, unless a call has been answered since. */
  failure: HexlineError | undefined

  /** Counts failures on their way to the retry layer. */
  readonly layer: Layer = (next) => (call) =>
    next(call).then(
      (reply) => {
        this.failure = undefined
        return reply
      },
      (error) => {
        // A range that is too large is not repeated, but split.
        if (isFailure(error) && error.kind !== 'range-too-large') {
          isThrottled(error) ? this.throttled++ : this.retries++
          // Where hexline goes another way, nothing is tried again.
          if (mayRepeat(error) === true) this.failure = error
        }
        throw error
      },
    )
}
