import { type HexlineError, TimeoutError } from '../errors.ts'
import type { Waiting } from '../wait/waiting.ts'
import type { LiveSubscription, SubscriptionListener } from '../ws/subscriptions.ts'
import { answer, type SubscriptionSource, subscribeAt, unsubscribe } from './subscription-source.ts'

/** One attempt at a subscription. */
export interface AttemptOptions {
  readonly source: SubscriptionSource
  /** The other endpoints. */
  readonly others: readonly SubscriptionSource[]
  /** Params of `eth_subscribe`. */
  readonly params: readonly unknown[]
  readonly waiting: Waiting
  /** Aborted when the subscription is not wanted any more. */
  readonly stopping: AbortSignal
  /** An endpoint that is silent for this long, in ms, is given up if another one answers. */
  readonly silentMs: number
  /** The node has the subscription. Not called once it is not wanted. */
  readonly onStart: (attempt: SubscribeAttempt) => void
}

/** Gets what a subscription brings. */
export interface NotificationListener {
  /** A notification's `result`, and the size of its message in bytes. */
  notified(result: unknown, bytes: number): void
  /** As for `SubscriptionListener`. */
  skim?(message: string): boolean
  /** The subscription was interrupted, and is there again: something may have been missed. */
  gap(): void
  /** The subscription is interrupted: nothing comes until `gap`. */
  lost?(): void
}

/**
 * A subscription that lives this long, in ms, or brings anything, counts as no failure when it is
 * lost.
 */
const STABLE_MS = 10_000

/** One `eth_subscribe` to one endpoint, and the subscription that comes of it, until it is lost. */
export class SubscribeAttempt implements SubscriptionListener {
  readonly source: SubscriptionSource
  readonly request: string
  readonly #options: AttemptOptions
  readonly #listener: NotificationListener
  /** Rejected as silent: what comes late is of no use. */
  #isGivenUp = false
  #subscription: LiveSubscription | undefined
  #startedAt: number | undefined
  #hasBrought = false
  #onLost: (error: HexlineError) => void = () => {}

  constructor(options: AttemptOptions, listener: NotificationListener) {
    this.source = options.source
    this.request = JSON.stringify(options.params)
    this.#options = options
    this.#listener = listener
  }

  /**
   * Resolves to the reason when the subscription is lost. Rejects when there is none, and when the
   * endpoint is given up as silent.
   */
  run(): Promise<HexlineError> {
    const { name } = this.source
    return new Promise((resolve, reject) => {
      this.#onLost = resolve
      const endSilence = this.#onSilence(() => {
        this.#isGivenUp = true
        reject(new TimeoutError(`${name}: no reply to eth_subscribe yet, while another endpoint answers`, { endpoint: name }))
      })
      this.#subscribe().catch(reject).finally(endSilence)
    })
  }

  /** It brought something, or lived long enough. */
  get hasLasted(): boolean {
    return this.#hasBrought || (this.#startedAt !== undefined && this.#now() - this.#startedAt >= STABLE_MS)
  }

  unsubscribe(): void {
    if (this.#subscription !== undefined) unsubscribe(this.#subscription, this.source)
    this.#subscription = undefined
  }

  started(): void {
    if (this.#isGivenUp) return
    this.#startedAt = this.#now()
    this.source.heardAt = this.#startedAt
    if (!this.#isStopped) this.#options.onStart(this)
  }

  notified(result: unknown, bytes: number): void {
    if (this.#isGivenUp) return
    this.#heard()
    if (!this.#isStopped) this.#listener.notified(result, bytes)
  }

  missed(): void {
    if (!this.#isGivenUp && !this.#isStopped) this.#listener.gap()
  }

  skim(message: string): boolean {
    if (this.#isGivenUp) return true
    const isEnough = !this.#isStopped && this.#listener.skim?.(message) === true
    if (isEnough) this.#heard()
    return isEnough
  }

  lost(error: HexlineError): void {
    if (this.#isGivenUp) return
    if (!this.#isStopped) this.#listener.lost?.()
    this.#onLost(error)
  }

  get #isStopped(): boolean {
    return this.#options.stopping.aborted
  }

  async #subscribe(): Promise<void> {
    const { source } = this
    await source.check()
    if (this.#isGivenUp || this.#isStopped) return
    this.#subscription = await source.webSocket.listen(() => subscribeAt(source, this.#options.params), this)
    if (this.#isGivenUp || this.#isStopped) this.unsubscribe()
  }

  /**
   * Calls `giveUp` when the endpoint has been silent for long, and another one answers a question
   * after that. Gives the function that ends it.
   */
  #onSilence(giveUp: () => void): () => void {
    const { others, waiting, stopping, silentMs } = this.#options
    if (others.length === 0) return () => {}
    let isEnded = false
    const call = { signal: stopping, deadline: Number.POSITIVE_INFINITY, method: 'eth_subscribe' }
    const nap = waiting.nap(call, this.#now() + silentMs)
    const watch = async () => {
      await nap.over
      if (isEnded) return
      await Promise.any(others.map(answer))
      if (!isEnded && !this.#isStopped) giveUp()
    }
    // It was stopped, or no other endpoint answers.
    watch().catch(() => {})
    return () => {
      isEnded = true
      nap.wake()
    }
  }

  #heard(): void {
    this.#hasBrought = true
    this.source.heardAt = this.#now()
  }

  #now(): number {
    return this.#options.waiting.clock.now()
  }
}
