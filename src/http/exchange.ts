import type { Dispatcher } from 'undici'
import type { Alarms } from '../wait/alarms.ts'
import type { BodyProgress } from './progress.ts'
import type { Scrub } from './secrets.ts'

/*
 * An exchange: a request, and the whole reply. create-exchange.ts makes it over HTTP, and
 * ws/exchange.ts over a WebSocket.
 */

/** An exchange's endpoint and limits. */
export interface ExchangeOptions {
  readonly url: URL
  /** Headers of every request, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Number of sockets in the pool. The caller keeps no more exchanges in flight. */
  readonly connections: number
  /** Time for one exchange from its start to the last byte of the body, in ms. */
  readonly timeoutMs: number
  /** Maximum size of a body after decompression, in bytes. */
  readonly maxResponseBytes: number
  /** Whether to request compressed replies. */
  readonly compression: boolean
  /** Sends the requests in place of a pool made here. It is never closed here. */
  readonly dispatcher?: Dispatcher | undefined
  /** Progress of the endpoint's replies, if several exchanges share it. */
  readonly progress?: BodyProgress
  /** Hides the endpoint's secrets. */
  readonly scrub: Scrub
  /** Sets the timeouts. Its clock is also the exchange's. */
  readonly alarms: Alarms
}

/** Memory for receiving bodies. */
export interface BodyMemory {
  /** A buffer of at least `size` bytes; undefined if the body gets new memory. */
  take(size: number): Buffer | undefined
  /** Takes a buffer back. Ignores foreign buffers. */
  release(memory: Buffer): void
}

/** A request, and how its reply is received. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  /** Path and query. */
  readonly path: string
  readonly body?: string
  /**
   * Maximum size of the reply to this request, in bytes after decompression, if it is below the
   * endpoint's limit.
   */
  readonly maxBytes?: number | undefined
  /**
   * Multiple of the usual stall (progress.ts) that its reply may reach once it has begun. Default:
   * no limit but the timeout.
   */
  readonly patience?: number | undefined
  /**
   * Where to receive the body unless it is compressed; the caller may release it. Default: new
   * memory.
   */
  readonly bodies?: BodyMemory | undefined
  /**
   * JSON-RPC ids of the calls in `body`: the first one, and how many follow each other. Where
   * replies have no connection of their own, they are matched by these.
   */
  readonly firstId?: number
  readonly count?: number
}

/** Headers, with names in lower case. */
export type Headers = Record<string, string | string[] | undefined>

/** A whole reply. */
export interface HttpReply {
  readonly status: number
  /** Header names are in lower case. */
  readonly headers: Headers
  /** The whole body, decompressed. */
  readonly body: Buffer
  /** Size of the body on the wire, in bytes. */
  readonly wireBytes: number
  /** It refuses the connection: the request has not been sent. */
  readonly unsent?: boolean
}

/** Makes exchanges with one endpoint. */
export interface Exchange {
  /**
   * Rejects with `NetworkError`, `TimeoutError`, `LimitError` or `MalformedReplyError`, or with the
   * reason of `signal`.
   */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpReply>
  /** Closes all connections of the pool, and aborts their requests. */
  close(): Promise<void>
}
