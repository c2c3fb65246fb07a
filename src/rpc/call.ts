import type { HexlineError } from '../errors.ts'
import type { BodyPool } from './body-pool.ts'
import type { Pin } from './pin.ts'

/** One call, with everything that concerns it alone. */
export interface Call {
  readonly method: string
  /** In their order; an object where the caller gave them by name. */
  readonly params: readonly unknown[]
  readonly signal?: AbortSignal | undefined
  /** When its caller stops waiting, in all: a time on the client's clock. */
  readonly deadline: number
  /** How often it may fail, the first attempt included. */
  readonly attempts: number
  /** Timeout of one attempt in its POST, in ms, where it is shorter than the endpoint's own. */
  readonly timeoutMs?: number | undefined
  /** Whether it waits while an endpoint is paused after throttling, or fails at once. */
  readonly whilePaused?: 'wait' | 'fail' | undefined
  readonly priority: 'interactive' | 'bulk'
  /** The result parsed, or the node's own bytes of it as a `Uint8Array`: one JSON value. */
  readonly as: 'value' | 'bytes'
  /** The reader of the bytes checks that they are valid JSON (`readUnread`): the POST need not. */
  readonly isUnread?: boolean | undefined
  /** A null result means that the node lags: a failure, so that retry and route act on it. */
  readonly required: boolean
  /** May it run twice? From the method table; false for methods that are not in it. */
  readonly safe: boolean
  /** Endpoints that have failed it. */
  readonly tried: readonly string[]
  /**
   * Number of attempts that were given up because the reply had begun and then made no progress.
   * Infinite if this attempt must not be given up for that reason.
   */
  readonly stalls?: number | undefined
  /**
   * The endpoint that turned the call away and may still hold it. A call that must not run twice is
   * not sent to any other.
   */
  readonly heldBy?: string | undefined
  /** The calls that it shares an endpoint with. */
  readonly pin?: Pin | undefined
  /** It must be answered by the endpoint that it is sent to, and never moves to another. */
  readonly isBound?: boolean | undefined
  /** Counts its POSTs, where that is wanted. Calls that hexline makes on its behalf have none. */
  readonly record?: CallPosts | undefined
}

/** What has become of a call so far. */
export interface CallPosts {
  /** POSTs that it was in. */
  readonly attempts: number
  /** The endpoint that gave the last outcome. */
  readonly endpoint: string | undefined
}

/** What hexline's own modules add to a call. No public type names it. */
export interface PooledCall extends Call {
  /** The endpoints that its sender wants to avoid: `tried` of its first attempt. */
  readonly avoid?: readonly string[] | undefined
  /**
   * With `isUnread`: the body of its POST may be received in memory of this pool, which gets the
   * memory back once the reader has released the replies to all calls of the POST.
   */
  readonly bodies?: BodyPool | undefined
  /**
   * Decodes the result from its bytes, if they are exactly one JSON value in the form that nodes
   * usually give it. Other bytes are parsed: for them it throws or gives undefined.
   */
  readonly decode?: ((bytes: Buffer) => object | undefined) | undefined
  /**
   * It is sent in the next microtask, not at the end of the turn, with the calls that are in line
   * by then.
   */
  readonly atOnce?: boolean | undefined
  /** The caller has another way to get the result where endpoints lack the method. */
  readonly hasSubstitute?: boolean | undefined
  /**
   * It shares a POST with no other call: never, or not once it has failed, since another call of
   * its POST may be why.
   */
  readonly alone?: 'always' | 'once-failed' | undefined
  /** It joins an identical call in line even where the client's calls do not (`dedupe: false`). */
  readonly joins?: boolean | undefined
  /** It keeps waiting for its endpoint even when routing gives that endpoint up. */
  readonly staysPut?: boolean | undefined
  /** This attempt also waits for an endpoint that was given up, since it may only be slow. */
  readonly waitsForSlow?: boolean | undefined
}

/*
 * What ties a call to endpoints, or keeps it from them:
 *
 *     tried          those that have failed it: any other is better
 *     pin            the one that the other calls of the pin went to is better
 *     heldBy         it goes to this one only, which may have it already
 *     waitsForSlow   it may also be sent to an endpoint that was given up
 *
 * What keeps a call at the endpoint that has it (`mayLeave`):
 *
 *                                                    pin      isBound   staysPut   the last two
 *     in line, and another one can answer it         stays    stays               stays
 *     in line, and its endpoint is given up                                        stays
 *     in flight, and its endpoint is given up                           stays      stays
 *     in flight still, a while after that                     stays     stays      stays
 */

/** May the call be taken back from the endpoint that has it, to go to another one? */
export function mayLeave(call: Call, from: 'line' | 'flight', why: 'another can answer' | 'given up' | 'still given up'): boolean {
  const { isBound = false, pin } = call
  if (why === 'another can answer') return from === 'line' && !isBound && pin === undefined
  if (from === 'line') return !(isBound && staysPut(call))
  return !staysPut(call) && (why === 'given up' || !isBound)
}

/**
 * The call, set to keep waiting for its endpoint even when that is given up: the node may be silent
 * because it works on this very call.
 */
export function stayingPut(call: Call): PooledCall {
  return { ...call, staysPut: true }
}

/** The call, bound to one endpoint: it waits for that one even if it is given up. */
export function onlyHere(call: Call): PooledCall {
  return stayingPut({ ...call, isBound: true })
}

/** Does it keep waiting for its endpoint even when routing gives that endpoint up? */
export function staysPut(call: Call): boolean {
  return (call as PooledCall).staysPut === true
}

/** The call, set to wait for an endpoint that was given up if the others fail it. */
export function waitingForSlow(call: Call): PooledCall {
  return { ...call, waitsForSlow: true }
}

/** A call with a single attempt waits, too: that attempt is its last. */
export function waitsForSlow(call: Call): boolean {
  return call.attempts <= 1 || (call as PooledCall).waitsForSlow === true
}

/** The call as it is sent again after a failure. */
export function sentAgain(call: Call, changed: Pick<Call, 'tried' | 'heldBy' | 'stalls'>): PooledCall {
  const { alone } = call as PooledCall
  return { ...call, ...changed, alone: alone && 'always' }
}

/** The caller has another way to get the result where endpoints lack the method. */
export function hasSubstitute(call: Call): boolean {
  return (call as PooledCall).hasSubstitute === true
}

/** A call whose params are encoded: what the queue gives to a `Post`. */
export interface EncodedCall extends PooledCall {
  /** `params` as JSON. */
  readonly json: string
  /** The calls that wait for its outcome: identical ones join. */
  readonly joined: readonly Call[]
}

/**
 * A read of hexline's own, such as a question of the prober: one attempt, and no other fields than
 * it needs.
 */
export function ownRead(read: Pick<Call, 'method' | 'params' | 'deadline'> & Partial<Call>): Call {
  return { as: 'value', attempts: 1, priority: 'interactive', required: false, safe: true, tried: [], ...read }
}

/**
 * What came back. Taking the value empties the reply, so that an old promise of it keeps nothing in
 * memory.
 */
export interface Reply {
  /** The result; a second `take` gives undefined. */
  take(): unknown
  /**
   * Size of the result after decompression, in bytes. Where the body was parsed as a whole: with
   * its envelope, and in a batch an equal share.
   */
  readonly bytes: number
}

/** Sends one call. Rejects with a `HexlineError` or the caller's own abort reason. */
export type Send = (call: Call) => Promise<Reply>

/** Wraps a `Send`: a cache, a log, a retry. */
export type Layer = (next: Send) => Send

/** What became of one call of a POST. */
export type Outcome = Reply | HexlineError

/** One POST of several calls: an outcome for each, in their order. Never rejects. */
export type Post = (calls: readonly Call[], signal: AbortSignal) => Promise<readonly Outcome[]>

/**
 * How many times longer than usual a reply may make no progress, after `stalls` replies that
 * stopped in their middle: 1, 1, 2, 4, and so on. So even a node that pauses in every reply is read
 * to the end.
 */
export function patienceAfter(stalls: number): number {
  return 2 ** (Math.max(1, stalls) - 1)
}

/**
 * The same for a POST of these calls. The reply to a call that cannot be repeated is waited for
 * without end.
 */
export function patienceOf(calls: readonly Call[]): number {
  let most = 0
  for (const { safe, attempts, stalls = 0 } of calls) most = Math.max(most, safe && attempts > 1 ? stalls : Number.POSITIVE_INFINITY)
  return patienceAfter(most)
}
