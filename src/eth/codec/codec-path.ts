import { CodecError, type ErrorContext } from '../../errors.ts'
import { show } from '../../text.ts'

type Context = ErrorContext<CodecError['kind']>

/** The strings that could not be read, until the edge of the client: a secret is hidden in a whole string, and not in the start that an error shows. */
const strings = new WeakMap<CodecError, string>()

/** What a codec throws: what was expected and what came. The path is put together on the way up, so it costs nothing when all is well. */
export function fault(expected: string, received: unknown, context?: Context): CodecError {
  const error = new CodecError('', expected, show(received), context)
  if (typeof received === 'string') strings.set(error, received)
  return error
}

/** The whole string that `error` says was received; undefined where it was none. */
export function receivedBy(error: CodecError): string | undefined {
  return strings.get(error)
}

/** The same fault at another place, or in another context. */
export function moved(error: CodecError, path: string, context: Context): CodecError {
  const copy = new CodecError(path, error.expected, error.received, context)
  const received = strings.get(error)
  if (received !== undefined) strings.set(copy, received)
  return copy
}

/** A caught error, said to have happened under `key`; one that is no `CodecError` stays as it is. */
export function under(caught: unknown, key: string | number, method?: string): unknown {
  if (!(caught instanceof CodecError)) return caught
  const { path, kind } = caught
  const step = typeof key === 'number' ? `[${key}]` : key
  return moved(caught, path === '' || path.startsWith('[') ? step + path : `${step}.${path}`, { method: method ?? caught.method, kind })
}
