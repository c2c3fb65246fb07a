import { IntegrityError } from '../../errors.ts'
import type { Call } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import type { Pin } from '../pin.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Pinned calls move to another endpoint only once that one has the newest block that they have
 * seen.
 */
export async function movePin(pin: Pin, endpoint: Endpoint, call: Call): Promise<void> {
  const { name } = endpoint
  const { head } = endpoint.blocks
  if (isBehindPin(pin, endpoint)) {
    await endpoint.askHead(call.signal, call.deadline)
    call.signal?.throwIfAborted()
    if (isBehindPin(pin, endpoint)) {
      const has = head.number < 0 ? 'has not told its newest block' : `is at block ${head.number}`
      const message = `${name}: ${has}, and calls pinned to ${pin.endpoint} have seen block ${pin.newest}: they cannot continue here yet`
      endpoint.said = message
      throw new CallFailure(new IntegrityError(message, { kind: 'lagging', method: call.method, endpoint: name }), 0, name)
    }
  }
  pin.endpoint = name
}

/** The calls are pinned to another endpoint, and this one is not known to have what they saw. */
export function isBehindPin(pin: Pin, { name, blocks }: Endpoint): boolean {
  return pin.endpoint !== undefined && pin.endpoint !== name && blocks.head.number < pin.newest
}
