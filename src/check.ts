import type { Dispatcher } from 'undici'
import { OptionError } from './errors.ts'
import { didYouMean } from './nearest-name.ts'
import { show } from './text.ts'
import { LONGEST_TIMER } from './wait/clock.ts'

/*
 * One checker for each kind of option. Each takes the option's name, as the message shows it, and
 * the value; it returns the value, typed, or throws `OptionError`. Defaults are filled in by the
 * caller, for undefined alone: null is refused.
 *
 *   const { timeoutMs = 30_000 } = options
 *   timeoutMs: check.ms('timeoutMs', timeoutMs)
 */

/** What `onlyKnown` says in addition to the names. */
export interface KnownNames {
  /** What the option may be instead of an object, such as ` or false`. */
  readonly orElse?: string
  /**
   * Names that others know and hexline does not take, each with the reason. They may be there as
   * undefined.
   */
  readonly refused?: Readonly<Record<string, string>>
}

/** Refuses anything but an object, and names that are not known, most of which are misspelt. */
export function onlyKnown(name: string, options: unknown, known: readonly string[], { orElse = '', refused = {} }: KnownNames = {}): void {
  anObject(name, options, orElse)
  for (const [key, value] of Object.entries(options)) {
    if (known.includes(key)) continue
    if (Object.hasOwn(refused, key)) {
      if (value === undefined) continue
      throw new OptionError(key, `undefined (${refused[key]})`, withoutText(value))
    }
    throw new OptionError(name, `only ${known.join(', ')}`, show(key) + didYouMean(key, known))
  }
}

export function anObject(name: string, value: unknown, orElse = ''): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new OptionError(name, `an object${orElse}`, withoutText(value))
}

/** A whole number from `least` to `most`. */
export function whole(name: string, value: unknown, least = 1, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw new OptionError(name, wholeExpected(value, least, most), show(value))
}

/** What is expected where `value` is not a whole number from `least` to `most`. */
export function wholeExpected(value: unknown, least: number, most: number): string {
  const isUnsafe = Number.isInteger(value) && (value as number) > Number.MAX_SAFE_INTEGER
  const end = most < Number.MAX_SAFE_INTEGER ? `${most}` : isUnsafe ? '2^53 - 1' : undefined
  return end === undefined ? `a whole number of at least ${least}` : `a whole number from ${least} to ${end}`
}

/** A whole number of at least `least`, or Infinity. `note` explains what is counted. */
export function wholeOrInfinity(name: string, value: unknown, least: number, note = ''): number {
  if (value === Number.POSITIVE_INFINITY || (typeof value === 'number' && Number.isSafeInteger(value) && value >= least)) return value
  throw new OptionError(name, `a whole number of at least ${least}${note}, or Infinity`, show(value))
}

/** How often a call may be tried. */
export function attempts(name: string, value: unknown): number {
  return wholeOrInfinity(name, value, 1, ' (the first attempt counts)')
}

/** A finite number above 0. */
export function positive(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY) return value
  throw new OptionError(name, 'a number above 0', show(value))
}

/** A number of bytes above 0. Infinity sets no limit. */
export function bytes(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw new OptionError(name, 'a number of bytes above 0', show(value))
}

/** A finite number of at least 0. */
export function notNegative(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) return value
  throw new OptionError(name, 'a number of at least 0', show(value))
}

/** A number between 0 and 1, neither included. */
export function share(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value < 1) return value
  throw new OptionError(name, 'a number between 0 and 1', show(value))
}

/** A time that one timer can wait. */
export function ms(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= LONGEST_TIMER) return value
  throw new OptionError(name, `a number of ms above 0, at most ${LONGEST_TIMER}`, show(value))
}

/** A time that one timer can wait, or 0. */
export function msOrZero(name: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= LONGEST_TIMER) return value
  throw new OptionError(name, `a number of ms from 0 to ${LONGEST_TIMER}`, show(value))
}

/** A time of any length. */
export function msOrInfinity(name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw new OptionError(name, 'a number of ms above 0, or Infinity', show(value))
}

/** True or false. */
export function flag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw new OptionError(name, 'true or false', show(value))
}

/** One of a few words. */
export function oneOf<const W extends string>(name: string, value: unknown, words: readonly W[]): W {
  if (words.includes(value as W)) return value as W
  const quoted = words.map((word) => `'${word}'`)
  throw new OptionError(name, `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`, show(value))
}

/** The path of a folder, which has no NUL in it on any system. */
export function folder(name: string, value: unknown): string {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value
  throw new OptionError(name, 'the path of a folder', show(value))
}

/** A function. */
export function callback<F>(name: string, value: F): F {
  if (typeof value === 'function') return value
  throw new OptionError(name, 'a function', show(value))
}

/** An AbortSignal. */
export function signal(value: unknown): AbortSignal {
  if (value instanceof AbortSignal) return value
  throw new OptionError('signal', 'an AbortSignal', show(value))
}

/** An undici dispatcher, of any version of undici. */
export function dispatcher(value: unknown): Dispatcher {
  if (typeof (value as Dispatcher | null | undefined)?.dispatch === 'function') return value as Dispatcher
  throw new OptionError('dispatcher', 'an undici dispatcher', withoutText(value))
}

/** A key for a service, as a string that is not blank. */
export function apiKey(name: string, value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value
  throw new OptionError(name, 'a key', typeof value === 'string' ? 'an empty string' : show(value))
}

/** An http or https URL, parsed. Its text may hold a key, and is in no message. */
export function httpUrl(name: string, value: unknown, example?: string): URL {
  const url = parsedUrl(name, value, HTTP, example)
  if (isHttp(url)) return url
  throw new OptionError(name, expectedUrl(HTTP.what, example), isWebSocket(url) ? 'a WebSocket URL' : HTTP.without)
}

/** The URL of a node: http, https, ws or wss, parsed. */
export function nodeUrl(name: string, value: unknown, example?: string): URL {
  const url = parsedUrl(name, value, NODE, example)
  if (isHttp(url) || isWebSocket(url)) return url
  throw new OptionError(name, expectedUrl(NODE.what, example), NODE.without)
}

const HTTP = { what: 'an http or https URL', without: 'a URL without http:// or https://' }
const NODE = { what: 'an http, https, ws or wss URL', without: 'a URL without http://, https://, ws:// or wss://' }

/** Whether a URL is that of a WebSocket. */
export function isWebSocket({ protocol }: URL): boolean {
  return protocol === 'ws:' || protocol === 'wss:'
}

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:'
}

function expectedUrl(what: string, example: string | undefined): string {
  return example === undefined ? what : `${what}, such as ${example}`
}

function parsedUrl(name: string, value: unknown, { what, without }: typeof NODE, example: string | undefined): URL {
  const expected = expectedUrl(what, example)
  // `new URL` escapes white space inside: of two URLs in one text, the second one would be sent to
  // the first.
  if (typeof value === 'string' && /\S\s+\S/.test(value)) throw new OptionError(name, expected, 'text with white space in it')
  if (typeof value !== 'string' || value === '') throw new OptionError(name, expected, value === '' ? 'an empty string' : show(value))
  try {
    return new URL(value)
  } catch {
    // The error of URL holds the text. `localhost:8545` is a URL whose scheme is `localhost:`,
    // `127.0.0.1:8545` is not a URL.
    const received = /^[\w.-]+:\d/.test(value) ? without : value.endsWith('.ipc') ? 'the path of an IPC socket' : 'an invalid URL'
    throw new OptionError(name, expected, received)
  }
}

/** Headers that hexline sets for each request, or that undici refuses. */
const OF_EACH_REQUEST = ['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'expect']

/**
 * HTTP headers, with their names in lower case. A header's value may be a key, and is in no
 * message.
 */
export function headers(name: string, value: unknown): Record<string, string> {
  const checked: Record<string, string> = {}
  for (const [key, content] of Object.entries(plainObject(name, value, 'of strings'))) {
    const lower = key.toLowerCase()
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) throw new OptionError(name, 'valid header names', 'a name with invalid characters')
    const place = `${name}[${show(key)}]`
    if (OF_EACH_REQUEST.includes(lower)) throw new OptionError(place, 'a header that you may set', 'one that is set for each request')
    if (typeof content !== 'string') throw new OptionError(place, 'a string', `a value of type ${typeof content}`)
    if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(content)) throw new OptionError(place, 'printable Latin-1 characters', 'a control character, or one beyond Latin-1')
    checked[lower] = content
  }
  return checked
}

/** An object literal, or one without a prototype. `of` says what it holds. */
export function plainObject(name: string, value: unknown, of: string): object {
  const prototype = typeof value === 'object' && value !== null ? Object.getPrototypeOf(value) : undefined
  if (prototype === Object.prototype || prototype === null) return value as object
  throw new OptionError(name, `a plain object ${of}`, withoutText(value))
}

/**
 * Describes a value. A string is not shown: it may be a key that was given for the wrong option.
 */
export function withoutText(value: unknown): string {
  return typeof value === 'string' ? 'a string' : show(value)
}
