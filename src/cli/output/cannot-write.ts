import type { Kept } from './line-writer.ts'

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'disk quota exceeded',
  EFBIG: 'the file would be too large',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  ENOENT: 'no such folder',
  ENOTDIR: 'no such folder',
  ELOOP: 'too many levels of symbolic links',
}

/** The reason for a system error, in plain words. */
export function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return reasons[code] ?? message
}

/**
 * The error for an output that cannot be written. `kept` is what was written; undefined where the
 * output is removed.
 */
export function cannotWrite(name: string, error: unknown, kept: Kept | undefined): Error {
  const isNothing = kept !== undefined && kept.lines === 0 && !kept.isCut
  const rest = kept === undefined ? '; nothing of it is kept' : isNothing ? '; nothing was written' : ''
  return new Error(`${name} cannot be written: ${reasonOf(error)}${rest}`)
}
