import { CodecError, HexlineError, IntegrityError } from '../errors.ts'
import { receivedBy } from '../eth/codec/codec-path.ts'
import { scrubJson } from '../http/scrub-json.ts'
import { type Scrub, scrubStart } from '../http/secrets.ts'
import { LONGEST_MESSAGE, show } from '../text.ts'

/**
 * Longest message of a foreign error, in characters: formatters of viem, ethers and chains put
 * whole blocks into them.
 */
const LONGEST_FOREIGN = 1000

/** The origin of a result, and the number of attempts it took. */
export interface Origin {
  readonly endpoint: string | undefined
  readonly attempts: number
}

/**
 * An error of code that reads a result, without the secrets of the endpoints that the result may
 * come from, since a server may put its URL into any field. If the `origin` of the result is known,
 * hexline's own errors name it. Throw it in place of `error`. Errors of calls were scrubbed when
 * they were made.
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

/** Scrubs the received value before shortening it. */
function ofCodec(error: CodecError, scrub: Scrub): CodecError {
  const { path, expected, received, method, kind, endpoint } = error
  const whole = receivedBy(error)
  const shown = whole === undefined ? scrub(received) : `${show(scrubStart(whole.text, LONGEST_FOREIGN, scrub))}${whole.note}`
  return new CodecError(scrub(path), expected, shown, { method, kind, endpoint })
}

/**
 * An error of the same class with the same fields. A copy, since ethers makes its fields read-only.
 */
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

/** The stack with another message. The stack frames follow it. */
function stackOf({ message, stack = '' }: Error, clean: string, scrub: Scrub): string {
  const at = stack.indexOf(message)
  return at < 0 ? scrubStart(stack, LONGEST_MESSAGE, scrub) : stack.slice(0, at) + clean + stack.slice(at + message.length)
}

/** Whether this is an array or an object as in JSON, not an instance of a class. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null
}
