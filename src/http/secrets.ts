import { copyText } from '../text.ts'
import { patternOf } from './spellings.ts'

/** Removes an endpoint's secrets from a text. */
export type Scrub = (text: string) => string

const HIDDEN = '[hidden]'

/**
 * Path segments that name a route, and values of headers, that are not secret themselves. Hiding
 * them would spoil messages such as "eth_call failed" and "execution reverted".
 */
const routeWords = new Set(
  `api archive beta debug devnet dev eth ethereum evm execution ext false full gateway http https internal json jsonrpc light
  mainnet node prod production proxy public rpc sepolia staging test testnet trace true`.split(/\s+/),
)

/** Whether a segment of a URL's path names a route and is not secret. */
export function isRouteWord(part: string): boolean {
  return routeWords.has(part.toLowerCase())
}

/** Headers whose values are not secret. */
const plainHeaders = new Set(['accept', 'accept-encoding', 'content-type', 'user-agent'])

/**
 * A function that hides an endpoint's secrets: the path, query and user info of its URL (the API
 * key is part of the path), and the values of its headers, also where a server echoes them
 * percent-encoded or decoded.
 */
export function scrubber(url: URL, headers: Readonly<Record<string, string>>, keys: readonly string[] = [], plainWords: readonly string[] = []): Scrub {
  const found = [...keys, ...secretsOfUrl(url, plainWords), ...Object.entries(headers).flatMap((header) => [...secretsOfHeader(header)])]
  const secrets = new Set(found.map(decode))
  secrets.delete('')
  if (secrets.size === 0) return (text) => text
  // Longest first, so that a path is hidden as a whole.
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length)
  const finder = new RegExp(longestFirst.map(patternOf).join('|'), 'giu')
  return (text) => text.replace(finder, HIDDEN)
}

function* secretsOfUrl(url: URL, plainWords: readonly string[]): Generator<string> {
  const path = url.pathname + url.search
  for (const whole of [path, url.pathname]) if (whole.length > 1) yield whole
  for (const part of `${url.pathname}/${url.search.slice(1)}`.split(/[/&]/)) {
    const value = part.slice(part.indexOf('=') + 1)
    for (const piece of [part, value]) if (piece.length > 2 && !isRouteWord(piece) && !plainWords.includes(piece)) yield piece
  }
  yield url.username
  yield url.password
}

function* secretsOfHeader([name, value]: [string, string]): Generator<string> {
  if (plainHeaders.has(name.toLowerCase()) || isRouteWord(value)) return
  yield value
  // "Bearer TOKEN": everything after the scheme is secret, however short.
  if (/authorization$/i.test(name)) {
    yield value.replace(/^\S+\s+/, '')
    if (/^basic /i.test(value)) yield* Buffer.from(value.slice(6), 'base64').toString('utf8').split(':')
  }
  // "session=TOKEN; path=/"
  for (const piece of value.split(/[\s;,=]+/)) if (piece.length >= 8) yield piece
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * A cut text may end with part of a secret, so this many characters before the cut are never shown.
 */
const LONGEST_SECRET = 8192

/**
 * The first `most` characters of a text, scrubbed, with `end` if it is longer. The text is scrubbed
 * before it is cut, since half a key would not be recognised.
 */
export function scrubStart(text: string, most: number, scrub: Scrub, end = '...'): string {
  const searched = most + LONGEST_SECRET
  const isWhole = text.length <= searched
  const start = scrub(isWhole ? text : text.slice(0, searched))
  const shown = isWhole ? start.length : Math.max(0, start.length - LONGEST_SECRET)
  if (isWhole && shown <= most) return start
  return copyText(start.slice(0, Math.max(0, Math.min(shown, most - end.length))) + end)
}

/**
 * A copy of a foreign error with only its name, code and scrubbed message, since such errors hold
 * URLs and sockets.
 */
export function plainCause(error: unknown, scrub: Scrub): Error {
  const { name, message, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { name: 'Error', message: String(error), code: undefined }
  const plain = new Error(scrub(message))
  plain.name = name
  plain.stack = `${name}: ${plain.message}`
  return code === undefined ? plain : Object.assign(plain, { code })
}
