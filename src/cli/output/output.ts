import type { Kept } from './line-writer.ts'

/** Where lines go. */
export interface Output {
  /** A person reads it, and it obeys control characters. */
  readonly isTerminal: boolean
  /** What is written stays, although the rest never comes. False for a file that appears when it is whole. */
  readonly isKept: boolean
  /** Writes the pieces of a line. Resolves when there is room for more. */
  write(pieces: readonly Uint8Array[]): Promise<void>
  /** All lines are written. A file appears under its name. */
  commit(): Promise<void>
  /**
   * Ends it without the lines that are still to come. Resolves, when all lines so far have been taken or cannot be, with what
   * the reader has; with undefined where nothing is kept, or the reader is gone. Calls `onWait` when that takes its time.
   */
  abandon(onWait: () => void): Promise<Kept | undefined>
  /** True when the failure only means that nobody reads on. */
  isClosedByReader(error: unknown): boolean
}
