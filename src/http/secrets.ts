/** Removes an endpoint's secrets from a text. */
export type Scrub = (text: string) => string

const HIDDEN = '[hidden]'

/** Path segments that name a route and are no secret by themselves; hiding them would spoil messages such as "eth_call failed". */
const routeWords = new Set(['api', 'eth', 'ethereum', 'evm', 'ext', 'http', 'https', 'json', 'jsonrpc', 'mainnet', 'node', 'public', 'rpc'])
/** Header values that say how to talk, not who talks. */
const plainHeaders = new Set(['accept', 'accept-encoding', 'content-type', 'user-agent'])

/**
 * A function that hides what only the caller may know of an endpoint: the path, query and user info of its URL (the
 * API key is part of the path) and the values of its headers, also where a server echoes them percent-encoded or decoded.
 */
export function scrubber(url: URL, headers: Readonly<Record<string, string>>, keys: readonly string[] = []): Scrub {
  const found = new Set<string>(keys)
  const path = url.pathname + url.search
  if (path.length > 1) found.add(path)
  if (url.pathname.length > 1) found.add(url.pathname)
  for (const part of `${url.pathname}/${url.search.slice(1)}`.split(/[/&]/)) {
    const value = part.slice(part.indexOf('=') + 1)
    for (const piece of [part, value]) if (piece.length > 2 && !routeWords.has(piece.toLowerCase())) found.add(piece)
  }
  for (const part of [url.username, url.password]) if (part !== '') found.add(part)
  for (const [name, value] of Object.entries(headers)) {
    if (plainHeaders.has(name.toLowerCase()) || value.length < 3) continue
    found.add(value)
    // "Bearer TOKEN", "session=TOKEN; path=/"
    for (const piece of value.split(/[\s;,=]+/)) if (piece.length >= 8) found.add(piece)
  }

  const spellings = new Set<string>()
  for (const secret of found) {
    if (secret === '') continue
    const decoded = decode(secret)
    for (const spelling of [secret, decoded, encodeURIComponent(decoded), encodeURI(decoded), html(decoded), JSON.stringify(decoded).slice(1, -1)]) {
      spellings.add(spelling)
    }
  }
  if (spellings.size === 0) return (text) => text
  // Longest first, so that a path goes as a whole. A short secret is hidden only where it stands as a word.
  const pattern = [...spellings]
    .sort((a, b) => b.length - a.length)
    .map((s) => (s.length >= 8 ? escapeForRegExp(s) : asWord(s)))
    .join('|')
  const secrets = new RegExp(pattern, 'gi')
  return (text) => text.replace(secrets, HIDDEN)
}

/** The same JSON with every string in it scrubbed, keys too. Returns the value itself when nothing was hidden. */
export function scrubJson(value: unknown, scrub: Scrub): unknown {
  if (value === undefined) return undefined
  const text = JSON.stringify(value)
  // Only the strings may change: a number that happens to look like the key stays a number.
  return scrub(text) === text ? value : JSON.parse(text, (_, item) => (typeof item === 'string' ? scrub(item) : hideKeys(item, scrub)))
}

function hideKeys(item: unknown, scrub: Scrub): unknown {
  if (item === null || typeof item !== 'object' || Array.isArray(item)) return item
  return Object.fromEntries(Object.entries(item).map(([key, value]) => [scrub(key), value]))
}

/** A copy of a foreign error that holds nothing but its name, code and scrubbed message: such errors carry URLs and sockets. */
export function plainCause(error: unknown, scrub: Scrub): Error {
  const { name, message, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { name: 'Error', message: String(error), code: undefined }
  const plain = new Error(scrub(message))
  plain.name = name
  plain.stack = `${name}: ${plain.message}`
  return code === undefined ? plain : Object.assign(plain, { code })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function html(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')
}

/** A pattern for `text` that is no part of a longer word, at the ends where `text` has a word's letter itself. */
function asWord(text: string): string {
  return `${/^\w/.test(text) ? '(?<!\\w)' : ''}${escapeForRegExp(text)}${/\w$/.test(text) ? '(?!\\w)' : ''}`
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
}
