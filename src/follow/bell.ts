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
   * `answer` is called when it rings meanwhile, with the head that was announced. What it gives is
   * what this resolves to; the head has then been taken.
   */
  wait<T>(ms: number, answer?: (told: ToldHead) => T | undefined): Promise<T | undefined>
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
  let listener: Listener | undefined
  const take = () => {
    const head = told
    told = undefined
    isRung = false
    return head
  }
  const ring = () => {
    isRung = true
    if (listener === undefined) return
    const heardBy = listener
    listener = undefined
    heardBy.answer = told && heardBy.onRing?.(told)
    if (heardBy.answer !== undefined) take()
    heardBy.nap.wake()
  }
  const announced = (head: ToldHead | undefined) => {
    isLive = true
    told = head ?? told
    ring()
  }
  const stopListening = listenOf(client)?.(
    ['newHeads'],
    {
      started() {
        isLive = true
        ring()
      },
      notified: (result) => announced(toldHead(result)),
      // All that counts is there without parsing the whole header.
      skim(message) {
        const head = skimmedHead(message)
        if (head !== undefined) announced(head)
        return head !== undefined
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
    take,
    async wait<T>(ms: number, onRing?: (told: ToldHead) => T | undefined) {
      signal?.throwIfAborted()
      if (isRung) return undefined
      const own: Listener = { nap: napOf(client)('follow', clock.now() + ms, signal), onRing, answer: undefined }
      listener = own
      try {
        await own.nap.over
        return own.answer as T | undefined
      } finally {
        listener = undefined
      }
    },
    stop() {
      stopListening?.()
    },
  }
}

/** A `wait` until it is over, and what it resolves to. */
interface Listener {
  readonly nap: Nap
  readonly onRing: ((told: ToldHead) => unknown) | undefined
  answer: unknown
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

const RESULT = '"result":{'
const NUMBER = /"number":"(0x[0-9a-f]{1,13})"/
const HASH = /"hash":"(0x[0-9a-f]{64})"/

/**
 * The same from the text of a notification whose header is one flat object, as most are; undefined
 * where parsing has to tell.
 */
function skimmedHead(message: string): ToldHead | undefined {
  const opens = message.indexOf(RESULT) + RESULT.length - 1
  // A field of another object inside the header might be taken for the header's own.
  if (message.lastIndexOf('{') !== opens || !message.endsWith('}}}')) return undefined
  const number = NUMBER.exec(message)?.[1]
  const hash = HASH.exec(message)?.[1]
  return number === undefined || hash === undefined ? undefined : { number: Number(number), hash }
}
