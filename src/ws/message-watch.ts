import { TimeoutError } from '../errors.ts'
import { type BodyProgress, Stall } from '../http/progress.ts'
import type { Alarm, Alarms } from '../wait/alarms.ts'

/** An endpoint, and how long its messages may take. */
export interface MessageWatchOptions {
  /** The endpoint's host and port, for errors. */
  readonly endpoint: string
  readonly alarms: Alarms
  /** How long a message may stall, over all sockets of the endpoint. */
  readonly progress: BodyProgress
  /** Time for one message, from its first byte to its last, in ms. */
  readonly timeoutMs: number
}

/** The socket whose messages are watched. */
export interface WatchedSocket {
  /** Bytes of the message that has begun. */
  pendingBytes(): number
  /** Multiple of the usual stall that it may reach. */
  patience(): number
  /** It has stalled, or takes too long. */
  late(error: TimeoutError): void
}

/**
 * Finds the message that stops in its middle: after the stall that a body over HTTP may have, and
 * after `timeoutMs` where its bytes keep trickling. Time counts from `start` to `stop`, and not
 * while reading is paused.
 */
export class MessageWatch implements Alarm {
  readonly #options: MessageWatchOptions
  readonly #socket: WatchedSocket
  #isOn = false
  #isPaused = false
  /** The chunk before ended in the middle of a message. */
  #isInMessage = false
  /** When the message began that is incomplete; undefined where there is none. */
  #begunAt: number | undefined
  /** Since its last bytes came. */
  readonly #stall: Stall
  at = 0
  place = -1

  constructor(options: MessageWatchOptions, socket: WatchedSocket) {
    this.#options = options
    this.#socket = socket
    this.#stall = new Stall(options.alarms.clock.now())
  }

  start(): void {
    this.#isOn = true
    if (this.#begunAt !== undefined) this.#checkIn(Stall.stepMs)
  }

  stop(): void {
    this.#isOn = false
    this.#options.alarms.unset(this)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    if (this.#begunAt === undefined) return
    const now = this.#options.alarms.clock.now()
    this.#begunAt = now
    this.#stall.restart(now)
    if (this.#isOn) this.#checkIn(Stall.stepMs)
  }

  /** A message is complete. Another one may have begun in the same chunk. */
  completed(): void {
    this.#begunAt = undefined
  }

  /** A chunk was read, which ends between two messages or in the middle of one. */
  received(isBetweenMessages: boolean): void {
    const { alarms, progress } = this.#options
    const wasInMessage = this.#isInMessage
    this.#isInMessage = !isBetweenMessages
    if (isBetweenMessages) {
      this.#begunAt = undefined
      if (!wasInMessage) return
      progress.completed()
      alarms.unset(this)
      return
    }
    const now = alarms.clock.now()
    if (wasInMessage) progress.resumed(this.#stall.msAt(now), now)
    this.#begunAt ??= now
    this.#stall.restart(now)
    if (this.#isOn && this.place < 0) this.#checkIn(Stall.stepMs)
  }

  ring(): void {
    if (this.#begunAt === undefined || this.#isPaused) return
    const { endpoint, alarms, progress, timeoutMs } = this.#options
    const now = alarms.clock.now()
    const limitMs = progress.limitMs * this.#socket.patience()
    const [waitedMs, readMs] = [this.#stall.msAt(now), now - this.#begunAt]
    const bytes = this.#socket.pendingBytes()
    if (waitedMs >= limitMs) {
      const message = `${endpoint}: a message stalled after ${bytes} bytes: no data for ${Math.round(waitedMs)} ms`
      this.#socket.late(new TimeoutError(message, { endpoint, stalled: true }))
    } else if (readMs >= timeoutMs) {
      this.#socket.late(new TimeoutError(`${endpoint}: a message was still incomplete (${bytes} bytes) within ${timeoutMs} ms`, { endpoint }))
    } else this.#checkIn(Math.min(Stall.stepMs, limitMs - waitedMs, timeoutMs - readMs))
  }

  #checkIn(ms: number): void {
    const { alarms } = this.#options
    alarms.unset(this)
    // A remainder from rounding would be no time at all on the clock.
    this.at = alarms.clock.now() + Math.max(1, ms)
    alarms.set(this)
  }
}
