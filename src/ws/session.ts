import type { HexlineError } from '../errors.ts'
import type { BodyProgress } from '../http/progress.ts'
import { append, remove } from '../wait/listeners.ts'
import { HEAD } from './frame-reader.ts'
import type { Opened } from './handshake.ts'
import { OpenSocket, type SocketHandler } from './open-socket.ts'
import { ended, type Pending, type Sender } from './pending.ts'
import { recipientByStart, recipientOf, recipientOfPart } from './recipient.ts'
import { type Received, replyTo, Strays, type StraysOptions, tooLarge } from './strays.ts'
import { type LiveSubscription, type SubscriptionListener, Subscriptions } from './subscriptions.ts'

/** What a session knows about its endpoint. */
export type SessionOptions = StraysOptions

/** Requests without a reply after which a socket is replaced. */
const MOST_UNANSWERED = 1000

/** What a session reports to its exchange. */
export interface SessionOwner {
  isSubscribing(): boolean
  answered(session: Session): void
  /** It takes no new requests. */
  replaced(session: Session): void
  ended(session: Session): void
}

/** One open socket, its requests in flight and its subscriptions. */
export class Session implements SocketHandler, Sender {
  readonly #options: SessionOptions
  readonly #owner: SessionOwner
  readonly #socket: OpenSocket
  /** Requests whose replies have not come, including those that were given up. */
  readonly #unanswered: Pending[] = []
  readonly #subscriptions: Subscriptions
  /** Replies so far. */
  #answers = 0
  #firstId = Number.POSITIVE_INFINITY
  #lastId = Number.NEGATIVE_INFINITY
  #isReplaced = false
  /**
   * When the first of the requests that were given up would have timed out. No reply has come since
   * it was sent.
   */
  #muteAt = Number.POSITIVE_INFINITY
  readonly #strays: Strays
  #endedBy: HexlineError | undefined

  constructor(opened: Opened, options: SessionOptions, progress: BodyProgress, owner: SessionOwner) {
    this.#options = options
    this.#owner = owner
    const { url, scrub, alarms, timeoutMs } = options
    this.#subscriptions = new Subscriptions(url.host, () => owner.isSubscribing())
    this.#strays = new Strays(options, this.#unanswered, (pending, received) => this.#answer(pending, received))
    this.#socket = new OpenSocket(opened, this, { endpoint: url.host, scrub, alarms, progress, timeoutMs })
  }

  send(pending: Pending): void {
    if (!this.#socket.isOpen) return void pending.fail(ended(this.#options))
    // Requests that waited for the socket may follow one that was made when it had just opened.
    this.#firstId = Math.min(this.#firstId, pending.first)
    this.#lastId = Math.max(this.#lastId, pending.first + pending.count - 1)
    append(this.#unanswered, pending)
    pending.sentBy(this, this.#answers)
    this.#socket.use()
    this.#socket.send(pending.takeBody())
  }

  /**
   * Passes on what came for this subscription, and what comes. It may have ended with the socket,
   * in the same moment in which it began. Throws `IntegrityError` if another one has the id, and
   * asked for something else.
   */
  subscribe(id: string, listener: SubscriptionListener): LiveSubscription {
    const live = this.#subscriptions.add(id, listener, () => {
      this.#socket.leave()
      this.#endIfUnused()
    })
    this.#socket.use()
    listener.started()
    this.#subscriptions.claim(id, listener)
    if (this.#endedBy !== undefined) this.#subscriptions.lose(this.#endedBy)
    const isReplaced = () => this.#isReplaced
    return {
      // What is sent now goes to another socket, on which the id may be that of another one.
      get id() {
        return isReplaced() ? undefined : live.id
      },
      stop: live.stop,
    }
  }

  /** As of `Subscriptions`. */
  endOf(id: string): Promise<void> | undefined {
    return this.#subscriptions.endOf(id)
  }

  forgetUnclaimed(): void {
    this.#subscriptions.forgetUnclaimed()
  }

  /**
   * This request was given up. Its reply may still come, and must not be taken for another one's.
   */
  gaveUp(pending: Pending, hasTimedOut: boolean): void {
    this.#socket.leave()
    const isUnheard = pending.answersBefore === this.#answers
    if (isUnheard) this.#muteAt = Math.min(this.#muteAt, pending.at)
    // No reply at all has come since it was sent: another socket may lead to a server that works.
    if ((isUnheard && hasTimedOut) || this.#unanswered.length > MOST_UNANSWERED) this.#replace()
    this.#strays.settle()
    this.#endIfUnused()
  }

  /**
   * Makes room for another socket where no reply has come for as long as a request may take. None
   * needs to have timed out: all callers may have had shorter deadlines. Notifications do not show
   * that requests are answered.
   */
  replaceIfMute(): void {
    if (this.#muteAt > this.#options.alarms.clock.now()) return
    this.#replace()
    this.#endIfUnused()
  }

  get reading(): Promise<void> | undefined {
    return this.#socket.reading
  }

  close(error: HexlineError): void {
    this.#socket.close(error)
  }

  limitOf(head: Buffer | undefined): number {
    const { maxResponseBytes } = this.#options
    // Most requests have no limit of their own: whose reply it is need not be known.
    for (const { maxBytes } of this.#unanswered) {
      if (maxBytes < maxResponseBytes) return Math.min(maxResponseBytes, this.#byStart(head)?.maxBytes ?? maxResponseBytes)
    }
    return maxResponseBytes
  }

  memoryFor(head: Buffer, size: number): Buffer | undefined {
    return this.#byStart(head)?.bodies?.take(size)
  }

  message(body: Buffer): void {
    const recipient = recipientOf(body, (id) => this.#isOwn(id))
    if (recipient === 'subscription') return void this.#subscriptions.notify(body)
    if (recipient === 'notification') return
    if (recipient === undefined) return void this.#strays.add({ body, size: body.length })
    const pending = this.#find(recipient)
    // Otherwise, the reply came too late, or twice.
    if (pending !== undefined) this.#answer(pending, replyTo(pending, body, this.#options))
  }

  tooLarge(head: Buffer | undefined, size: number): void {
    const start = head?.subarray(0, HEAD)
    const recipient = start && recipientOfPart(start)
    if (recipient === 'subscription') return void this.#subscriptions.missed(start as Buffer)
    if (recipient === 'notification') return
    if (recipient === undefined || !this.#isOwn(recipient)) return void this.#strays.add({ body: undefined, size })
    const pending = this.#find(recipient)
    if (pending !== undefined) this.#answer(pending, tooLarge(this.#options, pending.maxBytes, size))
  }

  /** Whose message it is may not be known yet: that of the most patient request. */
  patience(): number {
    return Math.max(1, ...this.#unanswered.filter(({ isSettled }) => !isSettled).map(({ patience }) => patience))
  }

  ending(): void {
    this.#replace()
  }

  closed(error: HexlineError): void {
    this.#endedBy = error
    this.#owner.ended(this)
    for (const pending of this.#unanswered) pending.fail(error)
    this.#unanswered.length = 0
    this.#strays.clear()
    this.#subscriptions.lose(error)
  }

  /** The id is one of a request that was sent here. */
  #isOwn(id: number): boolean {
    return id >= this.#firstId && id <= this.#lastId
  }

  #find(id: number): Pending | undefined {
    for (const pending of this.#unanswered) if (id >= pending.first && id < pending.first + pending.count) return pending
    return undefined
  }

  #byStart(head: Buffer | undefined): Pending | undefined {
    const recipient = head && recipientByStart(head)
    return typeof recipient === 'number' ? this.#find(recipient) : undefined
  }

  #answer(pending: Pending, received: Received): void {
    remove(this.#unanswered, pending)
    this.#answers++
    this.#muteAt = Number.POSITIVE_INFINITY
    this.#owner.answered(this)
    if (!pending.isSettled) {
      this.#socket.leave()
      if (received instanceof Error) pending.fail(received)
      else pending.succeed(received)
    }
    this.#strays.settle()
    this.#endIfUnused()
  }

  #replace(): void {
    this.#isReplaced = true
    this.#owner.replaced(this)
  }

  #endIfUnused(): void {
    if (!this.#isReplaced || this.#unanswered.some(({ isSettled }) => !isSettled)) return
    this.#socket.close(ended(this.#options))
  }
}
