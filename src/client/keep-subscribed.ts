import type { HexlineError } from '../errors.ts'
import { isFailure, isThrottled, mayRepeat } from '../rpc/failure-kinds.ts'
import { type Backoff, jittered, type RetryAt } from '../rpc/retry-delay.ts'
import type { Wait, Waiting } from '../wait/waiting.ts'
import { type NotificationListener, SubscribeAttempt } from './subscribe-attempt.ts'
import { askIfQuiet, QUIET_MS, type SubscriptionSource } from './subscription-source.ts'

/** One subscription, and the endpoints that may have it. */
export interface KeepSubscribedOptions {
  /** At least one. */
  readonly sources: readonly SubscriptionSource[]
  /** Params of `eth_subscribe`. */
  readonly params: readonly unknown[]
  readonly waiting: Waiting
  readonly backoff: Backoff
  /** How often each endpoint may fail before the first one has the subscription. */
  readonly attempts: number
  readonly signal?: AbortSignal | undefined
  /** Called once, when it is stopped or has ended. */
  readonly onStop?: (() => void) | undefined
}

/** Gets what a subscription brings, and how it begins and ends. */
export interface Subscriber extends NotificationListener {
  /** A node has the subscription, for the first time. */
  started(): void
  /**
   * It has ended: by the signal, by the client's end, or because no endpoint takes it. Not called
   * after it was stopped.
   */
  ended(reason: unknown): void
}

/**
 * An endpoint that has not answered for this long, in ms, is given up if another one answers; twice
 * as long after each failure.
 */
const SILENT_MS = 1_000

/**
 * Longest wait before a node that is down is asked again, in ms. A call may wait longer; here, what
 * is missed grows.
 */
const LONGEST_MS = 4_000

/**
 * Keeps one subscription, at one endpoint at a time, until it is stopped. When its socket is lost,
 * another endpoint takes over at once, if there is one; else the same one is asked again, with
 * full-jitter back-off and without end. One that says nothing is not waited for while another one
 * answers. Before there was a subscription, it fails as a call does.
 * Gives the function that stops it.
 */
export function keepSubscribed(options: KeepSubscribedOptions, subscriber: Subscriber): () => void {
  const keeper = new Keeper(options, subscriber)
  keeper.start()
  return () => keeper.stop()
}

class Keeper {
  readonly #options: KeepSubscribedOptions
  readonly #subscriber: Subscriber
  readonly #stopping = new AbortController()
  readonly #retryAt: RetryAt
  readonly #wait: Wait
  /** The last one that has got a subscription. */
  #live: SubscribeAttempt | undefined
  #isStopped = false

  constructor(options: KeepSubscribedOptions, subscriber: Subscriber) {
    this.#options = options
    this.#subscriber = subscriber
    this.#retryAt = jittered({ ...options.backoff, maxDelayMs: Math.min(options.backoff.maxDelayMs, LONGEST_MS) })
    const at = Number.POSITIVE_INFINITY
    const call = { signal: options.signal, deadline: at, method: 'eth_subscribe' }
    this.#wait = { call, at, place: -1, index: -1, ring: () => this.#ring(), cancel: (reason) => this.#end(reason) }
  }

  start(): void {
    if (this.#options.waiting.hold(this.#wait)) void this.#run()
  }

  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#options.waiting.release(this.#wait)
    this.#options.onStop?.()
    this.#stopping.abort(new Error('stopped'))
    this.#live?.unsubscribe()
  }

  async #run(): Promise<void> {
    /** Endpoints that have failed since the last wait, and the number of failures in a row. */
    let tried: SubscriptionSource[] = []
    let failures = 0
    /** One of those that have failed may work later. */
    let mayRecover = false
    while (!this.#isStopped) {
      const source = this.#choose(tried)
      const attempt = this.#attempt(source, SILENT_MS * 2 ** failures)
      let error: unknown
      let isLost = false
      try {
        error = await attempt.run()
        isLost = true
      } catch (refusal) {
        error = refusal
      }
      if (this.#isStopped) return
      if (!isFailure(error) || error.kind === 'closed') return this.#end(error)
      if (isLost && attempt.hasLasted) {
        tried = []
        failures = 0
      }
      tried.push(source)
      mayRecover ||= isLost || mayRepeat(error) === true
      if (tried.length < this.#options.sources.length) continue
      if (!mayRecover) return this.#end(error)
      mayRecover = false
      if (!isThrottled(error)) failures++
      if (this.#live === undefined && failures >= this.#options.attempts) return this.#end(error)
      tried = []
      await this.#pause(error, Math.max(1, failures))
    }
  }

  /** Those that work first, in their order. */
  #choose(tried: readonly SubscriptionSource[]): SubscriptionSource {
    const left = this.#options.sources.filter((source) => !tried.includes(source))
    return left.find(({ health }) => !health.isOut) ?? (left[0] as SubscriptionSource)
  }

  #attempt(source: SubscriptionSource, silentMs: number): SubscribeAttempt {
    const { sources, params, waiting } = this.#options
    const others = sources.filter((each) => each !== source)
    const onStart = (attempt: SubscribeAttempt) => this.#started(attempt)
    return new SubscribeAttempt({ source, others, params, waiting, stopping: this.#stopping.signal, silentMs, onStart }, this.#subscriber)
  }

  #started(attempt: SubscribeAttempt): void {
    const isFirst = this.#live === undefined
    this.#live = attempt
    this.#options.waiting.setAlarm(this.#wait, this.#now() + QUIET_MS)
    if (isFirst) this.#subscriber.started()
    else this.#subscriber.gap()
  }

  /** Looks whether the endpoint has been quiet for long. */
  #ring(): void {
    const now = () => this.#now()
    const at = this.#live === undefined ? now() + QUIET_MS : askIfQuiet(this.#live.source, now)
    this.#options.waiting.setAlarm(this.#wait, at)
  }

  async #pause(error: HexlineError, failures: number): Promise<void> {
    const call = { signal: this.#stopping.signal, deadline: Number.POSITIVE_INFINITY, method: 'eth_subscribe' }
    const until = this.#retryAt(error, failures, this.#now())
    try {
      await this.#options.waiting.sleep(call, until)
    } catch {
      // Stopped, or closed: both are known by now.
    }
  }

  #end(reason: unknown): void {
    if (this.#isStopped) return
    this.stop()
    this.#subscriber.ended(reason)
  }

  #now(): number {
    return this.#options.waiting.clock.now()
  }
}
