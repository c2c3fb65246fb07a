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
   */
  wait(ms: number): Promise<void>
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
  const ring = () => {
    isRung = true
    nap?.wake()
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
    async wait(ms) {
      signal?.throwIfAborted()
      if (isRung) return
      nap = napOf(client)('follow', clock.now() + ms, signal)
      await nap.over
    },
    stop() {
      stopListening?.()
    },
  }
}

/** Undefined for anything but a header: then only the ring counts. */
function toldHead(result: unknown): ToldHead | undefined {
  const { number, hash } = (result ?? {}) as { readonly number?: unknown; readonly hash?: unknown }
  try {
    return typeof hash === 'string' ? { number: Number(decodeQuantity(number)), hash } : undefined
  } catch {
    return undefined
  }
}
