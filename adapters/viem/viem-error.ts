import { STATUS_CODES } from 'node:http'
import * as viem from 'viem'
import { type BaseError, HttpRequestError, ProviderDisconnectedError, RpcRequestError, TimeoutError as ViemTimeoutError } from 'viem'
import { stringify } from 'viem/utils'
import { ClosedError, CodecError, HexlineError, HttpError, IntegrityError, LimitError, OptionError, RpcError, TimeoutError } from '../../src/errors.ts'
import { mayBeAccepted } from '../../src/eth/send-raw-transaction.ts'
import { nodeWords } from '../node-words.ts'
import { originOf } from '../origin.ts'

/**
 * hexline's failure of a call as viem's own error of the same meaning, so that viem decodes reverts, maps nodes' messages and
 * retries as it does over `http()`. hexline's error is its cause. Of the URL there is scheme and host: the path may hold the
 * key. What is no failure of a call (an abort's reason, a value that cannot be sent, replies that contradict each other) stays as it is.
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
  // Older versions of viem have no such error.
  if (error instanceof LimitError && viem.ResponseBodyTooLargeError !== undefined)
    return caused(new viem.ResponseBodyTooLargeError({ maxSize: error.limit, size: error.size }), error)
  if (error instanceof ClosedError) return new ProviderDisconnectedError(error)
  return new HttpRequestError({ body, url, cause: error })
}

/** The node's own error object, without what hexline's message says beside it. */
export function errorObject(error: RpcError): { code: number; message: string; data?: unknown } {
  const { code, data } = error
  const message = nodeWords(error)
  return data === undefined ? { code, message } : { code, message, data }
}

/** What may have become of a transaction, where viem's own words leave hexline's out. */
function withHash<E extends { message: string; details: string }>(error: E, { transactionHash }: HexlineError): E {
  if (transactionHash === undefined || error.details.includes(transactionHash)) return error
  const note = mayBeAccepted(transactionHash)
  const details = error.details === '' ? note : `${note}: ${error.details}`
  return Object.assign(error, { details, message: `${error.message}\n\n${note}` })
}

/** Not every error of viem's takes a cause. */
function caused<E extends Error>(error: E, cause: HexlineError): E {
  return Object.defineProperty(error, 'cause', { value: cause, writable: true, enumerable: false, configurable: true })
}

/** What the server said, as viem words it: the `error` of a JSON body, else the body, else what the status means. */
function detailsOf({ status, body }: HttpError): string {
  try {
    return stringify(JSON.parse(body).error) || (STATUS_CODES[status] ?? '')
  } catch {
    return body === '' ? (STATUS_CODES[status] ?? '') : stringify(body)
  }
}

/** `Retry-After` is in seconds, whatever the server wrote: viem's own retries, such as those of `fallback`, read no date. */
function headersOf({ headers, retryAfterMs }: HttpError): Headers {
  const made = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) {
      try {
        made.append(name, each)
      } catch {
        // A value that `Headers` does not take is of no use to who reads them.
      }
    }
  }
  if (retryAfterMs !== undefined) made.set('retry-after', String(Math.ceil(retryAfterMs / 1000)))
  return made
}
