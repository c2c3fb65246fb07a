import { NetworkError, TimeoutError } from '../errors.ts'
import type { BodyMemory, HttpReply, HttpRequest } from '../http/exchange.ts'
import { type Abortable, forgetAbort, onAbort } from '../wait/aborts.ts'
import type { Alarm, Alarms } from '../wait/alarms.ts'
import type { Listed } from '../wait/listeners.ts'

/** An endpoint, as far as one request concerns it. */
export interface PendingOptions {
  readonly url: URL
  /** Time for one request, from its start to the last byte of its reply, in ms. */
  readonly timeoutMs: number
  /** Maximum size of a reply after decompression, in bytes. */
  readonly maxResponseBytes: number
  /** Sets the timeouts. */
  readonly alarms: Alarms
}

/** The socket that a request was sent over. */
export interface Sender {
  /** Nobody waits for the reply any more. */
  gaveUp(pending: Pending, hasTimedOut: boolean): void
  /** Resolves when what has come so far is decompressed; undefined where it is. */
  readonly reading: Promise<void> | undefined
}

/** The caller that waits for the reply to a request. */
interface Awaiting {
  readonly signal: AbortSignal
  readonly resolve: (reply: HttpReply) => void
  readonly reject: (reason: unknown) => void
}

/** One request, until its reply has come or it is given up. */
export class Pending implements Alarm, Listed, Abortable {
  readonly first: number
  readonly count: number
  readonly maxBytes: number
  bodies: BodyMemory | undefined
  readonly patience: number
  readonly #options: PendingOptions
  #body: string
  /** Undefined once it is settled: its socket may remember it for long after that. */
  #awaiting: Awaiting | undefined
  #sender: Sender | undefined
  /** Replies that its socket had received when it was sent. */
  answersBefore = 0
  readonly at: number
  place = -1
  index = -1

  constructor(
    options: PendingOptions,
    { body = '', firstId = 0, count = 1, maxBytes = options.maxResponseBytes, bodies, patience = 1 }: HttpRequest,
    signal: AbortSignal,
    resolve: (reply: HttpReply) => void,
    reject: (reason: unknown) => void,
  ) {
    this.first = firstId
    this.count = count
    this.#body = body
    this.maxBytes = Math.min(options.maxResponseBytes, maxBytes)
    this.bodies = bodies
    this.patience = patience
    this.#options = options
    this.#awaiting = { signal, resolve, reject }
    this.at = options.alarms.clock.now() + options.timeoutMs
    options.alarms.set(this)
    if (signal.aborted) this.cancel(signal.reason)
    else onAbort(signal, this)
  }

  get isSettled(): boolean {
    return this.#awaiting === undefined
  }

  /** The message to send. It is given once, since a request may wait long for its reply. */
  takeBody(): string {
    const body = this.#body
    this.#body = ''
    return body
  }

  sentBy(sender: Sender, answersBefore: number): void {
    this.#sender = sender
    this.answersBefore = answersBefore
  }

  succeed(reply: HttpReply): void {
    this.#settle()?.resolve(reply)
  }

  fail(reason: unknown): void {
    this.#settle()?.reject(reason)
  }

  /** Its signal has been aborted: by a caller who no longer waits, or since time was up. */
  cancel(reason: unknown): void {
    this.#giveUp(reason, reason instanceof TimeoutError)
  }

  ring(): void {
    // The endpoint has done its part, if its reply is among what has come.
    const reading = this.#sender?.reading
    if (reading === undefined) this.#timeOut()
    else void reading.then(() => this.#timeOut())
  }

  #timeOut(): void {
    const { url, timeoutMs } = this.#options
    const { host } = url
    const what = this.#sender === undefined ? 'no connection' : 'no reply'
    this.#giveUp(new TimeoutError(`${host}: ${what} within ${timeoutMs} ms`, { endpoint: host, unsent: this.#sender === undefined }), true)
  }

  #giveUp(reason: unknown, hasTimedOut: boolean): void {
    const awaiting = this.#settle()
    if (awaiting === undefined) return
    awaiting.reject(reason)
    this.#sender?.gaveUp(this, hasTimedOut)
  }

  /** Gives the caller that waits, once; undefined if it is settled. */
  #settle(): Awaiting | undefined {
    const awaiting = this.#awaiting
    if (awaiting === undefined) return undefined
    this.#awaiting = undefined
    this.#body = ''
    this.bodies = undefined
    this.#options.alarms.unset(this)
    forgetAbort(awaiting.signal, this)
    return awaiting
  }
}

/** For what has not been sent by a connection that is no longer used. */
export function ended({ url: { host } }: PendingOptions): NetworkError {
  return new NetworkError(`${host}: the connection is no longer used`, { endpoint: host, unsent: true })
}
