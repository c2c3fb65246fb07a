import type { Client } from '../client/client.ts'
import { clockOf, listenOf, napOf } from '../client/internals.ts'
import { decodeQuantity } from '../eth/codec/quantity.ts'
import type { Nap } from '../wait/waiting.ts'

/** A new head, as a subscription announces it. It only says when to ask, and is never delivered. */
export interface ToldHead {
  readonly number: number
  readonly hash: string
}

/** Rings when a node announces a new head. Without a WebSocket, only time passes. */
export interface Bell {
  /** Whether a subscription is there. */
  readonly isLive: boolean
  /** The newest head that was announced since the last call; undefined if none was. */
  take(): ToldHead | undefined
  /**
   * Resolves when the bell rings, also if it has since the last `take`, and at the latest after
   * `ms`. Rejects with the signal's reason, and with `ClosedError` when the client is closed.
   *
   * `sendAhead` is called when it rings meanwhile, with the head that was announced. Where it gives
   * true, it has sent a request, and the waiting ends when that is on its way.
   */
  wait(ms: number, sendAhead?: (told: ToldHead | undefined) => boolean): Promise<void>
  stop(): void
}

/**
 * Subscribes to new heads, and stays subscribed. Rings that come before the last one was heard
 * count as one.
 */
export function startBell(client: Client, signal: AbortSignal | undefined): Bell {
  const clock = clockOf(client)
  let told: ToldHead | undefined
  let isRung = false
  let isLive = false
  let nap: Nap | undefined
  let sendAhead: ((told: ToldHead | undefined) => boolean) | undefined
  const ring = () => {
    isRung = true
    if (nap === undefined) return
    const { wake } = nap
    nap = undefined
    // Calls are sent at the end of the turn in which they were made.
    if (sendAhead?.(told) === true) setImmediate(wake)
    else wake()
  }
  const stopListening = listenOf(client)?.(
    ['newHeads'],
    {
      started() {
        isLive = true
        ring()
      },
      notified(result) {
        isLive = true
        told = toldHead(result) ?? told
        ring()
      },
      gap: ring,
      // Refused, or the end of the client, which the next call meets, too.
      ended() {
        isLive = false
        ring()
      },
    },
    signal,
  )
  return {
    get isLive() {
      return isLive
    },
    take() {
      const head = told
      told = undefined
      isRung = false
      return head
    },
    async wait(ms, onRing) {
      signal?.throwIfAborted()
      if (isRung) return
      const waiting = napOf(client)('follow', clock.now() + ms, signal)
      nap = waiting
      sendAhead = onRing
      try {
        await waiting.over
      } finally {
        nap = undefined
      }
    },
    stop() {
      stopListening?.()
    },
  }
}

/** As of module loading, since test frameworks replace it with a fake clock that stands still. */
const { setImmediate } = globalThis

/** Undefined for anything but a header: then only the ring counts. */
function toldHead(result: unknown): ToldHead | undefined {
  const { number, hash } = (result ?? {}) as { readonly number?: unknown; readonly hash?: unknown }
  try {
    return typeof hash === 'string' ? { number: Number(decodeQuantity(number)), hash } : undefined
  } catch {
    return undefined
  }
}
