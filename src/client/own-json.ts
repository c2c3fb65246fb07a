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
  try {
    return JSON.parse(JSON.stringify(params))
  } catch (error) {
    throw notJson(error, method)
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
