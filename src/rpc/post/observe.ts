import type { ErrorKind, HexlineError } from '../../errors.ts'
import type { Clock } from '../../wait/clock.ts'
import type { Outcome, Post } from '../call.ts'
import { type PostEvent, postEvents } from '../events.ts'
import { isFailure } from '../failure-kinds.ts'

/** Called when the POST has ended, with the outcomes of its calls and the reply, if one came. */
export type OnPosted = (outcomes: readonly Outcome[], reply?: { readonly status: number; readonly body: Uint8Array }) => void

/** Watches a POST that starts now. Undefined where `hexline:post` has no subscriber. */
export function watchPost(endpoint: string, calls: number, signal: AbortSignal, clock: Clock): OnPosted | undefined {
  if (!postEvents.hasSubscribers) return undefined
  const started = clock.now()
  return (outcomes, reply) => {
    const isCut = signal.aborted
    const durationMs = clock.now() - started
    const bytes = reply?.body.length ?? outcomes.reduce((sum, outcome) => sum + (outcome instanceof Error ? 0 : outcome.bytes), 0)
    postEvents.publish({ endpoint, calls, bytes, durationMs, status: reply?.status, failures: isCut ? {} : failuresOf(outcomes), isCut })
  }
}

/** A post function of the user's own, watched. It may break its contract. */
export function watched(endpoint: string, post: Post, clock: Clock): Post {
  return (calls, signal) => {
    const onPosted = watchPost(endpoint, calls.length, signal, clock)
    return onPosted === undefined ? post(calls, signal) : tellOf(post(calls, signal), onPosted)
  }
}

async function tellOf(posted: ReturnType<Post>, onPosted: OnPosted): ReturnType<Post> {
  let outcomes: readonly Outcome[] = []
  try {
    outcomes = await posted
    return outcomes
  } finally {
    onPosted(Array.isArray(outcomes) ? outcomes.filter((outcome) => outcome !== null && typeof outcome === 'object') : [])
  }
}

function failuresOf(outcomes: readonly Outcome[]): PostEvent['failures'] {
  const failures: Partial<Record<ErrorKind, number>> = {}
  for (const outcome of outcomes) {
    if (!isFailure(outcome)) continue
    const { kind }: HexlineError = outcome
    failures[kind] = (failures[kind] ?? 0) + 1
  }
  return failures
}
