import { STATUS_CODES } from 'node:http'
import * as viem from 'viem'
import { type BaseError, HttpRequestError, ProviderDisconnectedError, RpcRequestError, TimeoutError as ViemTimeoutError, WebSocketRequestError } from 'viem'
import { stringify } from 'viem/utils'
import { ClosedError, CodecError, HexlineError, HttpError, IntegrityError, LimitError, OptionError, RpcError, TimeoutError } from '../../../src/errors.ts'
import { mayBeAccepted } from '../../../src/eth/send-raw-transaction.ts'
import { caused } from '../../caused.ts'
import { nodeWords } from '../../node-words.ts'
import { originOf } from '../../origin.ts'

/**
 * Translates hexline's error of a call into viem's own with the same meaning, so that viem decodes
 * reverts, maps node errors and retries as it does with `http()`. hexline's error is its cause. Of
 * the URL it shows only scheme and host, since the path may hold the key. Errors that do not come
 * from a call (the reason of an abort, a value that cannot be sent, replies that contradict each
 * other) are returned unchanged.
 */
export function viemError(error: unknown, body: { method: string; params?: unknown }, endpoints: readonly string[]): unknown {
  if (!(error instanceof HexlineError) || error instanceof CodecError || error instanceof OptionError || error instanceof IntegrityError) return error
  return withHash(translated(error, body, endpoints), error)
}

function translated(error: HexlineError, body: { method: string; params?: unknown }, endpoints: readonly string[]): BaseError | ProviderDisconnectedError {
  const url = originOf(error.endpoint, endpoints)
  if (error instanceof RpcError) return caused(new RpcRequestError({ body, url, error: errorObject(error) }), error)
  if (error instanceof HttpError) {
    const { status } = error
    return caused(new HttpRequestError({ body, url, status, headers: headersOf(error), details: detailsOf(error) }), error)
  }
  if (error instanceof TimeoutError) return caused(new ViemTimeoutError({ body, url }), error)
  // Older versions of viem do not have this error.
  if (error instanceof LimitError && viem.ResponseBodyTooLargeError !== undefined)
    return caused(new viem.ResponseBodyTooLargeError({ maxSize: error.limit, size: error.size }), error)
  if (error instanceof ClosedError) return new ProviderDisconnectedError(error)
  return /^wss?:/.test(url) ? new WebSocketRequestError({ body, url, cause: error }) : new HttpRequestError({ body, url, cause: error })
}

/** The node's own error object, without what hexline's message adds. */
export function errorObject(error: RpcError): { code: number; message: string; data?: unknown } {
  const { code, data } = error
  const message = nodeWords(error)
  return data === undefined ? { code, message } : { code, message, data }
}

/**
 * Adds the warning that a transaction may have been accepted, where viem's message omits hexline's.
 */
function withHash<E extends { message: string; details: string }>(error: E, { transactionHash }: HexlineError): E {
  if (transactionHash === undefined || error.details.includes(transactionHash)) return error
  const note = mayBeAccepted(transactionHash)
  const details = error.details === '' ? note : `${note}: ${error.details}`
  return Object.assign(error, { details, message: `${error.message}\n\n${note}` })
}

/**
 * The server's message, as viem shows it: the `error` of a JSON body, else the body, else the
 * meaning of the status.
 */
function detailsOf({ status, body }: HttpError): string {
  try {
    return stringify(JSON.parse(body).error) || (STATUS_CODES[status] ?? '')
  } catch {
    return body === '' ? (STATUS_CODES[status] ?? '') : stringify(body)
  }
}

/**
 * Writes `Retry-After` in seconds, whatever the server sent, since viem's own retries, such as
 * those of `fallback`, do not read dates.
 */
function headersOf({ headers, retryAfterMs }: HttpError): Headers {
  const made = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) {
      try {
        made.append(name, each)
      } catch {
        // A value that `Headers` refuses is skipped.
      }
    }
  }
  if (retryAfterMs !== undefined) made.set('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  return made
}
