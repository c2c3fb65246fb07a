import { STATUS_CODES } from 'node:http'
import { FetchRequest, FetchResponse, type JsonRpcPayload, makeError } from 'ethers'
import { ClosedError, CodecError, HexlineError, HttpError, IntegrityError, NetworkError, OptionError, RpcError, TimeoutError } from '../../src/errors.ts'
import { isThrottled } from '../../src/rpc/kinds.ts'

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
  if (error instanceof OptionError || error instanceof IntegrityError) return error
  return caused(translated(error, method, originOf(error.endpoint, endpoints)), error)
}

function translated(error: HexlineError, method: string, request: string): Error {
  if (error instanceof ClosedError) return makeError('client closed; cancelled request', 'UNSUPPORTED_OPERATION', { operation: method })
  if (error instanceof TimeoutError) return makeError('request timeout', 'TIMEOUT', { operation: method, reason: 'timeout', info: { requestUrl: request } })
  if (error instanceof NetworkError)
    return makeError(error.message, 'NETWORK_ERROR', { event: 'connection', info: { requestUrl: request, ...(error.code && { errno: error.code }) } })
  if (error instanceof CodecError && error.kind === 'malformed') return makeError(error.message, 'BAD_DATA', { value: error.received })
  if (error instanceof CodecError) return makeError(error.message, 'INVALID_ARGUMENT', { argument: error.path, value: error.received })
  if (error instanceof HttpError) return answered(error.status, error.body, error.headers, request)
  // A node that throttles in JSON has not answered the call.
  if (error instanceof RpcError) return answered(error.status ?? 200, JSON.stringify({ error: { code: error.code, message: error.message } }), {}, request)
  return makeError(error.message, 'SERVER_ERROR', { request, info: { requestUrl: request } })
}

/** As ethers' `FetchResponse.assertOk` makes it. */
function answered(status: number, body: string, headers: HttpError['headers'], requestUrl: string): Error {
  const reason = STATUS_CODES[status] ?? ''
  const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))
  const request = new FetchRequest(requestUrl)
  const response = new FetchResponse(status, reason, flat, new TextEncoder().encode(body), request)
  return makeError(`server response ${status} ${reason}`, 'SERVER_ERROR', {
    request,
    response,
    info: { requestUrl, responseBody: body, responseStatus: `${status} ${reason}` },
  })
}

/** Unknown method, in whatever words. */
export function unsupported(payload: JsonRpcPayload, error: unknown): Error {
  return makeError('unsupported operation', 'UNSUPPORTED_OPERATION', { operation: payload.method, info: { error, payload } })
}

/** The node has answered the call, with an error; one that throttles has not, whatever it says. */
export function isAnswer(error: unknown): error is RpcError {
  return error instanceof RpcError && !(isThrottled(error) && (error.status ?? 200) >= 400)
}

/** The node's error object, as ethers' mapping of a node's words takes it. */
export function errorObject({ code, message, data }: RpcError): { code: number; message: string; data?: unknown } {
  return data === undefined ? { code, message } : { code, message, data }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}

function caused(error: Error, cause: unknown): Error {
  return Object.defineProperty(error, 'cause', { value: cause, enumerable: false, writable: true, configurable: true })
}

/** Several endpoints of one host are told apart by a number, which belongs to no URL. */
function originOf(name: string | undefined, endpoints: readonly string[]): string {
  const host = name?.replace(/#\d+$/, '')
  return endpoints.find((origin) => host === undefined || origin === host || origin.endsWith(`//${host}`)) ?? host ?? ''
}
