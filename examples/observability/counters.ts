import { subscribe } from 'node:diagnostics_channel'
import type { CallEvent, PostEvent, RetryEvent } from 'hexline'

/** Counters by name and labels, for Prometheus's text format. */
const counters = new Map<string, number>()

function count(name: string, labels: Record<string, string | number>, by = 1): void {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const key = `${name}{${pairs.join(',')}}`
  counters.set(key, (counters.get(key) ?? 0) + by)
}

subscribe('hexline:call', (message) => {
  const { method, outcome, kind = '', durationMs, bytes } = message as CallEvent
  count('hexline_calls_total', { method, outcome, kind })
  count('hexline_call_seconds_total', { method }, durationMs / 1000)
  count('hexline_result_bytes_total', { method }, bytes)
})

subscribe('hexline:post', (message) => {
  const { endpoint, calls, status = 'none', failures } = message as PostEvent
  count('hexline_posts_total', { endpoint, status })
  count('hexline_entries_total', { endpoint }, calls)
  for (const [kind, failed] of Object.entries(failures)) count('hexline_entries_failed_total', { endpoint, kind }, failed)
})

subscribe('hexline:retry', (message) => {
  const { endpoint = '', kind } = message as RetryEvent
  count('hexline_retries_total', { endpoint, kind })
})

/** For the handler of `GET /metrics`. */
export function metrics(): string {
  return [...counters].map(([key, value]) => `${key} ${value}\n`).join('')
}
