/**
 * Adds the cause as a field that cannot be enumerated: some errors of viem's take none, and ethers'
 * `FallbackProvider` walks through all fields that can be. Without a cause, the error stays as it
 * is.
 */
export function caused<E extends Error>(error: E, cause: unknown): E {
  return cause === undefined ? error : Object.defineProperty(error, 'cause', { value: cause, enumerable: false, writable: true, configurable: true })
}
