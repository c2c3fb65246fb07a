import type { Client } from '../../../src/client/client.ts'
import { clockOf, connectionsOf, napOf } from '../../../src/client/internals.ts'
import type { Listen } from '../../../src/client/subscribe.ts'
import { isHexlineError } from '../../../src/errors.ts'

/** What listens. */
export interface Listener {
  /** A node has the subscription, or another one is polled in its place. May be called again. */
  ready(): void
  /** A notification's `result`. */
  notified(result: unknown): void
  /** Fetches what may have been missed; absent where that cannot be fetched. */
  readonly fill?: (() => void) | undefined
  /** The same at intervals, while no WebSocket has the subscription. */
  readonly poll?: (() => void) | undefined
  /** Nothing comes any more. Not called after it was stopped. */
  ended(reason: unknown): void
}

/** How long until WebSockets that have refused a subscription are asked again, in ms. */
const ASK_AGAIN_MS = 30_000

/**
 * Listens to a subscription. While no WebSocket has it, what is missed is fetched at intervals of
 * `pollMs`, if the client has another kind of endpoint. Then it ends only with the client. Gives
 * the function that stops it.
 */
export function listenOrPoll(client: Client, listen: Listen, params: readonly unknown[], listener: Listener, pollMs: number): () => void {
  const listening = new Listening(client, listen, params, listener, pollMs)
  listening.start()
  return () => listening.stop()
}

class Listening {
  readonly #client: Client
  readonly #listen: Listen
  readonly #params: readonly unknown[]
  readonly #listener: Listener
  readonly #pollMs: number
  /** Fetches what was missed, without a WebSocket. */
  readonly #poll: (() => void) | undefined
  #polling: AbortController | undefined
  /** Undefined while all WebSockets refuse the subscription. */
  #stopListening: (() => void) | undefined
  #askAgainAt = 0
  #hasStarted = false
  #isStopped = false

  constructor(client: Client, listen: Listen, params: readonly unknown[], listener: Listener, pollMs: number) {
    this.#client = client
    this.#listen = listen
    this.#params = params
    this.#listener = listener
    this.#pollMs = pollMs
    this.#poll = connectionsOf(client)?.some(({ webSocket }) => webSocket === undefined) ? (listener.poll ?? listener.fill) : undefined
  }

  start(): void {
    this.#startPolling()
    this.#ask()
  }

  stop(): void {
    this.#isStopped = true
    this.#stopPolling()
    this.#stopListening?.()
  }

  #ask(): void {
    let isRefused = false
    const stop = this.#listen(
      this.#params,
      {
        started: () => {
          this.#stopPolling()
          if (this.#hasStarted) this.#listener.fill?.()
          this.#hasStarted = true
          this.#listener.ready()
        },
        lost: () => this.#startPolling(),
        gap: () => {
          this.#stopPolling()
          this.#listener.fill?.()
        },
        notified: (result) => this.#listener.notified(result),
        ended: (reason) => {
          isRefused = true
          this.#stopListening = undefined
          const isOver = !isHexlineError(reason) || reason.kind === 'closed'
          if (isOver || this.#poll === undefined) return this.#end(reason)
          this.#askAgainAt = this.#now() + ASK_AGAIN_MS
          this.#startPolling()
          this.#listener.ready()
        },
      },
      undefined,
    )
    if (!isRefused) this.#stopListening = stop
  }

  #startPolling(): void {
    if (this.#poll === undefined || this.#polling !== undefined || this.#isStopped) return
    this.#polling = new AbortController()
    this.#pollUntil(this.#polling.signal).catch((reason) => {
      if (reason !== STOPPED) this.#end(reason)
    })
  }

  #stopPolling(): void {
    this.#polling?.abort(STOPPED)
    this.#polling = undefined
  }

  async #pollUntil(stopped: AbortSignal): Promise<void> {
    for (;;) {
      await napOf(this.#client)('eth_subscribe', this.#now() + this.#pollMs, stopped).over
      stopped.throwIfAborted()
      // What it missed since the first of these was made is fetched by the first poll.
      this.#hasStarted = true
      this.#listener.ready()
      this.#poll?.()
      if (this.#stopListening === undefined && this.#now() >= this.#askAgainAt) this.#ask()
    }
  }

  #end(reason: unknown): void {
    if (this.#isStopped) return
    this.stop()
    this.#listener.ended(reason)
  }

  #now(): number {
    return clockOf(this.#client).now()
  }
}

/** Nobody sees it: polling has been stopped. */
const STOPPED = new Error('polling has been stopped')
