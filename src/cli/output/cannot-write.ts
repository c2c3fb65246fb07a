import { reasonOf } from '../../system-error.ts'
import type { Kept } from './line-writer.ts'

/**
 * The error for an output that cannot be written. `kept` is what was written; undefined where the
 * output is removed.
 */
export function cannotWrite(name: string, error: unknown, kept: Kept | undefined): Error {
  const isNothing = kept !== undefined && kept.lines === 0 && !kept.isCut
  const rest = kept === undefined ? '; nothing of it is kept' : isNothing ? '; nothing was written' : ''
  return new Error(`${name} cannot be written: ${reasonOf(error)}${rest}`)
}

/** Nobody reads the pipe any more. */
export function isBrokenPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE'
}
