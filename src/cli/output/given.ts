import { chains } from '../../eth/chains.ts'
import { isKnown } from '../../eth/methods.ts'
import { type Scrub, scrubber } from '../../http/secrets.ts'

/** Longer strings may be keys. */
const SHORT = 15

/**
 * What was given on the command line, for a message of wrong usage. It may be a secret that stands in the wrong place: a URL is
 * never shown, and of other strings only those that are plainly no key: short ones, numbers, addresses, words.
 */
export function shown(text: string): string {
  if (isUrl(text)) return 'a URL'
  if (isPlain(text)) return JSON.stringify(text)
  return `a string of ${text.length} characters`
}

/** Also one that is misspelt, or without its scheme. */
function isUrl(text: string): boolean {
  return /^\s*(?:\/\/|[a-z][\w+.-]+:\/|[^\s/]*@[\w.-]+[:/]|[\w-]+:\d+\/|[\w-]+(?:\.[\w-]+)+(?::\d+)?\/)/i.test(text)
}

function isPlain(text: string): boolean {
  if (/^-?\d{1,78}$/.test(text) || /^0x[0-9a-f]{0,40}$/i.test(text)) return true
  if (/^[a-z]{1,12}(?:[- ][a-z]{1,12}){0,2}$/.test(text)) return true
  return text.length <= SHORT && !/[/@?]/.test(text)
}

/** The same for the name of a file, which may be long. */
export function shownPath(path: string): string {
  const isPath = /[/\\]|\.[a-z]\w{0,6}$/i.test(path) && !isUrl(path) && !path.includes('://')
  return isPath ? JSON.stringify(path) : shown(path)
}

/** What `expected ..., received ...` says of a string that was given: without what may be a secret. Anything else is not a value's own text. */
export function withoutSecret(received: string): string {
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(received)) return received
  const text = JSON.parse(received) as string
  // Cut to 80 characters already.
  return text.length >= 80 && !isUrl(text) ? 'a string of 80 characters or more' : shown(text)
}

/** A function that hides what may be a secret among the arguments, wherever a server echoes it. */
export function argumentScrubber(args: readonly string[]): Scrub {
  const urls = args.flatMap((arg) => arg.match(/[a-z][\w+.-]{0,30}:\/\/[^\s"'\\<>{}]+/gi) ?? []).filter((url) => URL.canParse(url))
  // `--flag=value` has it behind the sign. Methods, hashes and bytes in hex are no secret, and JSON is a parameter.
  const values = args.flatMap((arg) => [arg, arg.slice(arg.indexOf('=') + 1)])
  const keys = values.filter(
    (text) => !urls.includes(text) && !isPlain(text) && !isKnown(text) && !/^0x[0-9a-f]+$/i.test(text) && /^[\w./:@?=&%+-]+$/.test(text),
  )
  const scrubs = [...urls.map((url) => scrubber(new URL(url), {}, [], Object.keys(chains))), scrubber(new URL('http://localhost'), {}, keys)]
  return (text) => scrubs.reduce((left, scrub) => scrub(left), text)
}

const isFlag = /^--?[a-z][a-z-]{0,20}$/

/** A message of wrong usage as the parser of arguments makes it, without what may be a secret in the values that it shows. */
export function withoutValues(message: string): string {
  const shorter = message.replace(/^(unknown (?:command|option)) '(.*?)'(?=\n\(Did you mean|$)/s, (_, what: string, given: string) => {
    // A misspelt flag comes with what was given to it.
    const name = given.replace(/=.*$/s, '')
    return isFlag.test(name) ? `${what} '${name}'` : `${what}${quoted(given, ': ')}`
  })
  const start = shorter.indexOf(BEFORE)
  const end = shorter.lastIndexOf(BEHIND)
  if (start < 0 || end < start + BEFORE.length) return shorter
  const given = shorter.slice(start + BEFORE.length, end)
  return `${shorter.slice(0, start)}argument${quoted(given, ' that is ')} is invalid.${shorter.slice(end + BEHIND.length)}`
}

/** What stands before and behind a value in these messages. */
const BEFORE = "argument '"
const BEHIND = "' is invalid."

function quoted(given: string, before: string): string {
  return isPlain(given) ? ` '${given}'` : before + shown(given)
}
