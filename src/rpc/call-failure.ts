import { HexlineError } from '../errors.ts'
import type { Send } from './call.ts'
import { withCallersStack } from './callers-stack.ts'
import { copyError } from './copy-error.ts'

/**
 * Why a call has no reply, in the form that travels from the queue up to the client: the error, and
 * what the pipeline knows about the call. `errorFor` makes the error for the caller of both, once.
 */
export class CallFailure {
  readonly error: HexlineError
  /**
   * POSTs that the call was in: one at most, until the router adds up those of several endpoints. A
   * batch that the queue has sent again in shorter ones counts once.
   */
  readonly posts: number
  /** Name of the endpoint in routing; undefined if the failure came from none. */
  readonly endpoint: string | undefined
  /** The failures of the same call at other endpoints, where it went from one to the next. */
  readonly earlier: readonly CallFailure[]

  constructor(error: HexlineError, posts: number, endpoint: string | undefined, earlier: readonly CallFailure[] = NONE) {
    this.error = error
    this.posts = posts
    this.endpoint = endpoint
    this.earlier = earlier
  }

  /** The call was in a POST, so it may have run. */
  get wasSent(): boolean {
    return this.posts > 0
  }
}

const NONE: readonly CallFailure[] = []

/**
 * A rejection as a failure; undefined for the caller's own abort reason, and for anything but an
 * error of hexline, such as a bug. An error from a user's layer is copied: it may be shared or
 * frozen.
 */
export function failureFrom(reason: unknown, signal: AbortSignal | undefined): CallFailure | undefined {
  if (reason instanceof CallFailure) return reason
  if (!(reason instanceof HexlineError) || (signal?.aborted && reason === signal.reason)) return undefined
  return new CallFailure(copyError(reason), reason.attempts, reason.endpoint)
}

/** The error for the caller. Only here does it get its `attempts` and the caller's stack. */
export function errorFor(error: HexlineError, attempts: number): HexlineError {
  return withCallersStack(Object.assign(error, { attempts }), errorFor)
}

/** A `Send` for code outside the pipeline: it rejects with errors, as `Send` promises. */
export function atTheEdge(send: Send): Send {
  return (call) =>
    send(call).catch((reason) => {
      throw reason instanceof CallFailure ? errorFor(reason.error, reason.posts) : reason
    })
}
