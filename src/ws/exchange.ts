import type { Dispatcher } from 'undici'
import { ClosedError } from '../errors.ts'
import type { Exchange, HttpReply, HttpRequest } from '../http/exchange.ts'
import { BodyProgress } from '../http/progress.ts'
import { Pool } from '../http/undici.ts'
import { ended, Pending } from './pending.ts'
import type { Session, SessionOptions } from './session.ts'
import type { LiveSubscription, SubscriptionListener } from './subscriptions.ts'

/** An exchange's endpoint and limits. */
export interface WebSocketOptions extends SessionOptions {
  /** Headers of the handshake, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether to offer compression. */
  readonly compression: boolean
  /** Opens the sockets in place of a pool made here. It is never closed here. */
  readonly dispatcher?: Dispatcher | undefined
  /** Progress of the endpoint's replies. */
  readonly progress?: BodyProgress
}

/** An exchange over a WebSocket, with its subscriptions. */
export interface WebSocketExchange extends Exchange {
  /**
   * Calls `subscribe`, which sends `eth_subscribe` by this exchange and resolves to the id. Passes
   * on each notification with this id, also one that came before the reply. Calls it again where
   * the id is one that the node was asked to end.
   */
  listen(subscribe: () => Promise<string>, listener: SubscriptionListener): Promise<LiveSubscription>
}

/**
 * JSON-RPC over one WebSocket at a time, which the first request opens. A request is a message; its
 * reply is the message with its id. What a message lacks of an HTTP reply is filled in: status 200,
 * and no headers. A refused upgrade is an HTTP reply as it came.
 *
 * A socket that ends fails the requests in flight, and the next request opens another one.
 */
export function createWebSocketExchange(options: WebSocketOptions): WebSocketExchange {
  return new SocketExchange(options)
}

class SocketExchange implements WebSocketExchange {
  readonly #options: WebSocketOptions
  readonly #own: Pool | undefined
  readonly #dispatcher: Dispatcher
  readonly #closing = new AbortController()
  readonly #progress: BodyProgress
  /** The socket for new requests. */
  #session: Session | undefined
  #opening: Promise<Session | HttpReply> | undefined
  /** Sockets that are open, replaced ones included. */
  readonly #sessions = new Set<Session>()
  /** Subscriptions whose ids have not come yet. */
  #subscribing = 0
  #lastAnswered: Session | undefined

  constructor(options: WebSocketOptions) {
    this.#options = options
    const { url, timeoutMs, progress = new BodyProgress() } = options
    this.#progress = progress
    this.#own = options.dispatcher
      ? undefined
      : new Pool(`${url.protocol === 'wss:' ? 'https:' : 'http:'}//${url.host}`, { pipelining: 1, connect: { timeout: timeoutMs } })
    this.#dispatcher = options.dispatcher ?? (this.#own as Pool)
  }

  send(request: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const pending = new Pending(this.#options, request, signal, resolve, reject)
      if (pending.isSettled) return
      this.#session?.replaceIfMute()
      if (this.#session !== undefined) this.#session.send(pending)
      else void this.#sendWhenOpen(pending)
    })
  }

  async listen(subscribe: () => Promise<string>, listener: SubscriptionListener): Promise<LiveSubscription> {
    this.#subscribing++
    try {
      for (;;) {
        const id = await subscribe()
        // Nothing but microtasks has run since the reply: no other socket has answered meanwhile.
        const session = this.#lastAnswered as Session
        const end = session.endOf(id)
        if (end === undefined) return session.subscribe(id, listener)
        // Some nodes, such as Hedera's relay, give the id of an equal subscription that they have,
        // which ends now. What still comes with this id may be of the old one.
        await end
      }
    } finally {
      if (--this.#subscribing === 0) for (const session of this.#sessions) session.forgetUnclaimed()
    }
  }

  async close(): Promise<void> {
    const error = new ClosedError()
    this.#closing.abort(error)
    for (const session of this.#sessions) session.close(error)
    await this.#own?.destroy()
  }

  async #sendWhenOpen(pending: Pending): Promise<void> {
    this.#opening ??= this.#open()
    let opened: Session | HttpReply
    try {
      opened = await this.#opening
    } catch (error) {
      return pending.fail(error)
    }
    if (pending.isSettled) return
    // The socket may have been replaced or have ended since.
    if ('status' in opened) pending.succeed(opened)
    else if (this.#session !== undefined) this.#session.send(pending)
    else pending.fail(ended(this.#options))
  }

  async #open(): Promise<Session | HttpReply> {
    try {
      // Loaded on demand: most endpoints are HTTP.
      const [{ openWebSocket }, { Session }] = await Promise.all([import('./handshake.ts'), import('./session.ts')])
      const opened = await openWebSocket({ ...this.#options, dispatcher: this.#dispatcher }, this.#closing.signal)
      if ('status' in opened) return opened
      const session = new Session(opened, this.#options, this.#progress, {
        isSubscribing: () => this.#subscribing > 0,
        answered: (answering) => {
          this.#lastAnswered = answering
        },
        replaced: (old) => {
          if (this.#session === old) this.#session = undefined
        },
        ended: (old) => {
          this.#sessions.delete(old)
          if (this.#session === old) this.#session = undefined
        },
      })
      this.#sessions.add(session)
      this.#session = session
      return session
    } finally {
      this.#opening = undefined
    }
  }
}
