import { CodecError } from '../errors.ts'
import { cloneJson } from '../rpc/clone-json.ts'
import { notJson } from '../rpc/queue/entry.ts'
import { excerpt, show } from '../text.ts'

/*
 * Copies of JSON that someone else may change: a caller's params, and results that a user's own
 * function has made.
 */

/**
 * Copies the params as JSON, so that a retry does not see the caller's later changes. Throws
 * `CodecError` for an invalid method or invalid params.
 */
export function ownParams(method: unknown, params: unknown = []): readonly unknown[] {
  if (typeof method !== 'string' || method === '') throw new CodecError('method', 'the name of a method', show(method))
  if (typeof params !== 'object' || params === null) throw new CodecError('params', 'an array or an object', show(params), { method })
  if (Array.isArray(params) && params.every((param) => typeof param === 'string' || typeof param === 'boolean')) return [...params]
  let json: string
  let own: readonly unknown[]
  try {
    json = JSON.stringify(params)
    own = JSON.parse(json)
  } catch (error) {
    throw notJson(error, method)
  }
  // A number that is not finite, and a function in an array, become null.
  if (json.includes('null')) refuseLost(params, 'params', method)
  return own
}

/** A block NaN must not be asked for as block null, which nodes take for the latest one. */
function refuseLost(value: unknown, path: string, method: string): void {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new CodecError(path, 'a value that JSON can represent', String(value), { method })
  if (typeof value !== 'object' || value === null || typeof (value as { toJSON?: unknown }).toJSON === 'function') return
  for (const [key, item] of Object.entries(value)) {
    const isItem = Array.isArray(value)
    const place = isItem ? `${path}[${key}]` : `${path}.${key}`
    if (isItem && (typeof item === 'function' || typeof item === 'symbol'))
      throw new CodecError(place, 'a value that JSON can represent', show(item), { method })
    refuseLost(item, place, method)
  }
}

/** Copies a result. Throws `CodecError` for a value that JSON cannot hold. */
export function ownResult(value: unknown, method: string): unknown {
  try {
    return cloneJson(value)
  } catch (cause) {
    throw new CodecError('result', 'a value that JSON can represent', `something else (${excerpt((cause as Error).message)})`, { method, kind: 'malformed' })
  }
}
