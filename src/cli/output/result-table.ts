import { harmlessText } from '../../text.ts'
import { table } from './table.ts'

export interface ResultColumn {
  readonly title: string
  /** Numbers stand to the right, and are never shortened. */
  readonly isNumber: boolean
}

/** The shortest text that still tells hashes apart. */
const SHORTEST = 12

/**
 * Rows as a table that is at most `width` columns wide: texts are shortened in their middle, and
 * where even that is too wide, each row becomes a list of its fields. Without a width, nothing is
 * shortened.
 */
export function resultTable(columns: readonly ResultColumn[], rows: readonly (readonly unknown[])[], width?: number): string {
  const texts = rows.map((row) => row.map(textOf))
  const longest = columns.map((_, i) => texts.reduce((most, row) => Math.max(most, (row[i] as string).length), 0))
  const widthAt = (limit: number) =>
    columns.reduce((sum, { title, isNumber }, i) => {
      const own = longest[i] as number
      return sum + 2 + Math.max(title.length, isNumber ? own : Math.min(own, limit))
    }, -2)
  let limit = width ?? Number.POSITIVE_INFINITY
  if (width !== undefined) {
    while (limit > SHORTEST && widthAt(limit) > width) limit--
    if (widthAt(limit) > width) return records(columns, texts, width)
  }
  return table(
    columns.map(({ title, isNumber }, i) => ({ title, right: isNumber, of: (row: readonly string[]) => cut(row[i] as string, isNumber ? Infinity : limit) })),
    texts,
    false,
  )
}

/** Each row as a list of its fields, under its number. */
function records(columns: readonly ResultColumn[], texts: readonly (readonly string[])[], width: number): string {
  const titles = Math.max(...columns.map(({ title }) => title.length))
  const room = Math.max(SHORTEST, width - titles - 2)
  const fields = (row: readonly string[]) =>
    columns.map(({ title, isNumber }, i) => `${harmlessText(title).padEnd(titles)}  ${cut(row[i] as string, isNumber ? Infinity : room)}`)
  return texts.map((row, i) => [`row ${i + 1}`, ...fields(row)].join('\n')).join('\n\n')
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return harmlessText(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = Math.floor((limit - 1) / 2)
  return `${text.slice(0, limit - 1 - end)}…${text.slice(text.length - end)}`
}
