import { type HexlineError, IntegrityError } from '../errors.ts'
import { type Call, type Reply, replyOf, type Send } from './call.ts'
import { isFailure, isThrottled, mayRepeat } from './kinds.ts'
import type { Queue } from './queue.ts'

/**
 * Picks an endpoint for each call: the first that has not failed it and is not paused. A null for a call that requires a result means
 * that the node lags behind, and is a failure.
 */
export function route(queues: readonly [Queue, ...Queue[]]): Send {
  return async (call) => {
    const untried = queues.filter(({ name }) => !call.tried.includes(name))
    const first = untried.find(({ isPaused }) => !isPaused) ?? untried[0] ?? leastRecentlyTried(queues, call)
    let refusal: HexlineError | undefined
    for (const queue of [first, ...queues.filter((each) => each !== first)]) {
      try {
        const reply = await queue.send(call)
        return call.required ? present(reply, call, queue.name) : reply
      } catch (failure) {
        // This endpoint would not start it, for whatever call: another may.
        if (!isFailure(failure) || !(isThrottled(failure) || mayRepeat(failure) === 'elsewhere')) throw failure
        refusal = failure
      }
    }
    throw refusal
  }
}

function leastRecentlyTried(queues: readonly [Queue, ...Queue[]], { tried }: Call): Queue {
  return queues.find(({ name }) => name === tried.find((each) => queues.some((queue) => queue.name === each))) ?? queues[0]
}

function present(reply: Reply, call: Call, endpoint: string): Reply {
  const value = reply.take()
  const isNull = value === null || (value instanceof Uint8Array && value.length === 4 && value[0] === 0x6e)
  if (!isNull) return replyOf(value, reply.bytes)
  const { method, params } = call
  const asked = typeof params[0] === 'string' ? ` ${params[0]}` : ''
  const lag = new IntegrityError(`${endpoint}: ${method}${asked}: the node answers null for what must exist: it lags behind, or has no history that far back`, {
    kind: 'lagging',
    method,
    endpoint,
  })
  lag.attempts = 1
  throw lag
}
