import type { Client, Request } from '../client/client.ts'
import { clockOf, deadlineOf, napOf, ONLY, type RequestMarks } from '../client/internals.ts'
import { type HexlineError, HttpError, TimeoutError } from '../errors.ts'
import type { Reply } from '../rpc/call.ts'
import { isFailure, isThrottled, mayRepeat } from '../rpc/failure-kinds.ts'
import type { Clock } from '../wait/clock.ts'

/** A call that fails after this share of the time up to its deadline has waited for most of it. */
const MOST_OF_DEADLINE = 3 / 4
/** Attempts that say enough about an endpoint: the default of a client's calls. */
const ENOUGH_ATTEMPTS = 4
/** Most times that a call which waited, and failed in fewer attempts, is sent again. */
const MOST_REPEATS = 3
/**
 * How long after the job's last answer calls are repeated at a gateway that has lost its node, and
 * the interval between attempts, in ms.
 */
const GATEWAY_MS = 30_000
const REPEAT_EVERY_MS = 500
/**
 * Most times that it is repeated while other calls are answered: a node is there, so the reply is
 * about the call, or another node behind the URL is gone.
 */
const MOST_AMONG_ANSWERS = 6
/** The same where the call may be too much for the gateway. */
const MOST_IF_TOO_MUCH = 2

/**
 * Sends the calls of a bulk job, which are reads, and repeats one above the retry layer where its
 * failure shows only that the node is slow, while others are answered:
 * - A deadline that passes in line, or while the call is throttled, says nothing against the call.
 *   Nor does one that passes in the first POST.
 * - Where waiting in line has left time for fewer attempts than the call may have, and those
 *   failed, it is sent again three times at most.
 * - Once a call of the job has been answered, a reply such as an HTML page with HTTP 404 is not
 *   about the call: the gateway has lost its node, as in an update. The call is repeated until no
 *   call has been answered for 30 s, or for `deadlineMs` if that is shorter; six times, if others
 *   are answered meanwhile.
 *
 * Where what is asked for may be too much, a reply that does not come in time is a reason to ask
 * for less, and such a call is not repeated.
 *
 * The calls of a job, of whatever method, share one: each shows that others are answered.
 */
export class PatientCalls {
  static readonly #ofJobs = new WeakMap<Client, PatientCalls>()

  readonly #clock: Clock
  readonly #deadlineMs: number
  /** Calls that were answered so far. */
  #answered = 0
  #answeredAt = Number.NEGATIVE_INFINITY

  readonly #onReply = (reply: Reply) => {
    this.#answered++
    this.#answeredAt = this.#clock.now()
    return reply
  }

  /** A client for one job: all of its parts that are given it share their `PatientCalls`. */
  static jobOf(client: Client): Client {
    const job = client.with({})
    PatientCalls.#ofJobs.set(job, new PatientCalls(job))
    return job
  }

  /** Those of the job whose client this is; else new ones. */
  static of(client: Client): PatientCalls {
    return PatientCalls.#ofJobs.get(client) ?? new PatientCalls(client)
  }

  private constructor(client: Client) {
    this.#clock = clockOf(client)
    this.#deadlineMs = deadlineOf(client)
  }

  send(client: Client, request: Request & RequestMarks, { mayBeTooMuch = false } = {}): Promise<Reply> {
    return this.#outlast(client, request, mayBeTooMuch, mayBeTooMuch ? MOST_IF_TOO_MUCH : MOST_AMONG_ANSWERS)
  }

  /** Repeats a call at a gateway that has lost its node. */
  async #outlast(client: Client, request: Request & RequestMarks, mayBeTooMuch: boolean, amongAnswers: number): Promise<Reply> {
    const answered = this.#answered
    return this.#send(client, request, mayBeTooMuch, MOST_REPEATS).catch(async (error) => {
      const now = this.#clock.now()
      const left = this.#answered > answered ? amongAnswers - 1 : amongAnswers
      const isLost = hasLostNode(error) && request[ONLY] === undefined && now - this.#answeredAt < Math.min(GATEWAY_MS, this.#deadlineMs)
      if (!isLost || left < 0) throw error
      await napOf(client)(request.method, now + REPEAT_EVERY_MS, request.signal).over
      return this.#outlast(client, request, mayBeTooMuch, left)
    })
  }

  /** `before` is how the node throttled the call, when it was sent before. */
  #send(client: Client, request: Request & RequestMarks, mayBeTooMuch: boolean, repeats: number, before?: HexlineError): Promise<Reply> {
    const answered = this.#answered
    const began = this.#clock.now()
    return client.send(request).then(this.#onReply, (error) => {
      const areOthersAnswered = this.#answered > answered
      const isTimeout = error instanceof TimeoutError
      if (!isFailure(error) || !areOthersAnswered) throw isTimeout && error.attempts === 0 ? (before ?? error) : error
      if (isThrottled(error)) return this.#send(client, request, mayBeTooMuch, repeats, error)
      const asksForLess = isTimeout && mayBeTooMuch
      if (isTimeout && error.attempts <= (asksForLess ? 0 : 1)) return this.#send(client, request, mayBeTooMuch, repeats, before)
      const enough = Math.min(ENOUGH_ATTEMPTS, request.attempts ?? ENOUGH_ATTEMPTS)
      const hasWaited = this.#clock.now() - began >= MOST_OF_DEADLINE * this.#deadlineMs && error.attempts < enough
      if (!hasWaited || asksForLess || mayRepeat(error) !== true || repeats === 0) throw error
      return this.#send(client, request, mayBeTooMuch, repeats - 1, before)
    })
  }
}

/** A status that gateways give while they have no node, with a body that is no JSON. */
export function hasLostNode(error: unknown): boolean {
  return error instanceof HttpError && WITHOUT_NODE.includes(error.status) && !/^\s*[[{]/.test(error.body)
}

const WITHOUT_NODE = [302, 303, 307, 400, 403, 404, 405, 410]
