import { isAscii } from 'node:buffer'
import { type Call, type Reply, replyOf } from './call.ts'
import type { ReplyObject } from './correlate.ts'
import { parseAt, scanArray, scanObject, scanValue, seemsOneValue, skipSpace, wholeValue } from './scan.ts'

const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const QUOTE = 0x22
const SMALL_I = 0x69
const SMALL_J = 0x6a
const NULL = Buffer.from('null')

/** The reply objects of a body, parsed. Throws `SyntaxError`. */
export function parseBody(body: Buffer): unknown {
  return JSON.parse(textOf(body))
}

/**
 * The reply objects of a body to the calls with the ids `first` to `first + count - 1`, with the bytes of each `result` that
 * is not null in its place: a result that is only copied is never made. Throws `SyntaxError`.
 */
export function scanBody(body: Buffer, first: number, count: number): unknown {
  return splitBody(body, first, count) ?? scanAnyBody(body)
}

/**
 * The usual body: a result for each call, in their order, in envelopes as most nodes write them, the result last. It is cut
 * before each envelope that is expected next, without a look at all that lies between; a string cannot hold one, since its
 * quotes would be escaped. Undefined when the body has any other form, such as an envelope more than there are calls.
 */
function splitBody(body: Buffer, first: number, count: number): ReplyObject[] | undefined {
  const replies: ReplyObject[] = []
  let head = envelope(count > 1 ? '[' : '', first)
  let start = head.length
  if (body.toString('latin1', 0, start) !== head) return undefined
  for (let i = 1; i < count; i++) {
    head = envelope(',', first + i)
    const next = nextEnvelope(body, start)
    if (next < 0 || body.toString('latin1', next, next + head.length) !== head || !seemsOneValue(body, start, next - 1)) return undefined
    replies.push({ id: first + i - 1, result: resultAt(body, start, next - 1) })
    start = next + head.length
  }
  let end = body.length
  if (count > 1 && body[--end] !== CLOSE_BRACKET) return undefined
  if (body[--end] !== CLOSE_BRACE || nextEnvelope(body, start) >= 0 || !seemsOneValue(body, start, end)) return undefined
  replies.push({ id: first + count - 1, result: resultAt(body, start, end) })
  return replies
}

/**
 * Where the envelope behind the value at `start` and its own begins, with its comma; negative when there is none. What is searched for is short, and begins with
 * what the value ends with: a search for more than seven bytes goes another way, which is slower here by far, and one for a comma would stop at each
 * field. It may stand in the value, too, so the name that comes first is looked at: `jsonrpc` or `id` in an envelope.
 */
function nextEnvelope(body: Buffer, start: number): number {
  const end = endOf(body[start]) ?? ''
  const mark = Buffer.from(`${end}},{"`)
  for (let at = body.indexOf(mark, start); at >= 0; at = body.indexOf(mark, at + 1)) {
    const name = at + mark.length
    if (body[name] === SMALL_J || body[name] === SMALL_I) return name - 3
  }
  return -1
}

/** What a value that begins so ends with, as far as that is known. */
function endOf(first: number | undefined): string | undefined {
  return first === OPEN_BRACE ? '}' : first === OPEN_BRACKET ? ']' : first === QUOTE ? '"' : undefined
}

function envelope(before: string, id: number): string {
  return `${before}{"jsonrpc":"2.0","id":${id},"result":`
}

function resultAt(body: Buffer, start: number, end: number): Buffer | null {
  return end - start === 4 && body[start] === NULL[0] ? null : body.subarray(start, end)
}

/** The result of `call`, as it asked for it. `share` is the size of a result that was not scanned. Throws `SyntaxError`. */
export function resultFor(call: Call, result: unknown, isScanned: boolean, share: number): Reply {
  if (!isScanned) return replyOf(result, share)
  const bytes = result === null ? NULL : (result as Buffer)
  if (call.as === 'bytes') return replyOf(bytes, bytes.length)
  const whole = wholeValue(bytes)
  return replyOf(parseAt(whole, 0, whole.length), bytes.length)
}

/** JSON-RPC replies are almost always ASCII, which is read several times faster than UTF-8. */
function textOf(body: Buffer): string {
  const text = isAscii(body) ? body.toString('latin1') : body.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

function scanAnyBody(body: Buffer): unknown {
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  const start = skipSpace(body, hasMark ? 3 : 0)
  const objects: unknown[] = []
  const onObject = (at: number, end: number) => objects.push(body[at] === OPEN_BRACE ? scanReply(body, at) : parseAt(body, at, end))
  const isArray = body[start] === OPEN_BRACKET
  const end = isArray ? scanArray(body, start, onObject) : scanValue(body, start, onObject)
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
