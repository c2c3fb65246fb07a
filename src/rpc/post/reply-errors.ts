import { type AnswerKind, type ErrorKind, type HexlineError, HttpError, LimitError, MalformedReplyError, RpcError } from '../../errors.ts'
import type { HttpReply } from '../../http/exchange.ts'
import { scrubJson } from '../../http/scrub-json.ts'
import { type Scrub, scrubStart } from '../../http/secrets.ts'
import { excerpt, LONGEST_MESSAGE } from '../../text.ts'
import type { Call } from '../call.ts'
import { guessed, isThrottled, refusesEverybody, unanswered } from '../failure-kinds.ts'
import { limitResetMs, retryAfterMs, waitSaid } from '../retry-delay.ts'
import { isMissing, type ReplyObject } from './correlate.ts'

/** What a node said about a failure, for the table that finds its kind. */
export interface Failure {
  readonly method: string
  /** HTTP status. */
  readonly status: number
  /** Code of the JSON-RPC error object; undefined when the body had none. */
  readonly code?: number
  /** Message of the error object, or the start of the body. */
  readonly message: string
  readonly data?: unknown
  /** What `Retry-After` asked for, in ms. */
  readonly retryAfterMs: number | undefined
  /** The endpoint answers other calls of the method, and this one may run twice. */
  readonly isOneOfMany?: boolean
}

/** Finds the kind of a failure; undefined when the table does not know it. */
export type Classify = (failure: Failure) => AnswerKind | undefined

/** What the errors of an endpoint's replies are made with. */
export interface ReplyErrorsOptions {
  /** The endpoint's host, for errors. */
  readonly endpoint: string
  readonly scrub: Scrub
  readonly classify: Classify
  /** The endpoint has just answered another call of this method. */
  readonly isAnswering: (method: string) => boolean
}

/** Longest part of a body that an error keeps. */
const BODY_START = 500
/**
 * Statuses with which servers without batches turn one away: bad request, method not allowed,
 * unsupported media type, unprocessable.
 */
const NOT_A_BATCH = [400, 405, 415, 422]
/**
 * Bytes of a body that are searched for secrets: enough for the start, with any secret that begins
 * in it.
 */
const SEARCHED = 16_384

/**
 * What is kept of an error object in a reply: its fields without secrets, and no longer than
 * `scrubJson` and `LONGEST_MESSAGE` allow.
 */
interface ErrorObject {
  readonly code: unknown
  readonly message: string
  readonly data: unknown
  readonly whole: unknown
}

/**
 * Makes the errors of one reply. All text of the server goes through `scrub`: it may echo the URL,
 * and with it the key.
 */
export class ReplyErrors {
  readonly #reply: HttpReply
  readonly #options: ReplyErrorsOptions
  #scrubbedStart: string | undefined
  /** By error object: one object may refuse a whole batch. */
  readonly #objects = new Map<unknown, ErrorObject>()

  constructor(reply: HttpReply, options: ReplyErrorsOptions) {
    this.#reply = reply
    this.#options = options
  }

  /**
   * The failure of `call` by the error object that came for it. Some servers send a string, or
   * leave the code out. Gateways do so beside an HTTP status that says more: then it is an
   * `HttpError`.
   */
  fromErrorObject({ method, safe }: Call, error: unknown, kindOf: (kind: AnswerKind | undefined) => AnswerKind | undefined = (kind) => kind): HexlineError {
    const { classify, endpoint } = this.#options
    const { status } = this.#reply
    const object = this.#objects.get(error) ?? this.#read(error)
    this.#objects.set(error, object)
    const { message, data, whole } = object
    const code = Number(object.code ?? 0) || 0
    // An error whose code is not a number is not a node's verdict on the call, but the failure of
    // something on the way to it.
    const unknown = typeof object.code === 'number' ? undefined : 'server'
    const kind =
      kindOf(classify({ method, status, code, message, data, retryAfterMs: this.#retryAfterMs, isOneOfMany: this.#isOneOfMany(method, safe) })) ?? unknown
    const asked = this.#requestedWaitMs(kind, message, data)
    if (status >= 300 && !Number.isFinite(Number(object.code ?? Number.NaN))) return this.#httpError(method, kind ?? 'server', asked)
    const failure = new RpcError({ code, message, data }, { method, endpoint, status, object: whole, retryAfterMs: asked, ...(kind && { kind }) })
    // An error with bytes as its data is a revert, whatever its words.
    return kind === undefined && !(typeof data === 'string' && data.startsWith('0x')) ? guessed(failure) : failure
  }

  /**
   * A batch got a single error, with the id of `call`. True if it concerns this call alone, since
   * its block is not there yet: then it does not refuse the batch, and other replies are missing.
   */
  isOwn(call: Call | undefined, only: ReplyObject): boolean {
    return call !== undefined && this.fromErrorObject(call, only.error).kind === 'lagging'
  }

  /** One error for a whole batch: the batch was too large, unless the error refuses every call. */
  refused(call: Call, refusal: ReplyObject): HexlineError {
    return this.fromErrorObject(call, refusal.error, (kind) => (kind !== undefined && refusesEverybody(kind) ? kind : 'batch-too-large'))
  }

  /** The server refused the connection with a status of 300 or more. */
  notConnected(call: Call): HexlineError {
    return this.#statusError(call, false) as HttpError
  }

  /** The body is not JSON. Where it was cut, a smaller batch may get a whole one. */
  unreadable(call: Call, isBatch: boolean, isCut = false): HexlineError {
    const { length } = this.#reply.body
    const { endpoint } = this.#options
    const { method } = call
    if (isCut) {
      const message = `${endpoint}: the reply to several calls ends after ${length} bytes, in its middle`
      return new LimitError(message, 'response-too-large', { method, endpoint, limit: length, size: length })
    }
    return (
      this.#statusError(call, isBatch) ??
      this.#malformedError(call, length === 0 ? 'the reply is empty' : `the reply is not JSON, or only the start of it (${length} bytes)`)
    )
  }

  /** The body is JSON, without a valid reply for `call`. */
  unmatched(call: Call, fault: string, stray: ReplyObject | undefined, isBatch: boolean): HexlineError {
    if (stray !== undefined) {
      const error = this.fromErrorObject(call, stray.error)
      if (refusesEverybody(error.kind)) return error
    }
    const malformed = this.#malformedError(call, fault)
    return this.#statusError(call, isBatch) ?? (isMissing(fault) ? unanswered(malformed) : malformed)
  }

  /** The failure by the HTTP status. */
  #statusError({ method, safe }: Call, isBatch: boolean): HttpError | undefined {
    const { status } = this.#reply
    if (status < 300) return undefined
    const failure = { method, status, message: this.#start(), retryAfterMs: this.#retryAfterMs, isOneOfMany: this.#isOneOfMany(method, safe) }
    const meant = this.#options.classify(failure) ?? 'server'
    const kind = isBatch && meant === 'invalid' && NOT_A_BATCH.includes(status) ? 'batch-too-large' : meant
    return this.#httpError(method, kind, this.#requestedWaitMs(kind, this.#start()))
  }

  #httpError(method: string, kind: AnswerKind, asked: number | undefined): HttpError {
    const { status, headers } = this.#reply
    const { endpoint, scrub } = this.#options
    return new HttpError(
      { status, headers: scrubJson(headers, scrub) as HttpReply['headers'], body: this.#start() },
      { method, endpoint, kind, retryAfterMs: asked, unsent: this.#reply.unsent === true },
    )
  }

  #malformedError({ method }: Call, fault: string): MalformedReplyError {
    const { endpoint, classify, scrub } = this.#options
    const start = this.#start()
    const code = Number(/"(?:code|status|statusCode)"\s{0,20}:\s{0,20}"?(-?\d{3,5})\b/.exec(start)?.[1] ?? 0)
    const kind = classify({ method, status: this.#reply.status, message: start, retryAfterMs: this.#retryAfterMs, ...(code !== 0 && { code }) })
    const message = `${endpoint}: ${method}: ${scrub(fault)}${start === '' ? '' : `: ${excerpt(start)}`}`
    // Some gateways throttle with status 200, in words or in an object of their own.
    return new MalformedReplyError(message, {
      method,
      endpoint,
      ...(kind !== undefined && refusesEverybody(kind) && { kind, retryAfterMs: this.#requestedWaitMs(kind, start) }),
    })
  }

  /**
   * How long the endpoint asks to be left alone, in ms. Without `Retry-After`, only a throttling
   * reply is searched for a time.
   */
  #requestedWaitMs(kind: ErrorKind | undefined, message: string, data?: unknown): number | undefined {
    const asked = this.#retryAfterMs
    if (asked !== undefined || kind === undefined || !(isThrottled({ kind }) || kind === 'quota')) return asked
    return waitSaid(message, data) ?? limitResetMs(this.#reply.headers)
  }

  #read(error: unknown): ErrorObject {
    const { scrub } = this.#options
    const object = (typeof error === 'object' ? error : { message: error }) as { code?: unknown; message?: unknown; data?: unknown }
    const { code, message: words } = object
    // Scrubbed apart from the rest, so that a long field beside it does not shorten it.
    const data = object.data === undefined ? undefined : scrubJson(object.data, scrub)
    const { data: _, ...others } = object
    const rest = scrubJson(Array.isArray(object) ? object : others, scrub) as object
    const text = typeof words === 'string' ? words : (JSON.stringify(scrubJson(words ?? object, scrub)) ?? '')
    const message = scrubStart(text, LONGEST_MESSAGE, scrub)
    return { code: typeof code === 'object' ? undefined : code, message, data, whole: data === undefined ? rest : { ...rest, data } }
  }

  #isOneOfMany(method: string, isSafe: boolean): boolean {
    return isSafe && this.#options.isAnswering(method)
  }

  get #retryAfterMs(): number | undefined {
    return retryAfterMs(this.#reply.headers)
  }

  #start(): string {
    this.#scrubbedStart ??= this.#scrubStart()
    return this.#scrubbedStart
  }

  #scrubStart(): string {
    return scrubStart(this.#reply.body.toString('utf8', 0, SEARCHED), BODY_START, this.#options.scrub, '')
  }
}
