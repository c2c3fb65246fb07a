import type { Stats } from 'node:fs'
import { CodecError, IntegrityError } from '../errors.ts'
import { plain, shown } from '../verify/mismatch.ts'

/** Where something is wrong in a dataset: a file by its path in the folder, and a block in it. */
export interface Place {
  readonly file: string
  readonly block?: bigint | undefined
}

/** The error for a value that is not what it has to be. `note` ends its message. */
export function falsehood({ file, block }: Place, field: string, expected: unknown, found: unknown, note = ''): IntegrityError {
  const [wanted, got] = [shown(expected), shown(found)]
  const where = block === undefined ? file : `${file}: block ${block}`
  return new IntegrityError(`${where}: ${field}: expected ${wanted}, found ${got}${note}`, { file, block, field, expected: wanted, found: got })
}

/**
 * The same for a value that cannot be decoded; `path` is where it stands. Any other error stays.
 */
export function undecodable(place: Place, path: string, error: unknown): unknown {
  if (!(error instanceof CodecError)) return error
  const field = [path, error.path].filter((part) => part !== '').join('.')
  return falsehood(place, field, plain(error.expected), plain(error.received))
}

/** What a file is, in words. */
export function kindOf(there: Stats): string {
  if (there.isSymbolicLink()) return 'a symbolic link'
  return there.isFile() ? 'a file' : there.isDirectory() ? 'a folder' : 'something else'
}
