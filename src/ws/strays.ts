import { LimitError, MalformedReplyError } from '../errors.ts'
import type { HttpReply } from '../http/exchange.ts'
import { type Scrub, scrubStart } from '../http/secrets.ts'
import { excerpt } from '../text.ts'
import type { Alarm } from '../wait/alarms.ts'
import type { Pending, PendingOptions } from './pending.ts'

/** A message that answers a request, but does not say which. */
export interface Stray {
  /** Undefined where it was too long to be kept. */
  readonly body: Buffer | undefined
  /** Its size in bytes, as far as is known. */
  readonly size: number
}

/** The endpoint whose messages they are. */
export interface StraysOptions extends PendingOptions {
  /** Hides the endpoint's secrets. */
  readonly scrub: Scrub
}

/** What came for a request. */
export type Received = HttpReply | LimitError | MalformedReplyError

/** Longest part of a stray that an error shows, and that is searched for secrets. */
const MOST_SHOWN = 500
const MOST_SEARCHED = 16_384

/**
 * Finds out which requests were answered by messages that do not say so. Such a stray may be the
 * reply to any request that had been sent when it came, and has no reply yet; not to one that was
 * given up and would have timed out by now. Once there are no more such requests than strays, each
 * request has been answered: with a stray, where all say the same, or with an error that nobody can
 * tell from the others.
 */
export class Strays implements Alarm {
  readonly #options: StraysOptions
  readonly #unanswered: readonly Pending[]
  readonly #answer: (pending: Pending, received: Received) => void
  /** In the order in which they came, with the last id that had been sent. */
  #strays: (Stray & { readonly lastId: number })[] = []
  #isSettling = false
  at = 0
  place = -1

  /** `unanswered` are the requests without a reply, at any time. */
  constructor(options: StraysOptions, unanswered: readonly Pending[], answer: (pending: Pending, received: Received) => void) {
    this.#options = options
    this.#unanswered = unanswered
    this.#answer = answer
  }

  add(stray: Stray): void {
    const lastId = this.#unanswered.reduce((last, { first }) => Math.max(last, first), 0)
    this.#strays.push({ ...stray, lastId })
    this.settle()
  }

  /** To be called when a request was answered, or given up. */
  settle(): void {
    // Each answer calls it again.
    if (this.#isSettling) return
    this.#isSettling = true
    try {
      while (this.#settleSome());
    } finally {
      this.#isSettling = false
    }
  }

  clear(): void {
    this.#strays = []
    this.#options.alarms.unset(this)
  }

  ring(): void {
    this.settle()
  }

  #settleSome(): boolean {
    if (this.#strays.length === 0) return false
    const { alarms } = this.#options
    alarms.unset(this)
    const now = alarms.clock.now()
    const requests = this.#unanswered.filter(({ isSettled, at }) => !isSettled || at > now).sort((a, b) => a.first - b.first)
    // A stray may be the reply to whatever one before it may be the reply to.
    for (const [i, { lastId }] of this.#strays.entries()) {
      const answered = requests.filter(({ first }) => first <= lastId)
      if (answered.length > i + 1) continue
      const strays = this.#strays.slice(0, i + 1)
      const areAlike = isAlike(strays)
      // Other messages may be no replies at all.
      if (!areAlike && !strays.every(({ body }) => body !== undefined && errorIn(body) !== undefined)) continue
      this.#strays.splice(0, i + 1)
      for (const [place, pending] of answered.entries()) {
        // The socket may end with the answer before, and fails all others.
        if (!this.#unanswered.includes(pending)) continue
        const { body, size } = strays[place] as Stray
        if (!areAlike) this.#answer(pending, this.#mixedUp(strays))
        else this.#answer(pending, body === undefined ? tooLarge(this.#options, pending.maxBytes, size) : replyTo(pending, body, this.#options))
      }
      return true
    }
    this.#wakeFor(requests)
    return false
  }

  /** Where a request still counts that was given up, and another one waits for that. */
  #wakeFor(requests: readonly Pending[]): void {
    const givenUp = requests.filter(({ isSettled }) => isSettled)
    if (givenUp.length === 0 || givenUp.length === requests.length) return
    this.at = Math.min(...givenUp.map(({ at }) => at))
    this.#options.alarms.set(this)
  }

  #mixedUp(strays: readonly Stray[]): MalformedReplyError {
    const { url, scrub } = this.#options
    const { host } = url
    const { body } = strays.at(-1) as Stray
    const last = scrubStart((body as Buffer).toString('utf8', 0, MOST_SEARCHED), MOST_SHOWN, scrub)
    return new MalformedReplyError(`${host}: ${strays.length} different errors came without the ids of their requests; the last one: ${excerpt(last)}`, {
      endpoint: host,
    })
  }
}

/** What a request gets where this is its reply. */
export function replyTo(pending: Pending, body: Buffer, options: PendingOptions): Received {
  const { length } = body
  return length > pending.maxBytes ? tooLarge(options, pending.maxBytes, length) : { status: 200, headers: {}, body, wireBytes: length }
}

/** What a request gets where its reply is at least this long. */
export function tooLarge({ url }: PendingOptions, limit: number, size: number): LimitError {
  const endpoint = url.host
  return new LimitError(`${endpoint}: the reply has at least ${size} bytes; maxResponseBytes allows ${limit}`, 'response-too-large', {
    endpoint,
    limit,
    size,
  })
}

/** All say the same: it does not matter which of them is whose. */
function isAlike([one, ...others]: readonly Stray[]): boolean {
  return others.every(({ body }) => {
    if (one?.body === undefined || body === undefined) return one?.body === body
    const error = errorIn(body)
    return body.equals(one.body) || (error !== undefined && error === errorIn(one.body))
  })
}

/** The code and the words of an error; undefined for any other message. */
function errorIn(body: Buffer): string | undefined {
  try {
    const { error } = JSON.parse(body.toString()) as { error?: { code?: unknown; message?: unknown } }
    return typeof error?.message === 'string' ? JSON.stringify([error.code, error.message]) : undefined
  } catch {
    return undefined
  }
}
