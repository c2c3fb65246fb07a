import { vi } from 'vitest'

/**
 * Resolves when the check passes. For what no event tells, and what stays so once it has come. The
 * limit is far beyond what any machine takes: it gives a failure its message.
 */
export function eventually<T>(check: () => T): Promise<Awaited<T>> {
  return vi.waitFor(check, { timeout: 300_000, interval: 10 }) as Promise<Awaited<T>>
}
