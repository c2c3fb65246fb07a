import { isAscii } from 'node:buffer'
import { type Call, type Reply, replyOf } from './call.ts'
import type { ReplyObject } from './correlate.ts'
import { compact, parseAt, scanArray, scanObject, scanValue, skipSpace } from './scan.ts'

const OPEN_BRACKET = 0x5b
const OPEN_BRACE = 0x7b
const NULL = new TextEncoder().encode('null')

/**
 * The reply objects of a body, parsed. When it `isScanned`, each `result` that is not null stands as its bytes instead: a
 * result that is only copied is never made. Throws `SyntaxError`.
 */
export function parseBody(body: Buffer, isScanned: boolean): unknown {
  return isScanned ? scanBody(body) : JSON.parse(textOf(body))
}

/** The result of `call`, as it asked for it. `share` is the size of a result that was not scanned. Throws `SyntaxError`. */
export function resultFor(call: Call, result: unknown, isScanned: boolean, share: number): Reply {
  if (!isScanned) return replyOf(result, share)
  const bytes = result === null ? NULL : (result as Uint8Array)
  return replyOf(call.as === 'bytes' ? compact(bytes) : parseAt(bytes, 0, bytes.length), bytes.length)
}

/** JSON-RPC replies are almost always ASCII, which is read several times faster than UTF-8. */
function textOf(body: Buffer): string {
  const text = isAscii(body) ? body.toString('latin1') : body.toString('utf8')
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

function scanBody(body: Buffer): unknown {
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
    else if (name === 'result') reply.result = end - start === 4 && body[start] === NULL[0] ? null : body.subarray(start, end)
  })
  return reply
}
