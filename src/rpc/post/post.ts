import { type HexlineError, LimitError, NetworkError } from '../../errors.ts'
import type { Exchange, HttpReply } from '../../http/exchange.ts'
import type { Clock } from '../../wait/clock.ts'
import type { BodyPool } from '../body-pool.ts'
import { type Call, type EncodedCall, type Outcome, type PooledCall, type Post, patienceOf } from '../call.ts'
import { type PostFigures, recordOf } from '../call-record.ts'
import { copyError } from '../copy-error.ts'
import { isFailure } from '../failure-kinds.ts'
import { releasableReply, replyOf } from '../reply.ts'
import { setBounded } from '../set-bounded.ts'
import { parseBody, resultFor, scanBody } from './body.ts'
import { correlate, isError, isResultOf, type ReplyObject } from './correlate.ts'
import { decodedReplies } from './decoded.ts'
import { watchPost } from './observe.ts'
import { ReplyErrors, type ReplyErrorsOptions } from './reply-errors.ts'
import { unreadResults } from './unread.ts'

/** How POSTs reach one endpoint, and how its replies are read. */
export interface PostOptions extends Omit<ReplyErrorsOptions, 'isAnswering'> {
  readonly exchange: Exchange
  /** Path and query of the endpoint. */
  readonly path: string
  /** Ids of the client's calls; advanced by each POST. */
  readonly ids: { next: number }
  readonly clock: Clock
}

/** How replies are read. */
interface ReadOptions extends ReplyErrorsOptions {
  readonly cuts: Cuts
}

/** An endpoint answers calls of a method for this long, in ms, after it has answered one. */
const ANSWERING_MS = 2000

/** When the endpoint last answered a call of each method. Most calls are of the last one's. */
class Answered {
  #method = ''
  #at = Number.NEGATIVE_INFINITY
  readonly #others = new Map<string, number>()

  note(calls: readonly Call[], outcomes: readonly Outcome[], now: number): void {
    for (let i = 0; i < calls.length; i++) {
      const { method } = calls[i] as Call
      if ((method === this.#method && this.#at === now) || outcomes[i] instanceof Error) continue
      if (method !== this.#method) setBounded(this.#others, this.#method, this.#at)
      this.#method = method
      this.#at = now
    }
  }

  at(method: string): number {
    return method === this.#method ? this.#at : (this.#others.get(method) ?? Number.NEGATIVE_INFINITY)
  }
}

/**
 * Longest reply to several calls, in bytes. A larger one is cut, and asked for in smaller batches:
 * until it is whole, a reply counts against no bound on memory, and a batch that was right for
 * small replies may meet large ones.
 */
const MOST_FOR_A_BATCH = 16 * 1024 * 1024

/**
 * Encodes the envelope, makes one exchange and gives each call the reply with its id. Rejects with
 * the signal's reason when that has ended the exchange.
 */
export function createPost(options: PostOptions): Post {
  const { endpoint, exchange, path, ids, clock } = options
  const cuts = new Cuts()
  const answered = new Answered()
  const isAnswering = (method: string) => clock.now() - answered.at(method) < ANSWERING_MS
  const reading: ReadOptions = { ...options, cuts, isAnswering }
  return async (calls, signal) => {
    const first = ids.next
    ids.next += calls.length
    const onPosted = watchPost(endpoint, calls, signal, clock)
    // Where the calls belong to several jobs, the first one's.
    const bodies = calls.every(({ isUnread }) => isUnread) ? (calls[0] as PooledCall).bodies : undefined
    let reply: HttpReply
    try {
      const maxBytes = calls.length > 1 ? MOST_FOR_A_BATCH : undefined
      reply = await exchange.send(
        { method: 'POST', path, body: encode(calls, first), maxBytes, patience: patienceOf(calls), bodies, firstId: first, count: calls.length },
        signal,
      )
    } catch (error) {
      if (!isFailure(error)) {
        onPosted?.([])
        throw error
      }
      const failure = cutShort(error, calls.length, cuts)
      // By the name that routing knows: two endpoints may share a host.
      const failures = calls.map((call) => Object.assign(copyError(failure, call.method), { endpoint }))
      onPosted?.(failures)
      return failures
    }
    reportFigures(calls, reply)
    const outcomes = read(reply, calls, first, reading)
    answered.note(calls, outcomes, clock.now())
    onPosted?.(outcomes, reply)
    return bodies === undefined ? outcomes : releasable(outcomes, reply.body, bodies)
  }
}

/** Gives the size of the POST to the records of its calls, as far as they are measured. */
function reportFigures(calls: readonly Call[], { body, wireBytes }: HttpReply): void {
  let post: PostFigures | undefined
  for (const call of calls) {
    const record = recordOf(call)
    if (record?.isMeasured !== true) continue
    post ??= { calls: calls.length, bytes: body.length, wireBytes }
    record.post = post
  }
}

/** A reply that ends before this many bytes on the wire was not cut for its size. */
const LEAST_CUT = 64 * 1024

/**
 * Some gateways cut replies that are too large for them: a smaller batch may get a whole one. Other
 * replies end in their middle by chance; a longer one that came whole shows that. Half of its size
 * counts after each cut by chance, since the gateway may have changed.
 */
class Cuts {
  #longestWhole = 0

  /** A reply of this size came whole. */
  whole({ wireBytes }: HttpReply): void {
    if (wireBytes > this.#longestWhole) this.#longestWhole = wireBytes
  }

  /**
   * The reply to several calls ended in its middle, after this many bytes on the wire: was it for
   * its size?
   */
  isForSize(wireBytes: number): boolean {
    if (wireBytes < LEAST_CUT) return false
    const isByChance = wireBytes < this.#longestWhole
    if (isByChance) this.#longestWhole = Math.floor(this.#longestWhole / 2)
    return !isByChance
  }
}

/** The failure, or that of a reply that was cut for its size. */
function cutShort(failure: HexlineError, calls: number, cuts: Cuts): HexlineError {
  if (calls === 1 || !(failure instanceof NetworkError) || !cuts.isForSize(failure.receivedBytes)) return failure
  const { endpoint, receivedBytes, message, cause } = failure
  return new LimitError(`${message} (the reply to ${calls} calls)`, 'response-too-large', { endpoint, limit: receivedBytes, size: receivedBytes, cause })
}

/** Outcomes whose replies lie in `body`, which goes back when all of them have been released. */
function releasable(outcomes: readonly Outcome[], body: Buffer, bodies: BodyPool): readonly Outcome[] {
  let held = 0
  const release = () => {
    if (--held === 0) bodies.release(body)
  }
  return outcomes.map((outcome) => {
    if (outcome instanceof Error) return outcome
    held++
    return releasableReply(outcome.take(), outcome.bytes, release)
  })
}

/** A single call is sent as an object, several as an array. */
function encode(calls: readonly Call[], first: number): string {
  let body = ''
  let method: string | undefined
  let quoted = ''
  for (let i = 0; i < calls.length; i++) {
    const call = calls[i] as Call
    if (call.method !== method) {
      method = call.method
      quoted = JSON.stringify(method)
    }
    const params = (call as Partial<EncodedCall>).json ?? JSON.stringify(call.params)
    body += `${i === 0 ? '' : ','}{"jsonrpc":"2.0","id":${first + i},"method":${quoted},"params":${params}}`
  }
  return calls.length === 1 ? body : `[${body}]`
}

const OPEN_BRACKET = 0x5b

/** The body begins as a batch reply does, and does not end as one: it was cut. */
function isStartOfArray(body: Buffer): boolean {
  if (body[0] !== OPEN_BRACKET) return false
  const end = body.toString('latin1', body.length - 16).trimEnd()
  return !end.endsWith(']')
}

function read(reply: HttpReply, calls: readonly Call[], first: number, options: ReadOptions): readonly Outcome[] {
  const { cuts } = options
  if (reply.unsent) {
    const failures = new ReplyErrors(reply, options)
    return calls.map((call) => failures.notConnected(call))
  }
  const isBatch = calls.length > 1
  if (calls.every(({ isUnread }) => isUnread)) {
    const results = unreadResults(reply.body, first, calls.length)
    if (results !== undefined) {
      cuts.whole(reply)
      return results.map((bytes) => replyOf(bytes, bytes.length))
    }
  }
  const decoded = decodedReplies(reply.body, calls, first)
  if (decoded !== undefined) {
    cuts.whole(reply)
    return decoded
  }
  const isScanned = calls.some((call) => call.as === 'bytes')
  let body: unknown
  try {
    body = isScanned ? scanBody(reply.body, first, calls.length) : parseBody(reply.body)
  } catch {
    const isCut = isBatch && reply.status < 300 && isStartOfArray(reply.body) && cuts.isForSize(reply.wireBytes)
    const failures = new ReplyErrors(reply, options)
    return calls.map((call) => failures.unreadable(call, isBatch, isCut))
  }
  cuts.whole(reply)
  // The usual reply to a lone call takes a short way: its caller waits for nothing else.
  if (!isBatch && !isScanned && isResultOf(body, first)) return [replyOf(body.result, reply.body.length)]
  const failures = new ReplyErrors(reply, options)
  const { replies, refusal, stray } = correlate(body, first, calls.length)
  if (refusal !== undefined && !failures.isOwn(calls[replies.indexOf(refusal)], refusal)) return calls.map((call) => failures.refused(call, refusal))
  return calls.map((call, i) => {
    const match = replies[i] as ReplyObject | string
    if (typeof match === 'string') return failures.unmatched(call, match, stray, isBatch)
    if (isError(match)) return failures.fromErrorObject(call, match.error)
    try {
      return resultFor(call, match.result, isScanned, shareOf(reply.body.length, calls.length, i))
    } catch {
      return failures.unmatched(call, 'its result is not JSON', stray, isBatch)
    }
  })
}

/** The size of share `i`, from 0, of equal shares: whole numbers that add up to `total`. */
function shareOf(total: number, shares: number, i: number): number {
  return Math.floor(((i + 1) * total) / shares) - Math.floor((i * total) / shares)
}
