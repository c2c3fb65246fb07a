import { type ErrorKind, HexlineError, HttpError, NetworkError, RpcError, TimeoutError } from '../errors.ts'

/** What a failure means for the call it happened to. */
interface Meaning {
  /** Did the call run on the node? */
  readonly ran: 'no' | 'yes' | 'unknown'
  /** May the same call do better later? `elsewhere`: only at another endpoint. */
  readonly repeat: boolean | 'elsewhere'
  /** What it shows about the endpoint. */
  readonly endpoint: EndpointState
}

/** An endpoint works, takes no calls for now, does not work, or refuses this key. */
export type EndpointState = 'alive' | 'throttles' | 'fails' | 'refuses'

/** What each kind of failure means for `retry`, `route` and `queue`. */
const meanings: Record<ErrorKind, Meaning> = {
  'rate-limit': { ran: 'no', repeat: true, endpoint: 'throttles' },
  overloaded: { ran: 'no', repeat: true, endpoint: 'throttles' },
  network: { ran: 'unknown', repeat: true, endpoint: 'fails' },
  timeout: { ran: 'unknown', repeat: true, endpoint: 'fails' },
  malformed: { ran: 'unknown', repeat: true, endpoint: 'fails' },
  server: { ran: 'unknown', repeat: true, endpoint: 'fails' },
  lagging: { ran: 'yes', repeat: true, endpoint: 'alive' },
  pruned: { ran: 'no', repeat: 'elsewhere', endpoint: 'alive' },
  'batch-too-large': { ran: 'no', repeat: false, endpoint: 'alive' },
  'request-too-large': { ran: 'no', repeat: false, endpoint: 'alive' },
  // A batch may have run as well: the queue sends its calls again in smaller ones. Only safe calls
  // are in batches.
  'response-too-large': { ran: 'unknown', repeat: false, endpoint: 'alive' },
  'range-too-large': { ran: 'no', repeat: false, endpoint: 'alive' },
  execution: { ran: 'yes', repeat: false, endpoint: 'alive' },
  invalid: { ran: 'yes', repeat: false, endpoint: 'alive' },
  unsupported: { ran: 'yes', repeat: false, endpoint: 'alive' },
  'not-found': { ran: 'yes', repeat: false, endpoint: 'alive' },
  auth: { ran: 'no', repeat: 'elsewhere', endpoint: 'refuses' },
  quota: { ran: 'no', repeat: 'elsewhere', endpoint: 'refuses' },
  integrity: { ran: 'yes', repeat: false, endpoint: 'alive' },
  closed: { ran: 'unknown', repeat: false, endpoint: 'alive' },
}

/** An error of another version of hexline may have a kind without a row: nothing is known of it. */
function meaningOf({ kind }: Pick<HexlineError, 'kind'>): Meaning {
  return (meanings as Partial<typeof meanings>)[kind] ?? meanings.server
}

/**
 * The endpoint refused to start the call for now: that is not a failed attempt, and the endpoint is
 * paused.
 */
export function isThrottled(error: Pick<HexlineError, 'kind'>): boolean {
  return meaningOf(error).endpoint === 'throttles'
}

/** The endpoint turns away every call with this key, and not one call. */
export function refusesEverybody(kind: ErrorKind): kind is 'rate-limit' | 'overloaded' | 'auth' | 'quota' {
  const { endpoint } = meaningOf({ kind })
  return endpoint === 'throttles' || endpoint === 'refuses'
}

/** The endpoint refused the POST for its size: the same calls may pass in a smaller batch. */
export function isTooLarge(error: HexlineError): boolean {
  return error.kind === 'batch-too-large' || error.kind === 'request-too-large' || error.kind === 'response-too-large'
}

/**
 * The failure is one that an endpoint gives when it gets more calls at a time than it can handle.
 * It is no proof: a connection may also be cut by chance.
 */
export function isStrained(error: HexlineError): boolean {
  if (error instanceof NetworkError) return !error.unsent
  if (isStall(error)) return false
  return error.kind === 'overloaded' || error.kind === 'timeout' || (error instanceof HttpError && error.status === UNAVAILABLE)
}

/** A reply had begun and made no progress. It says nothing about the endpoint's limits. */
export function isStall(error: HexlineError): boolean {
  return error instanceof TimeoutError && error.stalled
}

const UNAVAILABLE = 503

/** The same call may do better later. */
export function mayRepeat(error: HexlineError): boolean | 'elsewhere' {
  return isOfGateway(error) ? 'elsewhere' : meaningOf(error).repeat
}

/** What the failure shows about the endpoint, whatever the call was. */
export function endpointState(error: HexlineError): EndpointState {
  return isNoEndpoint(error) ? 'refuses' : meaningOf(error).endpoint
}

/**
 * A status that would be final from a node, without a node's error object: something on the way to
 * the node does not want the request. Another endpoint may answer the call.
 */
function isOfGateway(error: HexlineError): error is HttpError {
  return error instanceof HttpError && (error.kind === 'not-found' || error.kind === 'invalid')
}

/** Nothing takes calls at the endpoint's URL: it is not found, gone, or elsewhere. */
export function isNoEndpoint(error: HexlineError): boolean {
  return isOfGateway(error) && (error.status < 400 || error.status === 404 || error.status === 410)
}

/** Marks a node's error that no row of the table knows. Copies of the error keep it. */
const UNKNOWN = Symbol('unknown words')

/** Marks an error whose kind is a guess: neither the code nor the words of the node are known. */
export function guessed<E extends HexlineError>(error: E): E {
  return Object.defineProperty(error, UNKNOWN, { value: true })
}

/** Is its kind a guess? See `guessed`. */
export function isGuessed(error: HexlineError): boolean {
  return UNKNOWN in error
}

/** Marks the failure of a call without a reply. Copies of the error keep it. */
const UNANSWERED = Symbol('no reply')

/** Marks the failure of a call that has no reply in the reply to its batch. */
export function unanswered<E extends HexlineError>(error: E): E {
  return Object.defineProperty(error, UNANSWERED, { value: true })
}

/** Is it the failure of a call without a reply? See `unanswered`. */
export function isUnanswered(error: HexlineError): boolean {
  return UNANSWERED in error
}

/** The failure does not prove that the call has not run. */
export function mayHaveRun(error: HexlineError): boolean {
  if ((error instanceof NetworkError || error instanceof TimeoutError || error instanceof HttpError) && error.unsent) return false
  if (isNoEndpoint(error)) return false
  // Words alone prove nothing: a gateway that timed out may say "overloaded" of a call that ran.
  if ((isThrottled(error) || mayRepeat(error) === 'elsewhere') && !isRefusal(error)) return true
  return meaningOf(error).ran !== 'no'
}

/** The node's own error object, or a status that means that the request was turned away. */
function isRefusal(error: HexlineError): boolean {
  if (error instanceof HttpError) return REFUSED.includes(error.status)
  return error instanceof RpcError && (error.status === undefined || error.status < 500 || REFUSED.includes(error.status))
}

/**
 * Not this caller, or not now: unauthorized, payment required, forbidden, too many requests,
 * service unavailable, site is overloaded.
 */
const REFUSED = [401, 402, 403, 429, 503, 529]

/**
 * The call was turned away with a status that a gateway also gives after it has passed the call on
 * to one of its nodes. So the call may be sent to this endpoint again, whose nodes know whether
 * they have it, but not to another one.
 */
export function mayBeHeld(error: HexlineError, wasSent: boolean): boolean {
  if (!wasSent || !(error instanceof HttpError || error instanceof RpcError)) return false
  return error.status !== undefined && BY_GATEWAYS.includes(error.status)
}

/** Too many requests, service unavailable, site is overloaded. */
const BY_GATEWAYS = [429, 503, 529]

/** The failure leaves open whether the call has run. */
export function isAmbiguous(error: HexlineError): boolean {
  return meaningOf(error).ran !== 'yes' && mayHaveRun(error)
}

/** A failure that hexline knows; anything else is the caller's own abort reason, or a bug. */
export function isFailure(error: unknown): error is HexlineError {
  return error instanceof HexlineError
}
