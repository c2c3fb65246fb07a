import type { JsonRpcProvider } from 'ethers'

/** Reports a failure to the listeners of `error`, unless the provider has been destroyed. */
export function report(provider: JsonRpcProvider, error: unknown): void {
  if (!provider.destroyed) void provider.emit('error', error)
}
