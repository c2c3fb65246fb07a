import type { Call } from './call.ts'
import type { CallEvent, PostEvent } from './events.ts'

/*
 * What metrics and traces use in place of the channels of calls, and traces in place of those of
 * POSTs, too: no message is made, and a watcher decides at the start of a call or a POST whether it
 * wants to know its end. Messages to a channel cost a small call several times as much as counting
 * it.
 */

/** Watches all calls and POSTs of the process that begin while it is registered. */
export interface CallWatcher {
  /**
   * A call begins, in the async context of its caller. `id` is its number in the events, and `now`
   * the time on the client's clock. The object that it returns is told the end of the call; one
   * object may serve any number of calls.
   */
  begun(id: number, method: string, priority: Call['priority'], now: number): CallEnd | undefined
  /**
   * A POST of this many calls begins. `callIds` makes the `callIds` of its event. The function that
   * it returns is told the end of the POST.
   */
  postBegun?(endpoint: string, calls: number, callIds: () => readonly number[], now: number): PostEnd | undefined
}

/** Is told the end of a POST. */
export type PostEnd = (figures: Omit<PostEvent, 'id'>) => void

/** Is told the end of a call. The arguments are the fields of a `CallEvent`. */
export interface CallEnd {
  ended(
    outcome: CallEvent['outcome'],
    endpoint: string | undefined,
    attempts: number,
    durationMs: number,
    bytes: number,
    /** Undefined unless the call has failed. */
    failure: Pick<CallEvent, 'kind' | 'rpcCode'> | undefined,
  ): void
}

const WATCHERS: unique symbol = Symbol.for('hexline.callWatchers')

/** All watchers. The list is replaced, never changed: one may leave while they are told. */
interface Registry {
  all: readonly CallWatcher[]
}

/** Registered for the whole process, as the channels are: both builds may be in it. */
const watchers: Registry = register()

function register(): Registry {
  const registry = globalThis as { [WATCHERS]?: Registry }
  registry[WATCHERS] ??= { all: [] }
  return registry[WATCHERS]
}

/**
 * Watches calls and POSTs from now on, until the function that it returns is called. The ends of
 * those that have begun by then are still told.
 */
export function watchCalls(watcher: CallWatcher): () => void {
  watchers.all = [...watchers.all, watcher]
  let isWatching = true
  return () => {
    const at = isWatching ? watchers.all.indexOf(watcher) : -1
    isWatching = false
    if (at >= 0) watchers.all = watchers.all.toSpliced(at, 1)
  }
}

/** Does anyone watch what begins now? */
export function areCallsWatched(): boolean {
  return watchers.all.length > 0
}

/** Tells all watchers that a call begins. Undefined where none of them wants to know its end. */
export function tellBegun(id: number, method: string, priority: Call['priority'], now: number): CallEnd | undefined {
  let all: CallEnd | undefined
  for (const watcher of watchers.all) {
    try {
      const end = watcher.begun(id, method, priority, now)
      if (end !== undefined) all = all === undefined ? end : both(all, end)
    } catch (error) {
      throwLater(error)
    }
  }
  return all
}

/** Tells all watchers that a POST begins. Undefined where none of them wants to know its end. */
export function tellPostBegun(endpoint: string, calls: number, callIds: () => readonly number[], now: number): PostEnd | undefined {
  let all: PostEnd | undefined
  for (const watcher of watchers.all) {
    try {
      const end = watcher.postBegun?.(endpoint, calls, callIds, now)
      if (end !== undefined) all = all === undefined ? end : inTurn(all, end)
    } catch (error) {
      throwLater(error)
    }
  }
  return all
}

/** Like a subscriber to a channel, a watcher that throws breaks no call. */
export function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error
  })
}

function both(a: CallEnd, b: CallEnd): CallEnd {
  return {
    ended: inTurn(
      (...end) => a.ended(...end),
      (...end) => b.ended(...end),
    ),
  }
}

/** Calls both, also where the first one throws. */
function inTurn<A extends unknown[]>(first: (...args: A) => void, second: (...args: A) => void): (...args: A) => void {
  return (...args) => {
    try {
      first(...args)
    } catch (error) {
      throwLater(error)
    }
    second(...args)
  }
}
