import { IntegrityError } from '../../errors.ts'
import { type Call, type Reply, replyOf } from '../call.ts'
import { CallFailure } from '../call-failure.ts'

/** The reply to a call that requires a result. Throws when it is null: the node lags behind. */
export function present(reply: Reply, call: Call, endpoint: string): Reply {
  const value = reply.take()
  if (isNull(value)) throw lagging(call, endpoint)
  return replyOf(value, reply.bytes)
}

/** True for null, parsed or as bytes. */
export function isNull(value: unknown): boolean {
  return value === null || (value instanceof Uint8Array && value.length === 4 && value[0] === 0x6e)
}

/** The failure of an endpoint that answers null for what must exist. */
export function lagging({ method, params }: Call, endpoint: string): CallFailure {
  // Only what is short and plain: the hash that is asked for may be what a server sent as one.
  const asked = typeof params[0] === 'string' && /^(?:0x[0-9a-fA-F]{1,64}|[a-z]{1,9})$/.test(params[0]) ? ` ${params[0]}` : ''
  const message = `${endpoint}: ${method}${asked}: the node answers null for what must exist: it lags behind, or has no history that far back`
  return new CallFailure(new IntegrityError(message, { kind: 'lagging', method, endpoint }), 1, endpoint)
}
