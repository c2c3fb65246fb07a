import { type ErrorKind, HexlineError, HttpError, NetworkError, RpcError, TimeoutError } from '../errors.ts'

/** What a failure means for the call it happened to. */
interface Meaning {
  /** Did the call run on the node? */
  readonly ran: 'no' | 'yes' | 'unknown'
  /** May the same call do better later? `elsewhere`: only at another endpoint. */
  readonly repeat: boolean | 'elsewhere'
}

/** One row a kind. `retry` and `queue` read nothing else about a failure but this and its `retryAfterMs`. */
const meanings: Record<ErrorKind, Meaning> = {
  'rate-limit': { ran: 'no', repeat: true },
  overloaded: { ran: 'no', repeat: true },
  network: { ran: 'unknown', repeat: true },
  timeout: { ran: 'unknown', repeat: true },
  malformed: { ran: 'unknown', repeat: true },
  server: { ran: 'unknown', repeat: true },
  lagging: { ran: 'yes', repeat: true },
  'batch-too-large': { ran: 'no', repeat: false },
  'request-too-large': { ran: 'no', repeat: false },
  'response-too-large': { ran: 'no', repeat: false },
  'range-too-large': { ran: 'no', repeat: false },
  execution: { ran: 'yes', repeat: false },
  invalid: { ran: 'yes', repeat: false },
  unsupported: { ran: 'yes', repeat: false },
  'not-found': { ran: 'yes', repeat: false },
  auth: { ran: 'no', repeat: 'elsewhere' },
  quota: { ran: 'no', repeat: 'elsewhere' },
  integrity: { ran: 'yes', repeat: false },
  closed: { ran: 'unknown', repeat: false },
}

/** The endpoint refused to start the call for now: not a failed attempt, and the endpoint is left alone for a while. */
export function isThrottled(error: HexlineError): boolean {
  return error.kind === 'rate-limit' || error.kind === 'overloaded'
}

/** The endpoint refused the POST for its size: the same calls may pass in smaller company. */
export function isTooLarge(error: HexlineError): boolean {
  return error.kind === 'batch-too-large' || error.kind === 'request-too-large' || error.kind === 'response-too-large'
}

/** The same call may do better later. */
export function mayRepeat(error: HexlineError): boolean | 'elsewhere' {
  return meanings[error.kind].repeat
}

/** The failure does not prove that the call has not run. */
export function mayHaveRun(error: HexlineError): boolean {
  if ((error instanceof NetworkError || error instanceof TimeoutError) && error.unsent) return false
  // Words alone prove nothing: a gateway that timed out may say "overloaded" of a call that ran.
  if (isThrottled(error) && !isRefusal(error)) return true
  return meanings[error.kind].ran !== 'no'
}

/** The node's own error object, or a status that means that the request was turned away. */
function isRefusal(error: HexlineError): boolean {
  if (error instanceof HttpError) return REFUSED.includes(error.status)
  return error instanceof RpcError && (error.status === undefined || error.status < 500 || REFUSED.includes(error.status))
}

/** Too many requests; service unavailable; site is overloaded. */
const REFUSED = [429, 503, 529]

/** The failure leaves open whether the call has run. */
export function isAmbiguous(error: HexlineError): boolean {
  return (meanings[error.kind].ran === 'unknown' || isThrottled(error)) && mayHaveRun(error)
}

/** A failure that hexline knows; anything else is the caller's own abort reason, or a bug. */
export function isFailure(error: unknown): error is HexlineError {
  return error instanceof HexlineError
}
