import { STATUS_CODES } from 'node:http'
import { FetchRequest, FetchResponse, type JsonRpcPayload, makeError } from 'ethers'
import {
  ClosedError,
  CodecError,
  type ErrorKind,
  HexlineError,
  HttpError,
  IntegrityError,
  NetworkError,
  OptionError,
  RpcError,
  TimeoutError,
} from '../../src/errors.ts'
import { mayBeAccepted } from '../../src/eth/send-raw-transaction.ts'
import { nodeWords } from '../node-words.ts'
import { originOf } from '../origin.ts'

/** Why calls end with their provider: the reason of its signal. */
export class Destroyed {
  errorOf(method: string): Error {
    return makeError('provider destroyed; cancelled request', 'UNSUPPORTED_OPERATION', { operation: method })
  }
}

/**
 * hexline's failure of a call as ethers' own error of the same meaning; hexline's is its `cause`. Of the URL there is scheme and host:
 * the path may hold the key. Nothing that can be enumerated on it is a function or a cycle, since `FallbackProvider` walks through it.
 * What is no failure of a call (options, replies that contradict each other) stays as it is.
 */
export function ethersError(error: unknown, method: string, endpoints: readonly string[]): unknown {
  if (error instanceof Destroyed) return error.errorOf(method)
  if (!(error instanceof HexlineError)) return isAbort(error) ? caused(makeError('request cancelled', 'CANCELLED'), error) : error
  if (error instanceof OptionError) return withEthersCode(error)
  if (error instanceof IntegrityError) return error
  return caused(translated(error, method, originOf(error.endpoint, endpoints)), error)
}

/** The same error, with the fields of ethers' INVALID_ARGUMENT. */
export function withEthersCode(error: unknown): unknown {
  if (!(error instanceof OptionError)) return error
  const { option, received, message } = error
  return Object.assign(error, { code: 'INVALID_ARGUMENT', argument: option, value: received, shortMessage: message })
}

function translated(error: HexlineError, method: string, requestUrl: string): Error {
  // What may have become of a transaction, where ethers' own words leave hexline's out.
  const note = error.transactionHash === undefined ? '' : `; ${mayBeAccepted(error.transactionHash)}`
  if (error instanceof ClosedError) return makeError(`client closed; cancelled request${note}`, 'UNSUPPORTED_OPERATION', { operation: method })
  if (error instanceof TimeoutError) return makeError(`request timeout${note}`, 'TIMEOUT', { operation: method, reason: 'timeout', info: { requestUrl } })
  if (error instanceof NetworkError)
    return makeError(error.message, 'NETWORK_ERROR', { event: 'connection', info: { requestUrl, ...(error.code && { errno: error.code }) } })
  if (error instanceof CodecError && error.kind === 'malformed') return makeError(error.message, 'BAD_DATA', { value: error.received })
  if (error instanceof CodecError) return makeError(error.message, 'INVALID_ARGUMENT', { argument: error.path, value: error.received })
  if (error instanceof HttpError) return answered(error.status, error.body, error.headers, requestUrl, note)
  // A server that refuses in JSON has not answered the call.
  if (error instanceof RpcError) return answered(error.status ?? 200, JSON.stringify({ error: errorObject(error) }), {}, requestUrl)
  return makeError(error.message, 'SERVER_ERROR', { request: requestUrl, info: { requestUrl } })
}

/** As ethers' `FetchResponse.assertOk` makes it. */
function answered(status: number, body: string, headers: HttpError['headers'], requestUrl: string, note = ''): Error {
  const reason = STATUS_CODES[status] ?? ''
  const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))
  const request = new FetchRequest(requestUrl)
  const response = new FetchResponse(status, reason, flat, body === '' ? null : new TextEncoder().encode(body), request)
  return makeError(`server response ${status} ${reason}${note}`, 'SERVER_ERROR', {
    request,
    response,
    info: { requestUrl, responseBody: body === '' ? null : body, responseStatus: `${status} ${reason}` },
  })
}

/** Unknown method, in whatever words. */
export function unsupported(payload: JsonRpcPayload, error: unknown): Error {
  return makeError('unsupported operation', 'UNSUPPORTED_OPERATION', { operation: payload.method, info: { error, payload } })
}

/** Kinds of failure that say nothing about the call, when they come with a status of 400 or more. */
const refusals: readonly ErrorKind[] = ['rate-limit', 'overloaded', 'server', 'timeout', 'auth', 'quota']

/** The node has answered the call, with an error; a server that fails or refuses has not, whatever the form of what it says. */
export function isAnswer(error: unknown): error is RpcError {
  return error instanceof RpcError && !((error.status ?? 200) >= 400 && refusals.includes(error.kind))
}

/** The node's error object, as ethers' mapping of a node's words takes it: whole, since some say in other fields what ethers looks for. */
export function errorObject(error: RpcError): { code: number; message: string; data?: unknown } {
  const { code, data, object } = error
  return { ...(typeof object === 'object' && object), code, message: nodeWords(error), ...(data !== undefined && { data }) }
}

/** Beside ethers' own fields, and not one of those that `FallbackProvider` walks through. */
export function caused(error: Error, cause: unknown): Error {
  return cause === undefined ? error : Object.defineProperty(error, 'cause', { value: cause, enumerable: false, writable: true, configurable: true })
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}
