import { isLoopback } from '../http/compression.ts'
import { Refusal } from './reply.ts'

/**
 * Throws `Refusal` with 403 for a request to a name that is neither the loopback's nor in `allowed`. A web page can have its own name lead to this machine
 * (DNS rebinding), and would then read replies as its own; its name still stands in `Host`. A request without one is no browser's.
 */
export function checkHost(header: string | undefined, allowed: readonly string[]): void {
  if (header === undefined) return
  const name = hostnameOf(header)
  if (name !== undefined && (isLoopback(name) || allowed.includes(name))) return
  throw new Refusal(403, 'this host name is not served: use 127.0.0.1 or localhost, or allow the name (allowedHosts, --allow-host)')
}

/** The name in a `Host` header, in lower case and without its port; undefined when there is none. */
export function hostnameOf(header: string): string | undefined {
  if (/[/?#@\\\s]/.test(header)) return undefined
  try {
    return new URL(`http://${header}`).hostname.replace(/\.$/, '') || undefined
  } catch {
    return undefined
  }
}
