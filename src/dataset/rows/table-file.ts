import type { FileEntry } from '../folder/manifest.ts'
import type { CutBlock } from './cut-block.ts'

/** The file of a table while it is written, in any format. */
export interface TableFile {
  /** Adds the rows of a block. A promise resolves when there is room for more. */
  add(block: CutBlock): Promise<void> | undefined
  /**
   * Makes it durable under its temporary name. `nulls` counts the values that a column could not
   * hold as a number.
   */
  finish(): Promise<{ readonly entry: FileEntry; readonly nulls: Readonly<Record<string, number>> }>
  /** Gives it its name. */
  publish(): Promise<void>
  /** Removes it. */
  abandon(): Promise<void>
}
