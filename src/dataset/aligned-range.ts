import type { DatasetTable } from './tables.ts'

/** The blocks `from` to `to`, both included, whose rows are in one file of each table. */
export interface BlockRange {
  readonly from: number
  readonly to: number
}

/**
 * The range of the file that block `from` begins: to the end of its aligned range, a multiple of
 * `blocksPerFile`, or to `to`.
 */
export function rangeFrom(from: number, to: number, blocksPerFile: number): BlockRange {
  const end = from - (from % blocksPerFile) + blocksPerFile - 1
  return { from, to: Math.min(end, to) }
}

/** Digits of a block number in a name; larger numbers have more. */
const DIGITS = 9

/** A block number in the name of a file or folder, such as `000001000`. */
export function digitsOf(number: number): string {
  return String(number).padStart(DIGITS, '0')
}

/** The file of a range, such as `blocks/000001000-000001999.parquet`. */
export function fileName(table: DatasetTable, { from, to }: BlockRange, extension: string): string {
  return `${table}/${digitsOf(from)}-${digitsOf(to)}.${extension}`
}
