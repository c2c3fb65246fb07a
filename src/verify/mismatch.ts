import { CodecError, IntegrityError } from '../errors.ts'
import type { Block } from '../eth/objects.ts'
import { show } from '../text.ts'

/** The error for a value, or for a root, that is not what it has to be. */
export function mismatch({ number }: Pick<Block, 'number'>, field: string, expected: unknown, found: unknown, note = ''): IntegrityError {
  const [wanted, got] = [shown(expected), shown(found)]
  return new IntegrityError(`block ${number}: ${field}: expected ${wanted}, found ${got}${note}`, { field, expected: wanted, found: got })
}

/** The same for a value that cannot be encoded. Any other error stays as it is. */
export function malformed({ number }: Pick<Block, 'number'>, path: string, error: unknown): unknown {
  if (!(error instanceof CodecError)) return error
  const field = path === '' ? error.path : `${path}.${error.path}`
  const { expected, received } = error
  return new IntegrityError(`block ${number}: ${field}: expected ${expected}, found ${received}`, { field, expected, found: received })
}

/** Words that are shown as they are. */
class Words {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Marks a description, such as `an array`, which is shown without quotes. */
export function plain(text: string): unknown {
  return new Words(text)
}

/** Hashes, digests and descriptions as they are; anything else as in other messages. */
export function shown(value: unknown): string {
  if (value instanceof Words) return value.text
  return typeof value === 'string' && /^(?:0x)?[0-9a-fA-F]{1,64}$/.test(value) ? value : show(value)
}

/** Whether two strings of hex say the same; the capitals of a checksum do not count. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'string' || typeof b !== 'string' || a.length !== b.length) return false
  return a.startsWith('0x') && b.startsWith('0x') && a.toLowerCase() === b.toLowerCase()
}
