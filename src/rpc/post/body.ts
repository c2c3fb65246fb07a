import { isAscii } from 'node:buffer'
import { isSpace, parseAt, scanArray, scanObject, skipSpace, skipValue, viewOf } from '../../json/scan.ts'
import type { Call, Reply } from '../call.ts'
import { replyOf } from '../reply.ts'
import type { ReplyObject } from './correlate.ts'

const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SMALL_I = 0x69
const SMALL_J = 0x6a
const NULL = Buffer.from('null')

/*
 * Reads the body of a reply: `parseBody` parses it as a whole; `scanBody` finds the bytes of each
 * result and checks that they are JSON; `cutBody` only guesses where each result lies, for readers
 * that check it themselves (unread.ts, decoded.ts).
 */

/** The reply objects of a body, parsed. Throws `SyntaxError`. */
export function parseBody(body: Buffer): unknown {
  return JSON.parse(textOf(body))
}

/**
 * The reply objects of a body to the calls with the ids `first` to `first + count - 1`, with the
 * bytes of each `result` that is not null in its place: a result that is only copied is never made.
 * Throws `SyntaxError` where `JSON.parse` does.
 */
export function scanBody(body: Buffer, first: number, count: number): unknown {
  return scanUsualBody(body, first, count) ?? scanAnyBody(body)
}

/**
 * The usual body: a result for each call, in their order, in envelopes as most nodes write them,
 * the result last. Each result is passed over to its end, so that what follows it is known to be
 * the next envelope. Undefined when the body has any other form.
 */
function scanUsualBody(body: Buffer, first: number, count: number): ReplyObject[] | undefined {
  const view = viewOf(body)
  const replies: ReplyObject[] = []
  let at = 0
  for (let i = 0; i < count; i++) {
    const start = headEnd(body, at, first, i, count)
    if (start < 0 || isSpace(body[start])) return undefined
    const end = skipValue(body, view, start)
    if (body[end] !== CLOSE_BRACE) return undefined
    replies.push({ id: first + i, result: resultAt(body, start, end) })
    at = end + 1
  }
  if (count > 1 && body[at++] !== CLOSE_BRACKET) return undefined
  return skipSpace(body, at) === body.length ? replies : undefined
}

/**
 * The bytes of each result in a usual body, or where they seem to be: cut before each envelope that
 * is expected next, without a look at what lies between, which may hold such an envelope of its
 * own. Undefined when the body has any other form.
 */
export function cutBody(body: Buffer, first: number, count: number): Region[] | undefined {
  const regions: Region[] = []
  let start = headEnd(body, 0, first, 0, count)
  for (let i = 1; i < count; i++) {
    const next = start < 0 ? -1 : nextEnvelope(body, start)
    if (next < 0) return undefined
    regions.push({ start, end: next - 1 })
    start = headEnd(body, next, first, i, count)
  }
  let end = body.length
  while (isSpace(body[end - 1])) end--
  if (count > 1 && body[--end] !== CLOSE_BRACKET) return undefined
  if (start < 0 || body[--end] !== CLOSE_BRACE || (count > 1 && nextEnvelope(body, start) >= 0)) return undefined
  regions.push({ start, end })
  return regions.every((region) => isRegion(body, region)) ? regions : undefined
}

/** Part of a body. */
export interface Region {
  readonly start: number
  readonly end: number
}

/** Null, or what begins and ends as an array or an object does. */
function isRegion(body: Buffer, { start, end }: Region): boolean {
  const [first, last] = [body[start], body[end - 1]]
  if (first === OPEN_BRACE) return last === CLOSE_BRACE
  if (first === OPEN_BRACKET) return last === CLOSE_BRACKET
  return NULL.equals(body.subarray(start, end))
}

/**
 * Where the result of call `i` begins, when its envelope begins at `at`, with what stands before
 * it; negative when it does not.
 */
function headEnd(body: Buffer, at: number, first: number, i: number, count: number): number {
  const before = i > 0 ? ',' : count > 1 ? '[' : ''
  const head = `${before}{"jsonrpc":"2.0","id":${first + i},"result":`
  const end = at + head.length
  return body.toString('latin1', at, end) === head ? end : -1
}

/**
 * Where the next envelope begins, with the comma before it, after the result at `start` and the end
 * of that result's own envelope; negative when there is none.
 *
 * Searches for the bytes between two envelopes, such as `}},{"`. They begin with the bracket that
 * ends the result: a search for a comma alone would stop at each field. They are at most seven:
 * `indexOf` searches for longer ones in another way, which is far slower here. They may also occur
 * inside a result, so the field name after them is checked: an envelope begins with `jsonrpc` or
 * `id`.
 */
function nextEnvelope(body: Buffer, start: number): number {
  const first = body[start]
  const mark = first === OPEN_BRACE ? BEHIND_OBJECT : first === OPEN_BRACKET ? BEHIND_ARRAY : BEHIND_ANY
  for (let at = body.indexOf(mark, start); at >= 0; at = body.indexOf(mark, at + 1)) {
    const name = at + mark.length
    if (body[name] === SMALL_J || body[name] === SMALL_I) return name - 3
  }
  return -1
}

const BEHIND_OBJECT = Buffer.from('}},{"')
const BEHIND_ARRAY = Buffer.from(']},{"')
const BEHIND_ANY = Buffer.from('},{"')

function resultAt(body: Buffer, start: number, end: number): Buffer | null {
  return end - start === 4 && body[start] === NULL[0] ? null : body.subarray(start, end)
}

/**
 * The result of `call`, as it asked for it. `share` is the size of a result that was not scanned.
 * Throws `SyntaxError`.
 */
export function resultFor(call: Call, result: unknown, isScanned: boolean, share: number): Reply {
  if (!isScanned) return replyOf(result, share)
  const bytes = result === null ? NULL : (result as Buffer)
  return replyOf(call.as === 'bytes' ? bytes : parseAt(bytes, 0, bytes.length), bytes.length)
}

/** JSON-RPC replies are almost always ASCII, which is read several times faster than UTF-8. */
function textOf(body: Buffer): string {
  const text = isAscii(body) ? body.toString('latin1') : body.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** The reply objects of a body in any form, as for `scanBody`. Throws `SyntaxError`. */
export function scanAnyBody(body: Buffer): unknown {
  const hasByteOrderMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  const start = skipSpace(body, hasByteOrderMark ? 3 : 0)
  const objects: unknown[] = []
  const onObject = (at: number, end: number) => objects.push(body[at] === OPEN_BRACE ? scanReply(body, at) : parseAt(body, at, end))
  const isArray = body[start] === OPEN_BRACKET
  const end = isArray ? scanArray(body, start, onObject) : skipValue(body, viewOf(body), start)
  if (!isArray) onObject(start, end)
  if (skipSpace(body, end) !== body.length) throw new SyntaxError('something follows the JSON')
  return isArray ? objects : objects[0]
}

function scanReply(body: Buffer, at: number): ReplyObject {
  const reply: { id?: unknown; result?: unknown; error?: unknown } = {}
  scanObject(body, at, (name, start, end) => {
    if (name === 'id' || name === 'error') reply[name] = parseAt(body, start, end)
    else if (name === 'result') reply.result = resultAt(body, start, end)
  })
  return reply
}
