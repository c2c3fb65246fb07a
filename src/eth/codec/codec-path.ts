import { CodecError, type ErrorContext } from '../../errors.ts'
import { show } from '../../text.ts'

/*
 * A codec throws a fault without a path. Each codec around it adds its own step on the way up, so
 * that a path costs nothing until something is wrong.
 *
 *   fault('a hex quantity', '0x')       // expected a hex quantity, received "0x"
 *   under(…, 'value')                   // value: expected a hex quantity, received "0x"
 *   under(under(…, 3), 'transactions')  // transactions[3].value: expected a hex quantity, …
 */

type Context = ErrorContext<CodecError['kind']>

/**
 * The whole strings that could not be decoded. An error shows the start of one only, and the
 * scrubber needs all of it: a secret that is cut off is not recognised.
 */
const wholeStrings = new WeakMap<CodecError, WholeString>()

interface WholeString {
  readonly text: string
  /** What follows it in `received`. */
  readonly note: string
}

/** What a codec throws: what it expected and what it received. `note` follows what it received. */
export function fault(expected: string, received: unknown, context?: Context, note = ''): CodecError {
  const error = new CodecError('', expected, `${show(received)}${note}`, context)
  if (typeof received === 'string') wholeStrings.set(error, { text: received, note })
  return error
}

/** The string that `error` shortens in `received`; undefined where it was not a string. */
export function receivedBy(error: CodecError): WholeString | undefined {
  return wholeStrings.get(error)
}

/** The same error with another path and context. */
export function moved(error: CodecError, path: string, context: Context): CodecError {
  const copy = new CodecError(path, error.expected, error.received, context)
  const received = wholeStrings.get(error)
  if (received !== undefined) wholeStrings.set(copy, received)
  return copy
}

/**
 * A caught `CodecError` with the step `key` in front of its path. Any other error stays as it is.
 */
export function under(caught: unknown, key: string | number, method?: string): unknown {
  if (!(caught instanceof CodecError)) return caught
  const { path, kind } = caught
  const step = typeof key === 'number' ? `[${key}]` : key
  return moved(caught, path === '' || path.startsWith('[') ? step + path : `${step}.${path}`, { method: method ?? caught.method, kind })
}
