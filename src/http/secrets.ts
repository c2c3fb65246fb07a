/** Removes an endpoint's secrets from a text. */
export type Scrub = (text: string) => string

const HIDDEN = '[hidden]'

/** Path segments that name a route and are no secret by themselves; hiding them would spoil messages such as "eth_call failed". */
const routeWords = new Set(['api', 'eth', 'ethereum', 'evm', 'ext', 'http', 'https', 'json', 'jsonrpc', 'mainnet', 'node', 'public', 'rpc'])

/** True for a part of a URL's path that names a route, and is no secret. */
export function isRouteWord(part: string): boolean {
  return routeWords.has(part.toLowerCase())
}

/** Header values that say how to talk, not who talks. */
const plainHeaders = new Set(['accept', 'accept-encoding', 'content-type', 'user-agent'])

/**
 * A function that hides what only the caller may know of an endpoint: the path, query and user info of its URL (the
 * API key is part of the path) and the values of its headers, also where a server echoes them percent-encoded or decoded.
 */
export function scrubber(url: URL, headers: Readonly<Record<string, string>>, keys: readonly string[] = [], plainWords: readonly string[] = []): Scrub {
  const found = new Set<string>(keys)
  const path = url.pathname + url.search
  if (path.length > 1) found.add(path)
  if (url.pathname.length > 1) found.add(url.pathname)
  for (const part of `${url.pathname}/${url.search.slice(1)}`.split(/[/&]/)) {
    const value = part.slice(part.indexOf('=') + 1)
    for (const piece of [part, value]) if (piece.length > 2 && !isRouteWord(piece) && !plainWords.includes(piece)) found.add(piece)
  }
  for (const part of [url.username, url.password]) if (part !== '') found.add(part)
  for (const [name, value] of Object.entries(headers)) {
    if (plainHeaders.has(name.toLowerCase()) || value === '') continue
    found.add(value)
    // "Bearer TOKEN": all behind the name of the scheme is secret, however short.
    if (/authorization$/i.test(name)) {
      found.add(value.replace(/^\S+\s+/, ''))
      if (/^basic /i.test(value)) for (const part of Buffer.from(value.slice(6), 'base64').toString('utf8').split(':')) if (part !== '') found.add(part)
    }
    // "session=TOKEN; path=/"
    for (const piece of value.split(/[\s;,=]+/)) if (piece.length >= 8) found.add(piece)
  }

  const secrets = new Set([...found].map(decode))
  secrets.delete('')
  if (secrets.size === 0) return (text) => text
  // Longest first, so that a path goes as a whole. A short secret is hidden only where it stands as a word.
  const pattern = [...secrets]
    .sort((a, b) => b.length - a.length)
    .map((secret) => (secret.length >= 8 ? spelled(secret) : asWord(secret)))
    .join('|')
  const finder = new RegExp(pattern, 'giu')
  return (text) => text.replace(finder, HIDDEN)
}

/** The same JSON with every string in it scrubbed, keys too. Throws RangeError where it is nested too deeply for the stack. */
export function scrubJson(value: unknown, scrub: Scrub): unknown {
  if (typeof value === 'string') return scrub(value)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map((item) => scrubJson(item, scrub))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [scrub(key), scrubJson(item, scrub)]))
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

const entities: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

/** A pattern for `text` as it is, and as JSON, URLs, forms and HTML spell it, also several times over. */
function spelled(text: string): string {
  let pattern = ''
  for (const character of text) {
    if (/^[A-Za-z0-9]$/.test(character)) {
      pattern += character
      continue
    }
    const bytes = [...new TextEncoder().encode(character)].map((byte) => `%(?:25){0,3}${byte.toString(16).padStart(2, '0')}`).join('')
    const unicode = [...Array(character.length).keys()].map((i) => `\\\\{1,8}u${character.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
    const entity = `&(?:amp;){0,3}(?:#0*${character.codePointAt(0)}|#x0*${character.codePointAt(0)?.toString(16)}${entities[character] ? `|${entities[character]}` : ''});`
    // Escaped several times, a backslash is doubled each time. Bounded, since a server may send nothing but backslashes.
    const plain = character === '\\' ? '\\\\{1,8}' : `\\\\{0,8}${escapeForRegExp(character)}`
    pattern += `(?:${bytes}|${unicode}|${entity}|${plain}${character === ' ' ? '|\\+' : ''})`
  }
  return pattern
}

/** A pattern for `text` that is no part of a longer word, at the ends where `text` has a word's letter itself. */
function asWord(text: string): string {
  return `${/^\w/.test(text) ? '(?<!\\w)' : ''}${spelled(text)}${/\w$/.test(text) ? '(?!\\w)' : ''}`
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
