import { excerpt, messagePrefix, shortened } from './text.ts'

/**
 * What a failure is, in one word. `rpc/failure-kinds.ts` says for each kind whether the call may
 * have run and whether it is repeated.
 *
 * - `rate-limit`, `overloaded`: the node refused to start the call for now.
 * - `network`, `timeout`, `malformed`, `server`: the call may or may not have run.
 * - `lagging`: this node does not have yet what others have.
 * - `pruned`: this node, or this plan of a provider, has no history that far back; another endpoint
 *   may.
 * - `batch-too-large`, `request-too-large`, `response-too-large`, `range-too-large`: a limit of the
 *   endpoint, or hexline's own.
 * - `execution`, `invalid`, `unsupported`, `not-found`: the node's final answer.
 * - `auth`, `quota`: this key will not get an answer.
 * - `integrity`: replies contradict each other.
 * - `closed`: the client was closed.
 */
export type ErrorKind =
  | 'rate-limit'
  | 'overloaded'
  | 'network'
  | 'timeout'
  | 'malformed'
  | 'server'
  | 'lagging'
  | 'pruned'
  | 'batch-too-large'
  | 'request-too-large'
  | 'response-too-large'
  | 'range-too-large'
  | 'execution'
  | 'invalid'
  | 'unsupported'
  | 'not-found'
  | 'auth'
  | 'quota'
  | 'integrity'
  | 'closed'

/** What a server may answer instead of a result. */
export type AnswerKind = Exclude<ErrorKind, 'network' | 'malformed' | 'integrity' | 'closed'>

/** Any error that hexline throws. `kind` narrows it: a `closed` one is a `ClosedError`. */
export type AnyHexlineError =
  | RpcError
  | HttpError
  | NetworkError
  | TimeoutError
  | MalformedReplyError
  | LimitError
  | ClosedError
  | CodecError
  | OptionError
  | ServiceError
  | IntegrityError
  | TransactionLostError

/**
 * True for every error of hexline. Unlike `instanceof HexlineError`, it lets `kind` narrow the
 * error to its classes. Not for a `cause`, which may be a plain `HexlineError` of any kind.
 */
export function isHexlineError(error: unknown): error is AnyHexlineError {
  return error instanceof HexlineError
}

/** What every error of hexline may carry. */
export interface ErrorContext<K extends ErrorKind = ErrorKind> {
  /** What the failure is. */
  kind?: K
  /** The JSON-RPC method of the call. */
  method?: string | undefined
  /** The endpoint's host and port; never its path, where the key is. */
  endpoint?: string | undefined
  /**
   * How long the endpoint asked to wait, in ms; 0 where another endpoint, which was unreachable,
   * may recover sooner.
   */
  retryAfterMs?: number | undefined
  /** The failure underneath, without secrets. */
  cause?: unknown
}

/** Marks every error of hexline, in every copy of the package. */
const BRAND = Symbol.for('hexline.error')

/** The base of every error that hexline makes. */
export class HexlineError extends Error {
  static {
    Object.defineProperty(HexlineError.prototype, BRAND, { value: true })
  }

  /**
   * One process may load hexline twice, as ES modules and as CommonJS. `instanceof` recognises the
   * errors of both, by their names.
   */
  static override [Symbol.hasInstance](error: unknown): boolean {
    if (typeof error !== 'object' || error === null || !(BRAND in error)) return false
    // `this` is the class that is asked, which may be one that extends this one.
    // biome-ignore-start lint/complexity/noThisInStatic: see above
    if (Object.prototype.isPrototypeOf.call(this.prototype, error)) return true
    return this === HexlineError || (ownClasses.has(this) && this.name === (error as { name?: unknown }).name)
    // biome-ignore-end lint/complexity/noThisInStatic: see above
  }

  override readonly name: string = 'HexlineError'
  /** What the failure is, in one word. */
  readonly kind: ErrorKind
  /** The JSON-RPC method of the call, where one call is concerned. */
  readonly method: string | undefined
  /** Host and port of the endpoint that failed. */
  readonly endpoint: string | undefined
  /**
   * How many times the call was sent; 0 when it never was. If its batch failed and was sent again
   * in shorter ones, that counts once. Set once, when the call rejects.
   */
  attempts = 0
  /** How long the endpoint asked to wait, in ms. */
  readonly retryAfterMs?: number
  /**
   * Hash of a transaction that a node may have accepted, although `eth_sendRawTransaction` failed:
   * look it up before you sign another. The message begins with it. Without a hash, no node has
   * accepted it in this call; one that was sent earlier may be known (`already known`) or in a
   * block (`nonce too low`).
   */
  declare transactionHash?: `0x${string}`

  constructor(message: string, kind: ErrorKind, context: ErrorContext = {}) {
    super(message, context.cause === undefined ? undefined : { cause: context.cause })
    this.kind = context.kind ?? kind
    this.method = context.method
    this.endpoint = context.endpoint
    if (context.retryAfterMs !== undefined) this.retryAfterMs = context.retryAfterMs
  }
}

/**
 * A JSON-RPC error object: `code`, `said` and `data` are the node's own. The message is `endpoint:
 * method: ` and the node's message. Secrets of the URL and headers are hidden in all of them.
 */
export class RpcError extends HexlineError {
  override readonly name = 'RpcError'
  declare readonly kind: AnswerKind
  /** The node's error code. */
  readonly code: number
  /** The node's message; one of more than 4,096 characters is cut, and ends with `...`. */
  readonly said: string
  /**
   * The node's `data`, such as the revert data of a call. Hex is whole up to 4 Mi characters; of
   * other text, 64 Ki characters are kept in all, and 10,000 values. A string that is cut ends with
   * `...`, so that cut hex is not taken for hex.
   */
  readonly data?: unknown
  /** HTTP status that it came with. */
  readonly status: number | undefined
  /**
   * The node's whole error object, for vendor-specific fields, with the same limits as `data`. Not
   * enumerable.
   */
  declare readonly object: unknown

  constructor(
    error: { code: number; message: string; data?: unknown },
    context: ErrorContext<AnswerKind> & { status?: number | undefined; object?: unknown } = {},
  ) {
    const prefix = messagePrefix(context)
    super(prefix === '' ? error.message : shortened(prefix + error.message), 'execution', context)
    this.code = error.code
    this.said = error.message
    if (error.data !== undefined) this.data = error.data
    this.status = context.status
    Object.defineProperty(this, 'object', { value: context.object ?? error, enumerable: false })
  }
}

/** An HTTP status of 300 or more whose body is not a JSON-RPC reply. */
export class HttpError extends HexlineError {
  override readonly name = 'HttpError'
  declare readonly kind: AnswerKind
  /** HTTP status code. */
  readonly status: number
  /** Response headers, names in lower case; at most 64 Ki characters of them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The start of the body, at most 500 characters. */
  readonly body: string
  /**
   * True when a WebSocket was refused, before the call was sent: the call certainly did not run.
   */
  readonly unsent: boolean

  constructor(
    response: { status: number; headers: Readonly<Record<string, string | string[] | undefined>>; body: string },
    context: ErrorContext<AnswerKind> & { unsent?: boolean } = {},
  ) {
    const said = response.body === '' ? ' with an empty body' : `: ${excerpt(response.body)}`
    super(`${context.endpoint ?? 'the endpoint'} answered HTTP ${response.status}${said}${redirectNote(response.status)}`, 'server', context)
    this.status = response.status
    this.headers = response.headers
    this.body = response.body
    this.unsent = context.unsent ?? false
  }
}

/** No connection, or one that ended before the whole reply was there. */
export class NetworkError extends HexlineError {
  override readonly name = 'NetworkError'
  declare readonly kind: 'network'
  /** True when nothing of the request had been sent: the call certainly did not run. */
  readonly unsent: boolean
  /** The system's code, such as `ECONNREFUSED`. */
  readonly code: string | undefined
  /** Bytes of the reply that had come when the connection ended, as they were on the wire. */
  readonly receivedBytes: number

  constructor(message: string, context: ErrorContext<'network'> & { unsent?: boolean; code?: string | undefined; receivedBytes?: number } = {}) {
    super(message, 'network', context)
    this.unsent = context.unsent ?? false
    this.code = context.code
    this.receivedBytes = context.receivedBytes ?? 0
  }
}

/**
 * `timeoutMs` of a POST or `deadlineMs` of a call has passed, or a reply that had begun made no
 * progress for too long.
 */
export class TimeoutError extends HexlineError {
  override readonly name = 'TimeoutError'
  declare readonly kind: 'timeout'
  /** True when nothing of the request had been sent: the call certainly did not run. */
  readonly unsent: boolean
  /**
   * True when the reply had begun and then stopped: it was given up before `timeoutMs`, so that the
   * call could be repeated.
   */
  readonly stalled: boolean

  constructor(message: string, context: ErrorContext<'timeout'> & { unsent?: boolean; stalled?: boolean } = {}) {
    super(message, 'timeout', context)
    this.unsent = context.unsent ?? false
    this.stalled = context.stalled ?? false
  }
}

/** A reply that is not valid JSON-RPC 2.0, or does not answer this call. */
export class MalformedReplyError extends HexlineError {
  override readonly name = 'MalformedReplyError'
  declare readonly kind: 'malformed' | 'rate-limit' | 'overloaded' | 'auth' | 'quota'
  constructor(message: string, context: ErrorContext<'malformed' | 'rate-limit' | 'overloaded' | 'auth' | 'quota'> = {}) {
    super(message, 'malformed', context)
  }
}

/** A limit of hexline's own, such as `maxResponseBytes`. */
export class LimitError extends HexlineError {
  override readonly name = 'LimitError'
  declare readonly kind: 'request-too-large' | 'response-too-large'
  /** What is allowed, in bytes. */
  readonly limit: number
  /** The actual size, in bytes, as far as it was read or announced. */
  readonly size: number

  constructor(
    message: string,
    kind: ErrorKind,
    { limit, size, ...context }: ErrorContext<'request-too-large' | 'response-too-large'> & { limit: number; size: number },
  ) {
    super(message, kind, context)
    this.limit = limit
    this.size = size
  }
}

/** The client was closed before the call was answered. */
export class ClosedError extends HexlineError {
  override readonly name = 'ClosedError'
  declare readonly kind: 'closed'
  constructor(message = 'the client is closed', context: ErrorContext<'closed'> = {}) {
    super(message, 'closed', context)
  }
}

/** A value that cannot be encoded or decoded. The message is `path: expected ..., received ...`. */
export class CodecError extends HexlineError {
  override readonly name = 'CodecError'
  declare readonly kind: 'invalid' | 'malformed'
  /**
   * Path of the value, such as `transactions[3].value` in a result or `params[0].gas` in a call.
   */
  readonly path: string
  /** What was expected. */
  readonly expected: string
  /** What was received, shortened. */
  readonly received: string

  constructor(path: string, expected: string, received: string, context: ErrorContext<'invalid' | 'malformed'> = {}) {
    super(`${path === '' ? '' : `${path}: `}expected ${expected}, received ${received}`, 'invalid', context)
    this.path = path
    this.expected = expected
    this.received = received
  }
}

/** An invalid option. The message is `option: expected ..., received ...`. */
export class OptionError extends HexlineError {
  override readonly name = 'OptionError'
  declare readonly kind: 'invalid'
  /** Name of the option, such as `batch.maxCalls`. */
  readonly option: string
  /** What was expected. */
  readonly expected: string
  /** What was received, shortened. */
  readonly received: string

  constructor(option: string, expected: string, received: string, context: ErrorContext<'invalid'> = {}) {
    super(`${option}: expected ${expected}, received ${received}`, 'invalid', context)
    this.option = option
    this.expected = expected
    this.received = received
  }
}

/** An error of the data, NFT or streams group: an HTTP status of 300 or more. */
export class ServiceError extends HexlineError {
  override readonly name = 'ServiceError'
  declare readonly kind: AnswerKind
  /** HTTP status code. */
  readonly status: number
  /** The service's own message, if the body had one; at most 4,096 characters. */
  readonly said: string | undefined
  /**
   * The body: parsed where it is JSON, with the limits of `RpcError.data`, else the start of it, at
   * most 500 characters.
   */
  readonly body: unknown

  constructor(
    { operation, status, said, body }: { operation: string; status: number; said: string | undefined; body: unknown },
    context: ErrorContext<AnswerKind> = {},
  ) {
    const excerptOfSaid = said === undefined ? '' : `: ${excerpt(said)}`
    super(`${operation}: ${context.endpoint ?? 'the service'} answered HTTP ${status}${excerptOfSaid}${redirectNote(status)}`, 'server', {
      ...context,
      method: operation,
    })
    this.status = status
    this.said = said
    this.body = body
  }
}

/**
 * Replies that contradict each other or a hash that covers them: a block that does not follow its
 * parent, receipts of another block, a transaction that its block's root does not hold.
 */
export class IntegrityError extends HexlineError {
  override readonly name = 'IntegrityError'
  declare readonly kind: 'integrity' | 'lagging' | 'pruned'
  /**
   * Path of the wrong value, or the root that does not fit, such as `transactions[3].hash`,
   * `receiptsRoot` or `receipts[3].logs[0].logIndex`; where a verification found it.
   */
  declare readonly field?: string
  /** What the value has to be, or what the node gave for a hash or root; shortened. */
  declare readonly expected?: string
  /** What it is, or which hash or root its content has; shortened. */
  declare readonly found?: string
  /** Number of the block, where a verification of a dataset found it in a block. */
  declare readonly block?: bigint
  /** The file of a dataset, by its path in the folder. */
  declare readonly file?: string

  constructor(message: string, { field, expected, found, block, file, ...context }: ErrorContext<'integrity' | 'lagging' | 'pruned'> & Mismatch = {}) {
    super(message, 'integrity', context)
    if (field !== undefined) Object.assign(this, { field, expected, found })
    if (file !== undefined) Object.assign(this, { file, ...(block !== undefined && { block }) })
  }
}

/** A transaction that will have no receipt: `waitForReceipt` waited for it. */
export class TransactionLostError extends HexlineError {
  override readonly name = 'TransactionLostError'
  declare readonly kind: 'not-found'
  /**
   * `replaced`: another transaction of the same sender with the same nonce is in a block.
   * `dropped`: no node knows it, any more or at all.
   */
  readonly reason: 'replaced' | 'dropped'
  /** Hash of the transaction that took the nonce; undefined where it is not found. */
  readonly replacedBy: `0x${string}` | undefined
  declare transactionHash: `0x${string}`

  constructor(reason: 'replaced' | 'dropped', transactionHash: `0x${string}`, replacedBy?: `0x${string}`) {
    super(
      reason === 'replaced'
        ? `${transactionHash} was replaced: ${replacedBy ?? 'another transaction'} from the same sender has its nonce`
        : `${transactionHash} was dropped: no node knows it`,
      'not-found',
    )
    this.reason = reason
    this.transactionHash = transactionHash
    this.replacedBy = replacedBy
  }
}

/** What a verification found to be wrong. */
interface Mismatch {
  field?: string
  expected?: string
  found?: string
  block?: bigint | undefined
  file?: string
}

/** hexline's own classes. For a subclass made elsewhere, the name proves nothing. */
const ownClasses = new WeakSet<object>([
  RpcError,
  HttpError,
  NetworkError,
  TimeoutError,
  MalformedReplyError,
  LimitError,
  ClosedError,
  CodecError,
  OptionError,
  ServiceError,
  IntegrityError,
  TransactionLostError,
])

/** The target is not shown: it may hold the key. */
function redirectNote(status: number): string {
  return [301, 302, 303, 307, 308].includes(status) ? '; redirects are not followed: use the final URL' : ''
}
