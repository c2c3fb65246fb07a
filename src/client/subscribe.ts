import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import type { Address, Hash } from '../eth/codec/hex.ts'
import { planSubscription, subscriptionFields } from '../eth/subscriptions.ts'
import type { Subscriber } from './keep-subscribed.ts'

/** Options of every subscription. */
export interface SubscribeOptions {
  /** Ends the subscription; its iterator throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Which logs to subscribe to. Default: all. */
export interface LogSubscription extends SubscribeOptions {
  readonly address?: Address | readonly Address[] | undefined
  /** By position: one topic, any of several, or null for any. */
  readonly topics?: readonly (Hash | readonly Hash[] | null)[] | undefined
}

/** How pending transactions are delivered. */
export interface PendingSubscription<Full extends boolean = boolean> extends SubscribeOptions {
  /** Whole transactions in place of their hashes. Not every node has them. Default false. */
  readonly full?: Full
}

/** Which receipts to subscribe to. */
export interface ReceiptSubscription extends SubscribeOptions {
  /**
   * Of these transactions, once they are in a block; geth takes at most 200. Default: of all
   * transactions.
   */
  readonly transactionHashes?: readonly Hash[] | undefined
}

/**
 * What a subscription brings: a value, or a gap. At a gap, something may have been missed: the
 * socket was lost and the node has been asked again, or the consumer was too slow.
 */
export type SubscriptionItem<T> = { readonly type: 'value'; readonly value: T } | { readonly type: 'gap' }

/**
 * The items of a subscription, in the order in which they came. The first `next` subscribes, and
 * leaving a `for await` unsubscribes.
 */
export interface Subscription<T> extends AsyncIterableIterator<SubscriptionItem<T>> {
  return(): Promise<IteratorResult<SubscriptionItem<T>>>
  [Symbol.asyncDispose](): Promise<void>
}

/** Items that wait for a consumer, and the bytes of their messages. What comes then is dropped. */
const MOST_ITEMS = 1_000
const MOST_BYTES = 16 * 1024 * 1024

/**
 * Starts to listen; gives the function that stops it. `onStop` is called once, when it is stopped
 * or has ended.
 */
export type Listen = (params: readonly unknown[], subscriber: Subscriber, signal: AbortSignal | undefined, onStop?: () => void) => () => void

/**
 * A subscription by name and options. `explain` makes the error of an undecodable value. Throws
 * `OptionError` and `CodecError` for invalid ones.
 */
export function subscription(
  name: string,
  options: Readonly<Record<string, unknown>>,
  listen: Listen,
  explain: (error: unknown) => unknown,
): Subscription<unknown> {
  const names = subscriptionFields(name)
  check.onlyKnown('options', options, [...names, 'signal'])
  const { signal, ...fields } = options
  if (signal !== undefined) check.signal(signal)
  if (fields.full !== undefined) check.flag('full', fields.full)
  const { params, decode } = planSubscription(name, fields)
  const start = (subscriber: Subscriber) => listen(params, subscriber, signal as AbortSignal | undefined)
  return new Items(start, (value) => {
    try {
      return decode(value)
    } catch (error) {
      throw explain(error)
    }
  })
}

/** The error of a client without a WebSocket. */
export function noWebSocket(): OptionError {
  return new OptionError('subscribe', 'a client with a WebSocket endpoint (wss:// or ws://)', 'one without')
}

type Result = IteratorResult<SubscriptionItem<unknown>>

/** A call of `next` that waits for its item. */
interface Consumer {
  readonly resolve: (result: Result) => void
  readonly reject: (reason: unknown) => void
}

const GAP = { type: 'gap', bytes: 0 } as const
const DONE: Result = { done: true, value: undefined }

class Items implements Subscription<unknown>, Subscriber {
  readonly #start: (subscriber: Subscriber) => () => void
  readonly #decode: (value: unknown) => unknown
  #stop: (() => void) | undefined
  #items: ({ readonly type: 'value'; readonly value: unknown; readonly bytes: number } | typeof GAP)[] = []
  #bytes = 0
  readonly #consumers: Consumer[] = []
  /** Why it has ended, until a consumer has got the reason. */
  #failure: { readonly reason: unknown } | undefined
  #isDone = false

  constructor(start: (subscriber: Subscriber) => () => void, decode: (value: unknown) => unknown) {
    this.#start = start
    this.#decode = decode
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#consumers.push({ resolve, reject })
      if (!this.#isDone) this.#stop ??= this.#start(this)
      this.#serve()
    })
  }

  async return(): Promise<Result> {
    this.#finish()
    this.#items = []
    this.#failure = undefined
    this.#serve()
    return DONE
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  started(): void {}

  notified(value: unknown, bytes: number): void {
    if (this.#items.length >= MOST_ITEMS || this.#bytes + bytes > MOST_BYTES) return void this.gap()
    this.#items.push({ type: 'value', value, bytes })
    this.#bytes += bytes
    this.#serve()
  }

  gap(): void {
    if (this.#items.at(-1) !== GAP) this.#items.push(GAP)
    this.#serve()
  }

  ended(reason: unknown): void {
    this.#isDone = true
    this.#failure = { reason }
    this.#serve()
  }

  /** Gives the items to the consumers that wait. */
  #serve(): void {
    while (this.#consumers.length > 0) {
      const item = this.#items.shift()
      if (item === undefined && !this.#isDone) return
      const { resolve, reject } = this.#consumers.shift() as Consumer
      if (item === undefined) {
        const failure = this.#failure
        this.#failure = undefined
        if (failure === undefined) resolve(DONE)
        else reject(failure.reason)
        continue
      }
      this.#bytes -= item.bytes
      if (item.type === 'gap') resolve({ done: false, value: { type: 'gap' } })
      else this.#give(item.value, resolve, reject)
    }
  }

  #give(value: unknown, resolve: Consumer['resolve'], reject: Consumer['reject']): void {
    try {
      resolve({ done: false, value: { type: 'value', value: this.#decode(value) } })
    } catch (error) {
      this.#finish()
      this.#items = []
      reject(error)
    }
  }

  #finish(): void {
    this.#isDone = true
    this.#stop?.()
  }
}
