import type { Kept } from './line-writer.ts'

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'no space is left in the quota',
  EFBIG: 'it would be larger than allowed',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  ENOENT: 'no such folder',
  ENOTDIR: 'no such folder',
  ELOOP: 'links that lead in a circle',
}

/** What the system says, in words. */
export function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return reasons[code] ?? message
}

/** The error of an output that cannot be written. `kept` is what it has; undefined where nothing of it stays. */
export function cannotWrite(name: string, error: unknown, kept: Kept | undefined): Error {
  const isNothing = kept !== undefined && kept.lines === 0 && !kept.isCut
  const rest = kept === undefined ? '; nothing of it is kept' : isNothing ? '; nothing was written' : ''
  return new Error(`${name} cannot be written: ${reasonOf(error)}${rest}`)
}
