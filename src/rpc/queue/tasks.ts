import { HexlineError } from '../../errors.ts'
import type { Waiter, Waiting } from '../../wait/waiting.ts'
import { type Call, ownRead, type Post } from '../call.ts'
import { replyOf } from '../reply.ts'
import type { Backoff } from '../retry-delay.ts'
import { createQueue } from './queue.ts'

/**
 * One exchange that is not a call of JSON-RPC, such as a GET. It waits in line, and for the
 * endpoint's limits, as calls do.
 */
export interface Task<T> extends Waiter {
  /**
   * Makes the exchange. What it resolves with shows that the endpoint takes tasks at this rate.
   * Rejects with a `HexlineError`.
   */
  run(signal: AbortSignal): Promise<T>
}

/**
 * Runs a task when its endpoint takes it. Rejects with a `CallFailure`, or with the reason of the
 * task's signal.
 */
export type RunTask = <T>(task: Task<T>) => Promise<T>

/** One endpoint, and how tasks are sent to it. */
export interface TaskQueueOptions {
  /** Names the endpoint in errors and events. */
  readonly name: string
  readonly waiting: Waiting
  /** Tasks that may run at a time. */
  readonly concurrency: number
  /** How long the endpoint is left alone when it throttles everything without a `Retry-After`. */
  readonly backoff: Backoff
}

/** The queue of an endpoint that knows no batches: each task travels alone. */
export function createTaskQueue({ name, waiting, concurrency, backoff }: TaskQueueOptions): RunTask {
  const { send } = createQueue({
    name,
    post,
    waiting,
    concurrency,
    singleConcurrency: concurrency,
    maxCalls: 1,
    backoff,
    isHeavy: () => false,
    dedupe: false,
  })
  return async <T>({ method, signal, deadline, run }: Task<T>) => (await send(ownRead({ method, params: [run], signal, deadline }))).take() as T
}

/** The queue knows calls: a task travels as the only param of one. */
const post: Post = async (calls, signal) => {
  const [run] = (calls[0] as Call).params as [Task<unknown>['run']]
  try {
    return [replyOf(await run(signal))]
  } catch (error) {
    if (error instanceof HexlineError) return [error]
    throw error
  }
}
