import { subscribe } from 'node:diagnostics_channel'
import type { RetryEvent } from 'hexline'

// eth_getBalance failed at node1.example.com: network ECONNRESET; attempt 2 in 93 ms
subscribe('hexline:retry', (message) => {
  const { method, endpoint = 'no endpoint', kind, code = '', attempt, waitMs } = message as RetryEvent
  console.warn(`${method} failed at ${endpoint}: ${`${kind} ${code}`.trim()}; attempt ${attempt} in ${Math.round(waitMs)} ms`)
})
