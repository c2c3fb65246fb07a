import type { HexlineError } from '../errors.ts'
import { messagePrefix } from '../text.ts'

/**
 * The same failure for another call: calls that share a POST, or an endpoint, fail together, each
 * with its own error.
 */
export function copyError<E extends HexlineError>(error: E, method: string | undefined = error.method): E {
  const fields = Object.getOwnPropertyDescriptors(error)
  // The copy of a frozen error is not frozen. `stack` is an accessor on Node.js 24, which has no
  // `writable`.
  for (const field of Object.values(fields)) {
    field.configurable = true
    if (field.writable === false) field.writable = true
  }
  const copy = Object.defineProperties(new Error(error.message), fields) as E
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error))
  if (error.method !== undefined && method !== error.method) {
    // An error of the REST API names its operation first.
    for (const endpoint of [error.endpoint, undefined]) {
      const prefix = messagePrefix({ endpoint, method: error.method })
      if (!error.message.startsWith(prefix)) continue
      copy.message = messagePrefix({ endpoint, method }) + error.message.slice(prefix.length)
      break
    }
  }
  return Object.assign(copy, { method, retryAfterMs: waitOf(error) })
}

/** The limits compute with it, and a user's own error may hold anything. */
function waitOf({ retryAfterMs }: HexlineError): number | undefined {
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? retryAfterMs : undefined
}
