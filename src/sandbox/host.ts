import { isLoopback } from '../http/compression.ts'
import { Refusal } from './reply.ts'

/**
 * Throws `Refusal` with 403 for a request whose `Host` is neither the loopback nor in `allowed`. A
 * web page can point its own name at this machine (DNS rebinding) to read the replies, but that
 * name is still in `Host`. A request without `Host` does not come from a browser.
 */
export function checkHost(header: string | undefined, allowed: readonly string[]): void {
  if (header === undefined) return
  const name = hostnameOf(header)
  if (name !== undefined && (isLoopback(name) || allowed.includes(name))) return
  throw new Refusal(403, 'this host name is not served: use 127.0.0.1 or localhost, or allow the name (allowedHosts, --allow-host)')
}

/**
 * The name in a `Host` header, in lower case and without the port; undefined where the header is
 * absent or invalid.
 */
export function hostnameOf(header: string): string | undefined {
  if (/[/?#@\\\s]/.test(header)) return undefined
  try {
    return new URL(`http://${header}`).hostname.replace(/\.$/, '') || undefined
  } catch {
    return undefined
  }
}
