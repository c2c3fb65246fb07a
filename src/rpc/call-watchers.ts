import { processWide } from '../process-wide.ts'
import { throwLater } from '../wait/throw-later.ts'
import type { Call } from './call.ts'
import type { CallEvent, PostEvent } from './events.ts'

/*
 * What metrics and traces use in place of the channels of calls and POSTs: no message is made.
 * Messages to a channel cost a small call several times as much as counting it.
 */

/** Watches all calls and POSTs of the process while it is registered. */
export interface CallWatcher {
  readonly begun?: CallBegun | undefined
  readonly ended?: CallEnded | undefined
  readonly postBegun?: PostBegun | undefined
}

/**
 * A call begins, in the async context of its caller. `id` is its number in the events, and `now`
 * the time on the client's clock.
 */
export type CallBegun = (id: number, method: string, priority: Call['priority'], now: number) => void

/**
 * A call has ended. It may have begun before the watcher was registered: then its `id` is no more
 * than `numbered.calls` was at that time. The other arguments are the fields of a `CallEvent`;
 * `failure` is undefined unless the call has failed.
 */
export type CallEnded = (
  id: number,
  method: string,
  outcome: CallEvent['outcome'],
  endpoint: string | undefined,
  attempts: number,
  durationMs: number,
  bytes: number,
  failure: Pick<CallEvent, 'kind' | 'rpcCode'> | undefined,
) => void

/**
 * A POST of this many calls begins. `callIds` makes the `callIds` of its event. The function that
 * it returns is told the end of the POST, also where the watcher has left by then.
 */
export type PostBegun = (endpoint: string, calls: number, callIds: () => readonly number[], now: number) => PostEnd | undefined

/** Is told the end of a POST. */
export type PostEnd = (figures: Omit<PostEvent, 'id'>) => void

/** All watchers, and one that tells all of them. Both are replaced, never changed. */
interface Registry {
  all: readonly CallWatcher[]
  /** Undefined without watchers. */
  together: CallWatcher | undefined
}

const watchers = processWide<Registry>('callWatchers', () => ({ all: [], together: undefined }))

/** Watches calls and POSTs from now on, until the function that it returns is called. */
export function watchCalls(watcher: CallWatcher): () => void {
  replace([...watchers.all, watcher])
  let isWatching = true
  return () => {
    const at = isWatching ? watchers.all.indexOf(watcher) : -1
    isWatching = false
    if (at >= 0) replace(watchers.all.toSpliced(at, 1))
  }
}

function replace(all: readonly CallWatcher[]): void {
  watchers.all = all
  const [first, ...others] = all
  watchers.together = first && others.reduce(pairOf, first)
}

/** Does anyone watch now? */
export function areCallsWatched(): boolean {
  return watchers.together !== undefined
}

/* Like a subscriber to a channel, a watcher that throws breaks no call. */

/** Tells all watchers that a call begins. */
export const reportBegun: CallBegun = (id, method, priority, now) => {
  try {
    watchers.together?.begun?.(id, method, priority, now)
  } catch (error) {
    throwLater(error)
  }
}

/** Tells all watchers that a call has ended. */
export const reportEnded: CallEnded = (id, method, outcome, endpoint, attempts, durationMs, bytes, failure) => {
  try {
    watchers.together?.ended?.(id, method, outcome, endpoint, attempts, durationMs, bytes, failure)
  } catch (error) {
    throwLater(error)
  }
}

/** Tells all watchers that a POST begins. Undefined where none of them wants to know its end. */
export const reportPostBegun: PostBegun = (endpoint, calls, callIds, now) => {
  try {
    return watchers.together?.postBegun?.(endpoint, calls, callIds, now)
  } catch (error) {
    throwLater(error)
    return undefined
  }
}

/**
 * Two watchers as one. If one throws, the other is still called. Each argument is passed on by
 * itself: with a list of arguments, or of watchers, small calls would take longer.
 */
function pairOf(a: CallWatcher, b: CallWatcher): CallWatcher {
  return {
    begun: eitherOf(a.begun, b.begun, (first, second) => (id, method, priority, now) => {
      try {
        first(id, method, priority, now)
      } catch (error) {
        throwLater(error)
      }
      second(id, method, priority, now)
    }),
    ended: eitherOf(a.ended, b.ended, (first, second) => (id, method, outcome, endpoint, attempts, durationMs, bytes, failure) => {
      try {
        first(id, method, outcome, endpoint, attempts, durationMs, bytes, failure)
      } catch (error) {
        throwLater(error)
      }
      second(id, method, outcome, endpoint, attempts, durationMs, bytes, failure)
    }),
    postBegun: eitherOf(a.postBegun, b.postBegun, (first, second) => (endpoint, calls, callIds, now) => {
      const end = postBegunBy(first, endpoint, calls, callIds, now)
      const otherEnd = postBegunBy(second, endpoint, calls, callIds, now)
      return eitherOf(end, otherEnd, (one, other) => (figures) => {
        try {
          one(figures)
        } catch (error) {
          throwLater(error)
        }
        other(figures)
      })
    }),
  }
}

/** Both, if both are there. */
function eitherOf<F>(a: F | undefined, b: F | undefined, both: (a: F, b: F) => F): F | undefined {
  return a === undefined ? b : b === undefined ? a : both(a, b)
}

function postBegunBy(begun: PostBegun, ...post: Parameters<PostBegun>): PostEnd | undefined {
  try {
    return begun(...post)
  } catch (error) {
    throwLater(error)
    return undefined
  }
}
