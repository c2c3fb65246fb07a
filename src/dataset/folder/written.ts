import type { RangeEntry } from './manifest.ts'

/** What was written: ranges, blocks, files, rows and bytes of files. */
export interface Written {
  readonly ranges: number
  readonly blocks: number
  readonly files: number
  readonly rows: number
  readonly bytes: number
}

export const NOTHING_WRITTEN: Written = { ranges: 0, blocks: 0, files: 0, rows: 0, bytes: 0 }

/** What was written with one range more. */
export function addRange({ ranges, blocks, files, rows, bytes }: Written, range: RangeEntry): Written {
  return {
    ranges: ranges + 1,
    blocks: blocks + range.to - range.from + 1,
    files: files + range.files.length,
    rows: range.files.reduce((sum, file) => sum + file.rows, rows),
    bytes: range.files.reduce((sum, file) => sum + file.bytes, bytes),
  }
}
