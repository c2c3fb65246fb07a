import * as timers from 'node:timers'
import { type HexlineError, IntegrityError } from '../errors.ts'
import { show } from '../text.ts'
import { Unclaimed } from './unclaimed.ts'

/** Receives the notifications of one subscription. */
export interface SubscriptionListener {
  /** What the node was asked for: params of `eth_subscribe`, as JSON. */
  readonly request: string
  /** The node has the subscription: notifications follow. */
  started(): void
  /** A notification's `result`, and the size of its message in bytes. */
  notified(result: unknown, bytes: number): void
  /** Notifications may have been dropped. */
  missed(): void
  /**
   * A notification before it is parsed, in the form in which most nodes write it. True where that
   * is enough: `notified` is not called then.
   */
  skim?(message: string): boolean
  /** The socket has ended, and the subscription with it. */
  lost(error: HexlineError): void
}

/** A subscription that a node has. */
export interface LiveSubscription {
  /**
   * Its id, as long as its socket takes requests, and no other subscription has the same; undefined
   * otherwise.
   */
  readonly id: string | undefined
  /**
   * Notifications that come from now on are dropped. `unsubscribed` settles with the reply to
   * `eth_unsubscribe`, if the node was asked.
   */
  stop(unsubscribed?: Promise<unknown>): void
}

/** The start of a notification as most nodes write it, with the id of its subscription. */
const USUAL_NOTIFICATION = /^\{"jsonrpc":"2\.0","method":"eth_subscription","params":\{"subscription":"([^"\\]+)","result":/

/** Node.js's own: test frameworks replace the global one with a fake clock that stands still. */
const { setImmediate } = timers

/** The subscriptions of one socket, and the notifications that came before their ids. */
export class Subscriptions {
  readonly #endpoint: string
  /** Whether an `eth_subscribe` is in flight, whose id is still to come. */
  readonly #isSubscribing: () => boolean
  /** By id. A node may give the same id to equal subscriptions. */
  readonly #listeners = new Map<string, SubscriptionListener[]>()
  /** By ids for which the reply to `eth_unsubscribe` has not come. */
  readonly #ending = new Map<string, Promise<void>>()
  readonly #unclaimed = new Unclaimed()

  constructor(endpoint: string, isSubscribing: () => boolean) {
    this.#endpoint = endpoint
    this.#isSubscribing = isSubscribing
  }

  /**
   * Adds a subscription, until it is stopped or lost; `onStop` is called when it is stopped. Throws
   * `IntegrityError` if another one has the id, and asked for something else.
   */
  add(id: string, listener: SubscriptionListener, onStop: () => void): LiveSubscription {
    const sharing = this.#listeners.get(id) ?? []
    if (sharing.some(({ request }) => request !== listener.request)) throw this.#sameId(id)
    sharing.push(listener)
    this.#listeners.set(id, sharing)
    const isLive = () => sharing.includes(listener)
    return {
      get id() {
        return isLive() && sharing.length === 1 ? id : undefined
      },
      stop: (unsubscribed) => {
        if (!isLive()) return
        sharing.splice(sharing.indexOf(listener), 1)
        if (sharing.length === 0) this.#listeners.delete(id)
        if (unsubscribed !== undefined) this.#end(id, unsubscribed)
        onStop()
      },
    }
  }

  /** Settles when the node has ended the subscription with this id; undefined if it need not. */
  endOf(id: string): Promise<void> | undefined {
    return this.#ending.get(id)
  }

  /** Passes on the notifications that came before the id of this subscription. */
  claim(id: string, listener: SubscriptionListener): void {
    this.#unclaimed.claim(id, listener)
  }

  /** Drops the notifications that no subscription has claimed. */
  forgetUnclaimed(): void {
    this.#unclaimed.clear()
  }

  /** Passes a notification on to the listeners of its subscription. */
  notify(message: Buffer): void {
    const text = message.toString()
    const usual = USUAL_NOTIFICATION.exec(text)
    const skimming = usual === null ? undefined : this.#listeners.get(usual[1] as string)
    if (skimming?.length === 1 && skimming[0]?.skim?.(text)) return
    const { id, result } = notificationOf(text)
    if (id === undefined) return
    const listeners = this.#listeners.get(id)
    // Each listener decodes its result in place, and needs one of its own.
    if (listeners !== undefined)
      for (const [i, listener] of [...listeners].entries()) listener.notified(i === 0 ? result : notificationOf(text).result, message.length)
    else if (this.#isSubscribing() && !this.#ending.has(id)) this.#unclaimed.add(id, result, message.length)
  }

  /**
   * A notification that begins like this was dropped. Where that does not tell whose it was, all
   * are told.
   */
  missed(start: Buffer): void {
    const id = USUAL_NOTIFICATION.exec(start.toString())?.[1]
    const sharing = id === undefined ? [...this.#listeners.values()].flat() : this.#listeners.get(id)
    for (const listener of [...(sharing ?? [])]) listener.missed()
    const mayBeUnclaimed = id === undefined || (sharing === undefined && !this.#ending.has(id))
    if (mayBeUnclaimed && this.#isSubscribing()) this.#unclaimed.missed()
  }

  /** The socket has ended, and all subscriptions with it. */
  lose(error: HexlineError): void {
    const lost = [...this.#listeners.values()].flatMap((sharing) => sharing.splice(0))
    this.#listeners.clear()
    for (const listener of lost) listener.lost(error)
  }

  #end(id: string, unsubscribed: Promise<unknown>): void {
    const end = unsubscribed
      .catch(() => {})
      // A reply to `eth_subscribe` that has come together with this one is looked at first.
      .then(() => new Promise<void>((resolve) => void setImmediate(resolve)))
      .then(() => void this.#ending.delete(id))
    this.#ending.set(id, end)
  }

  #sameId(id: string): IntegrityError {
    const endpoint = this.#endpoint
    return new IntegrityError(`${endpoint}: eth_subscribe: the id ${show(id)} is that of another subscription`, { method: 'eth_subscribe', endpoint })
  }
}

/** The id and the result of a notification; neither for a message that is not one. */
function notificationOf(message: string): { id?: string; result?: unknown } {
  try {
    const { params } = JSON.parse(message) as { params?: { subscription?: unknown; result?: unknown } }
    return typeof params?.subscription === 'string' ? { id: params.subscription, result: params.result } : {}
  } catch {
    return {}
  }
}
