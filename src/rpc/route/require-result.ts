import { IntegrityError } from '../../errors.ts'
import type { Call, Reply } from '../call.ts'
import { CallFailure } from '../call-failure.ts'

/**
 * Takes the reply's value. The only place where null becomes `lagging`: a node that answers null
 * for what must exist is behind the others, or has dropped it, which is a failure that retry and
 * route act on.
 */
export function takeResult(reply: Reply, { method, params, required }: Call, endpoint: string): unknown {
  const value = reply.take()
  if (!required || !isNull(value)) return value
  // Shown only where it is short and plain: the hash that is asked for may be something that a
  // server sent as one.
  const asked = typeof params[0] === 'string' && /^(?:0x[0-9a-fA-F]{1,64}|[a-z]{1,9})$/.test(params[0]) ? ` ${params[0]}` : ''
  const message = `${endpoint}: ${method}${asked}: the node answers null for what must exist: it lags behind, or has no history that far back`
  throw new CallFailure(new IntegrityError(message, { kind: 'lagging', method, endpoint }), 1, endpoint)
}

const N_OF_NULL = 0x6e

/** True for null, parsed or as bytes. */
export function isNull(value: unknown): boolean {
  return value === null || (value instanceof Uint8Array && value.length === 4 && value[0] === N_OF_NULL)
}
