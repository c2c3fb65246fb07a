import { isSpace, skipSpace, skipString, skipValue, unexpected, viewOf } from './scan.ts'

const QUOTE = 0x22
/** White space in JSON. */
const SPACES = [0x20, 0x0a, 0x0d, 0x09]
/** Copying a shorter run byte by byte is cheaper than a call. */
const SHORT_RUN = 32

/**
 * The one value that fills `bytes`, without white space outside strings; `bytes` itself if there is
 * none to remove. Throws `SyntaxError`.
 */
export function compact(bytes: Buffer): Buffer {
  if (!SPACES.some((space) => bytes.includes(space))) return bytes
  const view = viewOf(bytes)
  const from = skipSpace(bytes, 0)
  const end = skipValue(bytes, view, from)
  if (skipSpace(bytes, end) !== bytes.length) throw unexpected(bytes, end)
  const out = Buffer.allocUnsafe(end - from)
  let to = 0
  for (let i = from; i < end; i = skipSpace(bytes, i)) {
    const start = i
    while (i < end && !isSpace(bytes[i])) i = bytes[i] === QUOTE ? skipString(bytes, view, i, false) : i + 1
    if (i - start > SHORT_RUN) to += bytes.copy(out, to, start, i)
    else for (let at = start; at < i; at++) out[to++] = bytes[at] as number
  }
  return out.subarray(0, to)
}
