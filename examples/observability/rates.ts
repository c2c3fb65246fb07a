import { subscribe } from 'node:diagnostics_channel'
import type { PostEvent } from 'hexline'

let since = performance.now()
let seen = new Map<string, { calls: number; failed: number }>()

subscribe('hexline:post', (message) => {
  const { endpoint, calls, failures, isCut } = message as PostEvent
  if (isCut) return
  const sums = seen.get(endpoint) ?? { calls: 0, failed: 0 }
  sums.calls += calls
  for (const failed of Object.values(failures)) sums.failed += failed
  seen.set(endpoint, sums)
})

/**
 * Calls per second and error rate (0 to 1) of each endpoint since the last call of this function.
 */
export function rates(): { endpoint: string; callsPerSecond: number; errorRate: number }[] {
  const seconds = (performance.now() - since) / 1000
  const rows = [...seen].map(([endpoint, { calls, failed }]) => ({ endpoint, callsPerSecond: calls / seconds, errorRate: failed / calls }))
  since = performance.now()
  seen = new Map()
  return rows
}

// `unref` lets the process end.
setInterval(() => console.table(rates()), 10_000).unref()
