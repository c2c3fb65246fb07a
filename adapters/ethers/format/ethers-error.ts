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
} from '../../../src/errors.ts'
import { mayBeAccepted } from '../../../src/eth/send-raw-transaction.ts'
import { caused } from '../../caused.ts'
import { nodeWords } from '../../node-words.ts'
import { originOf } from '../../origin.ts'

/** The reason of the provider's signal, which ends its calls when it is destroyed. */
export class Destroyed {
  errorOf(method: string): Error {
    return makeError('provider destroyed; cancelled request', 'UNSUPPORTED_OPERATION', { operation: method })
  }
}

/**
 * Translates hexline's error of a call into ethers' own with the same meaning. hexline's error is
 * its `cause`. Of the URL it shows only scheme and host, since the path may hold the key. None of
 * its enumerable fields is a function or a cycle, since `FallbackProvider` walks through them.
 * Errors that do not come from a call (options, replies that contradict each other) are returned
 * unchanged.
 */
export function ethersError(error: unknown, method: string, endpoints: readonly string[]): unknown {
  if (error instanceof Destroyed) return error.errorOf(method)
  if (!(error instanceof HexlineError)) return isAbort(error) ? caused(makeError('request cancelled', 'CANCELLED'), error) : error
  if (error instanceof OptionError) return coded(error)
  if (error instanceof IntegrityError) return error
  return caused(translated(error, method, originOf(error.endpoint, endpoints)), error)
}

/** Runs `check`. Gives an `OptionError` ethers' code. */
export function withEthersCode<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw error instanceof OptionError ? coded(error) : error
  }
}

/** The same error, with the fields of ethers' INVALID_ARGUMENT. */
function coded(error: OptionError): OptionError {
  const { option, received, message } = error
  return Object.assign(error, { code: 'INVALID_ARGUMENT', argument: option, value: received, shortMessage: message })
}

function translated(error: HexlineError, method: string, requestUrl: string): Error {
  // The warning that a transaction may have been accepted, since ethers' messages omit hexline's.
  const note = error.transactionHash === undefined ? '' : `; ${mayBeAccepted(error.transactionHash)}`
  if (error instanceof ClosedError) return makeError(`client closed; cancelled request${note}`, 'UNSUPPORTED_OPERATION', { operation: method })
  if (error instanceof TimeoutError) return makeError(`request timeout${note}`, 'TIMEOUT', { operation: method, reason: 'timeout', info: { requestUrl } })
  if (error instanceof NetworkError)
    return makeError(error.message, 'NETWORK_ERROR', { event: 'connection', info: { requestUrl, ...(error.code && { errno: error.code }) } })
  if (error instanceof CodecError && error.kind === 'malformed') return makeError(error.message, 'BAD_DATA', { value: error.received })
  if (error instanceof CodecError) return makeError(error.message, 'INVALID_ARGUMENT', { argument: error.path, value: error.received })
  if (error instanceof HttpError) return answered(error.status, error.body, error.headers, requestUrl, note)
  // A server that refuses a call with a JSON error has not answered it.
  if (error instanceof RpcError) return answered(error.status ?? 200, JSON.stringify({ error: errorObject(error) }), {}, requestUrl)
  return makeError(error.message, 'SERVER_ERROR', { request: requestUrl, info: { requestUrl } })
}

/** The error that ethers' `FetchResponse.assertOk` throws. */
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

/** The error for an unknown method, whatever the node's message. */
export function unsupported(payload: JsonRpcPayload, error: unknown): Error {
  return makeError('unsupported operation', 'UNSUPPORTED_OPERATION', { operation: payload.method, info: { error, payload } })
}

/** Kinds that, with a status of 400 or more, describe the server and not the call. */
const refusals: readonly ErrorKind[] = ['rate-limit', 'overloaded', 'server', 'timeout', 'auth', 'quota']

/**
 * Whether the node answered the call with an error. A server that fails or refuses has not answered
 * it, even if its reply is a JSON-RPC error.
 */
export function isAnswer(error: unknown): error is RpcError {
  return error instanceof RpcError && !((error.status ?? 200) >= 400 && refusals.includes(error.kind))
}

/** Whether the node refused the call for the size of the range or of its reply. */
export function isTooLong(error: unknown): boolean {
  const cause: unknown = (error as { cause?: unknown } | null)?.cause
  return cause instanceof HexlineError && (cause.kind === 'range-too-large' || cause.kind === 'response-too-large')
}

/**
 * The whole error object of the node, since ethers' error mapping also looks into fields beyond
 * code, message and data.
 */
export function errorObject(error: RpcError): { code: number; message: string; data?: unknown } {
  const { code, data, object } = error
  return { ...(typeof object === 'object' && object), code, message: nodeWords(error), ...(data !== undefined && { data }) }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}
