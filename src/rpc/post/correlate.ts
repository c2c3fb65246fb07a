import { isDeepStrictEqual } from 'node:util'
import { parseAt } from '../../json/scan.ts'
import { show } from '../../text.ts'

/** One reply object of a body, as parsed. Of `result` and `error` exactly one says something. */
export interface ReplyObject {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** What a body holds for the calls of a POST. */
export interface Correlated {
  /** For each call its reply object, or in words what is wrong with it. */
  readonly replies: readonly (ReplyObject | string)[]
  /**
   * The body answers all of the calls at once, and none by itself: an error object without a call
   * of its own.
   */
  readonly refusal?: ReplyObject
  /** An error without an id, among replies that have one. */
  readonly stray?: ReplyObject
}

const MISSING = 'no reply with its id came'

/** Whether these words are about a call without a reply object. */
export function isMissing(fault: string): boolean {
  return fault.startsWith(MISSING)
}

/**
 * Matches the reply objects of a body to the calls with the ids `first` to `first + count - 1`, by
 * id and by nothing else: whatever their order, a call gets the reply with its id, or none.
 * JSON-RPC 2.0, sections 5 and 6.
 *
 * An error alone in the body of a batch refuses the batch: as an object, or as the only entry of an
 * array, which geth gives the id of the first call. To a lone call, a lone reply without an id is
 * the answer, and so is an error whose id is null.
 */
export function correlate(body: unknown, first: number, count: number): Correlated {
  const objects: readonly unknown[] = Array.isArray(body) ? body : [body]
  const replies = new Array<ReplyObject | string>(count).fill(MISSING)
  let stray: ReplyObject | undefined
  let others: unknown[] | undefined
  for (const object of objects) {
    if (object === null || typeof object !== 'object') continue
    const reply = object as ReplyObject
    const index = idOf(reply.id) - first
    if (index >= 0 && index < count && Number.isInteger(index)) replies[index] = merge(replies[index] as ReplyObject | string, reply)
    else if (isError(reply) && (reply.id === null || reply.id === undefined)) stray = reply
    else if (count === 1 && objects.length === 1 && reply.id === undefined && reply.result !== undefined) replies[0] = reply
    else if (reply.id !== undefined || reply.result !== undefined) {
      others ??= []
      others.push(reply.id)
    }
  }
  const only = objects.length === 1 ? (objects[0] as ReplyObject | null) : null
  if (only !== null && typeof only === 'object' && isError(only)) {
    if (count > 1) return { replies, refusal: only }
    if (only === stray) return { replies: [only] }
  }
  if (others !== undefined) explainMissing(replies, first, others)
  return stray === undefined ? { replies } : { replies, stray }
}

/** The body is one reply object with this id and a result, and nothing that contradicts it. */
export function isResultOf(body: unknown, id: number): body is ReplyObject {
  const { id: own, result, error } = (body ?? {}) as ReplyObject
  return own === id && result !== undefined && error === undefined
}

/** Ids that a message names. */
const MOST_NAMED = 3

/** Says of calls without a reply which id was sent, and which ones came instead. */
function explainMissing(replies: (ReplyObject | string)[], first: number, others: readonly unknown[]): void {
  const named = [...new Set(others.map((id) => (id === undefined ? 'no id' : typeof id === 'string' && !SHORT_ID.test(id) ? 'a string' : show(id))))]
  const received = `${named.slice(0, MOST_NAMED).join(', ')}${named.length > MOST_NAMED ? ', ...' : ''}`
  for (let i = 0; i < replies.length; i++) {
    if (replies[i] === MISSING) replies[i] = `${MISSING} (sent ${first + i}, received ${received}): a server has to echo the id, and so has a mock`
  }
}

/** An id that is shown as it came; a long one may be anything. */
const SHORT_ID = /^[\w.-]{1,20}$/

/**
 * True when the reply object says that the call failed. `error: null` beside a result is how
 * JSON-RPC 1 says that it did not.
 */
export function isError(reply: ReplyObject): boolean {
  return reply.error !== undefined && reply.error !== null
}

/** Ids are sent as numbers. Some servers send them back as strings. */
function idOf(id: unknown): number {
  if (typeof id === 'number') return id
  return typeof id === 'string' && /^[1-9]\d{0,15}$/.test(id) ? Number(id) : Number.NaN
}

/** The reply of a call, when `next` came for it after `before`. */
function merge(before: ReplyObject | string, next: ReplyObject): ReplyObject | string {
  if (before === MISSING) return faultOf(next) ?? next
  // Nothing tells which of two different replies is the right one.
  if (typeof before === 'string' || !isSame(before, next)) return 'its id came more than once, with different content'
  return before
}

function faultOf(reply: ReplyObject): string | undefined {
  if (!isError(reply)) return reply.result === undefined ? 'its reply has neither a result nor an error' : undefined
  return reply.result !== undefined && reply.result !== null ? 'its reply has both a result and an error' : undefined
}

/** Whether two replies say the same. Comparing them takes no longer than reading them. */
function isSame(a: ReplyObject, b: ReplyObject): boolean {
  try {
    return isSameResult(a.result, b.result) && isDeepStrictEqual(a.error, b.error)
  } catch {
    // Nested too deeply to be compared.
    return false
  }
}

/**
 * Results that were not parsed are the same when their bytes are, or when parsing makes the same of
 * them.
 */
function isSameResult(a: unknown, b: unknown): boolean {
  if (!Buffer.isBuffer(a) || !Buffer.isBuffer(b)) return isDeepStrictEqual(a, b)
  return a.equals(b) || isDeepStrictEqual(parseAt(a, 0, a.length), parseAt(b, 0, b.length))
}
