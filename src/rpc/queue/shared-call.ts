import type { Call } from '../call.ts'

/** What a POST is to know of a call depends on its callers: these fields. */
export type SharedFields = Pick<Call, 'signal' | 'deadline' | 'attempts' | 'timeoutMs' | 'whilePaused' | 'required' | 'tried' | 'stalls' | 'isBound'>

/**
 * The fields of a call that several callers make: its POST must be right for each of them. (The
 * callers' own signals, deadlines and timeouts end their own waiting.)
 */
export function sharedFields(calls: readonly [Call, ...Call[]]): SharedFields {
  const [first, ...others] = calls
  return others.reduce(bothOf, bothOf(first, first))
}

function bothOf(a: SharedFields, b: SharedFields): SharedFields {
  return {
    // A POST has a signal of its own, which ends it when the last caller leaves.
    signal: a.signal === b.signal ? a.signal : undefined,
    deadline: Math.max(a.deadline, b.deadline),
    // The reply is waited for as long as the most patient caller wants.
    attempts: Math.min(a.attempts, b.attempts),
    stalls: Math.max(a.stalls ?? 0, b.stalls ?? 0),
    timeoutMs: a.timeoutMs === undefined || b.timeoutMs === undefined ? undefined : Math.max(a.timeoutMs, b.timeoutMs),
    whilePaused: a.whilePaused === b.whilePaused ? a.whilePaused : 'wait',
    required: a.required || b.required,
    tried: [...new Set([...a.tried, ...b.tried])],
    isBound: a.isBound === true || b.isBound === true,
  }
}
