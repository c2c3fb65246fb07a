import type { Kept } from './line-writer.ts'

/** Where the lines are written. */
export interface Output {
  /** True for a terminal, which interprets control characters. */
  readonly isTerminal: boolean
  /**
   * True when lines stay even if the job fails. False for a file that appears once it is complete.
   */
  readonly isKept: boolean
  /** Lines so far that stay even if the job fails. */
  readonly lines: number
  /**
   * Writes a line, in pieces. Resolves when there is room for more. The pieces are then not read
   * again, unless the job has been stopped.
   */
  write(pieces: readonly Uint8Array[]): Promise<void>
  /** Ends the output. A file gets its name. */
  commit(): Promise<void>
  /**
   * Ends an incomplete output. Resolves, when all lines so far have been written or cannot be, with
   * what was written; with undefined where nothing is kept, or the reader is gone. Calls `onWait`
   * when that takes long.
   */
  abandon(onWait: () => void): Promise<Kept | undefined>
  /** True once a write has failed because the reader of a pipe, such as `head`, has closed it. */
  readonly isClosedByReader: boolean
}
