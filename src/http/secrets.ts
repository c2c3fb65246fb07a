/** Removes an endpoint's secrets from a text. */
export type Scrub = (text: string) => string

const HIDDEN = '[hidden]'

/**
 * Path segments that name a route and are not secret themselves. Hiding them would spoil messages
 * such as "eth_call failed".
 */
const routeWords = new Set(['api', 'eth', 'ethereum', 'evm', 'ext', 'http', 'https', 'json', 'jsonrpc', 'mainnet', 'node', 'public', 'rpc'])

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
    // "Bearer TOKEN": everything after the scheme is secret, however short.
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
  // Longest first, so that a path is hidden as a whole. A short secret is hidden only as a whole
  // word.
  const pattern = [...secrets]
    .sort((a, b) => b.length - a.length)
    .map((secret) => (secret.length >= 8 ? spelled(secret) : asWord(secret)))
    .join('|')
  const finder = new RegExp(pattern, 'giu')
  return (text) => text.replace(finder, HIDDEN)
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
  return start.slice(0, Math.max(0, Math.min(shown, most - end.length))) + end
}

/**
 * Bounds of the JSON that an error keeps: characters of hex strings, characters of all other text,
 * values, and levels.
 */
const MOST_HEX = 4 * 1024 * 1024
const MOST_TEXT = 64 * 1024
const MOST_VALUES = 10_000
const MOST_LEVELS = 100

/**
 * A scrubbed copy of a JSON value, names of fields included, and bounded, since a server may send
 * an error as long as any reply. Hex is usually revert data, which callers decode, so it is kept up
 * to a size that no revert reaches. Longer strings are cut, and values beyond the bounds are
 * dropped.
 */
export function scrubJson(json: unknown, scrub: Scrub): unknown {
  let text = MOST_TEXT
  let hex = MOST_HEX
  let values = MOST_VALUES

  function string(value: string): string {
    const isHex = value.length <= hex && /^0x[0-9a-fA-F]*$/.test(value)
    const scrubbed = isHex ? scrub(value) : scrubStart(value, text, scrub)
    if (isHex) hex -= value.length
    else text = Math.max(0, text - scrubbed.length)
    return scrubbed
  }

  function copy(value: unknown, level: number): unknown {
    if (typeof value === 'string') return string(value)
    if (value === null || typeof value !== 'object') return value
    const isFull = () => text <= 0 || values-- <= 0
    if (Array.isArray(value)) {
      const items: unknown[] = []
      for (const item of value) {
        if (level >= MOST_LEVELS || isFull()) break
        items.push(copy(item, level + 1))
      }
      return items
    }
    const fields: [string, unknown][] = []
    for (const name in value) {
      if (level >= MOST_LEVELS || isFull()) break
      fields.push([string(name), copy((value as Record<string, unknown>)[name], level + 1)])
    }
    return Object.fromEntries(fields)
  }

  return copy(json, 0)
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

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const entities: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

/**
 * A pattern for `text` and its spellings in JSON, URLs, forms and HTML, also when encoded several
 * times. It can match in only one way, so that a server that knows a secret cannot cause slow near
 * matches: a backslash that escapes a character never counts as one of the secret's own.
 */
function spelled(text: string): string {
  let pattern = ''
  for (const [whole, backslashes = '', character = ''] of text.matchAll(/(\\*)([^\\]?)/gsu)) {
    if (whole === '') continue
    const { length } = backslashes
    const isPlain = /^[A-Za-z0-9]?$/.test(character)
    // At the start of a secret, leave the backslashes before it: a server may send nothing but
    // backslashes.
    const escapes = pattern === '' ? ['', '\\\\'] : ['\\\\{0,8}', '\\\\{1,8}']
    const next = (before: string[]) => (isPlain ? character : spelledCharacter(character, before))
    if (length === 0) pattern += next(escapes)
    else {
      const { bytes, unicode, entity } = spellingsOf('\\', '\\\\{1,8}')
      // Each time that a backslash is escaped, it is doubled.
      const plain = `\\\\{${length},${8 * (length + 1)}}`
      pattern += `(?:(?:(?:${bytes}){${length}}|(?:${unicode}){${length}}|(?:${entity}){${length}})${next(['\\\\{0,8}', '\\\\{1,8}'])}|${plain}${next(['', '\\\\'])})`
    }
  }
  return pattern
}

/** `before` holds the patterns for what escapes the character, and for what begins `\u0000`. */
function spelledCharacter(character: string, [escaping = '', mark = '']: string[]): string {
  const { bytes, unicode, entity } = spellingsOf(character, mark)
  return `(?:${bytes}|${unicode}|${entity}|${escaping}${escapeForRegExp(character)}${character === ' ' ? '|\\+' : ''})`
}

function spellingsOf(character: string, mark: string): { bytes: string; unicode: string; entity: string } {
  const code = character.codePointAt(0) as number
  const entity = entities[character]
  return {
    bytes: [...new TextEncoder().encode(character)].map((byte) => `%(?:25){0,3}${byte.toString(16).padStart(2, '0')}`).join(''),
    unicode: [...Array(character.length).keys()]
      .map((i) => `${i === 0 ? mark : '\\\\{1,8}'}u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
      .join(''),
    entity: `&(?:amp;){0,3}(?:#0{0,8}${code}|#x0{0,8}${code.toString(16)}${entity ? `|${entity}` : ''});`,
  }
}

/**
 * A pattern for `text` as a whole word. The ends of `text` that are not word characters need no
 * boundary.
 */
function asWord(text: string): string {
  return `${/^\w/.test(text) ? '(?<!\\w)' : ''}${spelled(text)}${/\w$/.test(text) ? '(?!\\w)' : ''}`
}

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
