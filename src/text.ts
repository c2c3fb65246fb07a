/**
 * A copy of text that was cut from a longer one. V8 keeps the whole of a text for as long as a part
 * of it is used.
 */
export function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

/** Text of at most `LONGEST_MESSAGE` characters; what is cut ends with `...`. */
export function shortened(text: string): string {
  return text.length > LONGEST_MESSAGE ? copyText(`${text.slice(0, LONGEST_MESSAGE - 3)}...`) : text
}

/**
 * Longest server message that an error keeps, in characters. No more is searched for its meaning,
 * since nodes and gateways state it at the start.
 */
export const LONGEST_MESSAGE = 4096

/**
 * Characters that control a terminal or disguise text: C0 and C1 controls, DEL, line and paragraph
 * separators, and marks that change the reading direction.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
const control = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]+/g

/** Text in one line that is safe to print on a terminal: control characters become spaces. */
export function harmlessText(text: string): string {
  return text.replace(control, ' ')
}

/**
 * The same for JSON, without changing its meaning: control characters become escapes, and white
 * space between tokens a space.
 */
export function harmlessJson(json: string): string {
  return json.replace(control, (run) => {
    let escaped = ''
    for (const character of run) escaped += '\t\n\r'.includes(character) ? ' ' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
    return escaped
  })
}

/** A value in one short line, for messages: at most 80 characters of it. */
export function show(value: unknown): string {
  if (typeof value === 'string') return showText(withoutPath(value))
  if (typeof value === 'bigint') return value.toString().length > 80 ? 'a bigint of more than 80 digits' : `${value}n`
  if (value === null || typeof value !== 'object') return typeof value === 'function' ? 'a function' : String(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  const name = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name !== 'string' || name === 'Object' || name === '' ? 'an object' : `a ${name}`
}

function showText(text: string): string {
  return harmlessJson(JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text))
}

/** What follows the host of a URL, and what stands before it, may be a key. */
function withoutPath(text: string): string {
  const [, scheme, host] = /^\s*(\w{2,10}:\/\/)(?:[^/?#]*@)?([^/?#@]*)/.exec(text) ?? []
  return scheme === undefined || text.trim() === `${scheme}${host}` ? text : `${scheme}${host}/...`
}

/** Text, often a server's, in one safe line of at most 200 characters. */
export function excerpt(text: string): string {
  const line = harmlessText(text).replace(/\s+/g, ' ').trim()
  return line.length > 200 ? copyText(`${line.slice(0, 197)}...`) : line
}

/**
 * What a message begins with, to say which endpoint failed at which method: `endpoint: method: `.
 */
export function messagePrefix({ endpoint, method }: { readonly endpoint?: string | undefined; readonly method?: string | undefined }): string {
  return [endpoint, method].map((each) => (each === undefined ? '' : `${each}: `)).join('')
}

/** A text as one word of a shell, for a command that a message names: in quotes, where needed. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : inShellQuotes(text)
}

/** In quotes, a text is one word of a shell, which stays as it is. */
export function inShellQuotes(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** A number of things: `1 block`, `2 blocks`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}
