import type { Client } from '../client/client.ts'
import { clockOf, listenOf, sleepOf } from '../client/internals.ts'
import { decodeQuantity } from '../eth/codec/quantity.ts'

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

const RUNG: unique symbol = Symbol('the bell has rung')

/**
 * Subscribes to new heads, and stays subscribed. Rings that come before the last one was heard
 * count as one.
 */
export function startBell(client: Client, signal: AbortSignal | undefined): Bell {
  const clock = clockOf(client)
  let told: ToldHead | undefined
  let isRung = false
  let isLive = false
  let waking: AbortController | undefined
  const ring = () => {
    isRung = true
    waking?.abort(RUNG)
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
  const onAbort = () => waking?.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort)
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
      const controller = new AbortController()
      waking = controller
      try {
        await sleepOf(client)('follow', clock.now() + ms, controller.signal)
      } catch (reason) {
        if (reason !== RUNG) throw reason
      } finally {
        waking = undefined
      }
    },
    stop() {
      signal?.removeEventListener('abort', onAbort)
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
