/*
 * How a server may echo a secret. Each form may be encoded again, and the forms may be mixed:
 *
 *     the secret    k/9&
 *     in JSON       k\/9\u0026
 *     in a URL      k%2F9%26
 *     in HTML       k&#47;9&amp;
 */

/** Secrets from this length on are hidden in the middle of a word, too. */
const LONG = 8

const entities: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

/**
 * The pattern that finds a secret, in any of its spellings; a short one only as a whole word. To be
 * matched with the flags `i` and `u`.
 */
export function patternOf(secret: string): string {
  return secret.length >= LONG ? spelled(secret) : asWord(secret)
}

/**
 * A pattern for `text` as a whole word. The ends of `text` that are not word characters need no
 * boundary.
 */
function asWord(text: string): string {
  return `${/^\w/.test(text) ? '(?<!\\w)' : ''}${spelled(text)}${/\w$/.test(text) ? '(?!\\w)' : ''}`
}

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

function escapeForRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
