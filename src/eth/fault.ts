import { CodecError, show } from '../errors.ts'

/** What a codec throws: what was expected and what came. The path is put together on the way up, so it costs nothing when all is well. */
export function fault(expected: string, received: unknown): CodecError {
  return new CodecError('', expected, show(received))
}

/** A caught error, said to have happened under `key`; one that is no `CodecError` stays as it is. */
export function under(caught: unknown, key: string | number, method?: string): unknown {
  if (!(caught instanceof CodecError)) return caught
  const { path, expected, received, kind } = caught
  const step = typeof key === 'number' ? `[${key}]` : key
  return new CodecError(path === '' || path.startsWith('[') ? step + path : `${step}.${path}`, expected, received, { method: method ?? caught.method, kind })
}
