import { CodecError, HexlineError, IntegrityError } from '../errors.ts'
import { receivedBy } from '../eth/codec/codec-path.ts'
import { type Scrub, scrubJson, scrubStart } from '../http/secrets.ts'
import { LONGEST_MESSAGE, show } from '../text.ts'

/** Longest message of an error that a formatter of viem's, of ethers' or of a chain throws, in characters: they put whole blocks into it. */
const LONGEST_FOREIGN = 1000

/** Where a result came from, and how often it was asked for. */
export interface Origin {
  readonly endpoint: string | undefined
  readonly attempts: number
}

/**
 * An error of whatever reads a result, without the secrets of the endpoints that the result may have come from: a server may put its URL into any field. Where
 * the `origin` of the result is known, hexline's own errors name it. To be thrown in place of `error`. Errors of calls have been scrubbed where they were made.
 */
export function scrubError(error: unknown, endpoints: readonly { readonly scrub?: Scrub | undefined }[] = [], origin?: Origin): unknown {
  const scrubs = endpoints.flatMap(({ scrub }) => scrub ?? [])
  const scrub: Scrub = (text) => scrubs.reduce((clean, each) => each(clean), text)
  if (error instanceof CodecError) return Object.assign(ofCodec(error, scrub), origin && { endpoint: origin.endpoint, attempts: origin.attempts })
  if (error instanceof IntegrityError)
    return Object.assign(copyOf(error, scrub, new Map()), error.endpoint === undefined && origin && { endpoint: origin.endpoint, attempts: origin.attempts })
  if (error instanceof Error && !(error instanceof HexlineError)) return copyOf(error, scrub, new Map())
  return error
}

/** What was received is scrubbed before it is shortened. */
function ofCodec(error: CodecError, scrub: Scrub): CodecError {
  const { path, expected, received, method, kind, endpoint } = error
  const whole = receivedBy(error)
  const shown = whole === undefined ? scrub(received) : show(scrubStart(whole, LONGEST_FOREIGN, scrub))
  return new CodecError(scrub(path), expected, shown, { method, kind, endpoint })
}

/** An error of the same class, with the same fields. ethers makes its fields such that they cannot be changed. */
function copyOf(error: Error, scrub: Scrub, copies: Map<Error, Error>): Error {
  const known = copies.get(error)
  if (known !== undefined) return known
  const message = scrubStart(error.message, LONGEST_FOREIGN, scrub)
  const copy = new Error(message)
  copies.set(error, copy)
  const cleaned = (name: string): unknown => {
    const value: unknown = Reflect.get(error, name)
    if (name === 'message') return message
    if (name === 'stack') return stackOf(error, message, scrub)
    if (typeof value === 'string') return scrubStart(value, LONGEST_MESSAGE, scrub)
    if (value instanceof Error) return copyOf(value, scrub, copies)
    return isPlain(value) ? scrubJson(value, scrub) : value
  }
  for (const name of Object.getOwnPropertyNames(error)) {
    const { enumerable = false } = Object.getOwnPropertyDescriptor(error, name) ?? {}
    Object.defineProperty(copy, name, { value: cleaned(name), enumerable, writable: true, configurable: true })
  }
  return Object.setPrototypeOf(copy, Object.getPrototypeOf(error))
}

/** The stack with another message in it; behind it stands where the error was thrown. */
function stackOf({ message, stack = '' }: Error, clean: string, scrub: Scrub): string {
  const at = stack.indexOf(message)
  return at < 0 ? scrubStart(stack, LONGEST_MESSAGE, scrub) : stack.slice(0, at) + clean + stack.slice(at + message.length)
}

/** What JSON has, and no instance of a class. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null
}
