import { createHash, randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { type HexlineError, NetworkError, TimeoutError } from '../errors.ts'
import type { Headers, HttpReply } from '../http/exchange.ts'
import { plainCause, type Scrub } from '../http/secrets.ts'
import { firstFailure, whyNoConnection } from '../http/why-no-connection.ts'
import { excerpt } from '../text.ts'
import type { Alarm, Alarms } from '../wait/alarms.ts'

/** Where to open a WebSocket, and how. */
export interface HandshakeOptions {
  readonly url: URL
  /** Headers of the request, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly dispatcher: Dispatcher
  /** Time until the socket is open, in ms. */
  readonly timeoutMs: number
  /** Whether to offer compression. */
  readonly compression: boolean
  readonly scrub: Scrub
  readonly alarms: Alarms
}

/** An open WebSocket, before its first frame. */
export interface Opened {
  readonly socket: Socket
  /** Messages may be compressed (RFC 7692). */
  readonly mayCompress: boolean
}

/** What a server appends to the key of a handshake (RFC 6455, 1.3). */
export const WEB_SOCKET_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
/** Bytes of a refusal's body that are kept. */
const MOST_OF_A_REFUSAL = 16_384
/**
 * Each message on its own: none needs the state of another one (RFC 7692, 7.1.1). Replies repeat
 * themselves, not each other.
 */
const DEFLATE = 'permessage-deflate; client_no_context_takeover; server_no_context_takeover'

/**
 * Opens a WebSocket (RFC 6455, 4.1) by an upgrade of an HTTP request, so that proxies, TLS settings
 * and their failures are those of HTTP. Resolves to the HTTP reply where the server refuses with a
 * status of 300 or more. Rejects with `NetworkError` or `TimeoutError`, both `unsent`, or with the
 * reason of `signal`.
 */
export function openWebSocket(options: HandshakeOptions, signal: AbortSignal): Promise<Opened | HttpReply> {
  return new Promise((resolve, reject) => {
    const handshake = new Handshake(options, signal, resolve, reject)
    const { url, dispatcher } = options
    const origin = `${url.protocol === 'wss:' ? 'https:' : 'http:'}//${url.host}`
    const { headers } = handshake
    try {
      const path = url.pathname + url.search
      dispatcher.dispatch({ origin, path, method: 'GET', headers, upgrade: 'websocket', headersTimeout: 0, bodyTimeout: 0 }, handshake)
    } catch (error) {
      handshake.onResponseError(undefined, error as Error)
    }
  })
}

/** What the server answers in place of a WebSocket. */
interface Refusal {
  readonly status: number
  readonly headers: Headers
  readonly chunks: Buffer[]
  length: number
}

/** One handshake. undici calls the `on...` methods. */
class Handshake implements Dispatcher.DispatchHandler, Alarm {
  readonly #options: HandshakeOptions
  readonly #signal: AbortSignal
  readonly #resolve: (opened: Opened | HttpReply) => void
  readonly #reject: (reason: unknown) => void
  readonly #onAbort = () => this.#fail(this.#signal.reason)
  readonly #key = randomBytes(16).toString('base64')
  #controller: Dispatcher.DispatchController | undefined
  #refusal: Refusal | undefined
  #isSettled = false
  readonly at: number
  place = -1

  constructor(options: HandshakeOptions, signal: AbortSignal, resolve: (opened: Opened | HttpReply) => void, reject: (reason: unknown) => void) {
    this.#options = options
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    this.at = options.alarms.clock.now() + options.timeoutMs
    options.alarms.set(this)
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) this.#fail(signal.reason)
  }

  get headers(): Record<string, string> {
    const { headers, compression } = this.#options
    return {
      ...headers,
      'sec-websocket-version': '13',
      'sec-websocket-key': this.#key,
      ...(compression && { 'sec-websocket-extensions': DEFLATE }),
    }
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled) controller.abort(new Error('aborted'))
    else this.#controller = controller
  }

  onRequestUpgrade(_: Dispatcher.DispatchController, status: number, headers: Headers, socket: Socket): void {
    // undici leaves an upgraded socket without a listener, and an error would end the process.
    socket.on('error', () => {})
    const fault = this.#isSettled ? 'it came too late' : this.#faultOf(status, headers)
    if (fault !== undefined) {
      socket.destroy()
      return void this.#fail(this.#notOpened(`the server's WebSocket is not valid: ${fault}`))
    }
    if (this.#settle()) this.#resolve({ socket, mayCompress: headers['sec-websocket-extensions'] !== undefined })
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status >= 200) this.#refusal = { status, headers, chunks: [], length: 0 }
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const refusal = this.#refusal
    if (this.#isSettled || refusal === undefined) return
    refusal.chunks.push(Buffer.from(chunk))
    refusal.length += chunk.length
    if (refusal.length >= MOST_OF_A_REFUSAL) this.#refuse()
  }

  onResponseEnd(): void {
    this.#refuse()
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    // The status is there; the body only adds words to it.
    if (this.#refusal !== undefined) return void this.#refuse()
    const cause = plainCause(firstFailure(error), this.#options.scrub)
    const code = (cause as NodeJS.ErrnoException).code
    this.#fail(this.#notOpened(`no connection${whyNoConnection(cause)}`, cause, code))
  }

  ring(): void {
    if (this.#refusal !== undefined) return void this.#refuse()
    const { url, timeoutMs } = this.#options
    const { host } = url
    this.#fail(new TimeoutError(`${host}: no connection within ${timeoutMs} ms`, { endpoint: host, unsent: true }))
  }

  #refuse(): void {
    const { status, headers, chunks, length } = this.#refusal as Refusal
    if (this.#isSettled) return
    if (status < 300) return void this.#fail(this.#notOpened(`no WebSocket: the server answered HTTP ${status}`))
    this.#settle()
    const body = Buffer.concat(chunks)
    this.#resolve({ status, headers, body, wireBytes: length, unsent: true })
    this.#controller?.abort(new Error('refused'))
  }

  #faultOf(status: number, headers: Headers): string | undefined {
    if (status !== 101) return `status ${status}`
    const accept = createHash('sha1')
      .update(this.#key + WEB_SOCKET_GUID)
      .digest('base64')
    if (headers['sec-websocket-accept'] !== accept) return 'the Sec-WebSocket-Accept header does not answer the key'
    if (headers['sec-websocket-protocol'] !== undefined) return 'a subprotocol that was not asked for'
    const extensions = headers['sec-websocket-extensions']
    if (extensions === undefined) return undefined
    const isAsked = this.#options.compression && /^\s*permessage-deflate\s*(;|$)/.test(String(extensions)) && !String(extensions).includes(',')
    if (!isAsked || !/server_no_context_takeover/.test(String(extensions))) return 'an extension that was not asked for'
    return undefined
  }

  #notOpened(what: string, cause?: Error, code?: string): HexlineError {
    const { host } = this.#options.url
    return new NetworkError(`${host}: ${excerpt(what)}`, { endpoint: host, cause, unsent: true, code })
  }

  #fail(reason: unknown): void {
    if (!this.#settle()) return
    this.#reject(reason)
    this.#controller?.abort(new Error('aborted'))
  }

  #settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    this.#options.alarms.unset(this)
    this.#signal.removeEventListener('abort', this.#onAbort)
    return true
  }
}
