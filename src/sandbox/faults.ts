import type { ServerResponse } from 'node:http'
import { json, type Reply } from './reply.ts'

/**
 * The faults that can be injected. The first two refuse a request before anything is done. The
 * others spoil the reply to a request that was carried out: no reply, a reply that stops half-way
 * while the connection stays open, and a complete HTTP reply with incomplete JSON.
 */
export const faults = ['error 500', 'error 503', 'cut', 'stalled', 'truncated'] as const

/** One kind of fault. */
export type Fault = (typeof faults)[number]

/**
 * Shares of the requests that fail, from 0 to 1: of all faults together, each equally likely, or of
 * each fault by name.
 */
export type FaultShares = number | Readonly<Partial<Record<Fault, number>>>

/** Chooses the fault, if any, for each request. The same seed gives the same sequence. */
export function createFaults(shares: FaultShares, seed: number): () => Fault | undefined {
  return drawFrom(faults, shares, seed)
}

/**
 * What can happen to a notification of a subscription: the socket is dropped in its place; it comes
 * after the next one, or a second later where none follows; it comes twice.
 */
export const notificationFaults = ['cut', 'late', 'double'] as const

/** One kind of fault of a notification. */
export type NotificationFault = (typeof notificationFaults)[number]

/** Shares of the notifications, as `FaultShares`. */
export type NotificationFaultShares = number | Readonly<Partial<Record<NotificationFault, number>>>

/** Chooses the fault, if any, for each notification. The same seed gives the same sequence. */
export function createNotificationFaults(shares: NotificationFaultShares, seed: number): () => NotificationFault | undefined {
  return drawFrom(notificationFaults, shares, seed)
}

function drawFrom<F extends string>(kinds: readonly F[], shares: number | Readonly<Partial<Record<F, number>>>, seed: number): () => F | undefined {
  const random = generator(seed)
  const share = (fault: F) => (typeof shares === 'number' ? shares / kinds.length : (shares[fault] ?? 0))
  const total = kinds.reduce((sum, fault) => sum + share(fault), 0)
  const wanted = kinds.filter((fault) => share(fault) > 0)
  return () => {
    const isFault = random() < total
    let rest = random() * total
    if (!isFault) return undefined
    for (const fault of wanted) {
      rest -= share(fault)
      if (rest < 0) return fault
    }
    // Rounding may leave the sum of the shares just below 1.
    return wanted.at(-1)
  }
}

/** The reply that a fault sends instead of the answer, if any. */
export function replyOf(fault: Fault | undefined): Reply | undefined {
  if (fault === 'error 500') return json(500, { message: 'internal server error, on purpose' })
  if (fault === 'error 503') return json(503, { message: 'service unavailable, on purpose' })
  return undefined
}

/** Sends a reply, or as much of it as the fault leaves. */
export function deliver(response: ServerResponse, { status, headers, body }: Reply, fault: Fault | undefined): void {
  if (fault === 'cut') return void response.socket?.destroy()
  const half = body.subarray(0, Math.ceil(body.length / 2))
  const sent = fault === 'truncated' ? half : body
  response.writeHead(status, { ...headers, 'content-length': sent.length })
  // The other half is never sent: the client or the sandbox ends the connection.
  if (fault === 'stalled') response.write(half)
  else response.end(sent)
}

/**
 * Numbers from 0 to 1 (mulberry32).
 * https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
 */
function generator(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
