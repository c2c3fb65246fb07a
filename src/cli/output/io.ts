import type { Writable } from 'node:stream'

/** What a command reads and writes: the process's own, or a test's. */
export interface Io {
  /** The arguments, without the program's own name. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdout: TextStream
  readonly stderr: TextStream
}

/** A stream that may be a terminal. */
export type TextStream = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** Standard error is a terminal whose lines can be written anew. */
export function canRedraw({ stderr, env }: Pick<Io, 'stderr' | 'env'>): boolean {
  return stderr.isTTY === true && env.TERM !== 'dumb'
}

/** The width of a terminal; undefined elsewhere, where nothing is made to fit. */
export function widthOf({ isTTY, columns }: TextStream): number | undefined {
  return isTTY ? columns || 80 : undefined
}
