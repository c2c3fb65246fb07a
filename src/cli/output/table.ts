import { harmlessText } from '../../text.ts'

/** One column of a table: its title, and the value that it shows of a record. */
export interface Column<T> {
  readonly title: string
  readonly of: (record: T) => unknown
  /** True aligns to the right, for numbers. */
  readonly right?: boolean
}

const LONGEST = 44

/**
 * A table with aligned columns. Long text is shortened on a terminal; control characters are
 * removed.
 */
export function table<T>(columns: readonly Column<T>[], records: readonly T[], isTerminal: boolean): string {
  const rows = [columns.map(({ title }) => title), ...records.map((record) => columns.map(({ of }) => cell(of(record), isTerminal)))]
  const widths = columns.map((_, i) => rows.reduce((most, row) => Math.max(most, (row[i] as string).length), 0))
  return rows
    .map((row) =>
      row
        .map((text, i) => (columns[i]?.right ? text.padStart(widths[i] as number) : text.padEnd(widths[i] as number)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function cell(value: unknown, isTerminal: boolean): string {
  if (value === null || value === undefined) return '-'
  const text = harmlessText(typeof value === 'object' ? JSON.stringify(value) : String(value))
  return isTerminal && text.length > LONGEST ? `${text.slice(0, LONGEST / 2 - 1)}…${text.slice(-LONGEST / 2 + 2)}` : text
}
