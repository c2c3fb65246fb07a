import { subscribe } from 'node:diagnostics_channel'
import type { RouteEvent, ThrottleEvent } from 'hexline'

// node1.example.com: rate-limit for 12 calls, paused for 1000 ms; batches of 100, 8 POSTs at a time, 190 calls per second
subscribe('hexline:throttle', (message) => {
  const { endpoint, kind, calls, pauseMs, maxCalls, concurrency, callsPerSecond } = message as ThrottleEvent
  const why = kind === undefined ? 'accepts more again' : `${kind} for ${calls} calls`
  const pause = pauseMs > 0 ? `, paused for ${Math.round(pauseMs)} ms` : ''
  const rate = callsPerSecond === undefined ? '' : `, ${Math.round(callsPerSecond)} calls per second`
  console.warn(`${endpoint}: ${why}${pause}; batches of ${maxCalls}, ${concurrency} POSTs at a time${rate}`)
})

// node1.example.com: left out for 1000 ms, since it fails
subscribe('hexline:route', (message) => {
  const event = message as RouteEvent
  if (event.change === 'left-out') console.warn(`${event.endpoint}: left out for ${event.forMs} ms, since it ${event.reason}`)
  if (event.change === 'back') console.warn(`${event.endpoint}: back`)
  if (event.change === 'taken-out') console.error(`${event.endpoint}: taken out, since it is on chain ${event.chainId}, not ${event.expectedChainId}`)
})
