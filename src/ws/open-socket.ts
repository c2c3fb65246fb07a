import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { constants, inflateRaw, inflateRawSync } from 'node:zlib'
import { type HexlineError, MalformedReplyError, NetworkError } from '../errors.ts'
import { plainCause, type Scrub } from '../http/secrets.ts'
import { excerpt } from '../text.ts'
import type { Alarm } from '../wait/alarms.ts'
import { closePayload, encodeFrame } from './encode-frame.ts'
import { FrameError, type FrameHandler, FrameReader, HEAD } from './frame-reader.ts'
import { CLOSE, NO_CODE, NORMAL, PING, PONG, TEXT } from './frames.ts'
import type { Opened } from './handshake.ts'
import { MessageWatch, type MessageWatchOptions } from './message-watch.ts'

/** Gets what a socket receives. None of its functions may throw. */
export interface SocketHandler {
  /** Longest message of this kind, in bytes. A compressed one has no readable start. */
  limitOf(head: Buffer | undefined): number
  /** Memory for a message, as for `FrameHandler`. */
  memoryFor(head: Buffer, size: number): Buffer | undefined
  message(bytes: Buffer): void
  /**
   * A message was longer than its limit. `head` is its start, decompressed; undefined where that is
   * not possible.
   */
  tooLarge(head: Buffer | undefined, size: number): void
  /**
   * Multiple of the usual stall that a message may reach once it has begun, as of `HttpRequest`.
   */
  patience(): number
  /**
   * The socket has ended, and takes no more messages. What has come and is being decompressed is
   * still passed on before `closed`.
   */
  ending(): void
  /** The socket has ended: nothing else comes. */
  closed(error: HexlineError): void
}

/** The endpoint of a socket. */
export interface OpenSocketOptions extends MessageWatchOptions {
  readonly scrub: Scrub
}

/**
 * While it is in use, a socket that has been silent for this long, in ms, is asked for a sign of
 * life, and given up when it stays silent for as long again. Below the 30 s after which the first
 * proxies forget a connection, and two of them below the default timeout of a call.
 */
export const SILENT_MS = 12_500
/**
 * Bytes of messages that wait for their decompression, above which nothing more is read: a server
 * can send them faster than they are undone.
 */
const MOST_WAITING = 8 * 1024 * 1024
/** Memory that a message takes beside its bytes while it waits. */
const MESSAGE_BYTES = 1024
/** Bytes of a compressed message that have its start in them: the codes, and text of some bytes. */
const COMPRESSED_START = 512
/** Time for the peer to answer a close frame, in ms. */
const CLOSE_MS = 1_000

const inflate = promisify(inflateRaw) as (body: Buffer, options: object) => Promise<Buffer>
/** What a sender leaves out at the end of a compressed message (RFC 7692, 7.2.2). */
const DEFLATE_END = Buffer.from([0x00, 0x00, 0xff, 0xff])

/**
 * An open WebSocket of a client: messages in both directions, and a heartbeat. It holds the process
 * up only while it is in use.
 *
 * A message that stops in its middle keeps all others back, so it ends the socket (`MessageWatch`).
 */
export class OpenSocket implements FrameHandler, Alarm {
  readonly #socket: Socket
  readonly #handler: SocketHandler
  readonly #options: OpenSocketOptions
  readonly #reader: FrameReader
  readonly #watch: MessageWatch
  #users = 0
  /** When something came last, or the first user did. */
  #heardAt = 0
  /** When a ping was sent after that; undefined where none was. */
  #pingedAt: number | undefined
  /** When the last user left. */
  #idleSince: number
  #closedBy: HexlineError | undefined
  /** Settles when the messages so far were decompressed and passed on, in their order. */
  #inflating: Promise<void> | undefined
  /** Bytes of the messages that wait for it. */
  #waitingBytes = 0
  #isPaused = false
  at = 0
  place = -1

  constructor({ socket, mayCompress }: Opened, handler: SocketHandler, options: OpenSocketOptions) {
    this.#socket = socket
    this.#handler = handler
    this.#options = options
    const reader = new FrameReader(this, { mayCompress })
    this.#reader = reader
    this.#watch = new MessageWatch(options, {
      pendingBytes: () => reader.pendingBytes ?? 0,
      patience: () => handler.patience(),
      late: (error) => this.#fail(error),
    })
    this.#idleSince = options.alarms.clock.now()
    // A small frame shall not wait for the acknowledgement of the one before it.
    socket.setNoDelay?.(true)
    socket.setTimeout?.(0)
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', (error) => this.#fail(this.#broken(error)))
    socket.on('end', () => this.#fail(this.#network('the server ended the connection')))
    socket.on('close', () => this.#fail(this.#network('the connection was closed')))
    this.#holdProcess(false)
  }

  get isOpen(): boolean {
    return this.#closedBy === undefined
  }

  /** Resolves when the messages so far have been decompressed; undefined when there are none. */
  get reading(): Promise<void> | undefined {
    return this.#inflating
  }

  send(message: string): void {
    if (this.isOpen) this.#socket.write(encodeFrame(TEXT, message, true))
  }

  /** Counts a user: a call in flight, or a subscription. */
  use(): void {
    if (this.#users++ > 0 || !this.isOpen) return
    const { clock } = this.#options.alarms
    this.#holdProcess(true)
    const now = clock.now()
    this.#heardAt = now
    this.#pingedAt = undefined
    // A connection that was idle for long may be gone without a word: it is asked at once.
    if (now - this.#idleSince >= SILENT_MS) this.#ping(now)
    this.#setAlarm(now + SILENT_MS)
    this.#watch.start()
  }

  /** A user of the socket has left. */
  leave(): void {
    if (--this.#users > 0) return
    const { alarms } = this.#options
    alarms.unset(this)
    this.#watch.stop()
    this.#idleSince = alarms.clock.now()
    if (this.isOpen) this.#holdProcess(false)
  }

  /** Closes the socket (RFC 6455, 7.1.1). `error` is what its handler is told. */
  close(error: HexlineError, code = NORMAL): void {
    if (!this.isOpen) return
    this.#socket.end(encodeFrame(CLOSE, closePayload(code), true))
    this.#fail(error)
  }

  /** The heartbeat. */
  ring(): void {
    if (this.#users === 0 || !this.isOpen) return
    const now = this.#options.alarms.clock.now()
    const dueAt = this.#isPaused ? now + SILENT_MS : (this.#pingedAt ?? this.#heardAt) + SILENT_MS
    if (now < dueAt) this.#setAlarm(dueAt)
    else if (this.#pingedAt === undefined) {
      this.#ping(now)
      this.#setAlarm(now + SILENT_MS)
    } else this.#fail(this.#network(`the server has been silent for ${2 * SILENT_MS} ms, and does not answer a ping`))
  }

  limitOf(head: Buffer, isCompressed: boolean): number {
    return this.#handler.limitOf(isCompressed ? undefined : head)
  }

  memoryFor(head: Buffer, size: number): Buffer | undefined {
    return this.#handler.memoryFor(head, size)
  }

  message(payload: Buffer, isCompressed: boolean): void {
    this.#watch.completed()
    if (isCompressed) this.#inOrder(() => this.#inflate(payload), payload.length + MESSAGE_BYTES)
    else if (this.#inflating === undefined) this.#handler.message(payload)
    else this.#inOrder(() => this.#handler.message(payload), payload.length + MESSAGE_BYTES)
  }

  tooLarge(head: Buffer, size: number, isCompressed: boolean): void {
    // A copy: what has arrived of the message would stay in memory with it.
    const start = Buffer.from(head.subarray(0, COMPRESSED_START))
    const tell = () => this.#handler.tooLarge(isCompressed ? inflatedStart(start) : start, size)
    // It may be the reply to what one before it leaves unanswered.
    if (this.#inflating === undefined) tell()
    else this.#inOrder(tell, MESSAGE_BYTES)
  }

  control(opcode: number, payload: Buffer): void {
    if (opcode === PING) {
      // A peer that sends pings and reads nothing must not fill the memory.
      if (!this.#socket.writableNeedDrain) this.#socket.write(encodeFrame(PONG, payload, true))
    } else if (opcode === CLOSE) this.#closedByPeer(payload)
  }

  #receive(chunk: Buffer): void {
    this.#heardAt = this.#options.alarms.clock.now()
    this.#pingedAt = undefined
    if (!this.isOpen) return
    try {
      this.#reader.push(chunk)
      this.#watch.received(this.#reader.isBetweenMessages)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      const { endpoint } = this.#options
      this.close(new MalformedReplyError(`${endpoint}: the WebSocket is not valid: ${error.message}`, { endpoint }), error.code)
    }
  }

  #closedByPeer(payload: Buffer): void {
    const code = payload.length < 2 ? NO_CODE : payload.readUInt16BE(0)
    const reason = excerpt(this.#options.scrub(payload.toString('utf8', 2)))
    const said = code === NO_CODE ? '' : ` with code ${code}${reason === '' ? '' : `: ${reason}`}`
    this.close(this.#network(`the server closed the WebSocket${said}`), code === NO_CODE ? NORMAL : code)
  }

  /** Calls `next` after what came before. Until then, it holds these bytes of a message. */
  #inOrder(next: () => unknown, bytes = 0): void {
    this.#waitingBytes += bytes
    const done = (this.#inflating ?? Promise.resolve()).then(next).then(() => {
      if (this.#inflating === done) this.#inflating = undefined
      this.#waitingBytes -= bytes
      if (this.#isPaused && this.#waitingBytes <= MOST_WAITING) this.#setPaused(false)
    })
    this.#inflating = done
    if (this.#waitingBytes > MOST_WAITING && !this.#isPaused) this.#setPaused(true)
  }

  /** A server has nothing to do with what is not read: it is neither silent, nor does it stall. */
  #setPaused(isPaused: boolean): void {
    if (!this.isOpen) return
    this.#isPaused = isPaused
    this.#heardAt = this.#options.alarms.clock.now()
    if (isPaused) {
      this.#socket.pause()
      this.#watch.pause()
    } else {
      this.#socket.resume()
      this.#watch.resume()
    }
  }

  async #inflate(payload: Buffer): Promise<void> {
    const limit = this.#handler.limitOf(undefined)
    let message: Buffer
    try {
      // A message has no last block.
      const options = { maxOutputLength: limit, finishFlush: constants.Z_SYNC_FLUSH }
      message = await inflate(Buffer.concat([payload, DEFLATE_END]), options)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return this.#handler.tooLarge(inflatedStart(payload), limit + 1)
      const { endpoint, scrub } = this.#options
      const cause = plainCause(error, scrub)
      return this.close(new MalformedReplyError(`${endpoint}: a message could not be decompressed: ${excerpt(cause.message)}`, { endpoint, cause }))
    }
    this.#handler.message(message)
  }

  #ping(now: number): void {
    this.#pingedAt = now
    this.#socket.write(encodeFrame(PING, EMPTY, true))
  }

  #setAlarm(at: number): void {
    const { alarms } = this.#options
    alarms.unset(this)
    this.at = at
    alarms.set(this)
  }

  #broken(error: Error): NetworkError {
    const cause = plainCause(error, this.#options.scrub)
    return this.#network(excerpt(cause.message), cause)
  }

  #network(what: string, cause?: Error): NetworkError {
    const { endpoint } = this.#options
    const receivedBytes = this.#reader.pendingBytes ?? 0
    const where = receivedBytes === 0 ? '' : ` in the middle of a message (${receivedBytes} bytes)`
    return new NetworkError(`${endpoint}: ${what}${where}`, { endpoint, cause, code: (cause as NodeJS.ErrnoException | undefined)?.code })
  }

  #fail(error: HexlineError): void {
    if (!this.isOpen) return
    this.#closedBy = error
    const { alarms } = this.#options
    alarms.unset(this)
    this.#watch.stop()
    this.#holdProcess(false)
    if (this.#socket.writableEnded) {
      // What is still written is the close frame; the peer's answer to it is not waited for.
      const timer = alarms.clock.wakeAt(alarms.clock.now() + CLOSE_MS, () => this.#socket.destroy())
      timer.unref()
      this.#socket.once('close', () => alarms.clock.cancel(timer))
    } else this.#socket.destroy()
    const tell = () => this.#handler.closed(error)
    if (this.#inflating === undefined) return void tell()
    this.#handler.ending()
    this.#inOrder(tell)
  }

  /** Whether the socket keeps the process alive. A proxy's or test's stream need not be one. */
  #holdProcess(isHeld: boolean): void {
    if (isHeld) this.#socket.ref?.()
    else this.#socket.unref?.()
  }
}

/** The start of a compressed message, where it can be decompressed. */
function inflatedStart(payload: Buffer): Buffer | undefined {
  try {
    const start = inflateRawSync(payload.subarray(0, COMPRESSED_START), { finishFlush: constants.Z_SYNC_FLUSH })
    return start.length < HEAD ? undefined : start
  } catch {
    return undefined
  }
}

const EMPTY = Buffer.alloc(0)
