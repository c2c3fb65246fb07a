import type { Dispatcher } from 'undici'
import { type HexlineError, LimitError, MalformedReplyError, NetworkError, TimeoutError } from '../errors.ts'
import { excerpt } from '../text.ts'
import type { Alarm } from '../wait/alarms.ts'
import type { Decompressor } from './compression.ts'
import type { BodyMemory, ExchangeOptions, Headers, HttpReply, HttpRequest } from './exchange.ts'
import { type BodyProgress, Stall } from './progress.ts'
import { plainCause } from './secrets.ts'
import { firstFailure, whyNoConnection } from './why-no-connection.ts'

const EMPTY = Buffer.alloc(0)

/** Bodies up to this size come from Node.js's buffer pool, which is cheaper. */
const POOLED = Buffer.poolSize >>> 1

/** One exchange in flight. undici calls the `on...` methods. */
export class ExchangeInFlight implements Dispatcher.DispatchHandler, Alarm {
  readonly #options: ExchangeOptions
  readonly #maxBytes: number
  readonly #patience: number
  readonly #bodies: BodyMemory | undefined
  readonly #progress: BodyProgress
  readonly #decompressor: Decompressor
  readonly #signal: AbortSignal
  readonly #resolve: (reply: HttpReply) => void
  readonly #reject: (reason: unknown) => void
  readonly #onAbort = () => this.#fail(this.#signal.reason)
  #controller: Dispatcher.DispatchController | undefined
  #status = 0
  #headers: Headers = {}
  /** The body received so far, with spare room. */
  #body: Buffer = EMPTY
  #length = 0
  /** Size of the body on the wire, if the headers announce it. */
  #announced = Number.NaN
  /** Since the body last made progress; undefined until it has begun, and where it came whole. */
  #stall: Stall | undefined
  readonly #timeoutAt: number
  isSettled = false
  at: number
  place = -1

  constructor(
    options: ExchangeOptions,
    { maxBytes, patience = Number.POSITIVE_INFINITY, bodies }: HttpRequest,
    progress: BodyProgress,
    decompressor: Decompressor,
    signal: AbortSignal,
    resolve: (reply: HttpReply) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#options = options
    this.#maxBytes = Math.min(options.maxResponseBytes, maxBytes ?? options.maxResponseBytes)
    this.#patience = patience
    this.#bodies = bodies
    this.#progress = progress
    this.#decompressor = decompressor
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    this.#timeoutAt = options.alarms.clock.now() + options.timeoutMs
    this.at = this.#timeoutAt
    options.alarms.set(this)
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) this.#fail(signal.reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // A request cannot be aborted until its socket is connected. If it is no longer needed then, it
    // ends here, unsent.
    if (this.isSettled) controller.abort(new Error('aborted'))
    else this.#controller = controller
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // An informational response, such as 103, shows that the node is still working.
    if (status < 200) return
    this.#status = status
    this.#headers = headers
    const announced = Number(headers['content-length'])
    this.#announced = announced
    if (announced > this.#maxBytes) this.#fail(this.#tooLarge(`${announced} bytes`, announced))
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isSettled) return
    const at = this.#length
    this.#length += chunk.length
    this.#watchProgress(at === 0)
    if (this.#length > this.#maxBytes) this.#fail(this.#tooLarge(`more than ${this.#maxBytes} bytes`, this.#length))
    else this.#keep(chunk, at)
  }

  onResponseEnd(): void {
    if (this.isSettled) return
    this.#progress.completed()
    // The endpoint has done its part: the time for what is left is the caller's.
    this.#options.alarms.unset(this)
    const body = this.#body.subarray(0, this.#length)
    this.#body = EMPTY
    this.#controller = undefined
    const encoding = this.#headers['content-encoding']
    if (encoding === undefined || body.length === 0) this.#succeed(body)
    else void this.#decompress(body, String(encoding))
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#fail(this.#networkError(error))
  }

  ring(): void {
    if (this.#now() >= this.#timeoutAt) this.#timeOut()
    else this.#checkProgress()
  }

  #now(): number {
    return this.#options.alarms.clock.now()
  }

  #timeOut(): void {
    const { url, timeoutMs } = this.#options
    const unsent = this.#controller === undefined && this.#status === 0
    const how = unsent ? 'no connection' : this.#status === 0 ? 'no reply' : `the reply was still incomplete (${this.#length} bytes)`
    this.#fail(new TimeoutError(`${url.host}: ${how} within ${timeoutMs} ms`, { endpoint: url.host, unsent }))
  }

  /**
   * Records that more of the body has arrived. Before the first byte the node may take its time,
   * since some send headers at once and begin to work afterwards.
   */
  #watchProgress(isFirst: boolean): void {
    if (isFirst && this.#length === this.#announced) return
    const now = this.#now()
    if (this.#stall === undefined) {
      this.#stall = new Stall(now)
      this.#wakeIn(Stall.stepMs)
      return
    }
    this.#progress.resumed(this.#stall.msAt(now), now)
    this.#stall.restart(now)
  }

  #checkProgress(): void {
    const { host } = this.#options.url
    const limitMs = this.#progress.limitMs * this.#patience
    const waitedMs = (this.#stall as Stall).msAt(this.#now())
    if (waitedMs < limitMs) this.#wakeIn(Math.min(Stall.stepMs, limitMs - waitedMs))
    else {
      const message = `${host}: the reply stalled after ${this.#length} bytes: no data for ${Math.round(waitedMs)} ms`
      this.#fail(new TimeoutError(message, { endpoint: host, stalled: true }))
    }
  }

  #wakeIn(ms: number): void {
    const { alarms } = this.#options
    alarms.unset(this)
    // A remainder from rounding would be no time at all on the clock.
    this.at = Math.min(this.#timeoutAt, alarms.clock.now() + Math.max(1, ms))
    alarms.set(this)
  }

  /** Copies `chunk` to the end of the body, since the next read of any socket overwrites it. */
  #keep(chunk: Buffer, at: number): void {
    if (this.#body.length < this.#length) this.#grow(at)
    this.#body.set(chunk, at)
  }

  /** Makes room for the announced length, or else for twice the bytes received. */
  #grow(used: number): void {
    const room = this.#roomAfter(used)
    const bodies = this.#headers['content-encoding'] === undefined ? this.#bodies : undefined
    const body = bodies?.take(room) ?? (room > POOLED ? Buffer.allocUnsafeSlow(room) : Buffer.allocUnsafe(room))
    body.set(this.#body.subarray(0, used))
    bodies?.release(this.#body)
    this.#body = body
  }

  #roomAfter(used: number): number {
    if (this.#announced >= this.#length) return this.#announced
    // The first chunk may be the only one.
    return used === 0 ? this.#length : Math.min(2 * this.#length, this.#maxBytes)
  }

  async #decompress(body: Buffer, encoding: string): Promise<void> {
    const { url, scrub } = this.#options
    const maxBytes = this.#maxBytes
    try {
      this.#succeed(await this.#decompressor.undo(body, encoding, maxBytes))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
        return this.#fail(this.#tooLarge(`more than ${maxBytes} bytes after decompression`, maxBytes + 1))
      }
      const cause = plainCause(error, scrub)
      this.#fail(
        new MalformedReplyError(`${url.host}: the body could not be decompressed (${excerpt(scrub(encoding))}): ${excerpt(cause.message)}`, {
          endpoint: url.host,
          cause,
        }),
      )
    }
  }

  #succeed(body: Buffer): void {
    if (!this.#settle()) return
    this.#resolve({ status: this.#status, headers: this.#headers, body, wireBytes: this.#length })
  }

  #fail(reason: unknown): void {
    if (!this.#settle()) return
    this.#body = EMPTY
    this.#reject(reason)
    this.#controller?.abort(new Error('aborted'))
  }

  #settle(): boolean {
    if (this.isSettled) return false
    this.isSettled = true
    this.#options.alarms.unset(this)
    this.#signal.removeEventListener('abort', this.#onAbort)
    return true
  }

  #tooLarge(what: string, size: number): LimitError {
    const { url } = this.#options
    const limit = this.#maxBytes
    return new LimitError(`${url.host}: the reply has ${what}; maxResponseBytes allows ${limit}`, 'response-too-large', { endpoint: url.host, limit, size })
  }

  #networkError(error: Error): HexlineError {
    const { url, scrub } = this.#options
    const cause = plainCause(firstFailure(error), scrub)
    const code = (cause as NodeJS.ErrnoException).code
    const endpoint = url.host
    if (code?.startsWith('HPE_') || cause.name === 'HTTPParserError')
      return new MalformedReplyError(`${endpoint}: the reply is not valid HTTP: ${cause.message}`, { endpoint, cause })
    const unsent = this.#controller === undefined && this.#status === 0
    const how = unsent
      ? 'no connection'
      : this.#status === 0
        ? 'the connection ended before the reply'
        : `the connection ended in the middle of the reply (${this.#length} bytes)`
    return new NetworkError(`${endpoint}: ${how}${whyNoConnection(cause)}`, {
      endpoint,
      cause,
      unsent,
      code,
      receivedBytes: this.#length,
    })
  }
}
