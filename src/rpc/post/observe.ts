import type { ErrorKind } from '../../errors.ts'
import type { Clock } from '../../wait/clock.ts'
import { throwLater } from '../../wait/throw-later.ts'
import type { Call, EncodedCall, Outcome, Post, Reply } from '../call.ts'
import { recordOf } from '../call-record.ts'
import { areCallsWatched, reportPostBegun } from '../call-watchers.ts'
import { numbered, type PostEvent, postEvents, postStartEvents } from '../events.ts'
import { isFailure } from '../failure-kinds.ts'
import { sizeFrom } from '../reply.ts'

/** Called when the POST has ended, with the outcomes of its calls and the reply, if one came. */
export type OnPosted = (outcomes: readonly Outcome[], reply?: { readonly status: number; readonly body: Uint8Array }) => void

/** Watches a POST that starts now. Undefined where nobody wants to know its end. */
export function watchPost(endpoint: string, carried: readonly Call[], signal: AbortSignal, clock: Clock): OnPosted | undefined {
  const isWatched = areCallsWatched()
  const isReported = postEvents.hasSubscribers || postStartEvents.hasSubscribers
  if (!isWatched && !isReported) return undefined
  const calls = carried.length
  const started = clock.now()
  const end = isWatched ? reportPostBegun(endpoint, calls, () => idsOf(carried), started) : undefined
  if (end === undefined && !isReported) return undefined
  const id = isReported ? ++numbered.posts : 0
  if (postStartEvents.hasSubscribers) postStartEvents.publish({ id, endpoint, calls, callIds: idsOf(carried) })
  return (outcomes, reply) => {
    const isCut = signal.aborted
    const durationMs = clock.now() - started
    const bytes = reply?.body.length ?? bytesOf(outcomes)
    const figures = { endpoint, calls, bytes, durationMs, status: reply?.status, failures: isCut ? NONE : failuresOf(outcomes), isCut }
    if (end !== undefined) {
      try {
        end(figures)
      } catch (error) {
        throwLater(error)
      }
    }
    if (isReported) postEvents.publish({ id, ...figures })
  }
}

/** A post function of the user's own, watched. It may break its contract. */
export function watched(endpoint: string, post: Post, clock: Clock): Post {
  return (calls, signal) => {
    const onPosted = watchPost(endpoint, calls, signal, clock)
    return onPosted === undefined ? post(calls, signal) : reported(post(calls, signal), onPosted)
  }
}

function reported(posted: ReturnType<Post>, onPosted: OnPosted): ReturnType<Post> {
  // A single promise: each costs several times as much under `AsyncLocalStorage`.
  return posted.then(
    (outcomes) => {
      onPosted(Array.isArray(outcomes) ? outcomes : [])
      return outcomes
    },
    (reason) => {
      onPosted([])
      throw reason
    },
  )
}

function idsOf(carried: readonly Call[]): number[] {
  const ids: number[] = []
  for (const call of carried) {
    const { joined } = call as Partial<EncodedCall>
    if (joined === undefined) addId(ids, call)
    else for (const each of joined) addId(ids, each)
  }
  return ids
}

function addId(ids: number[], call: Call): void {
  const id = recordOf(call)?.id ?? 0
  if (id > 0) ids.push(id)
}

/* What a user's function returns may be no outcome. */

/** The bytes of all results. */
function bytesOf(outcomes: readonly Outcome[]): number {
  let sum = 0
  for (const outcome of outcomes) if (!(outcome instanceof Error)) sum += sizeFrom((outcome as Partial<Reply> | null | undefined)?.bytes)
  return sum
}

const NONE: PostEvent['failures'] = Object.freeze({})

/** How many calls failed, by kind. */
function failuresOf(outcomes: readonly Outcome[]): PostEvent['failures'] {
  let failures: Partial<Record<ErrorKind, number>> | undefined
  for (const outcome of outcomes) {
    // Most outcomes are results, which their method tells faster than their class.
    if (typeof (outcome as Partial<Reply> | null | undefined)?.take === 'function' || !isFailure(outcome)) continue
    failures ??= {}
    failures[outcome.kind] = (failures[outcome.kind] ?? 0) + 1
  }
  return failures ?? NONE
}
