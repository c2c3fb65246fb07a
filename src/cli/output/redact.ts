import { chains } from '../../eth/chains.ts'
import { isKnown } from '../../eth/methods.ts'
import { type Scrub, scrubber } from '../../http/secrets.ts'

/** Longer strings may be keys. */
const SHORT = 15

/**
 * An argument as an error message may show it. It may be a secret in the wrong place, so a URL is
 * never shown, and other strings only where they clearly are not keys: short ones, numbers,
 * addresses and words.
 */
export function redact(text: string): string {
  if (isUrl(text)) return 'a URL'
  if (isPlain(text)) return JSON.stringify(text)
  return `a string of ${text.length} characters`
}

/** True for a URL, even if it is misspelt or has no scheme. */
function isUrl(text: string): boolean {
  return /^\s*(?:\/\/|[a-z][\w+.-]+:\/|[^\s/]*@[\w.-]+[:/]|[\w-]+:\d+\/|[\w-]+(?:\.[\w-]+)+(?::\d+)?\/)/i.test(text)
}

function isPlain(text: string): boolean {
  if (/^-?\d{1,78}$/.test(text) || /^0x[0-9a-f]{0,40}$/i.test(text)) return true
  if (/^[a-z]{1,12}(?:[- ][a-z]{1,12}){0,2}$/.test(text)) return true
  // A rate with its unit.
  if (/^\d{1,9} ?\/ ?[a-z]{1,6}$/.test(text)) return true
  // An event, which may lack a parenthesis.
  if (/^(?:event )?[A-Za-z_$][\w$]{0,40}\([\w$ ,[\]()]*$/.test(text)) return true
  return text.length <= SHORT && !/[/@?]/.test(text)
}

/** The same for a file name, which may be long. */
export function redactPath(path: string): string {
  const isPath = /[/\\]|\.[a-z]\w{0,6}$/i.test(path) && !isUrl(path) && !path.includes('://')
  return isPath ? JSON.stringify(path) : redact(path)
}

/**
 * The `received` of an error, with a string argument redacted, and a path of which more is said. A
 * description, such as `an object`, stays as it is.
 */
export function redactReceived(received: string): string {
  if (received === 'undefined') return 'nothing'
  const [, path, more] = /^("(?:[^"\\]|\\.)*")(, which .*)$/s.exec(received) ?? []
  if (path !== undefined) return `${redactPath(JSON.parse(path) as string)}${more}`
  // Digits that were typed have been read as a bigint.
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(received)) return received.replace(/^(\d+)n$/, '$1')
  const text = JSON.parse(received) as string
  // `show` has cut it to 80 characters.
  return text.length >= 80 && !isUrl(text) ? 'a string of 80 characters or more' : redact(text)
}

/**
 * Returns a function that hides arguments that may be secrets in a text, such as a server's message
 * that echoes them.
 */
export function argumentScrubber(args: readonly string[]): Scrub {
  const urls = args.flatMap((arg) => arg.match(/[a-z][\w+.-]{0,30}:\/\/[^\s"'\\<>{}]+/gi) ?? []).filter((url) => URL.canParse(url))
  // In `--flag=value`, the value is after the sign. Methods, hashes and hex bytes are not secrets,
  // and JSON is a parameter.
  const called = methodIn(args)
  const isMethod = (text: string) => isKnown(text) || text === called
  const values = args.flatMap((arg) => [arg, arg.slice(arg.indexOf('=') + 1)])
  const keys = values.filter(
    (text) => !urls.includes(text) && !isPlain(text) && !isMethod(text) && !/^0x[0-9a-f]+$/i.test(text) && /^[\w./:@?=&%+-]+$/.test(text),
  )
  const scrubs = [...urls.map((url) => scrubber(new URL(url), {}, [], Object.keys(chains))), scrubber(new URL('http://localhost'), {}, keys)]
  return (text) => scrubs.reduce((left, scrub) => scrub(left), text)
}

/** The method that `hexline call` is given. */
function methodIn(args: readonly string[]): string | undefined {
  const [command, ...others] = args
  if (command !== 'call') return undefined
  const method = others.find((arg, i) => !arg.startsWith('-') && !takesValue(others[i - 1]))
  return method !== undefined && isMethodName(method) ? method : undefined
}

/** Whether the argument after this one is its value. */
function takesValue(arg: string | undefined): boolean {
  return arg?.startsWith('--') === true && !arg.includes('=') && arg !== '--' && arg !== '--json' && arg !== '--raw'
}

/**
 * `eth_getBalance`, `rpc.discover`; `getAccountInfo`, as on other chains; any short name. Keys do
 * not look like these.
 */
export function isMethodName(text: string): boolean {
  return /^(?:[a-z][a-zA-Z0-9]{0,15}[_.][\w.]{1,60}|[a-zA-Z]{1,60}\d{0,2}|[\w.:-]{1,15})$/.test(text)
}

const isFlag = /^--?[a-z][a-z-]{0,20}$/

/** A usage error of commander, with the values in it redacted. */
export function redactUsage(message: string): string {
  const shorter = message.replace(/^(unknown (?:command|option)) '(.*?)'(?=\n\(Did you mean|$)/s, (_, what: string, given: string) => {
    // A misspelt flag includes its value.
    const name = given.replace(/=.*$/s, '')
    return isFlag.test(name) ? `${what} '${name}'` : `${what}${quoted(given, ': ')}`
  })
  const start = shorter.indexOf(BEFORE)
  const end = shorter.lastIndexOf(BEHIND)
  if (start < 0 || end < start + BEFORE.length) return shorter
  const given = shorter.slice(start + BEFORE.length, end)
  return `${shorter.slice(0, start)}argument${quoted(given, ' that is ')} is invalid.${shorter.slice(end + BEHIND.length)}`
}

/** The text around a value in these messages. */
const BEFORE = "argument '"
const BEHIND = "' is invalid."

function quoted(given: string, before: string): string {
  return isPlain(given) ? ` '${given}'` : before + redact(given)
}
