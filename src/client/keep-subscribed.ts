import { type HexlineError, MalformedReplyError, TimeoutError } from '../errors.ts'
import { ethereum } from '../eth/protocol.ts'
import type { Post } from '../rpc/call.ts'
import { isFailure, isThrottled, mayRepeat } from '../rpc/failure-kinds.ts'
import { type Backoff, jittered, type RetryAt } from '../rpc/retry-delay.ts'
import type { Health } from '../rpc/route/health.ts'
import { show } from '../text.ts'
import type { Wait, Waiting } from '../wait/waiting.ts'
import type { WebSocketExchange } from '../ws/exchange.ts'
import type { LiveSubscription } from '../ws/subscriptions.ts'
import { postAlone } from './post-alone.ts'

/** An endpoint that can have subscriptions. */
export interface SubscriptionSource {
  readonly name: string
  readonly post: Post
  readonly webSocket: WebSocketExchange
  readonly health: Health
  /** Rejects where the endpoint must not be used: one of several may be on another chain. */
  readonly check: () => Promise<void>
  /** When its subscriptions last brought something, or it last answered whether it does. */
  heardAt?: number
  /** It is being asked. */
  isAsked?: boolean
}

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
}

/** Gets what a subscription brings. */
export interface Subscriber {
  /** A node has the subscription, for the first time. */
  started(): void
  /** A notification's `result`, and the size of its message in bytes. */
  notified(result: unknown, bytes: number): void
  /** As for `SubscriptionListener`. */
  skim?(message: string): boolean
  /** The subscription was interrupted, and is there again: something may have been missed. */
  gap(): void
  /** The subscription is interrupted: nothing comes until `gap`. */
  lost?(): void
  /**
   * It has ended: by the signal, by the client's end, or because no endpoint takes it. Not called
   * after it was stopped.
   */
  ended(reason: unknown): void
}

/**
 * A subscription that lives this long, in ms, or brings anything, counts as no failure when it is
 * lost.
 */
const STABLE_MS = 10_000
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
 * An endpoint whose subscriptions bring nothing for this long, in ms, is asked a question: a
 * gateway answers pings itself, also where no node is left behind it.
 */
const QUIET_MS = 30_000

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
  #live: { readonly subscription: LiveSubscription; readonly source: SubscriptionSource } | undefined
  #startedAt: number | undefined
  /** It has brought something since it was started. */
  #hasBrought = false
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
    this.#stopping.abort(new Error('stopped'))
    this.#unsubscribe()
  }

  async #run(): Promise<void> {
    /** Endpoints that have failed since the last wait, and the number of failures in a row. */
    let tried: SubscriptionSource[] = []
    let failures = 0
    /** One of those that have failed may work later. */
    let mayRecover = false
    while (!this.#isStopped) {
      const source = this.#choose(tried)
      let error: unknown
      let isLost = false
      try {
        error = await this.#subscribe(source, SILENT_MS * 2 ** failures)
        isLost = true
      } catch (refusal) {
        error = refusal
      }
      if (this.#isStopped) return
      if (!isFailure(error) || error.kind === 'closed') return this.#end(error)
      if (isLost && this.#hasLasted()) {
        tried = []
        failures = 0
      }
      tried.push(source)
      mayRecover ||= isLost || mayRepeat(error) === true
      if (tried.length < this.#options.sources.length) continue
      if (!mayRecover) return this.#end(error)
      mayRecover = false
      if (!isThrottled(error)) failures++
      if (this.#startedAt === undefined && failures >= this.#options.attempts) return this.#end(error)
      tried = []
      await this.#pause(error, Math.max(1, failures))
    }
  }

  /** Those that work first, in their order. */
  #choose(tried: readonly SubscriptionSource[]): SubscriptionSource {
    const left = this.#options.sources.filter((source) => !tried.includes(source))
    return left.find(({ health }) => !health.isOut) ?? (left[0] as SubscriptionSource)
  }

  /**
   * Resolves to the reason when the subscription is lost. Rejects when there is none, and when the
   * endpoint says nothing for this long, and another one does.
   */
  #subscribe(source: SubscriptionSource, silentMs: number): Promise<HexlineError> {
    return new Promise((resolve, reject) => {
      let isGivenUp = false
      const listener = {
        request: JSON.stringify(this.#options.params),
        started: () => {
          if (isGivenUp) return
          const isFirst = this.#startedAt === undefined
          this.#startedAt = this.#now()
          this.#hasBrought = false
          source.heardAt = this.#startedAt
          if (this.#isStopped) return
          this.#options.waiting.setAlarm(this.#wait, this.#startedAt + QUIET_MS)
          if (isFirst) this.#subscriber.started()
          else this.#subscriber.gap()
        },
        notified: (result: unknown, bytes: number) => {
          if (isGivenUp) return
          this.#hasBrought = true
          source.heardAt = this.#now()
          if (!this.#isStopped) this.#subscriber.notified(result, bytes)
        },
        missed: () => {
          if (!isGivenUp && !this.#isStopped) this.#subscriber.gap()
        },
        skim: (message: string) => {
          if (isGivenUp) return true
          const isEnough = !this.#isStopped && this.#subscriber.skim?.(message) === true
          if (!isEnough) return false
          this.#hasBrought = true
          source.heardAt = this.#now()
          return true
        },
        lost: (error: HexlineError) => {
          if (isGivenUp) return
          if (!this.#isStopped) this.#subscriber.lost?.()
          resolve(error)
        },
      }
      const endSilence = this.#onSilence(source, silentMs, () => {
        isGivenUp = true
        reject(new TimeoutError(`${source.name}: no reply to eth_subscribe yet, while another endpoint answers`, { endpoint: source.name }))
      })
      const subscribe = async () => {
        await source.check()
        if (isGivenUp || this.#isStopped) return
        const subscription = await source.webSocket.listen(() => this.#ask(source), listener)
        if (isGivenUp) return unsubscribe(subscription, source)
        this.#live = { subscription, source }
        if (this.#isStopped) this.#unsubscribe()
      }
      subscribe().catch(reject).finally(endSilence)
    })
  }

  /**
   * Calls `giveUp` when this time is over, and another endpoint answers a question after it. Gives
   * the function that ends it.
   */
  #onSilence(source: SubscriptionSource, ms: number, giveUp: () => void): () => void {
    const { sources, waiting } = this.#options
    const others = sources.filter((each) => each !== source)
    if (others.length === 0) return () => {}
    let isEnded = false
    const call = { signal: this.#stopping.signal, deadline: Number.POSITIVE_INFINITY, method: 'eth_subscribe' }
    const nap = waiting.nap(call, this.#now() + ms)
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

  /**
   * Asks the endpoint a question where it has been quiet. One that says nothing within its timeout
   * loses its socket by that, and so the subscription.
   */
  #ring(): void {
    const source = this.#live?.source
    const now = this.#now()
    let at = now + QUIET_MS
    if (source !== undefined) {
      const quietAt = (source.heardAt ?? 0) + QUIET_MS
      if (now < quietAt) at = quietAt
      else if (!source.isAsked) {
        // Never twice at a time: another request in flight would keep the socket.
        source.isAsked = true
        const onEnd = () => {
          source.isAsked = false
          source.heardAt = this.#now()
        }
        void postAlone(source.post, ethereum.askChain).then(onEnd, onEnd)
      }
    }
    this.#options.waiting.setAlarm(this.#wait, at)
  }

  /** Asks for a subscription; gives its id. */
  async #ask({ post, name }: SubscriptionSource): Promise<string> {
    const { params } = this.#options
    const method = 'eth_subscribe'
    // Not given up when the subscriber leaves: the node would keep a subscription without an owner.
    const id = (await postAlone(post, { method, params })).take()
    if (typeof id === 'string') return id
    throw new MalformedReplyError(`${name}: ${method}: expected the id of a subscription, received ${show(id)}`, { method, endpoint: name })
  }

  #unsubscribe(): void {
    if (this.#live === undefined) return
    const { subscription, source } = this.#live
    this.#live = undefined
    unsubscribe(subscription, source)
  }

  #hasLasted(): boolean {
    return this.#hasBrought || (this.#startedAt !== undefined && this.#now() - this.#startedAt >= STABLE_MS)
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

function unsubscribe(subscription: LiveSubscription, { post }: SubscriptionSource): void {
  const { id } = subscription
  const method = 'eth_unsubscribe'
  // Sent first: the socket is not to be closed as unused before.
  if (id !== undefined) postAlone(post, { method, params: [id] }).catch(() => {})
  subscription.stop()
}

/** Resolves when the endpoint, which may be used, answers a question asked now. */
async function answer({ check, post }: SubscriptionSource): Promise<void> {
  await check()
  await postAlone(post, ethereum.askChain)
}
